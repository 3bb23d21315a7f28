//! kdyno's side of a command: starts its keeper, hears what becomes of it, ends it.

use super::{CommandExit, CommandSpec, KeeperReport, MARK, WATCH_COMMAND, monotonic_ns};
use crate::variables;
use procfs::process::all_processes;
use rustix::process::{Pid, Signal};
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};
use std::time::Duration;

/// Longest report: a clause on why it could not be started.
const REPORT_BYTES_MAX: u64 = 64 << 10;
/// How long a keeper and its watcher may take to end once it has said its last word.
const END_MAX: Duration = Duration::from_secs(15);
/// How often its end is looked for.
const POLL: Duration = Duration::from_millis(2);

/// Where a command's output comes out.
pub struct Outputs {
    /// What it writes to its standard output.
    pub stdout: ChildStdout,
    /// What it writes to its standard error.
    pub stderr: ChildStderr,
}

/// A command that runs. Dropping it ends it, with all that it started.
pub struct RunningCommand {
    watcher: Child,
    socket: UnixStream,
    reports: BufReader<UnixStream>,
    mark: String,
    /// The number of its keeper, and its own, once it was started.
    pids: Option<(u32, u32)>,
    has_ended: bool,
}

impl RunningCommand {
    /// Starts it; neither it nor its keeper inherit the environment variables `hidden`. Gives the instant, CLOCK_MONOTONIC,
    /// ns, at which it was started.
    ///
    /// # Errors
    /// It cannot be started, one lowercase clause.
    pub fn start(spec: &CommandSpec, hidden: &[String]) -> Result<(Self, Outputs, u64), String> {
        let failed = |what: &str, error: &dyn std::fmt::Display| format!("{what}: {error}");
        let (ours, theirs) = UnixStream::pair().map_err(|e| failed("no socket for a command", &e))?;
        let reports = ours.try_clone().map_err(|e| failed("no socket for a command", &e))?;
        let mut command = Command::new(&spec.exe);
        for variable in hidden {
            command.env_remove(variable);
        }
        let mut watcher = command
            .arg(WATCH_COMMAND)
            .arg(&spec.exe)
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(|e| failed("the keeper of a command cannot be started", &e))?;
        // It holds the keeper's end of the socket, which must close when the keeper ends.
        drop(command);
        let (stdout, stderr) = (watcher.stdout.take(), watcher.stderr.take());
        let mut running = Self {
            watcher,
            socket: ours,
            reports: BufReader::new(reports),
            mark: spec.mark.clone(),
            pids: None,
            has_ended: false,
        };
        let outputs = stdout.zip(stderr).map(|(stdout, stderr)| Outputs { stdout, stderr });
        let outputs = outputs.ok_or_else(|| failed("a command has no output", &"no pipe"))?;
        pass_on(&running.socket, spec).map_err(|e| failed("a command cannot be passed on", &e))?;
        match running.hear() {
            Some(KeeperReport::Started { keeper, pid, at_ns }) => {
                running.pids = Some((keeper, pid));
                Ok((running, outputs, at_ns))
            }
            Some(KeeperReport::Failed { why }) => Err(why),
            Some(KeeperReport::Ended(_)) | None => {
                let mut why = String::new();
                let _ = outputs.stderr.take(REPORT_BYTES_MAX).read_to_string(&mut why);
                Err(failed("the keeper of a command did not start it", &why.trim()))
            }
        }
    }

    /// Its number.
    pub fn pid(&self) -> Option<u32> {
        self.pids.map(|(_, pid)| pid)
    }

    /// The number of its keeper, whose children it and what loses its parent are.
    pub fn keeper(&self) -> u32 {
        // A command that was not started is not handed out.
        self.pids.map_or(self.watcher.id(), |(keeper, _)| keeper)
    }

    /// By which it can be ended from another thread.
    ///
    /// # Errors
    /// The system has no more descriptors.
    pub fn stopper(&self) -> std::io::Result<Stopper> {
        self.socket.try_clone().map(Stopper)
    }

    /// Waits until nothing of it is left. `None`: its keeper was ended from outside, and the command with it.
    pub fn wait(&mut self) -> Option<CommandExit> {
        let ended = match self.hear() {
            Some(KeeperReport::Ended(ended)) => Some(ended),
            _ => None,
        };
        self.end(ended.is_some());
        ended
    }

