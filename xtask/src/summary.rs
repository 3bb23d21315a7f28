//! `cargo xtask test`: `cargo test` for the whole workspace with one summary as its last line.

use std::cmp::Reverse;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::classes;
use anyhow::Context;

/// What the `test result:` lines of one or many test binaries add up to.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct TestTally {
    /// Tests that passed.
    pub passed: u64,
    /// Tests that failed.
    pub failed: u64,
}

impl TestTally {
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

/// How long the build and each test program took, for those who wait for them.
#[derive(Debug, Default)]
struct Times {
    build: Duration,
    programs: Vec<(String, Duration)>,
    running: String,
}

impl Times {
    /// Takes up what Cargo says on standard error when it starts a program.
    fn started(&mut self, line: &str) {
        let Some(of) = line.trim_start().strip_prefix("Running ") else { return };
        let Some((_, path)) = of.trim_end().trim_end_matches(')').rsplit_once('(') else { return };
        let file = path.rsplit('/').next().unwrap_or(path);
        // The name without Cargo's hash.
        self.running = file.rsplit_once('-').map_or(file, |(name, _)| name).to_owned();
    }

    /// Takes up the result line of the program that runs.
    fn ended(&mut self, line: &str) {
        let Some((_, took)) = line.split_once("; finished in ") else { return };
        let Some(Ok(seconds)) = took.trim_end().strip_suffix('s').map(str::parse) else { return };
        self.programs.push((std::mem::take(&mut self.running), Duration::from_secs_f64(seconds)));
    }

    /// Times of the longest, the longest first.
    fn line(&self) -> String {
        let mut longest: Vec<_> = self.programs.iter().filter(|(_, took)| *took >= WORTH_TELLING).collect();
        longest.sort_by_key(|(_, took)| Reverse(*took));
        let longest: Vec<_> =
            longest.iter().map(|(name, took)| format!(", {name} {} s", took.as_secs())).collect();
        let all: Duration = self.programs.iter().map(|(_, took)| took).sum();
        format!("took: build {} s, tests {} s{}", self.build.as_secs(), all.as_secs(), longest.concat())
    }
}

/// How many tests of a program run at once (libtest).
const TEST_THREADS: &str = "RUST_TEST_THREADS";

const WORTH_TELLING: Duration = Duration::from_secs(10);

/// A line of one of Cargo's streams, without its end.
enum OutputLine {
    Out(Vec<u8>),
    Err(Vec<u8>),
}

/// Builds and runs the tests, passes their output through, prints what took long and the tally, returns Cargo's exit code.
pub fn run(arguments: &[String]) -> anyhow::Result<i32> {
    let before = Instant::now();
    let of_cargo = arguments.iter().position(|argument| argument == "--").unwrap_or(arguments.len());
    // By itself, on the terminal as it is: its duration is printed, and progress is seen.
    let built =
        cargo_test(&arguments[..of_cargo]).arg("--no-run").status().context("cannot start cargo test")?;
    let mut times = Times { build: before.elapsed(), ..Times::default() };
    let mut tally = TestTally::default();
    if !built.success() {
        let code = built.code().unwrap_or(1);
        println!("{}", tally.line(code));
        return Ok(code);
    }
    let mut command = cargo_test(arguments);
    let programs = std::env::current_exe()?;
    if let Some(archives) =
        programs.parent().filter(|_| classes::are_used(arguments)).and_then(classes::archives)
    {
        command.env(classes::VARIABLE, archives);
    }
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().context("cannot start cargo test")?;
    let (said, hears) = mpsc::channel();
    pass_on(child.stdout.take(), said.clone(), OutputLine::Out);
    pass_on(child.stderr.take(), said, OutputLine::Err);
    for said in hears {
        match said {
            OutputLine::Out(line) => {
                let text = String::from_utf8_lossy(&line);
                tally.add(&text);
                times.ended(&text);
                write_line(&mut std::io::stdout(), &line)?;
            }
            OutputLine::Err(line) => {
                times.started(&String::from_utf8_lossy(&line));
                write_line(&mut std::io::stderr(), &line)?;
            }
        }
    }
    let code = child.wait()?.code().unwrap_or(1);
    println!("{}\n{}", times.line(), tally.line(code));
    Ok(code)
}

fn cargo_test(arguments: &[String]) -> Command {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let mut command = Command::new(cargo);
    command.args(["test", "--workspace", "--no-fail-fast"]).args(arguments);
    // Most tests of the program wait for loads that last seconds. What needs a processor of its own waits for its turn.
    if std::env::var_os(TEST_THREADS).is_none() {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        command.env(TEST_THREADS, (2 * processors).to_string());
    }
    command
}

/// Sends each line of a stream, on a thread that ends with the stream.
fn pass_on(
    stream: Option<impl Read + Send + 'static>,
    to: mpsc::Sender<OutputLine>,
    made_of: fn(Vec<u8>) -> OutputLine,
) {
    std::thread::spawn(move || {
        let lines = stream.into_iter().flat_map(|stream| BufReader::new(stream).split(b'\n'));
        for line in lines.map_while(Result::ok) {
            if to.send(made_of(line)).is_err() {
                return;
            }
        }
    });
}

fn write_line(to: &mut impl Write, line: &[u8]) -> std::io::Result<()> {
    to.write_all(line)?;
    to.write_all(b"\n")?;
    to.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn result_lines_of_many_binaries_add_up() {
        let mut tally = TestTally::default();
        for line in [
            "running 3 tests",
            "test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 1 filtered out; finished in 0.1s",
            "test a::test_result: ... ok",
            "test result: FAILED. 4 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 3s",
        ] {
            tally.add(line);
        }
        assert_eq!(tally, TestTally { passed: 7, failed: 2 });
        assert_eq!(tally.line(101), "7 passed, 2 failed");
    }

    #[test]
    fn slow_tests_are_listed_with_the_names_of_the_programs() {
        let mut times = Times { build: Duration::from_secs(61), ..Times::default() };
        for (started, seconds) in [
            ("     Running unittests src/lib.rs (target/debug/deps/kdyno_kafka-4e0eff38670c896b)", "9.99s"),
            (
                "     Running tests/null_broker/main.rs (target/debug/deps/null_broker-41b6a526ba8ee947)",
                "12.40s",
            ),
            ("     Running tests/real_cluster/main.rs (/elsewhere/deps/real_cluster-41b6)", "1183.76s"),
        ] {
            times.started(started);
            times.ended(&format!(
                "test result: ok. 3 passed; 0 failed; 1 filtered out; finished in {seconds}"
            ));
        }
        assert_eq!(times.line(), "took: build 61 s, tests 1206 s, real_cluster 1183 s, null_broker 12 s");
    }

    #[test]
    fn a_build_that_fails_never_looks_green() {
        assert!(TestTally::default().line(101).contains("not every test could run"));
        assert_eq!(TestTally { passed: 3, failed: 0 }.line(0), "3 passed, 0 failed");
    }
}
