//! The step between guard and JVM: ties this process's life to the guard's, pins it, and becomes the JVM.

use crate::error::TestbedError;
use crate::variables;
use rustix::process::Signal;
use serde::{Deserialize, Serialize};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The single argument of the hidden subcommand, as JSON.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ExecSpec {
    /// The guard that this process must not outlive.
    pub guard_pid: u32,
    pub cpus: Vec<u32>,
    /// File by which it joins its control group.
    pub group: Option<PathBuf>,
    /// Whether variables for it are on standard input, which is then not its own.
    pub has_variables: bool,
    pub command_line: Vec<String>,
}

/// A command that runs a program which must not outlive this process, however this one ends: `exe` becomes it by the
/// hidden subcommand that also becomes brokers.
///
/// # Errors
/// The command line cannot be encoded.
pub fn command_bound_to_us(exe: &Path, command_line: Vec<String>) -> Result<Command, TestbedError> {
    bound_to_us(exe, command_line, false)
}

/// Such a command with more variables in the program's environment, which that process alone reads. The program's standard
/// input is empty.
///
/// # Errors
/// The command line cannot be encoded.
pub(crate) fn command_with_variables(
    exe: &Path,
    command_line: Vec<String>,
    variables: OwnedFd,
) -> Result<Command, TestbedError> {
    let mut command = bound_to_us(exe, command_line, true)?;
    command.stdin(Stdio::from(variables));
    Ok(command)
}

fn bound_to_us(exe: &Path, command_line: Vec<String>, has_variables: bool) -> Result<Command, TestbedError> {
    let guard_pid = std::process::id();
    let spec = ExecSpec { guard_pid, cpus: Vec::new(), group: None, has_variables, command_line };
    let spec = serde_json::to_string(&spec).map_err(|e| TestbedError::Guard(e.to_string()))?;
    let mut command = Command::new(exe);
    command.args([super::EXEC_COMMAND, &spec]);
    Ok(command)
}

/// Becomes the process in `argument`; returns only if that failed.
///
/// # Errors
/// The argument is not of ours, the guard is gone, a processor does not exist, the program cannot be run.
pub fn exec_main(argument: &str) -> Result<(), TestbedError> {
    let failed = |what: String| TestbedError::Guard(what);
    let spec: ExecSpec =
        serde_json::from_str(argument).map_err(|e| failed(format!("not started by a guard: {e}")))?;
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|e| failed(format!("cannot ask for a death signal: {e}")))?;
    // Had the guard died before the line above, no signal would ever come; then the parent is another by now.
    let parent = rustix::process::getppid().map(|pid| pid.as_raw_nonzero().get());
    if parent != i32::try_from(spec.guard_pid).ok() {
        return Err(failed("it ended while a process was being started".to_string()));
    }
    pin(&spec.cpus)?;
    if let Some(group) = &spec.group {
        std::fs::write(group, std::process::id().to_string())
            .map_err(|e| failed(format!("cannot join the control group {}: {e}", group.display())))?;
    }
    let (program, arguments) =
        spec.command_line.split_first().ok_or_else(|| failed("nothing to run was named".to_string()))?;
    let mut command = Command::new(program);
    command.args(arguments);
    if spec.has_variables {
        // Not before the death signal is set: closed memory shows no mark to the process that ends what a lost keeper left.
        let variables = variables::read(std::io::stdin());
        let variables = variables.map_err(|e| failed(format!("its variables cannot be read: {e}")))?;
        command.envs(variables).stdin(Stdio::null());
    }
    let error = command.exec();
    Err(failed(format!("cannot run {program}: {error}")))
}

fn pin(cpus: &[u32]) -> Result<(), TestbedError> {
    if cpus.is_empty() {
        return Ok(());
    }
    let mut set = rustix::thread::CpuSet::new();
    for &cpu in cpus {
        let cpu = cpu as usize;
        if cpu >= rustix::thread::CpuSet::MAX_CPU {
            return Err(TestbedError::Guard(format!("there is no CPU {cpu}")));
        }
        set.set(cpu);
    }
    rustix::thread::sched_setaffinity(None, &set)
        .map_err(|e| TestbedError::Guard(format!("cannot pin to CPUs {cpus:?}: {e}")))
}
