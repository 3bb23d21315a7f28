//! Names a process so that its number cannot be mistaken for a later process's.

use serde::{Deserialize, Serialize};

/// A process of the system under test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessRef {
    /// `broker-0`, `controller-3000`, `zookeeper-0`, `worker-0`, `kdyno`.
    pub subject: String,
    /// Its number.
    pub pid: u32,
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
        stat_field(pid, START_TICKS).map(|start_ticks| Self { pid, start_ticks })
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
        Self::of(self.pid) == Some(*self) && !matches!(state(self.pid), None | Some('Z' | 'X'))
    }
}

/// Fields of `/proc/PID/stat` after the program's name, counted from 0 (proc(5) counts from 1, name included:
/// start time is its 22nd).
const START_TICKS: usize = 19;

/// The stat line after the name in parentheses, which may itself hold spaces and parentheses.
fn stat(pid: u32) -> Option<String> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    text.rsplit_once(')').map(|(_, rest)| rest.trim_start().to_string())
}

fn stat_field(pid: u32, index: usize) -> Option<u64> {
    stat(pid)?.split_ascii_whitespace().nth(index)?.parse().ok()
}

fn state(pid: u32) -> Option<char> {
    stat(pid)?.chars().next()
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
        child.kill().expect("kill");
        child.wait().expect("wait");
        assert!(!id.is_alive());
    }
}
