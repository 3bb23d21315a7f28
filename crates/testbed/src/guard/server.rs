//! The guard's own side: start, watch, end.

use super::exec::ExecSpec;
use super::{EXEC_COMMAND, GuardReport, GuardSpec, ProcessSpec, WORD_DETACH, WORD_STOP};
use crate::cpu_limit::CpuGroup;
use crate::error::TestbedError;
use crate::leftovers;
use kdyno_model::event::Subject;
use rustix::process::{Pid, Signal};
use std::fs::File;
use std::io::{BufRead, Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// A spec of 100 processes with long class paths is a few MiB at most.
const SPEC_BYTES_MAX: u64 = 16 << 20;
/// How often ended processes are looked for, and how late an end is reported.
const WATCH: Duration = Duration::from_millis(100);
/// The interval while waiting for processes to end.
const WATCH_END: Duration = Duration::from_millis(10);

/// What comes in on standard input.
enum GuardInput {
    Stop,
    Detach,
    /// kdyno closed its end: it has ended or dropped the cluster.
    Closed,
}

struct GuardedProcess {
    subject: Subject,
    end_order: u8,
    child: Child,
    /// Goes with the process.
    _group: Option<CpuGroup>,
}

/// Runs the guard: reads its spec from standard input, starts the processes, and returns when all have ended.
/// To be called from the program's main thread and to be the last thing it does.
///
/// # Errors
/// The spec cannot be read. What happens to a process is reported to kdyno, not returned.
pub fn main() -> Result<(), TestbedError> {
    close_inherited();
    // A session of its own: Ctrl-C in kdyno's terminal and the terminal's end do not reach the brokers. Fails
    // only where it already leads one.
    let _ = rustix::process::setsid();
    let spec = read_spec()?;
    let words = listen();
    let mut running = start_all(&spec);
    watch(&spec, &words, &mut running);
    end_all(&mut running, Duration::from_millis(spec.grace_ms));
    for folder in &spec.remove {
        // kdyno removes again what is left, and says so; there may be no one to hear it from the guard.
        let _ = std::fs::remove_dir_all(folder);
    }
    Ok(())
}

/// Closes all descriptors above 2: those of the caller of kdyno (the lock of a shell, the end of a pipe) would stay
/// open for as long as the cluster runs. Nothing of this process's own is open yet.
fn close_inherited() {
    let open = std::fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let numbers = open.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    // The list's own descriptor is among them, and closed by the time the list is there.
    for number in numbers.filter(|number| *number > 2).collect::<Vec<_>>() {
        let _ = nix::unistd::close(number);
    }
}

fn read_spec() -> Result<GuardSpec, TestbedError> {
    let mut line = String::new();
    let stdin = std::io::stdin();
    stdin
        .lock()
        .take(SPEC_BYTES_MAX)
        .read_line(&mut line)
        .map_err(|e| TestbedError::Guard(format!("no spec: {e}")))?;
    serde_json::from_str(&line)
        .map_err(|e| TestbedError::Guard(format!("not a spec (only kdyno starts the guard): {e}")))
}

/// Reads words in a thread of its own: the main thread must stay free to watch, and alive (it is the brokers'
/// parent thread).
fn listen() -> Receiver<GuardInput> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines() {
            let word = match line.as_deref() {
                Ok(WORD_STOP) => GuardInput::Stop,
                Ok(WORD_DETACH) => GuardInput::Detach,
                _ => break,
            };
            if sender.send(word).is_err() {
                return;
            }
        }
        // The receiver is gone only when the guard is at its end.
        let _ = sender.send(GuardInput::Closed);
    });
    receiver
}

fn start_all(spec: &GuardSpec) -> Vec<GuardedProcess> {
    spec.remove.iter().for_each(|folder| leftovers::claim(folder));
    let mut running = Vec::new();
    for process in &spec.processes {
        match start(spec, process) {
            Ok((child, group)) => {
                tell(&GuardReport::Started { subject: process.subject.clone(), pid: child.id() });
                running.push(GuardedProcess {
                    subject: process.subject.clone(),
                    end_order: process.end_order,
                    child,
                    _group: group,
                });
            }
            Err(why) => tell(&GuardReport::Failed { subject: process.subject.clone(), why: why.to_string() }),
        }
    }
    tell(&GuardReport::Ready);
    running
}

