//! Child processes of a benchmark: what they cost, and that none is left behind.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use anyhow::{Context, bail};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use procfs::process::{Process, Stat};

use super::interrupted;

/// One finished process.
pub struct Finished {
    /// Start to end.
    pub wall_s: f64,
    /// User plus system of the whole process and of children it waited for.
    pub cpu_s: f64,
    /// All it printed.
    pub stdout: String,
}

/// Runs a process to its end and counts its CPU. No other child may be waited for meanwhile. A signal ends it.
///
/// # Errors
/// When it cannot be started or fails, and once a signal has come.
pub fn measured(command: &mut Command) -> anyhow::Result<Finished> {
    measured_or(command, &[])
}

/// Also where it ends with one of these codes.
///
/// # Errors
/// As [`measured`].
pub fn measured_or(command: &mut Command, fine: &[i32]) -> anyhow::Result<Finished> {
    interrupted::check()?;
    let name = words(command);
    let cpu_before = children_cpu_s()?;
    let begin = Instant::now();
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().with_context(|| format!("cannot start {name}"))?;
    let output = interrupted::wait(child)?;
    interrupted::check()?;
    let wall_s = begin.elapsed().as_secs_f64();
    let cpu_s = children_cpu_s()? - cpu_before;
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    if !output.status.success() && !output.status.code().is_some_and(|code| fine.contains(&code)) {
        bail!("{name}: {}\n{}", output.status, tail(&format!("{stdout}{stderr}")));
    }
    Ok(Finished { wall_s, cpu_s, stdout })
}

/// User plus system of all children waited for so far.
fn children_cpu_s() -> anyhow::Result<f64> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let seconds = |time: nix::sys::time::TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
    Ok(seconds(usage.user_time()) + seconds(usage.system_time()))
}

/// The most memory that a child waited for so far, or one that it waited for, had resident.
///
/// # Errors
/// Where the system refuses it.
pub fn children_rss_max_bytes() -> anyhow::Result<f64> {
    Ok(getrusage(UsageWho::RUSAGE_CHILDREN)?.max_rss() as f64 * 1024.0)
}

/// The last lines of a long complaint.
pub fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(15)..].join("\n")
}

/// A command as one would type it.
pub fn words(command: &Command) -> String {
    let mut text = command.get_program().to_string_lossy().into_owned();
    for argument in command.get_args() {
        let argument = argument.to_string_lossy();
        let plain = !argument.is_empty() && !argument.contains([' ', '*', '\'', '"', '$']);
        text.push(' ');
        text.push_str(&if plain { argument.into_owned() } else { format!("'{argument}'") });
    }
    text
}

/// A child process that ends with this value.
pub struct Owned(pub Child);

impl Drop for Owned {
    fn drop(&mut self) {
        // `unshare --kill-child` does not end a child of another user: the change of user drops the signal.
        for child in children_of(self.0.id()).into_iter().filter_map(|pid| i32::try_from(pid).ok()) {
            let _ = kill(Pid::from_raw(child), Signal::SIGKILL);
        }
        // All of these fail only when it has ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A server that runs next to the measured process and ends with this value.
pub struct Background {
    _child: Owned,
    /// The first line it printed: its address.
    pub first_line: String,
    /// All lines that were waited for.
    pub said: String,
}

impl Background {
    /// Starts it and waits for its first line.
    pub fn start(command: &mut Command) -> anyhow::Result<Background> {
        Background::start_until(command, |_| true)
    }

    /// Starts it and waits for the first line that is the last one wanted.
    pub fn start_until(command: &mut Command, is_last: fn(&str) -> bool) -> anyhow::Result<Background> {
        let name = words(command);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = Owned(command.spawn().with_context(|| format!("cannot start {name}"))?);
        // What comes after these lines is not read.
        let mut lines = BufReader::new(child.0.stdout.as_mut().context("a server without output")?);
        let (mut said, mut begin) = (String::new(), 0);
        while lines.read_line(&mut said)? > 0 && !is_last(&said[begin..]) {
            begin = said.len();
        }
        let first_line = said.lines().next().unwrap_or_default().trim().to_owned();
        let server = Background { _child: child, first_line, said };
        if server.first_line.is_empty() {
            bail!("{name} ended without saying its address");
        }
        Ok(server)
    }
}

/// User plus system of a running process so far, in seconds (the kernel counts in ticks of 10 ms).
pub fn cpu_so_far_s(pid: u32) -> anyhow::Result<f64> {
    Ok(cpu_s(&Process::new(i32::try_from(pid)?)?.stat()?))
}

/// User plus system in what the kernel counts of a process or a thread.
pub fn cpu_s(stat: &Stat) -> f64 {
    (stat.utime + stat.stime) as f64 / procfs::ticks_per_second() as f64
}

/// The direct children of a process.
pub fn children_of(pid: u32) -> Vec<u32> {
    let all = procfs::process::all_processes().into_iter().flatten().flatten();
    let children = all.filter(|process| process.stat().is_ok_and(|stat| u32::try_from(stat.ppid) == Ok(pid)));
    children.filter_map(|process| u32::try_from(process.pid()).ok()).collect()
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
    fn a_server_ends_with_the_child_that_it_runs_for() {
        let _alone = alone();
        let launcher = "sleep 300 & echo $!; wait";
        let server = Background::start(Command::new("sh").args(["-c", launcher])).expect("sh runs");
        let child: i32 = server.first_line.parse().expect("a process id");
        let is_there = || Process::new(child).and_then(|one| one.stat()).is_ok_and(|stat| stat.state != 'Z');
        assert!(is_there());
        drop(server);
        // A process that was killed is not waited for here.
        let until = Instant::now() + std::time::Duration::from_secs(60);
        while is_there() {
            assert!(Instant::now() < until, "process {child} outlived its launcher");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }

    #[test]
    fn this_process_has_a_parent_and_cpu() {
        let me = std::process::id();
        assert!(cpu_so_far_s(me).is_ok());
        assert!(children_of(std::os::unix::process::parent_id()).contains(&me));
    }
}
