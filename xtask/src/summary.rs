//! `cargo xtask test`: builds the test programs of the whole workspace, runs them, and prints one summary as the last line.
//!
//! Cargo runs test programs one after the other. Those that start brokers mostly wait, so here they run at once; their tests
//! agree among themselves which of them need the machine to themselves (`crates/kdyno/tests/common/turns.rs`).

use std::cmp::Reverse;
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context;
use serde_json::Value;

/// Programs whose tests take turns.
const TAKE_TURNS: [&str; 2] = ["real_cluster", "provoked"];
/// Tests that such a program starts at once: as many as there are turns, and one that waits for the machine.
const TURN_THREADS: &str = "3";
/// Time that is worth a word, of a program.
const WORTH_TELLING: Duration = Duration::from_secs(10);

/// What the `test result:` lines of one or many test programs add up to.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Tally {
    /// Tests that passed.
    pub passed: u64,
    /// Tests that failed.
    pub failed: u64,
}

impl Tally {
    /// Adds the result lines of a program's output.
    fn add(&mut self, output: &str) {
        let results = output.lines().filter_map(|line| line.trim_start().strip_prefix("test result: "));
        for part in results.flat_map(|result| result.split(['.', ';'])) {
            match part.trim().split_once(' ') {
                Some((count, "passed")) => self.passed += count.parse::<u64>().unwrap_or(0),
                Some((count, "failed")) => self.failed += count.parse::<u64>().unwrap_or(0),
                _ => {}
            }
        }
    }

    /// The last line: counts, and which programs ended in another way when the counts alone would look green.
    fn line(&self, ended_badly: &[String]) -> String {
        let counts = format!("{} passed, {} failed", self.passed, self.failed);
        if !ended_badly.is_empty() && self.failed == 0 {
            return format!("{counts} (not every test could run: {})", ended_badly.join(", "));
        }
        counts
    }
}

/// A test program that Cargo has built.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Program {
    name: String,
    file: PathBuf,
    /// Its package, in which Cargo would run it.
    folder: PathBuf,
}

impl Program {
    /// From a line of Cargo's JSON; `None`: it is of something else.
    fn of(line: &str) -> Option<Self> {
        let told: Value = serde_json::from_str(line).ok()?;
        let is_test = told["reason"] == "compiler-artifact" && told["profile"]["test"] == true;
        let file = told["executable"].as_str().filter(|_| is_test)?;
        let folder = Path::new(told["manifest_path"].as_str()?).parent()?;
        let package = folder.file_name()?.to_string_lossy();
        let name = match told["target"]["kind"][0].as_str()? {
            "test" => told["target"]["name"].as_str()?.to_owned(),
            kind => format!("{package} ({kind})"),
        };
        Some(Self { name, file: file.into(), folder: folder.into() })
    }
}

/// What has come of the programs so far.
#[derive(Debug, Default)]
struct Outcome {
    tally: Tally,
    ended_badly: Vec<String>,
    took: Vec<(String, Duration)>,
}

impl Outcome {
    /// Which programs took long, the longest first.
    fn times(&self, built: Duration, ran: Duration) -> String {
        let mut longest: Vec<_> = self.took.iter().filter(|(_, took)| *took >= WORTH_TELLING).collect();
        longest.sort_by_key(|(_, took)| Reverse(*took));
        let longest: Vec<_> =
            longest.iter().map(|(name, took)| format!(", {name} {} s", took.as_secs())).collect();
        format!("took: build {} s, tests {} s{}", built.as_secs(), ran.as_secs(), longest.concat())
    }
}

/// Builds and runs the tests, prints the output of each program when it has ended, what took long and the tally. Returns the
/// exit code. `arguments`: those of `cargo test`, and behind `--` those of the programs.
pub fn run(arguments: &[String]) -> anyhow::Result<i32> {
    let before = Instant::now();
    let of_cargo = arguments.iter().position(|argument| argument == "--").unwrap_or(arguments.len());
    let of_programs = arguments.get(of_cargo + 1..).unwrap_or_default();
    // By itself, on the terminal as it is: progress is seen.
    let built = cargo_test(&arguments[..of_cargo]).status().context("cannot start cargo test")?;
    if !built.success() {
        println!("{}", Tally::default().line(&["the build".to_owned()]));
        return Ok(built.code().unwrap_or(1));
    }
    let told = cargo_test(&arguments[..of_cargo]).args(["--quiet", "--message-format=json"]).output()?;
    let programs = String::from_utf8_lossy(&told.stdout).lines().filter_map(Program::of).collect();
    let built = before.elapsed();
    let (outcome, before) = (Mutex::new(Outcome::default()), Instant::now());
    for lanes in arranged(programs) {
        std::thread::scope(|scope| {
            for lane in &lanes {
                let outcome = &outcome;
                scope.spawn(move || {
                    lane.iter().for_each(|program| run_program(program, of_programs, outcome))
                });
            }
        });
    }
    let outcome = outcome.into_inner().unwrap_or_else(PoisonError::into_inner);
    println!("{}\n{}", outcome.times(built, before.elapsed()), outcome.tally.line(&outcome.ended_badly));
    Ok(i32::from(!outcome.ended_badly.is_empty()))
}

