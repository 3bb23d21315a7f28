//! One worker: a child process of this same program, driven over a socket pair that is its standard input.
//!
//! The child ends by itself when the socket closes, so that no worker outlives kdyno, however kdyno ends. It
//! is put into a process group of its own: a Ctrl-C at the terminal reaches kdyno alone, which then stops
//! the worker in an orderly way.

use crate::error::LabError;
use kdyno_load::framing::{read_frame, write_frame};
use kdyno_model::worker::{FromWorker, PROTOCOL_VERSION, ToWorker, WorkerTask};
use std::fs::File;
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Messages between the reading thread and the collector. A worker sends a few per stream and second, so
/// this many means that the collector stands still; then the worker's socket fills up, not our memory.
const MESSAGES_MAX: usize = 4096;

/// How long a child may take to say hello: it only has to be started by the operating system.
const HELLO_DEADLINE: Duration = Duration::from_secs(20);

/// How long the lab waits for a write into the worker's socket: the worker reads it all the time.
const WRITE_DEADLINE: Duration = Duration::from_secs(10);

/// How long a worker may take to exit once it has said its last word.
const EXIT_DEADLINE: Duration = Duration::from_secs(10);

/// How often a child's end is looked for.
const EXIT_POLL: Duration = Duration::from_millis(2);

/// What the collector hears from a worker.
#[derive(Debug)]
pub(crate) enum Heard {
    /// A message.
    Message(FromWorker),
    /// The worker's end of the socket is closed: it has ended.
    Closed,
    /// What arrived is no message of ours; nothing further is read.
    Broken(String),
    /// Nothing within the time given.
    Nothing,
}

/// How a worker ended and what it cost.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct WorkerEnd {
    /// What the operating system says of it, e.g. `exit status: 0`, `signal: 9 (SIGKILL)`.
    pub(crate) status: String,
    /// Whether it ended with 0.
    pub(crate) success: bool,
    /// User and system time of the whole process, seconds; `None` when it could not be read.
    pub(crate) cpu_s: Option<(f64, f64)>,
}

/// A running worker.
pub(crate) struct Worker {
    number: u16,
    child: Child,
    socket: UnixStream,
    heard: Receiver<Heard>,
    reader: Option<JoinHandle<()>>,
    log: PathBuf,
    ended: Option<WorkerEnd>,
}

impl Worker {
    /// Starts `self_exe worker`; what it writes to its standard error goes to a file in `work_dir`.
    pub(crate) fn spawn(self_exe: &Path, number: u16, work_dir: &Path) -> Result<Self, LabError> {
        let failed = |what: &str, source: std::io::Error| LabError::WorkerStart {
            number,
            what: what.to_owned(),
            source,
        };
        let log = work_dir.join(format!("worker-{number}.log"));
        let log_file = File::create(&log).map_err(|e| failed("open its log", e))?;
        let (ours, theirs) = UnixStream::pair().map_err(|e| failed("make a socket pair", e))?;
        ours.set_write_timeout(Some(WRITE_DEADLINE)).map_err(|e| failed("set a deadline", e))?;
        let incoming = ours.try_clone().map_err(|e| failed("share the socket", e))?;
        let child = Command::new(self_exe)
            .arg("worker")
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            .stderr(Stdio::from(log_file))
            .process_group(0)
            .spawn()
            .map_err(|e| failed("start the program again", e))?;
        let (sender, heard) = sync_channel(MESSAGES_MAX);
        let reader = std::thread::Builder::new()
            .name(format!("worker-{number}-reader"))
            .spawn(move || read_all(incoming, &sender))
            .map_err(|e| failed("start a thread", e));
        let mut worker = Self { number, child, socket: ours, heard, reader: None, log, ended: None };
        worker.reader = Some(reader?);
        worker.expect_hello()?;
        Ok(worker)
    }

    /// Process id, for the probes.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends one message.
    pub(crate) fn send(&mut self, message: &ToWorker) -> Result<(), LabError> {
        write_frame(&mut self.socket, message).map_err(|e| LabError::WorkerGone {
            number: self.number,
            detail: format!("could not be written to: {e}"),
        })
    }

    /// The next thing heard, waiting no longer than `wait`.
    pub(crate) fn hear(&self, wait: Duration) -> Heard {
        match self.heard.recv_timeout(wait) {
            Ok(heard) => heard,
            Err(RecvTimeoutError::Timeout) => Heard::Nothing,
            Err(RecvTimeoutError::Disconnected) => Heard::Closed,
        }
    }

