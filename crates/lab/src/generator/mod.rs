//! Where workers run: as children of the lab, or of an agent on another host, which may run the lab itself, too. What is asked of a
//! place is here; each kind answers in a file of its own.

mod agent;
mod agent_place;
mod child;
mod clock;
mod copied;
mod courses;
mod credentials;
mod delivery;
mod held;
mod hosts;
mod lab_copy;
mod lab_host;
mod lab_pod;
mod lab_session;
mod lab_task;
mod listen;
mod outgoing;
mod pods;
mod resuming;
mod session;
mod sessions;
mod ssh;
#[cfg(test)]
mod tests;
mod tls;

pub use agent::AgentOptions;
pub use child::ChildPlace;
pub(crate) use child::exited_within;
pub use clock::ClockOffset;
pub use held::{serve_held, serve_stdio};
pub(crate) use hosts::{Generators, TrialPlaces};
pub use lab_pod::LabPod;
pub use lab_task::{LabFailure, LabRequest, LabTask};
pub use listen::{Listening, listen, listen_for_lab};

use crate::error::LabError;
use crate::inbox::Heard;
use std::fmt::Debug;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::mpsc::SyncSender;
use std::time::Duration;

/// A place where workers can be started.
pub trait Place {
    /// Starts the worker of this number, which has not greeted yet. What the place itself observes of it goes to `inbox`.
    ///
    /// # Errors
    /// It cannot be started.
    fn start(&self, number: u16, inbox: &SyncSender<Heard>) -> Result<StartedWorker, LabError>;
}

/// A worker that was started.
#[derive(Debug)]
pub struct StartedWorker {
    /// The lab's end of the stream of messages.
    pub socket: UnixStream,
    /// The clock of its host.
    pub clock: ClockOffset,
    /// Its process.
    pub process: Box<dyn WorkerProcess>,
}

/// The process of a worker, here or elsewhere.
pub trait WorkerProcess: Debug + Send {
    /// Its number on this host; `None`: it is on another one.
    fn pid(&self) -> Option<u32>;

    /// The file with the end of what it wrote to its standard error, once it has ended.
    fn log_path(&self) -> &Path;

    /// Waits for its end and ends it when that takes longer than `deadline`. Called once.
    fn end(&mut self, deadline: Duration) -> WorkerEnd;
}

/// How a worker ended and what it cost.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkerEnd {
    /// What the operating system says of it, e.g. `exit status: 0`, `signal: 9 (SIGKILL)`.
    pub status: String,
    /// Whether it ended with 0.
    pub success: bool,
    /// User and system time of the whole process, seconds; `None` when it could not be read.
    pub cpu_s: Option<(f64, f64)>,
}