/// Which programs run one after the other: in a lane. Lanes of one stage run at once, stages one after the other.
fn arranged(programs: Vec<Program>) -> [Vec<Vec<Program>>; 2] {
    let (turns, others): (Vec<_>, Vec<_>) =
        programs.into_iter().partition(|program| TAKE_TURNS.contains(&program.name.as_str()));
    [vec![others], turns.into_iter().map(|program| vec![program]).collect()]
}

fn run_program(program: &Program, arguments: &[String], outcome: &Mutex<Outcome>) {
    let before = Instant::now();
    let (is_good, output) = match output(program, arguments) {
        Ok(found) => found,
        Err(error) => (false, format!("{error:#}\n")),
    };
    let mut outcome = outcome.lock().unwrap_or_else(PoisonError::into_inner);
    outcome.took.push((program.name.clone(), before.elapsed()));
    outcome.tally.add(&output);
    if !is_good {
        outcome.ended_badly.push(program.name.clone());
    }
    // A reader that is gone does not end the tests.
    let _ = writeln!(std::io::stdout(), "\n{} ({})\n{output}", program.name, program.file.display());
}

/// Whether the program ended well, and what it printed on both of its streams.
fn output(program: &Program, arguments: &[String]) -> anyhow::Result<(bool, String)> {
    let mut printed = tempfile::tempfile().context("cannot make a file for a program's output")?;
    let mut command = Command::new(&program.file);
    command.args(arguments).current_dir(&program.folder).env("CARGO_MANIFEST_DIR", &program.folder);
    if TAKE_TURNS.contains(&program.name.as_str()) {
        command.env("RUST_TEST_THREADS", TURN_THREADS);
    }
    command.stdin(Stdio::null()).stdout(printed.try_clone()?).stderr(printed.try_clone()?);
    let status = command.status().with_context(|| format!("cannot start {}", program.file.display()))?;
    let mut output = Vec::new();
    printed.rewind()?;
    printed.read_to_end(&mut output)?;
    let mut text = String::from_utf8_lossy(&output).into_owned();
    if !status.success() {
        text.push_str(&format!("{} ended with {status}\n", program.name));
    }
    Ok((status.success(), text))
}

fn cargo_test(arguments: &[String]) -> Command {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let mut command = Command::new(cargo);
    command.args(["test", "--workspace", "--no-run"]).args(arguments);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn result_lines_of_many_programs_add_up() {
        let mut tally = Tally::default();
        tally.add(
            "running 3 tests\n\
             test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 1 filtered out; finished in 0.1s\n\
             test a::test_result: ... ok\n",
        );
        tally.add(
            "test result: FAILED. 4 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 3s",
        );
        assert_eq!(tally, Tally { passed: 7, failed: 2 });
        assert_eq!(tally.line(&["x".to_owned()]), "7 passed, 2 failed");
    }

    #[test]
    fn a_program_that_ends_badly_never_looks_green() {
        assert!(
            Tally::default().line(&["the build".to_owned()]).contains("not every test could run: the build")
        );
        assert_eq!(Tally { passed: 3, failed: 0 }.line(&[]), "3 passed, 0 failed");
    }

    #[test]
    fn programs_are_those_that_cargo_has_built_for_tests() {
        let line = |kind: &str, name: &str, test: bool| {
            format!(
                r#"{{"reason":"compiler-artifact","manifest_path":"/k/crates/kdyno/Cargo.toml","target":{{"kind":["{kind}"],"name":"{name}"}},"profile":{{"test":{test}}},"executable":"/t/{name}-1"}}"#
            )
        };
        let of = |kind: &str, name: &str| Program::of(&line(kind, name, true)).expect("a program").name;
        assert_eq!(of("test", "real_cluster"), "real_cluster");
        assert_eq!(of("lib", "kdyno_plan"), "kdyno (lib)");
        assert_eq!(Program::of(&line("bin", "kdyno", false)), None, "the program itself is no test");
        assert_eq!(Program::of(r#"{"reason":"build-finished","success":true}"#), None);
    }

    #[test]
    fn programs_that_take_turns_run_at_once_and_last() {
        let program = |name: &str| Program { name: name.to_owned(), file: "f".into(), folder: "d".into() };
        let names = ["real_cluster", "kdyno (lib)", "null_broker", "provoked", "streams"];
        let [first, last] = arranged(names.map(program).to_vec());
        let of = |lanes: Vec<Vec<Program>>| -> Vec<Vec<String>> {
            lanes.into_iter().map(|lane| lane.into_iter().map(|one| one.name).collect()).collect()
        };
        assert_eq!(of(first), [["kdyno (lib)", "null_broker", "streams"]]);
        assert_eq!(of(last), [["real_cluster"], ["provoked"]]);
    }

    #[test]
    fn what_took_long_is_told_with_the_names_of_the_programs() {
        let took = [("a (lib)", 9), ("null_broker", 12), ("real_cluster", 1183)];
        let took = took.map(|(name, seconds)| (name.to_owned(), Duration::from_secs(seconds))).to_vec();
        let outcome = Outcome { took, ..Outcome::default() };
        let line = outcome.times(Duration::from_secs(61), Duration::from_secs(1190));
        assert_eq!(line, "took: build 61 s, tests 1190 s, real_cluster 1183 s, null_broker 12 s");
    }
}
