//! Executes a plan: preflight, systems, topics, workers, the inbox.
//!
//! [`run()`] is the whole of it. It makes the run file first, then goes through the plan's trials: a system
//! under test (`testbed`), fresh topics, worker processes (`load`) that are given their tasks and T0, an inbox in
//! which all that is heard arrives and from which evidence goes to the `store`, findings drawn from what the store
//! yields (`analysis`). Whatever
//! goes wrong after the run file exists is reported with the evidence, not instead of it.
//!
//! Invariants: every wait has a deadline; no process outlives the run, however the run ends; nothing here
//! prints, reads the environment or exits.

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

mod abort;
mod calibration;
pub mod clock;
mod cluster_view;
mod cluster_watch;
mod command;
mod command_news;
mod command_pods;
mod component;
mod connections;
mod database_watch;
mod drivers;
mod dry_run_checks;
mod error;
pub mod generator;
mod given;
mod heaps;
pub mod inbox;
mod limit;
mod log_ends;
mod logs;
mod logs_watch;
mod metrics_watch;
mod named_watch;
mod null_broker;
mod observer;
mod options;
mod output;
#[cfg(test)]
#[path = "../../model/tests/common/plans.rs"]
mod plans;
mod preflight;
mod private;
mod provisions;
mod proxy;
mod replicas;
mod resume;
mod run;
mod secrets;
mod settings;
mod settle;
mod stack_sampling;
mod system;
mod task;
mod token;
mod topics;
mod trial;
pub mod worker;

pub use dry_run_checks::dry_run_checks;
pub use error::LabError;
pub use given::given_paths;
pub use options::{LiveTrial, RunOptions, RunOutcome, RunProgress, RunRequest};
pub use resume::spent_ns;
pub use run::run;
pub use secrets::{access, as_variables};
pub use system::strimzi_properties;
