//! `cargo xtask test`: the tests of the whole workspace with one summary as its last line.

use std::cmp::Reverse;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::classes;
use crate::programs::{self, Ended, Runner, TestProgram, processors};

/// What the `test result:` lines of one or many test binaries add up to.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct TestTally {
    /// Tests that passed.
    pub passed: u64,
    /// Tests that failed.
    pub failed: u64,
}

impl TestTally {
    /// Adds a line of a program's output if it is a result line.
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

    /// The last line: counts, and that a build or a program failed when the counts alone would look green.
    pub fn line(&self, exit_code: i32) -> String {
        let counts = format!("{} passed, {} failed", self.passed, self.failed);
        if exit_code != 0 && self.failed == 0 {
            return format!("{counts} (ended with {exit_code}: not every test could run)");
        }
        counts
    }
}

/// Programs most of whose tests wait, for brokers, a browser, or a load of some seconds. The longest comes first.
const WAITING: [&str; 6] =
    ["real_cluster", "null_broker", "provoked", "browser", "java_client", "conformance"];

/// Programs that run by themselves: those for which Maven fetches clients of Kafka, since its own folder is no place for two at
/// once, and clusters of several brokers, next to which others' brokers do not start in time.
const BY_ITSELF: [&str; 4] = ["defaults", "release", "xtask", "clusters"];

/// Programs with tests that must have the host to themselves, and the module that these are in.
const WITH_ALONE: [&str; 2] = ["real_cluster", "provoked"];
const ALONE: &str = "alone::";

const WORTH_TELLING: Duration = Duration::from_secs(10);

/// How long the build and each test program took, for those who wait for them.
#[derive(Debug, Default)]
struct Times {
    build: Duration,
    /// From the first program's start to the last one's end.
    tests: Duration,
    programs: Vec<(String, Duration)>,
}

impl Times {
    /// Times of the longest, the longest first.
    fn line(&self) -> String {
        let mut longest: Vec<_> = self.programs.iter().filter(|(_, took)| *took >= WORTH_TELLING).collect();
        longest.sort_by_key(|(_, took)| Reverse(*took));
        let longest: Vec<_> =
            longest.iter().map(|(name, took)| format!(", {name} {} s", took.as_secs())).collect();
        format!(
            "took: build {} s, tests {} s{}",
            self.build.as_secs(),
            self.tests.as_secs(),
            longest.concat()
        )
    }
}

/// Builds and runs the tests, passes their output through, prints what took long and the tally, returns the exit code: 0 where
/// all passed. Arguments before `--` are Cargo's, those behind it the programs'.
pub fn run(arguments: &[String]) -> anyhow::Result<i32> {
    let before = Instant::now();
    let of_cargo = arguments.iter().position(|argument| argument == "--").unwrap_or(arguments.len());
    let (of_cargo, of_programs) = arguments.split_at(of_cargo);
    let mut tally = TestTally::default();
    let programs = match programs::build(of_cargo)? {
        Ok(programs) => programs,
        Err(code) => {
            println!("{}", tally.line(code));
            return Ok(code);
        }
    };
    let mut times = Times { build: before.elapsed(), ..Times::default() };
    let own = std::env::current_exe()?;
    let archives = || own.parent().filter(|_| classes::are_used(of_cargo)).and_then(classes::archives);
    let before = Instant::now();
    let all = run_all(of_programs.get(1..).unwrap_or_default(), &programs, archives)?;
    times.tests = before.elapsed();
    let mut code = 0;
    for ended in all {
        ended.printed().for_each(|line| tally.add(&line));
        if ended.code != 0 {
            eprintln!("error: {} failed", ended.name);
            code = ended.code;
        }
        times.programs.push((ended.name, ended.took));
    }
    println!("{}\n{}", times.line(), tally.line(code));
    Ok(code)
}

/// Runs the programs that need processors, then the tests that must be alone, then all that waits. Where the user selects
/// tests, one program runs after the other. `archives` makes those of Kafka's classes.
fn run_all(
    arguments: &[String],
    programs: &[TestProgram],
    archives: impl FnOnce() -> Option<PathBuf> + Send,
) -> anyhow::Result<Vec<Ended>> {
    let runner = |folder: Option<PathBuf>| Runner {
        arguments,
        variable: folder.map(|folder| (classes::VARIABLE, folder)),
    };
    if !arguments.is_empty() {
        let runner = runner(archives());
        return programs.iter().map(|program| runner.run(program, "", &[])).collect();
    }
    let (mut waiting, busy): (Vec<&TestProgram>, Vec<&TestProgram>) =
        programs.iter().partition(|program| place(program).is_some());
    let (by_itself, busy): (Vec<&TestProgram>, Vec<&TestProgram>) =
        busy.into_iter().partition(|program| BY_ITSELF.contains(&program.name.as_str()));
    // Two programs, so that one has a processor where the other one's last test needs no more than one.
    let no_more: &[&str] = &[];
    let busy: Vec<(&TestProgram, &[&str])> = busy.into_iter().map(|program| (program, no_more)).collect();
    let (mut all, folder) = std::thread::scope(|scope| -> anyhow::Result<(Vec<Ended>, Option<PathBuf>)> {
        // Where Kafka has to be fetched this is waiting, too.
        let made = scope.spawn(archives);
        let all = runner(None).run_together(&busy, processors())?;
        Ok((all, made.join().ok().flatten()))
    })?;
    let runner = runner(folder);
    for program in by_itself {
        all.push(runner.run(program, "", &[])?);
    }
    waiting.sort_by_key(|program| place(program));
    let mut together: Vec<(&TestProgram, &[&str])> = Vec::new();
    for program in waiting {
        let has_alone = WITH_ALONE.contains(&program.name.as_str());
        if has_alone {
            all.push(runner.run(program, "alone", &[ALONE])?);
        }
        let rest: &[&str] = if has_alone { &["--skip", ALONE] } else { &[] };
        together.push((program, rest));
    }
    // What needs a processor of its own waits for its turn.
    all.extend(runner.run_together(&together, 2 * processors())?);
    Ok(all)
}

/// Where a program is among those that wait.
fn place(program: &TestProgram) -> Option<usize> {
    WAITING.iter().position(|name| *name == program.name)
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
        let seconds = Duration::from_secs;
        let programs = [("kdyno_kafka", 9), ("null_broker", 12), ("real_cluster alone", 240)];
        let programs = programs.map(|(name, took)| (name.to_owned(), seconds(took))).into();
        let times = Times { build: seconds(61), tests: seconds(255), programs };
        assert_eq!(times.line(), "took: build 61 s, tests 255 s, real_cluster alone 240 s, null_broker 12 s");
    }

    #[test]
    fn a_build_that_fails_never_looks_green() {
        assert!(TestTally::default().line(101).contains("not every test could run"));
        assert_eq!(TestTally { passed: 3, failed: 0 }.line(0), "3 passed, 0 failed");
    }
}
