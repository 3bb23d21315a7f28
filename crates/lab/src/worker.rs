//! One worker: a child process, driven over a socket pair that is its standard input. What it says goes to an inbox.
//!
//! The child ends by itself when the socket closes, so that no worker outlives kdyno, however kdyno ends. It
//! is put into a process group of its own: a Ctrl-C at the terminal reaches kdyno alone, which then stops
//! the worker in an orderly way.

use crate::clock::monotonic_ns;
use crate::error::LabError;
use crate::inbox::{Heard, WorkerNews};
use kdyno_load::framing::{check_hello, read_frame, write_frame, write_given, write_secrets};
use kdyno_model::secret::Secret;
use kdyno_model::worker::{FromWorker, GivenContent, ToWorker};
use std::collections::BTreeMap;
use std::fs::File;
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::SyncSender;
use std::time::{Duration, Instant};

/// How long a child may take to say hello: it only has to be started by the operating system.
const HELLO_DEADLINE: Duration = Duration::from_secs(20);

/// How long the lab waits for a write into the worker's socket: the worker reads it all the time.
const WRITE_DEADLINE: Duration = Duration::from_secs(10);

/// How long a worker may take to exit once it has said its last word.
const EXIT_DEADLINE: Duration = Duration::from_secs(10);

/// How often a child's end is looked for.
const EXIT_POLL: Duration = Duration::from_millis(2);

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

/// A running worker.
#[derive(Debug)]
pub struct Worker {
    number: u16,
    child: Child,
    socket: UnixStream,
    log: PathBuf,
    ended: Option<WorkerEnd>,
}

impl Worker {
    /// Starts `self_exe worker`, hears its hello and has everything that it says from then on sent to `inbox`. What it
    /// writes to its standard error goes to a file in `work_dir`. It does not inherit the environment variables `hidden`.
    ///
    /// # Errors
    /// The program does not start, greets in another version or by another clock, or does not greet in time.
    pub fn spawn(
        self_exe: &Path,
        number: u16,
        work_dir: &Path,
        hidden: &[String],
        inbox: SyncSender<Heard>,
    ) -> Result<Self, LabError> {
        let failed = |what: &str, source: std::io::Error| LabError::WorkerStart {
            number,
            what: what.to_owned(),
            source,
        };
        let log = work_dir.join(format!("worker-{number}.log"));
        let log_file = File::create(&log).map_err(|e| failed("open its log", e))?;
        let (ours, theirs) = UnixStream::pair().map_err(|e| failed("make a socket pair", e))?;
        ours.set_write_timeout(Some(WRITE_DEADLINE)).map_err(|e| failed("set a deadline", e))?;
        let mut incoming = ours.try_clone().map_err(|e| failed("share the socket", e))?;
        let spawned_ns = monotonic_ns();
        let mut command = Command::new(self_exe);
        for variable in hidden {
            command.env_remove(variable);
        }
        let child = command
            .arg("worker")
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            .stderr(Stdio::from(log_file))
            .process_group(0)
            .spawn()
            .map_err(|e| failed("start the program again", e))?;
        // It holds the worker's end of the socket, which must close when the worker does.
        drop(command);
        let mut worker = Self { number, child, socket: ours, log, ended: None };
        worker.hear_hello(&mut incoming, spawned_ns)?;
        std::thread::Builder::new()
            .name(format!("worker-{number}-reader"))
            .spawn(move || read_all(number, incoming, &inbox))
            .map_err(|e| failed("start a thread", e))?;
        Ok(worker)
    }

    /// Its number.
    pub fn number(&self) -> u16 {
        self.number
    }

    /// Process id, for the probes.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends one message.
    ///
    /// # Errors
    /// The worker's end is closed, or it does not read.
    pub fn send(&mut self, message: &ToWorker) -> Result<(), LabError> {
        let written = write_frame(&mut self.socket, message);
        written.map_err(|e| self.not_written(&e))
    }

    /// Sends the values of secrets by name: before its task once, later those that are new.
    ///
    /// # Errors
    /// As [`Worker::send`].
    pub(crate) fn send_secrets(&mut self, secrets: &BTreeMap<&str, &Secret>) -> Result<(), LabError> {
        let written = write_secrets(&mut self.socket, secrets);
        written.map_err(|e| self.not_written(&e))
    }

    /// Sends keys or values that are given, before the task that names them.
    ///
    /// # Errors
    /// As [`Worker::send`].
    pub(crate) fn send_given(&mut self, given: &GivenContent) -> Result<(), LabError> {
        let written = write_given(&mut self.socket, given);
        written.map_err(|e| self.not_written(&e))
    }

    fn not_written(&self, error: &std::io::Error) -> LabError {
        LabError::WorkerGone { number: self.number, detail: format!("could not be written to: {error}") }
    }

    /// Ends the worker (at once, or when it does not end by itself in time) and says what it cost.
    pub fn finish(mut self, at_once: bool) -> WorkerEnd {
        let deadline = if at_once { Duration::ZERO } else { EXIT_DEADLINE };
        self.reap(deadline)
    }

    /// The file with what the worker wrote to its standard error.
    pub fn log_path(&self) -> &Path {
        &self.log
    }

