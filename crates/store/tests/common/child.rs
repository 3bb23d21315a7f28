//! Tests that kill: a copy of the test program plays the writer.

#![allow(dead_code, reason = "each test program uses a part of it")]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Says to a copy of this test program which part of a child to play, and where.
pub const CHILD: &str = "KDYNO_STORE_TEST_CHILD";

/// Generous: the machine may be busy with other builds.
pub const DEADLINE: Duration = Duration::from_secs(60);

/// A copy of this test program that runs only `part`.
pub fn child(part: &str, folder: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", part, "--nocapture"]).env(CHILD, folder).stdout(Stdio::null());
    command
}

/// The folder given by [`child`]; `None` when this is the test program itself.
pub fn folder_of_child() -> Option<PathBuf> {
    std::env::var_os(CHILD).map(PathBuf::from)
}

/// Ends the child whatever happens to the test.
pub struct Killed(pub Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let until = Instant::now() + DEADLINE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < until, "{what} did not happen");
        std::thread::sleep(Duration::from_millis(20));
    }
}