    fn hear(&mut self) -> Option<KeeperReport> {
        let mut line = String::new();
        Read::by_ref(&mut self.reports).take(REPORT_BYTES_MAX).read_line(&mut line).ok()?;
        serde_json::from_str(&line).ok()
    }

    /// Takes leave of the keeper and its watcher; unless the keeper has said that nothing is left, makes sure of it.
    fn end(&mut self, is_reported: bool) {
        if std::mem::replace(&mut self.has_ended, true) {
            return;
        }
        let _ = self.socket.shutdown(Shutdown::Both);
        let until_ns = monotonic_ns() + u64::try_from(END_MAX.as_nanos()).unwrap_or(u64::MAX);
        while matches!(self.watcher.try_wait(), Ok(None)) {
            if monotonic_ns() > until_ns {
                // What it has not ended has the mark.
                let _ = self.watcher.kill();
                let _ = self.watcher.wait();
                break;
            }
            std::thread::sleep(POLL);
        }
        if !is_reported {
            kill_marked(&self.mark);
        }
    }
}

impl Drop for RunningCommand {
    fn drop(&mut self) {
        self.end(false);
    }
}

/// Sends a keeper what it is to run. One that is gone is no error here: it is heard of at once.
///
/// # Errors
/// There is no memory or descriptor for it. The keeper would wait for ever, and who hears it too.
fn pass_on(mut socket: &UnixStream, spec: &CommandSpec) -> io::Result<()> {
    let line = serde_json::to_string(spec)?;
    let mark = [(MARK.to_owned(), spec.mark.clone())];
    let sent = variables::send(socket, &[spec.environment.as_slice(), &mark].concat());
    match sent.and_then(|()| writeln!(socket, "{line}")) {
        Err(error) if matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset) => Ok(()),
        sent => sent,
    }
}

/// Ends a command.
#[derive(Debug)]
pub struct Stopper(UnixStream);

impl Stopper {
    /// Asks for its end; the waiting thread learns that it has ended.
    pub fn stop(&self) {
        // The keeper sees its socket's end; what it still has to say is heard. One that is gone needs no word.
        let _ = self.0.shutdown(Shutdown::Write);
    }
}

/// Kills every process that has the mark in its environment. One may have started another meanwhile, so it is looked for
/// until there is none.
fn kill_marked(mark: &str) {
    const LOOKS_MAX: u32 = 100;
    for _ in 0..LOOKS_MAX {
        let Ok(all) = all_processes() else { return };
        let own = std::process::id().cast_signed();
        let is_marked = |process: &procfs::process::Process| {
            let environ = process.environ().ok();
            environ.is_some_and(|all| all.get(std::ffi::OsStr::new(MARK)).is_some_and(|value| value == mark))
        };
        let is_alive = |process: &procfs::process::Process| {
            process.stat().is_ok_and(|stat| !matches!(stat.state, 'Z' | 'X'))
        };
        let marked: Vec<i32> = all
            .filter_map(Result::ok)
            .filter(|process| process.pid() != own && is_alive(process) && is_marked(process))
            .map(|process| process.pid())
            .collect();
        if marked.is_empty() {
            return;
        }
        for pid in marked.into_iter().filter_map(Pid::from_raw) {
            let _ = rustix::process::kill_process(pid, Signal::KILL);
        }
        std::thread::sleep(POLL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kdyno_model::plan::StopSignal;

    #[test]
    fn a_keeper_that_gets_nothing_is_not_waited_for() {
        let spec = CommandSpec {
            exe: "kdyno".into(),
            command_line: vec!["true".to_owned()],
            environment: Vec::new(),
            mark: "mark".to_owned(),
            timeout_ns: 1,
            signal: StopSignal::default(),
            grace_ms: 1,
        };
        let (ours, theirs) = UnixStream::pair().expect("a pair");
        // As where the system has no memory or no descriptor for the variables.
        ours.set_nonblocking(true).expect("not blocking");
        while (&ours).write_all(&[0; 1 << 12]).is_ok() {}
        assert_eq!(pass_on(&ours, &spec).expect_err("there is no room").kind(), ErrorKind::WouldBlock);
        drop(theirs);
        pass_on(&ours, &spec).expect("that one is gone is heard");
    }
}
