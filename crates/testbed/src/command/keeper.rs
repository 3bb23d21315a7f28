//! The keeper's side: starts the command, waits for its end or for the word to end it, leaves nothing of it.

use super::{CommandExit, CommandSpec, KeeperReport, MARK, MadeToEnd, monotonic_ns};
use crate::error::TestbedError;
use crate::guard::command_with_variables;
use crate::process::of_pid;
use crate::variables;
use kdyno_model::plan::StopSignal;
use procfs::process::all_processes;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, OwnedFd};
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions};
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::Child;

/// A spec holds a command line.
const SPEC_BYTES_MAX: u64 = 4 << 20;
/// How often those of its processes that have ended and lost their parent are collected, ns.
const COLLECT_NS: u64 = 1_000_000_000;
/// How often it is looked for those that are left once the command has ended, ns.
const LOOK_NS: u64 = 5_000_000;
/// How long all that is left is looked for: only a process stuck in the kernel outlives SIGKILL for long.
const LEAVE_NS: u64 = 10_000_000_000;
const NS_PER_MS: u64 = 1_000_000;

/// Keeps one command: reads what to run from the socket that is standard input, and returns when nothing of it is left. To be
/// called from the program's main thread, which the death signal of the command is tied to.
///
/// # Errors
/// There is no spec to be read. What becomes of the command is reported through the socket, not returned.
pub fn main() -> Result<(), TestbedError> {
    let failed = |what: &str, error: &dyn std::fmt::Display| TestbedError::Guard(format!("{what}: {error}"));
    // A session of its own: Ctrl-C in kdyno's terminal does not reach the command, which kdyno ends in its own time.
    let _ = rustix::process::setsid();
    let stdin = std::io::stdin().as_fd().try_clone_to_owned().map_err(|e| failed("no socket", &e))?;
    let socket = UnixStream::from(stdin);
    let variables = variables::receive(&socket).map_err(|e| failed("no variables", &e))?;
    let spec = read_spec(&socket)?;
    // Without it what loses its parent is found by its mark alone.
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    // Before the step that becomes the program: `start` comes back when that is done, and a short program is over by then.
    let started_ns = monotonic_ns();
    let child = match start(&spec, variables) {
        Ok(child) => child,
        Err(why) => {
            tell(&socket, &KeeperReport::Failed { why });
            return Ok(());
        }
    };
    tell(&socket, &KeeperReport::Started { keeper: std::process::id(), pid: child.id(), at_ns: started_ns });
    let ended = keep(&spec, child, started_ns, &socket);
    tell(&socket, &KeeperReport::Ended(ended));
    Ok(())
}

fn read_spec(socket: &UnixStream) -> Result<CommandSpec, TestbedError> {
    let mut line = String::new();
    BufReader::new(socket)
        .take(SPEC_BYTES_MAX)
        .read_line(&mut line)
        .map_err(|e| TestbedError::Guard(format!("no spec: {e}")))?;
    serde_json::from_str(&line).map_err(|e| {
        TestbedError::Guard(format!("not a spec (only kdyno starts the keeper of a command): {e}"))
    })
}

fn start(spec: &CommandSpec, variables: OwnedFd) -> Result<Child, String> {
    let command = command_with_variables(&spec.exe, spec.command_line.clone(), variables);
    let mut command = command.map_err(|e| e.to_string())?;
    // Its output goes where the keeper's would: to the pipes that kdyno reads.
    command.env(MARK, &spec.mark).process_group(0).spawn().map_err(|e| format!("cannot be started: {e}"))
}

/// Reports to kdyno; where that has gone, the socket's end says so soon enough.
fn tell(mut socket: &UnixStream, report: &KeeperReport) {
    let _ = serde_json::to_string(report).map(|text| writeln!(socket, "{text}"));
}

/// Until the command and all that it started have ended.
fn keep(spec: &CommandSpec, mut child: Child, started_ns: u64, socket: &UnixStream) -> CommandExit {
    let leader = pid_of(child.id());
    let handle = leader.and_then(|pid| rustix::process::pidfd_open(pid, PidfdFlags::empty()).ok());
    let timeout_ns = started_ns.saturating_add(spec.timeout_ns);
    let mut made = None;
    let mut kill_ns = u64::MAX;
    loop {
        let deadline_ns = if made.is_some() { kill_ns } else { timeout_ns };
        let is_reported = wait(handle.as_ref(), socket, made.is_none(), deadline_ns);
        match child.try_wait() {
            Ok(None) => {}
            ended => {
                let at_ns = monotonic_ns();
                let status = ended.ok().flatten();
                let left = leave_nothing();
                return CommandExit {
                    at_ns,
                    code: status.and_then(|status| status.code()),
                    signal: status.and_then(|status| status.signal()),
                    made,
                    is_killed: made.is_some() && kill_ns == u64::MAX,
                    cpu_s: cpu_s(),
                    left,
                };
            }
        }
        collect(leader);
        let now_ns = monotonic_ns();
        if made.is_none() && (is_reported || now_ns >= timeout_ns) {
            made = Some(if is_reported { MadeToEnd::Stopped } else { MadeToEnd::Timeout });
            kill_ns = now_ns.saturating_add(spec.grace_ms * NS_PER_MS);
            // It fails only if all of the group has just ended.
            leader.map(|pid| rustix::process::kill_process_group(pid, signal_of(spec.signal)));
        } else if now_ns >= kill_ns {
            kill_ns = u64::MAX;
            leader.map(|pid| rustix::process::kill_process_group(pid, Signal::KILL));
        }
    }
}