fn start(spec: &GuardSpec, process: &ProcessSpec) -> std::io::Result<(Child, Option<CpuGroup>)> {
    let group = process.cpu_limit.map(|limit| CpuGroup::make(&process.subject, limit));
    let group = group.transpose().map_err(std::io::Error::other)?;
    let exec = ExecSpec {
        guard_pid: std::process::id(),
        cpus: process.cpus.clone(),
        group: group.as_ref().map(CpuGroup::members),
        has_variables: false,
        command_line: process.command_line.clone(),
    };
    let console = File::options().create(true).append(true).open(&process.console)?;
    let mut command = Command::new(&spec.exe);
    command.args(&spec.exe_arguments).arg(EXEC_COMMAND).arg(serde_json::to_string(&exec)?);
    for variable in &process.unset_variables {
        command.env_remove(variable);
    }
    let child = command
        .current_dir(&process.folder)
        .stdin(Stdio::null())
        .stdout(console.try_clone()?)
        .stderr(console)
        .spawn()?;
    Ok((child, group))
}

/// Reports to kdyno; when kdyno has gone, the end of standard input says so soon enough.
fn tell(report: &GuardReport) {
    let mut out = std::io::stdout().lock();
    let _ = serde_json::to_string(report).map(|text| writeln!(out, "{text}").and_then(|()| out.flush()));
}

/// Returns when the cluster is to end.
fn watch(spec: &GuardSpec, words: &Receiver<GuardInput>, running: &mut Vec<GuardedProcess>) {
    let mut detached = false;
    let mut listening = true;
    loop {
        if listening {
            match words.recv_timeout(WATCH) {
                Ok(GuardInput::Stop) => return,
                Ok(GuardInput::Detach) => detached = true,
                Ok(GuardInput::Closed) | Err(RecvTimeoutError::Disconnected) => {
                    if !detached {
                        return;
                    }
                    listening = false;
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        } else {
            std::thread::sleep(WATCH);
        }
        reap(running);
        let asked = spec.stop_file.as_ref().is_some_and(|file| file.exists());
        if asked || (detached && running.is_empty()) {
            return;
        }
    }
}

/// Takes out and reports what has ended.
fn reap(running: &mut Vec<GuardedProcess>) {
    running.retain_mut(|process| match process.child.try_wait() {
        Ok(None) => true,
        Ok(Some(status)) => {
            tell(&GuardReport::Ended { subject: process.subject.clone(), status: status.to_string() });
            false
        }
        Err(error) => {
            tell(&GuardReport::Ended { subject: process.subject.clone(), status: error.to_string() });
            false
        }
    });
}

/// SIGTERM, a short grace, SIGKILL; brokers first, then what they depend on.
fn end_all(running: &mut Vec<GuardedProcess>, grace: Duration) {
    for order in 0..=1 {
        signal(running, order, Signal::TERM);
        wait_for(running, order, grace);
        signal(running, order, Signal::KILL);
        // Only a process stuck in the kernel outlives SIGKILL for long.
        wait_for(running, order, Duration::from_secs(10));
    }
}

/// The children are not reaped yet, so their numbers are still theirs.
fn signal(running: &[GuardedProcess], order: u8, signal: Signal) {
    for process in running.iter().filter(|process| process.end_order <= order) {
        if let Some(pid) = i32::try_from(process.child.id()).ok().and_then(Pid::from_raw) {
            // It fails only if the process has just ended.
            let _ = rustix::process::kill_process(pid, signal);
        }
    }
}

fn wait_for(running: &mut Vec<GuardedProcess>, order: u8, time_max: Duration) {
    let started = Instant::now();
    loop {
        reap(running);
        if !running.iter().any(|process| process.end_order <= order) || started.elapsed() >= time_max {
            return;
        }
        std::thread::sleep(WATCH_END);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu_limit;

    /// The step before the JVM cannot be run: its group was made before that.
    #[test]
    fn a_process_that_cannot_be_started_leaves_no_control_group() {
        let folder = tempfile::tempdir().expect("a folder");
        let spec = GuardSpec {
            exe: folder.path().join("nothing"),
            exe_arguments: Vec::new(),
            processes: Vec::new(),
            remove: Vec::new(),
            grace_ms: 0,
            stop_file: None,
        };
        let mut process = ProcessSpec {
            subject: Subject::Broker(7707),
            command_line: vec!["true".to_owned()],
            unset_variables: Vec::new(),
            folder: folder.path().to_owned(),
            console: folder.path().join("console"),
            cpus: Vec::new(),
            cpu_limit: None,
            end_order: 0,
        };
        let error = |process: &ProcessSpec| start(&spec, process).expect_err("there is no such program");
        assert_eq!(error(&process).kind(), std::io::ErrorKind::NotFound);
        process.cpu_limit = Some(0.5);
        let said = error(&process);
        match cpu_limit::check(0.5) {
            Ok(()) => assert_eq!(said.kind(), std::io::ErrorKind::NotFound, "{said}"),
            Err(_) => assert_ne!(said.kind(), std::io::ErrorKind::NotFound, "refused before: {said}"),
        }
        assert_eq!(cpu_limit::groups_of(&process.subject), Vec::<std::path::PathBuf>::new());
    }
}
