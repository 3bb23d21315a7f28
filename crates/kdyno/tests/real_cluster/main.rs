//! Runs against real brokers: what is measured and kept, and that nothing survives whatever is killed.
//!
//! What must be valid, or is a matter of rates, runs alone; what a busy host only delays runs with others, as many at
//! once as there are CPUs (`common::turns`): most of a test is waiting.

mod alone;
mod avro;
mod bare_host;
mod broker_file;
mod clusters;
#[path = "../common/mod.rs"]
mod common;
mod components;
mod compression;
mod consumer_perf_test;
mod end_to_end;
mod evidence;
mod existing_topics;
mod faults;
mod fixture;
mod flame;
mod groups;
mod in_force;
mod java_clients;
mod jmx;
mod logins;
mod logs;
mod omb;
mod producer_perf_test;
mod proxy;
mod secured;
mod secured_releases;
mod several_topics;
mod transactions;
mod zones;