/// Waits for the command's end, for the socket to say or be anything, or for the instant; whether it was the socket.
fn wait(handle: Option<&OwnedFd>, socket: &UnixStream, listens: bool, until_ns: u64) -> bool {
    // Without a handle its end is looked for.
    let most_ns = if handle.is_some() { COLLECT_NS } else { LOOK_NS };
    let wait_ns = until_ns.saturating_sub(monotonic_ns()).min(most_ns);
    let timeout = Timespec {
        tv_sec: (wait_ns / 1_000_000_000).cast_signed(),
        tv_nsec: (wait_ns % 1_000_000_000).cast_signed(),
    };
    let mut polled = Vec::new();
    if listens {
        polled.push(PollFd::new(socket, PollFlags::IN));
    }
    polled.extend(handle.map(|handle| PollFd::new(handle, PollFlags::IN)));
    // Interrupted or not: what is due is looked at after it.
    let _ = poll(&mut polled, Some(&timeout));
    listens && polled.first().is_some_and(|socket| !socket.revents().is_empty())
}

/// Reaps processes that have ended and have no other parent left, the command itself aside: its end is reported. A
/// kernel that does not list a process's children leaves this to the end.
fn collect(leader: Option<Pid>) {
    let children = std::fs::read_to_string(format!("/proc/self/task/{}/children", std::process::id()));
    let children = children.unwrap_or_default();
    let children = children.split_whitespace().filter_map(|pid| pid.parse().ok()).filter_map(pid_of);
    for child in children.filter(|child| Some(*child) != leader) {
        let _ = rustix::process::waitpid(Some(child), WaitOptions::NOHANG);
    }
}

/// Ends all processes below this one; how many they were.
pub(super) fn leave_nothing() -> u32 {
    let until_ns = monotonic_ns() + LEAVE_NS;
    let mut seen = BTreeSet::new();
    loop {
        while let Ok(Some(_)) = rustix::process::wait(WaitOptions::NOHANG) {}
        let below = below();
        if below.is_empty() || monotonic_ns() > until_ns {
            return u32::try_from(seen.len()).unwrap_or(u32::MAX);
        }
        for pid in below {
            seen.insert(pid);
            pid_of(pid).map(|pid| rustix::process::kill_process(pid, Signal::KILL));
        }
        std::thread::sleep(std::time::Duration::from_nanos(LOOK_NS));
    }
}

/// The processes below this one that run: its children, as the subreaper of all, and theirs.
fn below() -> Vec<u32> {
    let Ok(all) = all_processes() else { return Vec::new() };
    let alive =
        all.filter_map(|process| process.ok()?.stat().ok()).filter(|stat| !matches!(stat.state, 'Z' | 'X'));
    let all: Vec<(u32, u32)> =
        alive.map(|stat| (stat.pid.cast_unsigned(), stat.ppid.cast_unsigned())).collect();
    let mut found: BTreeSet<u32> = BTreeSet::from([std::process::id()]);
    loop {
        let before = found.len();
        found.extend(
            all.iter().filter(|(_, parent)| found.contains(parent)).map(|(pid, _)| *pid).collect::<Vec<_>>(),
        );
        if found.len() == before {
            break;
        }
    }
    found.remove(&std::process::id());
    found.into_iter().collect()
}

/// CPU time of all processes below this one that it has taken leave of, s.
fn cpu_s() -> f64 {
    let stat = of_pid(std::process::id()).and_then(|process| process.stat().ok());
    let ticks = stat.map_or(0, |stat| stat.cutime.saturating_add(stat.cstime)).max(0);
    ticks as f64 / procfs::ticks_per_second() as f64
}

fn signal_of(signal: StopSignal) -> Signal {
    match signal {
        StopSignal::Term => Signal::TERM,
        StopSignal::Int => Signal::INT,
        StopSignal::Quit => Signal::QUIT,
    }
}

fn pid_of(pid: u32) -> Option<Pid> {
    i32::try_from(pid).ok().and_then(Pid::from_raw)
}
