//! Commands of other people's, load items and components, run so that nothing of them outlives kdyno: each has a keeper, a process between kdyno and it,
//! and the keeper a watcher, a process between kdyno and the keeper.
//!
//! Who ends whom, whatever is killed:
//! - kdyno ends in any way: its end of the keeper's socket closes; the keeper ends the command with all that it started.
//! - the keeper ends in any way: the kernel sends the command the death signal that it requested before it became the
//!   program; the watcher, who inherits what the keeper was the subreaper of, ends all of it; kdyno, seeing the socket close,
//!   kills what still has the command's mark in its environment.
//! - the watcher ends in any way: the keeper goes on.
//! - the command ends: the keeper ends what it left running. The keeper is the *subreaper* of all of it, so that what has
//!   made a session or a group of its own, or lost its parent, is still found.
//! - kdyno and keeper at the same instant: the watcher, whose name is another one than kdyno's.
//! - all three: the death signal alone, which reaches the program that was started.
//!
//! The command's standard output and error are pipes that kdyno itself reads; the keeper passes nothing on. The variables of
//! its environment, a database's password among them, go past keeper and watcher too (`variables`).

mod keeper;
mod running;
mod watcher;

pub use keeper::main;
pub use running::{Outputs, RunningCommand, Stopper};
pub use watcher::main as watch;

use crate::environment::{Environment, is_executable};
use kdyno_model::plan::StopSignal;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Hidden subcommand that keeps a command: `EXE keep-command` calls [`main`].
pub const KEEP_COMMAND: &str = "keep-command";

/// Hidden subcommand that watches over a keeper: `EXE watch-keeper EXE` calls [`watch`].
pub const WATCH_COMMAND: &str = "watch-keeper";

/// Variable of a command's environment by which all that it started can be found.
pub(crate) const MARK: &str = "KDYNO_COMMAND";

/// What to run, and how long it may take.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CommandSpec {
    /// This executable, for the steps between kdyno and the program.
    pub exe: PathBuf,
    /// The program, as [`find`] gives it, and its arguments.
    pub command_line: Vec<String>,
    /// Variables in addition to those that kdyno itself has. They may be secrets, and go past the keeper (`variables`).
    #[serde(skip)]
    pub environment: Vec<(String, String)>,
    /// Names all that it starts: no other command has it.
    pub mark: String,
    /// It is ended after so long, ns.
    pub timeout_ns: u64,
    /// What asks it to end.
    #[serde(default)]
    pub signal: StopSignal,
    /// Between that signal and SIGKILL, ms.
    pub grace_ms: u64,
}

/// Messages of a keeper, a JSON line each.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum KeeperReport {
    /// It was started by this keeper, at an instant of CLOCK_MONOTONIC, ns.
    Started { keeper: u32, pid: u32, at_ns: u64 },
    /// It was not, one lowercase clause.
    Failed { why: String },
    /// It has ended, and nothing of it is left.
    Ended(CommandExit),
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CommandExit {
    /// When, on CLOCK_MONOTONIC, ns.
    pub at_ns: u64,
    /// What it exited with; `None` where a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Why it was made to end, if it was.
    pub made: Option<MadeToEnd>,
    /// Whether it had to be killed then.
    #[serde(default)]
    pub is_killed: bool,
    /// User and system time of it and all processes below it, s.
    pub cpu_s: f64,
    /// Processes that it left running, which were ended.
    pub left: u32,
}

/// Why a command was made to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MadeToEnd {
    /// Its time was over.
    Timeout,
    /// It was requested, or kdyno is gone.
    Stopped,
}

/// The program that a name means: a path unchanged where there is a `/` in it, else the first of that name in `PATH`.
///
/// # Errors
/// There is none, or it may not be executed: one lowercase clause.
pub fn find(name: &str, environment: &Environment) -> Result<PathBuf, String> {
    if name.contains('/') {
        let path = Path::new(name);
        return match path.metadata() {
            Err(error) => Err(format!("{name} cannot be started: {error}")),
            Ok(meta) if meta.is_dir() => Err(format!("{name} cannot be started: it is a folder")),
            Ok(_) if !is_executable(path) => {
                Err(format!("{name} cannot be started: it is not executable (`chmod +x {name}`)"))
            }
            Ok(_) => Ok(path.to_owned()),
        };
    }
    environment
        .find_program(name)
        .ok_or_else(|| format!("{name} cannot be started: there is no such program in PATH"))
}

/// CLOCK_MONOTONIC, ns.
fn monotonic_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}
