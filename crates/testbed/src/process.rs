//! Names a process so that its number cannot be mistaken for a later process's.

use kdyno_model::event::Subject;
use procfs::process::{Process, Stat};
use serde::{Deserialize, Serialize};

/// A process of the system under test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessRef {
    /// What it is.
    pub subject: Subject,
    /// Its number.
    pub pid: u32,
    /// Whether all processes below it are meant, and not itself: it is the keeper of a component.
    #[serde(default)]
    pub is_keeper: bool,
}

impl ProcessRef {
    /// A process by itself.
    #[must_use]
    pub fn new(subject: Subject, pid: u32) -> Self {
        Self { subject, pid, is_keeper: false }
    }
}

/// A process by number and start time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessId {
    /// Its number, which the system gives to another process when this one has ended.
    pub pid: u32,
    /// When it started, in clock ticks since the host did.
    pub start_ticks: u64,
}

impl ProcessId {
    /// The process that has this number now; `None` when there is none.
    #[must_use]
    pub fn of(pid: u32) -> Option<Self> {
        stat(pid).map(|stat| Self { pid, start_ticks: stat.starttime })
    }

    /// This very process, which is surely there.
    #[must_use]
    pub fn current() -> Self {
        let pid = std::process::id();
        Self::of(pid).unwrap_or(Self { pid, start_ticks: 0 })
    }

    /// Whether it still runs (a zombie does not).
    #[must_use]
    pub fn is_alive(&self) -> bool {
        stat(self.pid)
            .is_some_and(|stat| stat.starttime == self.start_ticks && !matches!(stat.state, 'Z' | 'X'))
    }
}

/// Whether this process ignores a signal, as one does that `nohup` has started. Where the system does not say: it does not.
#[must_use]
pub fn ignores(signal: i32) -> bool {
    let status = Process::myself().and_then(|process| process.status());
    let bit = u32::try_from(signal - 1).ok().and_then(|place| 1_u64.checked_shl(place));
    status.is_ok_and(|status| bit.is_some_and(|bit| status.sigign & bit != 0))
}

/// User and system time of a process so far, seconds; those of a child that ended are final until it is collected.
/// `None` when there is no such process.
#[must_use]
pub fn cpu_seconds(pid: u32) -> Option<(f64, f64)> {
    stat(pid).map(|stat| seconds(&stat))
}

/// User and system time in the line of a process or a thread, seconds.
pub(crate) fn seconds(stat: &Stat) -> (f64, f64) {
    let ticks_per_s = procfs::ticks_per_second() as f64;
    (stat.utime as f64 / ticks_per_s, stat.stime as f64 / ticks_per_s)
}

/// A process's folder in `/proc`; `None` when it is gone.
pub(crate) fn of_pid(pid: u32) -> Option<Process> {
    Process::new(i32::try_from(pid).ok()?).ok()
}

fn stat(pid: u32) -> Option<Stat> {
    of_pid(pid)?.stat().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn this_process_is_alive_and_an_ended_one_is_not() {
        assert!(ProcessId::current().is_alive());
        let mut child = Command::new("sleep").arg("60").spawn().expect("sleep");
        let id = ProcessId::of(child.id()).expect("running");
        assert!(id.is_alive());
        assert!(
            !ProcessId { start_ticks: id.start_ticks + 1, ..id }.is_alive(),
            "another start time is another process"
        );
        assert!(cpu_seconds(child.id()).is_some_and(|(user, system)| user + system < 60.0));
        child.kill().expect("kill");
        child.wait().expect("wait");
        assert!(!id.is_alive());
        assert_eq!(cpu_seconds(child.id()), None);
    }
}
