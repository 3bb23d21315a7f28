//! `cargo xtask test`: `cargo test` for the whole workspace with one summary as its last line.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use anyhow::Context;

/// What the `test result:` lines of one or many test binaries add up to.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Tally {
    /// Tests that passed.
    pub passed: u64,
    /// Tests that failed.
    pub failed: u64,
}

impl Tally {
    /// Adds a line of `cargo test` output if it is a result line.
    pub fn add(&mut self, line: &str) {
        let Some(result) = line.trim_start().strip_prefix("test result: ") else { return };
        for part in result.split(['.', ';']) {
            match part.trim().split_once(' ') {
                Some((count, "passed")) => self.passed += count.parse::<u64>().unwrap_or(0),
                Some((count, "failed")) => self.failed += count.parse::<u64>().unwrap_or(0),
                _ => {}
            }
        }
    }

    /// The last line: counts, and that Cargo stopped early when the counts alone would look green.
    pub fn line(&self, exit_code: i32) -> String {
        let counts = format!("{} passed, {} failed", self.passed, self.failed);
        if exit_code != 0 && self.failed == 0 {
            return format!("{counts} (cargo test ended with {exit_code}: not every test could run)");
        }
        counts
    }
}

/// Runs the tests, passes their output through, prints the tally, returns Cargo's exit code.
pub fn run(arguments: &[String]) -> anyhow::Result<i32> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let mut child = Command::new(cargo)
        .args(["test", "--workspace", "--no-fail-fast"])
        .args(arguments)
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start cargo test")?;
    let mut tally = Tally::default();
    let mut out = std::io::stdout();
    if let Some(stdout) = child.stdout.take() {
        for line in BufReader::new(stdout).split(b'\n') {
            let line = line?;
            tally.add(&String::from_utf8_lossy(&line));
            out.write_all(&line)?;
            out.write_all(b"\n")?;
        }
    }
    let code = child.wait()?.code().unwrap_or(1);
    // Cargo's own closing words go to stderr; let them come first when both are one file.
    std::io::stderr().flush()?;
    println!("{}", tally.line(code));
    Ok(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn result_lines_of_many_binaries_add_up() {
        let mut tally = Tally::default();
        for line in [
            "running 3 tests",
            "test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 1 filtered out; finished in 0.1s",
            "test a::test_result: ... ok",
            "test result: FAILED. 4 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 3s",
        ] {
            tally.add(line);
        }
        assert_eq!(tally, Tally { passed: 7, failed: 2 });
        assert_eq!(tally.line(101), "7 passed, 2 failed");
    }

    #[test]
    fn a_build_that_fails_never_looks_green() {
        assert!(Tally::default().line(101).contains("not every test could run"));
        assert_eq!(Tally { passed: 3, failed: 0 }.line(0), "3 passed, 0 failed");
    }
}
