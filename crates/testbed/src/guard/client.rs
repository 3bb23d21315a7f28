//! kdyno's side of the guard: starts it, hears what becomes of the brokers, ends it.

use super::{GUARD_COMMAND, GuardReport, GuardSpec, WORD_DETACH, WORD_STOP};
use crate::error::TestbedError;
use crate::process::{ProcessId, ProcessRef};
use kdyno_model::event::Subject;
use rustix::fd::OwnedFd;
use rustix::process::{Pid, PidfdFlags, Signal};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long the guard may take beyond its processes' grace to end by itself.
const END_MARGIN: Duration = Duration::from_secs(15);
/// How often the guard's end is looked for.
const POLL: Duration = Duration::from_millis(10);

/// What is known of the guard's processes.
#[derive(Default)]
struct GuardState {
    started: Vec<ProcessRef>,
    /// Handles that stay those processes' even when their numbers are given away again.
    handles: Vec<OwnedFd>,
    /// Why each ended process ended.
    ended: BTreeMap<Subject, String>,
    ready: bool,
    guard_gone: bool,
}

/// A running guard. Dropping it ends its processes.
pub(crate) struct Guard {
    child: Child,
    stdin: Option<ChildStdin>,
    state: Arc<Mutex<GuardState>>,
    grace: Duration,
}

impl Guard {
    /// Starts the guard and its processes; returns when all have been started (not: are ready).
    /// Neither it nor they inherit the environment variables `hidden`.
    pub(crate) fn start(spec: &GuardSpec, hidden: &[String], log: &Path) -> Result<Self, TestbedError> {
        let errors = File::create(log).map_err(|e| TestbedError::io("cannot create", log, e))?;
        let failed = |what: &str, e: std::io::Error| TestbedError::Guard(format!("cannot {what}: {e}"));
        let mut command = Command::new(&spec.exe);
        for variable in hidden {
            command.env_remove(variable);
        }
        let mut child = command
            .args(&spec.exe_arguments)
            .arg(GUARD_COMMAND)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(errors)
            .spawn()
            .map_err(|e| failed("start it", e))?;
        let mut stdin = child.stdin.take();
        let stdout = child.stdout.take();
        let state = Arc::new(Mutex::new(GuardState::default()));
        if let Some(stdout) = stdout {
            let state = Arc::clone(&state);
            std::thread::spawn(move || listen(BufReader::new(stdout), &state));
        }
        let line = serde_json::to_string(spec).map_err(|e| TestbedError::Guard(e.to_string()))?;
        let sent = stdin.as_mut().map_or(Ok(()), |pipe| writeln!(pipe, "{line}"));
        let guard = Self { child, stdin, state, grace: Duration::from_millis(spec.grace_ms) };
        sent.map_err(|e| failed("tell it what to start", e))?;
        guard.wait_started(log)?;
        Ok(guard)
    }

    fn wait_started(&self, log: &Path) -> Result<(), TestbedError> {
        /// Forking a hundred processes on a busy machine takes far less.
        const TIME_MAX: Duration = Duration::from_secs(30);
        let started = Instant::now();
        loop {
            let state = lock(&self.state);
            if state.ready {
                return Ok(());
            }
            if state.guard_gone || started.elapsed() > TIME_MAX {
                let why = std::fs::read_to_string(log).unwrap_or_default();
                return Err(TestbedError::Guard(format!("it did not start the cluster: {}", why.trim())));
            }
            drop(state);
            std::thread::sleep(POLL);
        }
    }

    pub(crate) fn processes(&self) -> Vec<ProcessRef> {
        lock(&self.state).started.clone()
    }

    /// Subjects that have ended, and how.
    pub(crate) fn ended(&self) -> BTreeMap<Subject, String> {
        lock(&self.state).ended.clone()
    }

    pub(crate) fn id(&self) -> Option<ProcessId> {
        ProcessId::of(self.child.id())
    }

    /// Leaves the processes running under the guard alone.
    pub(crate) fn detach(&mut self) -> Result<(), TestbedError> {
        let Some(mut pipe) = self.stdin.take() else { return Ok(()) };
        writeln!(pipe, "{WORD_DETACH}").map_err(|e| TestbedError::Guard(format!("cannot detach it: {e}")))
    }

    /// Ends all processes: asks the guard to, and does it itself if the guard is gone or stuck.
    pub(crate) fn stop(&mut self) {
        let Some(mut pipe) = self.stdin.take() else { return };
        // A guard that is gone cannot be reached; its brokers died with it.
        let _ = writeln!(pipe, "{WORD_STOP}");
        drop(pipe);
        let deadline = Instant::now() + self.grace * 2 + END_MARGIN;
        while matches!(self.child.try_wait(), Ok(None)) {
            if Instant::now() > deadline {
                // Its death is the brokers' as well.
                let _ = self.child.kill();
                let _ = self.child.wait();
                break;
            }
            std::thread::sleep(POLL);
        }
        kill_all(&lock(&self.state));
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.stop();
    }
}

fn lock(state: &Mutex<GuardState>) -> MutexGuard<'_, GuardState> {
    // The state is plain data; a panic elsewhere leaves it usable.
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Follows the guard's reports until its output closes, that is: until it has ended or nothing is left of it.
fn listen(reports: impl BufRead, state: &Mutex<GuardState>) {
    for line in reports.lines() {
        let Ok(line) = line else { break };
        let Ok(report) = serde_json::from_str::<GuardReport>(&line) else { continue };
        let mut state = lock(state);
        match report {
            GuardReport::Started { subject, pid } => {
                let handle = i32::try_from(pid).ok().and_then(Pid::from_raw);
                let handle =
                    handle.and_then(|pid| rustix::process::pidfd_open(pid, PidfdFlags::empty()).ok());
                state.handles.extend(handle);
                state.started.push(ProcessRef::new(subject, pid));
            }
            GuardReport::Failed { subject, why } => {
                state.ended.insert(subject, format!("could not be started: {why}"));
            }
            GuardReport::Ended { subject, status } => {
                state.ended.insert(subject, status);
            }
            GuardReport::Ready => state.ready = true,
        }
    }
    let mut state = lock(state);
    kill_all(&state);
    state.guard_gone = true;
    for ProcessRef { subject, .. } in state.started.clone() {
        state.ended.entry(subject).or_insert_with(|| "the guard ended, and it with it".to_string());
    }
}

/// Harmless for those that have ended: the handle then names nothing.
fn kill_all(state: &GuardState) {
    for handle in &state.handles {
        let _ = rustix::process::pidfd_send_signal(handle, Signal::KILL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_variables_are_not_inherited() {
        let temp = tempfile::tempdir().expect("temp");
        let spec = GuardSpec {
            exe: "/bin/sh".into(),
            exe_arguments: vec!["-c".to_string(), "env >&2; read line".to_string()],
            processes: Vec::new(),
            remove: Vec::new(),
            grace_ms: 0,
            stop_file: None,
        };
        // Both are set for every test that is run as Cargo runs it.
        let hidden = ["CARGO_MANIFEST_DIR".to_string()];
        let Err(error) = Guard::start(&spec, &hidden, &temp.path().join("log")) else {
            panic!("a shell is no guard")
        };
        let inherited = error.to_string();
        assert!(inherited.contains("PATH="), "{inherited}");
        assert!(!inherited.contains("CARGO_MANIFEST_DIR="), "{inherited}");
    }
}
