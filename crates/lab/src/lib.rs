//! Executes a plan: preflight, phases, workers, collector.
//!
//! [`run`] is the whole of it. It makes the run file first, then goes through the plan's trials: a system
//! under test (`testbed`), fresh topics, a worker process (`load`) that is given its task and its T0, a
//! collector that stores what the worker and the probes tell, figures drawn from it (`analysis`). Whatever
//! goes wrong after the run file exists is told beside the evidence, not instead of it.
//!
//! Invariants: every wait has a deadline; no process outlives the run, however the run ends; nothing here
//! prints, reads the environment or exits.

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

mod clock;
mod dry_run_checks;
mod error;
mod limit;
mod live;
mod logs;
mod options;
mod preflight;
mod private;
mod run;
mod system;
mod task;
mod topics;
mod trial;
mod worker;

pub use dry_run_checks::{Note, dry_run_checks};
pub use error::LabError;
pub use options::{Live, LiveFigures, Progress, RunOptions, RunOutcome, RunRequest};
pub use run::run;
pub use worker::finished_cpu_seconds;
