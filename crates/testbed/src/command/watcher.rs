//! The process above a keeper: when the keeper is gone, however that came, nothing of its command is left.

use super::{KEEP_COMMAND, keeper};
use crate::error::TestbedError;
use std::fs::File;
use std::path::Path;
use std::process::Command;

/// Its name in lists of processes. The program's name would get it killed together with all processes of that name.
const NAME: &std::ffi::CStr = c"keeper-watcher";

/// Starts the keeper, who takes over standard input, output and error, and returns when it has ended and nothing is left of what
/// it started. To be called from the program's main thread. `exe` is this executable.
///
/// # Errors
/// The keeper cannot be started.
pub fn main(exe: &Path) -> Result<(), TestbedError> {
    let failed = |what: &str, error: std::io::Error| TestbedError::Guard(format!("{what}: {error}"));
    // Names are for people: one that stays is no failure.
    let _ = rustix::thread::set_name(NAME);
    // What loses its parent with the keeper becomes a child of this process.
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    let mut child = Command::new(exe).arg(KEEP_COMMAND).spawn();
    let nothing = File::options().read(true).write(true).open("/dev/null");
    let nothing = nothing.map_err(|e| failed("no /dev/null", e))?;
    // Who reads the command's output hears its end when the command has ended. Its input stays: kdyno's socket closes when
    // nothing of the command is left.
    let is_released = nix::unistd::dup2_stdout(&nothing).and_then(|()| nix::unistd::dup2_stderr(&nothing));
    is_released.map_err(|e| failed("its output cannot be released", e.into()))?;
    let ended = child.as_mut().map(|child| child.wait());
    keeper::leave_nothing();
    match ended {
        Ok(_) => Ok(()),
        Err(error) => Err(TestbedError::Guard(format!("the keeper of a command cannot be started: {error}"))),
    }
}
