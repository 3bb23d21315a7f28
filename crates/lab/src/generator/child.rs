//! A worker as a child of this process.

use super::{ClockOffset, Place, StartedWorker, WorkerEnd, WorkerProcess};
use crate::error::LabError;
use crate::inbox::Heard;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::SyncSender;
use std::time::{Duration, Instant};

/// How long a child that was killed may take to be gone.
const KILLED_DEADLINE: Duration = Duration::from_secs(10);

/// How often a child's end is looked for.
const EXIT_POLL: Duration = Duration::from_millis(2);

/// This host: `self_exe worker` is started, without the environment variables `hidden`; what it writes to its standard error
/// goes to a file in `work_dir`.
#[derive(Debug, Clone, Copy)]
pub struct ChildPlace<'a> {
    /// The program.
    pub self_exe: &'a Path,
    /// Folder for its log.
    pub work_dir: &'a Path,
    /// What it does not inherit.
    pub hidden: &'a [String],
}

impl Place for ChildPlace<'_> {
    fn start(&self, number: u16, _: &SyncSender<Heard>) -> Result<StartedWorker, LabError> {
        let (socket, process) = self.spawn(number)?;
        Ok(StartedWorker { socket, clock: ClockOffset::default(), process: Box::new(process) })
    }
}

impl ChildPlace<'_> {
    /// The lab's end of the socket pair, and the child, which has the other one.
    pub(super) fn spawn(&self, number: u16) -> Result<(UnixStream, ChildProcess), LabError> {
        let failed = |what: &str, error: std::io::Error| LabError::worker_start(number, what, &error);
        let log = self.work_dir.join(format!("worker-{number}.log"));
        let log_file = File::create(&log).map_err(|e| failed("open its log", e))?;
        let (ours, theirs) = UnixStream::pair().map_err(|e| failed("make a socket pair", e))?;
        let mut command = Command::new(self.self_exe);
        for variable in self.hidden {
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
        // The command holds the worker's end of the socket, which must close when the worker does.
        drop(command);
        Ok((ours, ChildProcess { child, log }))
    }
}

/// The child.
#[derive(Debug)]
pub(super) struct ChildProcess {
    child: Child,
    log: PathBuf,
}

impl ChildProcess {
    /// Its number.
    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }
}

impl WorkerProcess for ChildProcess {
    fn pid(&self) -> Option<u32> {
        Some(self.id())
    }

    fn log_path(&self) -> &Path {
        &self.log
    }

    fn end(&mut self, deadline: Duration) -> WorkerEnd {
        let pid = self.child.id();
        if !exited_within(pid, deadline) {
            // Nothing to be done about a failure: the child is then gone already.
            let _ = self.child.kill();
            exited_within(pid, KILLED_DEADLINE);
        }
        // The child is a zombie now: its times are final and still there to be read.
        let cpu_s = kdyno_testbed::process::cpu_seconds(pid);
        let status = self.child.wait();
        WorkerEnd {
            success: status.as_ref().is_ok_and(std::process::ExitStatus::success),
            status: status.map_or_else(|e| e.to_string(), |status| status.to_string()),
            cpu_s,
        }
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        // Both fail only when there is nothing left to end.
        let _ = self.child.kill();
        let _ = self.child.wait();
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
