//! Scenarios and choices to plans, and which trial comes next.

#![allow(clippy::unwrap_used, reason = "a helper of tests panics as a test does")]

mod backlog;
mod bad_input;
mod broker_file;
mod budgets;
mod bundled;
mod commands;
#[path = "../common/mod.rs"]
mod common;
mod components;
mod consuming;
mod drivers;
mod duets;
mod flame;
mod groups;
mod http_load;
mod limits;
mod listeners;
mod mbeans;
mod null_broker;
mod planning;
mod proxy;
mod questions;
mod quotas;
mod records;
mod schema;
mod searching;
mod stored;
mod strimzi;
mod sums;
mod targets;
mod topics;
mod transactions;
mod zones;
