//! Streams of a load against clusters that answer as a test wants, mostly in simulated time.

mod accounting;
mod accuracy;
mod cap;
#[path = "../common/mod.rs"]
mod common;
mod consuming;
mod consuming_groups;
mod end_to_end;
mod instants;
mod limits;
mod manners;
mod producing;
mod records;
mod spans;
mod tool_lines;
mod topics;
mod transactions;
mod worker;