    /// Hands the task over and waits until every client is connected. Events on the way go to `event`;
    /// `give_up` is asked ten times a second and ends the wait with the reason it gives.
    pub(crate) fn prepare(
        &mut self,
        task: WorkerTask,
        deadline: Duration,
        give_up: &dyn Fn() -> Option<LabError>,
        event: &mut dyn FnMut(kdyno_model::worker::WorkerEvent) -> Result<(), LabError>,
    ) -> Result<(), LabError> {
        self.send(&ToWorker::Prepare(Box::new(task)))?;
        let end = Instant::now() + deadline;
        while Instant::now() < end {
            if let Some(reason) = give_up() {
                return Err(reason);
            }
            match self.hear(Duration::from_millis(100)) {
                Heard::Message(FromWorker::Prepared) => return Ok(()),
                Heard::Message(FromWorker::Event(happened)) => event(happened)?,
                Heard::Nothing => {}
                other => return Err(self.gone(other)),
            }
        }
        Err(LabError::WorkerNotPrepared { number: self.number, seconds: deadline.as_secs() })
    }

    /// Ends the worker (at once when it does not end by itself in time) and says what it cost.
    pub(crate) fn finish(mut self, at_once: bool) -> WorkerEnd {
        let deadline = if at_once { Duration::ZERO } else { EXIT_DEADLINE };
        self.reap(deadline)
    }

    /// The file with what the worker wrote to its standard error.
    pub(crate) fn log_path(&self) -> &Path {
        &self.log
    }

    /// What it means that this was heard where something else was due.
    pub(crate) fn gone(&mut self, heard: Heard) -> LabError {
        let detail = match heard {
            Heard::Message(FromWorker::Failed { message }) => {
                return LabError::WorkerFailed { number: self.number, message };
            }
            Heard::Message(_) => "sent a message out of turn".to_owned(),
            Heard::Broken(why) => format!("sent bytes that are no message: {why}"),
            Heard::Closed | Heard::Nothing => format!("ended ({})", self.reap(EXIT_DEADLINE).status),
        };
        LabError::WorkerGone { number: self.number, detail }
    }

    fn expect_hello(&mut self) -> Result<(), LabError> {
        match self.hear(HELLO_DEADLINE) {
            Heard::Message(FromWorker::Hello { protocol }) if protocol == PROTOCOL_VERSION => Ok(()),
            Heard::Message(FromWorker::Hello { protocol }) => Err(LabError::WorkerGone {
                number: self.number,
                detail: format!("speaks protocol {protocol}, this kdyno speaks {PROTOCOL_VERSION}"),
            }),
            other => Err(self.gone(other)),
        }
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
        // All three fail only when there is nothing left to end.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = self.socket.shutdown(Shutdown::Both);
        // The reader may wait for room in the channel: take what it still has until it hangs up.
        while self.heard.recv_timeout(EXIT_DEADLINE).is_ok() {}
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
    }
}

/// Reads messages until the socket closes; the last thing sent is `Closed` or `Broken`.
fn read_all(mut socket: UnixStream, sender: &SyncSender<Heard>) {
    loop {
        let heard = match read_frame::<FromWorker>(&mut socket) {
            Ok(Some(message)) => Heard::Message(message),
            Ok(None) => Heard::Closed,
            // A worker that is killed in the middle of a message is gone, not broken.
            Err(e) if is_end(&e) => Heard::Closed,
            Err(e) => Heard::Broken(e.to_string()),
        };
        let last = !matches!(heard, Heard::Message(_));
        if sender.send(heard).is_err() || last {
            return;
        }
    }
}

fn is_end(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{ConnectionReset, UnexpectedEof};
    matches!(error.kind(), UnexpectedEof | ConnectionReset)
}

/// Waits for a child's end without collecting it; whether it ended in time.
fn exited_within(pid: u32, deadline: Duration) -> bool {
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

/// User and system time of a child from its start to its end, seconds. Waits for the end, no longer than
/// `deadline`, and leaves the child to be collected; `None` when there is no such child.
pub fn finished_cpu_seconds(pid: u32, deadline: Duration) -> Option<(f64, f64)> {
    exited_within(pid, deadline);
    kdyno_testbed::process::cpu_seconds(pid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_no_worker_is_an_error_and_leaves_no_process() {
        let dir = tempfile::tempdir().expect("temp dir");
        let error = Worker::spawn(Path::new("/bin/true"), 0, dir.path()).err().expect("no hello");
        assert!(error.to_string().contains("worker 0"), "{error}");
    }

    #[test]
    fn a_missing_program_is_an_error() {
        let dir = tempfile::tempdir().expect("temp dir");
        let error = Worker::spawn(Path::new("/nonexistent/kdyno"), 0, dir.path()).err();
        assert!(matches!(error, Some(LabError::WorkerStart { .. })));
    }
}
