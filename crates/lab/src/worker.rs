//! One worker: a process that is driven over a socket pair. What it says goes to an inbox.
//!
//! A child of ours has the other end as its standard input; for one on another host it is an end of the session with the
//! agent there ([`crate::generator`]). The child ends by itself when the socket closes, so that no worker outlives kdyno,
//! however kdyno ends. It is put into a process group of its own: a Ctrl-C at the terminal reaches kdyno alone, which then
//! stops the worker in an orderly way.

use crate::clock::monotonic_ns;
use crate::error::LabError;
use crate::generator::{ClockOffset, Place, StartedWorker, WorkerEnd, WorkerProcess};
use crate::inbox::{Heard, WorkerNews};
use kdyno_load::framing::{check_hello, read_frame, write_frame, write_given, write_secrets};
use kdyno_model::secret::Secret;
use kdyno_model::worker::{FromWorker, GivenContent, ToWorker, WorkerTask};
use std::collections::BTreeMap;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::mpsc::SyncSender;
use std::time::Duration;

/// How long a worker may take to say hello: it only has to be started by the operating system.
const HELLO_DEADLINE: Duration = Duration::from_secs(20);

/// How long the lab waits for a write into the worker's socket: the worker reads it all the time.
const WRITE_DEADLINE: Duration = Duration::from_secs(10);

/// How long a worker may take to exit once it has said its last word.
const EXIT_DEADLINE: Duration = Duration::from_secs(10);

/// A running worker.
#[derive(Debug)]
pub struct Worker {
    number: u16,
    process: Box<dyn WorkerProcess>,
    socket: UnixStream,
    clock: ClockOffset,
    ended: Option<WorkerEnd>,
}

impl Worker {
    /// Starts a worker at a place, hears its hello and has everything that it says from then on sent to `inbox`.
    ///
    /// # Errors
    /// It does not start, greets in another version or by another clock, or does not greet in time.
    pub fn spawn(place: &dyn Place, number: u16, inbox: SyncSender<Heard>) -> Result<Self, LabError> {
        let failed = |what: &str, error: std::io::Error| LabError::worker_start(number, what, &error);
        let spawned_ns = monotonic_ns();
        let StartedWorker { socket, clock, process } = place.start(number, &inbox)?;
        let mut worker = Self { number, process, socket, clock, ended: None };
        worker.socket.set_write_timeout(Some(WRITE_DEADLINE)).map_err(|e| failed("set a deadline", e))?;
        let mut incoming = worker.socket.try_clone().map_err(|e| failed("share the socket", e))?;
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

    /// Process id, for the probes; `None`: it is on another host.
    pub fn pid(&self) -> Option<u32> {
        self.process.pid()
    }

    /// Sends one message, its instants by the clock of the worker's host.
    ///
    /// # Errors
    /// The worker's end is closed, or it does not read.
    pub fn send(&mut self, message: &ToWorker) -> Result<(), LabError> {
        let theirs = match message {
            ToWorker::Start { t0_monotonic_ns } => {
                Some(ToWorker::Start { t0_monotonic_ns: self.clock.theirs(*t0_monotonic_ns) })
            }
            // The wall clock is the lab's: what is added to a later clock is less.
            ToWorker::Prepare(task) if self.clock.offset_ns != 0 => {
                let wall_offset_ns = task.wall_offset_ns.saturating_sub(self.clock.offset_ns);
                Some(ToWorker::Prepare(Box::new(WorkerTask { wall_offset_ns, ..WorkerTask::clone(task) })))
            }
            ToWorker::Prepare(_) | ToWorker::Measure { .. } | ToWorker::Drain | ToWorker::Stop => None,
        };
        let written = write_frame(&mut self.socket, theirs.as_ref().unwrap_or(message));
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
        LabError::of_worker(self.number, &format!("could not be written to: {error}"))
    }

    /// Ends the worker (at once, or when it does not end by itself in time) and says what it cost.
    pub fn finish(mut self, at_once: bool) -> WorkerEnd {
        let deadline = if at_once { Duration::ZERO } else { EXIT_DEADLINE };
        self.reap(deadline)
    }

    /// The file with what the worker wrote to its standard error.
    pub fn log_path(&self) -> &Path {
        self.process.log_path()
    }

    /// What it means that this was heard where something else was due.
    pub fn gone(&mut self, news: WorkerNews) -> LabError {
        let detail = match news {
            WorkerNews::Message(FromWorker::Failed { message }) => {
                return LabError::of_worker(self.number, &format!("failed: {message}"));
            }
            WorkerNews::Message(_) | WorkerNews::Probes(_) => "sent a message out of turn".to_owned(),
            WorkerNews::Suspected(why) => why,
            WorkerNews::Broken(why) => format!("sent bytes that are no message: {why}"),
            WorkerNews::Closed => format!("ended ({})", self.reap(EXIT_DEADLINE).status),
        };
        LabError::of_worker(self.number, &detail)
    }

    /// The first message. Its clock must be that of its host: read between our own two readings.
    fn hear_hello(&mut self, incoming: &mut UnixStream, spawned_ns: u64) -> Result<(), LabError> {
        let set = |deadline| incoming.set_read_timeout(deadline);
        let failed = |error: std::io::Error| LabError::worker_start(self.number, "set a deadline", &error);
        set(Some(HELLO_DEADLINE)).map_err(failed)?;
        let heard = read_frame::<FromWorker>(&mut &*incoming);
        let heard_ns = monotonic_ns();
        set(None).map_err(failed)?;
        let detail = match news(heard) {
            WorkerNews::Message(hello) => match self.check(&hello, spawned_ns, heard_ns) {
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
        Err(LabError::of_worker(self.number, &detail))
    }

    fn check(&self, hello: &FromWorker, spawned_ns: u64, heard_ns: u64) -> Result<(), String> {
        let theirs = |ours_ns| self.clock.theirs(ours_ns);
        let bound_ns = self.clock.bound_ns;
        check_hello(
            hello,
            theirs(spawned_ns).saturating_sub(bound_ns),
            theirs(heard_ns).saturating_add(bound_ns),
        )
    }

    fn reap(&mut self, deadline: Duration) -> WorkerEnd {
        if let Some(end) = &self.ended {
            return end.clone();
        }
        let end = self.process.end(deadline);
        let _ = self.socket.shutdown(Shutdown::Both);
        self.ended = Some(end.clone());
        end
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // Its process ends when it is dropped; the reading thread ends with the socket.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generator::ChildPlace;
    use crate::inbox::Inbox;

    fn spawned(self_exe: &str) -> Result<Worker, LabError> {
        let dir = tempfile::tempdir().expect("temp dir");
        let place = ChildPlace { self_exe: Path::new(self_exe), work_dir: dir.path(), hidden: &[] };
        Worker::spawn(&place, 0, Inbox::default().sender())
    }

    #[test]
    fn a_program_that_is_no_worker_is_an_error_without_leftovers() {
        let error = spawned("/bin/true").expect_err("no hello");
        assert!(error.to_string().contains("worker 0 ended (exit status: 0)"), "{error}");
    }

    #[test]
    fn a_missing_program_is_an_error() {
        let error = spawned("/nonexistent/kdyno").expect_err("no program").to_string();
        assert!(error.starts_with("worker 0 could not "), "{error}");
    }
}
