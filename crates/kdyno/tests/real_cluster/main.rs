//! Runs against real brokers: what is measured and kept, and that nothing survives whatever is killed.
//!
//! What must be valid, or is a matter of rates, runs alone; what a busy host only delays runs beside others, as many at
//! once as there are processors (`common::turns`): most of a test is waiting.

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
