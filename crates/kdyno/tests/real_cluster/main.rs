//! Runs against real brokers: what is measured and kept, and that nothing survives whatever is killed.
//!
//! One test at a time: each starts a cluster, and two at once on a small machine would only wait for
//! each other.

mod between_trials;
mod bundled;
mod clusters;
#[path = "../common/mod.rs"]
mod common;
mod compression;
mod consumer_perf_test;
mod duet;
mod end_to_end;
mod evidence;
mod faults;
mod fixture;
mod groups;
mod many_clients;
mod producer_perf_test;
mod quota;
mod secured;
mod transactions;
