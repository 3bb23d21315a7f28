//! Runs a foreign program to its end, or to the end of its time.

use std::io;
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

/// How often the running program is looked at.
const POLL: Duration = Duration::from_millis(50);

/// Runs the command; `None` when it took longer than `time_max` and was ended.
///
/// # Errors
/// It cannot be started or waited for.
pub fn run(mut command: Command, time_max: Duration) -> io::Result<Option<ExitStatus>> {
    let mut child = command.spawn()?;
    let started = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if started.elapsed() > time_max {
            // Both fail only if it has ended meanwhile.
            let _ = child.kill();
            let _ = child.wait();
            return Ok(None);
        }
        std::thread::sleep(POLL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_takes_too_long_is_ended() {
        let mut command = Command::new("sleep");
        command.arg("60");
        let started = Instant::now();
        assert_eq!(run(command, Duration::from_millis(60)).expect("it starts"), None);
        assert!(started.elapsed() < Duration::from_secs(30));
        let status = run(Command::new("false"), Duration::from_secs(30)).expect("it starts");
        assert_eq!(status.and_then(|status| status.code()), Some(1));
        assert!(run(Command::new("/no/such/program"), Duration::from_secs(1)).is_err());
    }
}