    /// What it means that this was heard where something else was due.
    pub fn gone(&mut self, news: WorkerNews) -> LabError {
        let detail = match news {
            WorkerNews::Message(FromWorker::Failed { message }) => {
                return LabError::WorkerFailed { number: self.number, message };
            }
            WorkerNews::Message(_) => "sent a message out of turn".to_owned(),
            WorkerNews::Broken(why) => format!("sent bytes that are no message: {why}"),
            WorkerNews::Closed => format!("ended ({})", self.reap(EXIT_DEADLINE).status),
        };
        LabError::WorkerGone { number: self.number, detail }
    }

    /// The first message. Its clock must be this host's: read between our own two readings.
    fn hear_hello(&mut self, incoming: &mut UnixStream, spawned_ns: u64) -> Result<(), LabError> {
        let set = |deadline| incoming.set_read_timeout(deadline);
        let failed =
            |source| LabError::WorkerStart { number: self.number, what: "set a deadline".to_owned(), source };
        set(Some(HELLO_DEADLINE)).map_err(failed)?;
        let heard = read_frame::<FromWorker>(&mut &*incoming);
        let heard_ns = monotonic_ns();
        set(None).map_err(failed)?;
        let detail = match news(heard) {
            WorkerNews::Message(hello) => match check_hello(&hello, spawned_ns, heard_ns) {
                Ok(()) => return Ok(()),
                Err(_) if !matches!(hello, FromWorker::Hello { .. }) => {
                    return Err(self.gone(WorkerNews::Message(hello)));
                }
                Err(why) => why,
            },
            WorkerNews::Broken(why) if why.is_empty() => {
                format!("said nothing within {} s", HELLO_DEADLINE.as_secs())
            }
            other => return Err(self.gone(other)),
        };
        Err(LabError::WorkerGone { number: self.number, detail })
    }

    fn reap(&mut self, deadline: Duration) -> WorkerEnd {
        if let Some(end) = &self.ended {
            return end.clone();
        }
        let pid = self.child.id();
        if !exited_within(pid, deadline) {
            // Nothing to be done about a failure: the child is then gone already.
            let _ = self.child.kill();
            exited_within(pid, EXIT_DEADLINE);
        }
        // The child is a zombie now: its times are final and still there to be read.
        let cpu_s = kdyno_testbed::process::cpu_seconds(pid);
        let status = self.child.wait();
        let _ = self.socket.shutdown(Shutdown::Both);
        let end = WorkerEnd {
            success: status.as_ref().is_ok_and(std::process::ExitStatus::success),
            status: status.map_or_else(|e| e.to_string(), |status| status.to_string()),
            cpu_s,
        };
        self.ended = Some(end.clone());
        end
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // All three fail only when there is nothing left to end. The reading thread ends with the socket.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = self.socket.shutdown(Shutdown::Both);
    }
}

/// Passes messages on until the socket closes or the inbox is gone; the last news is `Closed` or `Broken`.
fn read_all(number: u16, mut socket: UnixStream, inbox: &SyncSender<Heard>) {
    loop {
        let news = news(read_frame::<FromWorker>(&mut socket));
        let is_last = !matches!(news, WorkerNews::Message(_));
        if inbox.send(Heard::Worker(number, news)).is_err() || is_last {
            return;
        }
    }
}

fn news(read: std::io::Result<Option<FromWorker>>) -> WorkerNews {
    use std::io::ErrorKind::{ConnectionReset, TimedOut, UnexpectedEof, WouldBlock};
    match read {
        Ok(Some(message)) => WorkerNews::Message(message),
        Ok(None) => WorkerNews::Closed,
        // A worker that is killed in the middle of a message is gone, not broken.
        Err(e) if matches!(e.kind(), UnexpectedEof | ConnectionReset) => WorkerNews::Closed,
        Err(e) if matches!(e.kind(), TimedOut | WouldBlock) => WorkerNews::Broken(String::new()),
        Err(e) => WorkerNews::Broken(e.to_string()),
    }
}

/// Waits for a child's end without collecting it; whether it ended in time.
pub(crate) fn exited_within(pid: u32, deadline: Duration) -> bool {
    use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
    let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) else {
        return true;
    };
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    let end = Instant::now() + deadline;
    loop {
        // An error means that there is no such child any more.
        if !matches!(waitid(WaitId::Pid(pid), options), Ok(None)) {
            return true;
        }
        if Instant::now() >= end {
            return false;
        }
        std::thread::sleep(EXIT_POLL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inbox::Inbox;

    #[test]
    fn a_program_that_is_no_worker_is_an_error_without_leftovers() {
        let dir = tempfile::tempdir().expect("temp dir");
        let inbox = Inbox::default();
        let error =
            Worker::spawn(Path::new("/bin/true"), 0, dir.path(), &[], inbox.sender()).expect_err("no hello");
        assert!(error.to_string().contains("worker 0 ended (exit status: 0)"), "{error}");
    }

    #[test]
    fn a_missing_program_is_an_error() {
        let dir = tempfile::tempdir().expect("temp dir");
        let inbox = Inbox::default();
        let error = Worker::spawn(Path::new("/nonexistent/kdyno"), 0, dir.path(), &[], inbox.sender());
        assert!(matches!(error, Err(LabError::WorkerStart { .. })));
    }
}
