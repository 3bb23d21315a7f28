//! Child processes of a benchmark: what they cost.

use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, bail};
use nix::sys::resource::{UsageWho, getrusage};
use procfs::process::Process;
use serde_json::Value;

use super::interrupted::{self, Interruptible};
pub use crate::background::{Background, tail, words};

/// One finished process.
pub struct Finished {
    /// Start to end.
    pub wall_s: f64,
    /// User plus system of the whole process and of children it waited for.
    pub cpu_s: f64,
    /// All it printed.
    pub stdout: String,
}

/// Exit code of a run with an invalid figure, as latencies are on a busy machine. It prints all the same.
const INVALID: i32 = 6;

/// Runs a process to its end and counts its CPU. No other child may be waited for meanwhile. A signal ends it.
///
/// # Errors
/// When it cannot be started or fails, and once a signal has come.
pub fn measured(command: &mut Command) -> anyhow::Result<Finished> {
    ended(command, &[0])
}

/// What a run of kdyno prints as JSON.
pub fn document(command: &mut Command) -> anyhow::Result<Value> {
    command.args(["--share", "--yes", "--json", "--no-progress"]);
    let printed = ended(command, &[0, INVALID])?.stdout;
    serde_json::from_str(&printed).with_context(|| format!("{} printed no JSON", words(command)))
}

fn ended(command: &mut Command, codes: &[i32]) -> anyhow::Result<Finished> {
    interrupted::check()?;
    let name = words(command);
    let cpu_before = cpu_s(UsageWho::RUSAGE_CHILDREN)?;
    let begin = Instant::now();
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().with_context(|| format!("cannot start {name}"))?;
    let interruptible = Interruptible::new(&child);
    let output = child.wait_with_output()?;
    drop(interruptible);
    interrupted::check()?;
    let wall_s = begin.elapsed().as_secs_f64();
    let cpu_s = cpu_s(UsageWho::RUSAGE_CHILDREN)? - cpu_before;
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    if !output.status.code().is_some_and(|code| codes.contains(&code)) {
        bail!("{name}: {}\n{}", output.status, tail(&format!("{stdout}{stderr}")));
    }
    Ok(Finished { wall_s, cpu_s, stdout })
}

/// User plus system of this process so far.
pub fn own_cpu_s() -> anyhow::Result<f64> {
    cpu_s(UsageWho::RUSAGE_SELF)
}

fn cpu_s(whose: UsageWho) -> anyhow::Result<f64> {
    let usage = getrusage(whose)?;
    let seconds = |time: nix::sys::time::TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
    Ok(seconds(usage.user_time()) + seconds(usage.system_time()))
}

/// User plus system of a running process so far, in seconds (the kernel counts in ticks of 10 ms).
pub fn cpu_so_far_s(pid: u32) -> anyhow::Result<f64> {
    let stat =
        running(pid).and_then(|process| process.stat().ok()).with_context(|| format!("process {pid}"))?;
    Ok((stat.utime + stat.stime) as f64 / procfs::ticks_per_second() as f64)
}

/// The direct children of a process.
pub fn children_of(pid: u32) -> Vec<u32> {
    let all = procfs::process::all_processes().into_iter().flatten().flatten();
    let pids = all.filter_map(|process| u32::try_from(process.pid()).ok());
    pids.filter(|child| parent_of(*child) == Some(pid)).collect()
}

fn parent_of(pid: u32) -> Option<u32> {
    u32::try_from(running(pid)?.stat().ok()?.ppid).ok()
}

fn running(pid: u32) -> Option<Process> {
    Process::new(i32::try_from(pid).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Mutex, MutexGuard, PoisonError};

    /// The kernel counts the children of the whole test program: one test with children at a time.
    static CHILDREN: Mutex<()> = Mutex::new(());

    fn alone() -> MutexGuard<'static, ()> {
        CHILDREN.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[test]
    fn a_child_that_works_costs_cpu_and_one_that_sleeps_does_not() {
        let _alone = alone();
        let busy =
            measured(Command::new("sh").args(["-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"]))
                .expect("sh runs");
        let idle = measured(Command::new("sleep").arg("0.2")).expect("sleep runs");
        assert!(idle.wall_s >= 0.2);
        assert!(busy.cpu_s > idle.cpu_s, "{} > {}", busy.cpu_s, idle.cpu_s);
    }

    #[test]
    fn a_failure_shows_what_the_process_said() {
        let _alone = alone();
        let error = measured(Command::new("sh").args(["-c", "echo no such broker >&2; exit 3"])).err();
        assert!(error.expect("it failed").to_string().contains("no such broker"));
    }

    #[test]
    fn this_process_has_a_parent_and_cpu() {
        let me = std::process::id();
        assert!(cpu_so_far_s(me).is_ok());
        let parent = parent_of(me).expect("a parent");
        assert!(children_of(parent).contains(&me));
    }
}
