//! From samples to findings. Pure.
//!
//! All of it reads one thing, the [`TrialEvidence`](kdyno_model::evidence::TrialEvidence) that the store yields while
//! a trial runs and afterwards. [`trial`] states a trial's numbers and the caveats about them; [`run`] what the
//! trials of a run say together, [`drawn`] what is known of a run that is read, [`comparison`] whether B differs from
//! A; [`series`] draws a trial's course over time; [`live`] shows its state. [`latencies`] and [`histogram`] merge what
//! was timed. [`steady`] says whether a series is steady, [`warmup`] whether a warm-up has ended.
//!
//! Invariant: no socket, file, clock, environment or randomness; the same evidence gives the same findings.

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

mod analysed;
mod cases;
mod caveats;
mod claims;
mod collections;
pub mod commands;
pub mod comparison;
mod components;
mod cost;
mod cpu;
mod demand;
pub mod drawn;
mod end_to_end;
mod error;
mod evidence;
mod few_seconds;
pub mod group;
mod health;
mod heat;
mod histogram;
pub mod imported;
mod inside;
mod java;
mod lag;
pub mod latencies;
mod limit;
pub mod live;
pub mod live_metrics;
mod logs;
pub mod marks;
mod median;
mod paired;
mod partitions;
pub mod periods;
mod processes;
mod queue;
mod relay;
mod resources;
mod row_ratios;
mod rows;
pub mod run;
pub mod search;
pub mod series;
mod stall;
pub mod statistics;
mod steadiness;
pub mod steady;
mod sums;
mod tally;
pub mod tool_lines;
pub mod trial;
pub mod warmup;
mod window_parts;

pub use error::AnalysisError;
pub use histogram::LatencyDistribution;
pub use paired::REPEATS_MIN;
