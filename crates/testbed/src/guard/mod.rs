//! The guard: a process that owns the brokers, so that none outlives the run.
//!
//! Who ends whom, whatever is killed:
//! - kdyno ends in any way: its end of the guard's standard input closes; the guard ends the brokers and removes
//!   their data.
//! - the guard ends in any way: the kernel sends each broker the death signal it requested before it became a JVM.
//!   That signal is tied to the *thread* that started the broker, so the guard starts them from its main thread,
//!   which lives as long as the guard. kdyno, seeing the guard's output close, kills by pidfd what may be left.
//! - both at once: the death signal alone.
//!
//! The guard is this same executable, run with a hidden subcommand, and so is the step between guard and JVM
//! ([`exec`]), which needs no unsafe code after a fork.

mod client;
mod exec;
mod server;

pub(crate) use client::Guard;
pub use exec::command_bound_to_us;
pub(crate) use exec::command_with_variables;
pub use exec::exec_main;
pub use server::main;

use kdyno_model::event::Subject;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Hidden subcommand that runs the guard: `EXE guard` calls [`main`].
pub const GUARD_COMMAND: &str = "guard";
/// Hidden subcommand that becomes a broker: `EXE guard-exec JSON` calls [`exec_main`].
pub const EXEC_COMMAND: &str = "guard-exec";
/// File in each folder that a guard removes at its end: names the guard.
pub(crate) const OWNER_FILE: &str = ".kdyno-owner";

/// What the guard starts and tidies up: the first line on its standard input, as JSON.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct GuardSpec {
    /// This executable, for the step between guard and JVM.
    pub exe: PathBuf,
    /// Arguments before the hidden subcommand (none for kdyno itself).
    pub exe_arguments: Vec<String>,
    /// In the order in which they are started.
    pub processes: Vec<ProcessSpec>,
    /// Removed when all have ended.
    pub remove: Vec<PathBuf>,
    /// Between SIGTERM and SIGKILL.
    pub grace_ms: u64,
    /// When this file appears, the cluster ends (running clusters, whose kdyno has left).
    pub stop_file: Option<PathBuf>,
}

/// One process.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ProcessSpec {
    pub subject: Subject,
    /// Program and arguments.
    pub command_line: Vec<String>,
    pub unset_variables: Vec<String>,
    pub folder: PathBuf,
    /// Standard output and error go here.
    pub console: PathBuf,
    /// Processors to pin to; empty: none.
    pub cpus: Vec<u32>,
    /// Processors' worth of time that it may use.
    pub cpu_limit: Option<f64>,
    /// Ended after those of a lower number have ended: brokers 0, what they depend on 1.
    pub end_order: u8,
}

/// Messages of the guard on its standard output, a JSON line each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum GuardReport {
    /// A process was started.
    Started { subject: Subject, pid: u32 },
    /// A process could not be started.
    Failed { subject: Subject, why: String },
    /// A process ended.
    Ended { subject: Subject, status: String },
    /// All have been started.
    Ready,
}

/// What kdyno says on the guard's standard input after the spec, a word a line.
pub(super) const WORD_STOP: &str = "stop";
/// From now on the end of standard input means nothing.
pub(super) const WORD_DETACH: &str = "detach";
