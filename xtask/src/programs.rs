//! The workspace's test programs: built by Cargo, run from here, since Cargo runs one after the other and most of their
//! time is waiting.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::Context;
use serde_json::Value;

/// How many tests of a program run at once (libtest).
const TEST_THREADS: &str = "RUST_TEST_THREADS";

/// Tells a program that others run at the same time: a test that must be alone refuses to run then
/// (`crates/kdyno/tests/common/turns.rs`).
const TOGETHER: &str = "KDYNO_TEST_TOGETHER";

/// Programs that run together.
const AT_ONCE: usize = 2;

/// The code of a program that a signal ended, as Cargo has it for tests that failed.
const FAILED: i32 = 101;

/// A test program that was built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestProgram {
    /// As Cargo names it: an integration test, or the crate whose own tests it has.
    pub name: String,
    path: PathBuf,
    /// Its package's, in which it runs.
    folder: PathBuf,
}

/// How it ended.
#[derive(Debug)]
pub struct Ended {
    /// The program, and what part of its tests where it was not all of them.
    pub name: String,
    /// 0 where all tests passed.
    pub code: i32,
    /// From its start to its end.
    pub took: Duration,
    lines: Vec<OutputLine>,
}

/// A line of one of its streams, without its end.
#[derive(Debug)]
enum OutputLine {
    Out(Vec<u8>),
    Err(Vec<u8>),
}

/// `cargo test` for the workspace, with these arguments.
fn cargo_test(arguments: &[String]) -> Command {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let mut command = Command::new(cargo);
    command.args(["test", "--workspace"]).args(arguments);
    command
}

/// Builds what these arguments of `cargo test` select. The error is Cargo's exit code; what was wrong it has said.
pub fn build(arguments: &[String]) -> anyhow::Result<Result<Vec<TestProgram>, i32>> {
    let mut command = cargo_test(arguments);
    command.args(["--no-run", "--message-format=json-render-diagnostics"]);
    let child = command.stdout(Stdio::piped()).spawn().context("cannot start cargo test")?;
    let output = child.wait_with_output().context("cannot read what cargo test says")?;
    if !output.status.success() {
        return Ok(Err(output.status.code().unwrap_or(FAILED)));
    }
    let said = String::from_utf8(output.stdout)?;
    let mut programs: Vec<TestProgram> = said.lines().filter_map(program_of).collect();
    // Cargo names them as they are finished.
    programs.sort_by(|a, b| (&a.folder, &a.name).cmp(&(&b.folder, &b.name)));
    Ok(Ok(programs))
}

/// The test program of a message of Cargo's, if it is about one.
fn program_of(message: &str) -> Option<TestProgram> {
    let message: Value = serde_json::from_str(message).ok()?;
    if message["profile"]["test"] != true {
        return None;
    }
    let path = message["executable"].as_str()?;
    let folder = Path::new(message["manifest_path"].as_str()?).parent()?;
    let name = message["target"]["name"].as_str()?.to_owned();
    Some(TestProgram { name, path: path.into(), folder: folder.to_owned() })
}

/// What each program is run with.
pub struct Runner<'a> {
    /// Arguments of the user's, such as a part of a test's name.
    pub arguments: &'a [String],
    /// A variable that programs are given, and its value.
    pub variable: Option<(&'a str, PathBuf)>,
}

impl Runner<'_> {
    /// The program with these arguments, as Cargo would start it, and so many of its tests at once.
    fn command(&self, program: &TestProgram, more: &[&str], threads: usize) -> Command {
        let mut command = Command::new(&program.path);
        command.args(more).args(self.arguments).current_dir(&program.folder);
        command.env("CARGO_MANIFEST_DIR", &program.folder).env_remove(TOGETHER);
        if let Some((name, value)) = &self.variable {
            command.env(name, value);
        }
        if std::env::var_os(TEST_THREADS).is_none() {
            command.env(TEST_THREADS, threads.to_string());
        }
        command
    }

    /// Runs a program by itself; its output is passed through as it comes.
    pub fn run(&self, program: &TestProgram, part: &str, more: &[&str]) -> anyhow::Result<Ended> {
        let name = if part.is_empty() { program.name.clone() } else { format!("{} {part}", program.name) };
        write_line(&mut std::io::stderr(), announced(program, &name).as_bytes())?;
        end_of(self.command(program, more, 2 * processors()), name, OutputLine::print)
    }

    /// Runs programs with these further arguments each, two at once, in this order. The output of each is printed when it has
    /// ended.
    pub fn run_together(
        &self,
        programs: &[(&TestProgram, &[&str])],
        threads: usize,
    ) -> anyhow::Result<Vec<Ended>> {
        let (mut all, mut running) = (Vec::new(), 0);
        let mut waiting = programs.iter();
        let (said, hears) = mpsc::channel();
        std::thread::scope(|scope| -> anyhow::Result<Vec<Ended>> {
            loop {
                while running < AT_ONCE
                    && let Some((program, more)) = waiting.next()
                {
                    running += 1;
                    write_line(&mut std::io::stderr(), announced(program, &program.name).as_bytes())?;
                    let mut command = self.command(program, more, threads);
                    command.env(TOGETHER, "yes");
                    let (said, name) = (said.clone(), program.name.clone());
                    scope.spawn(move || said.send(end_of(command, name, |_| Ok(()))));
                }
                if running == 0 {
                    return Ok(all);
                }
                let ended = hears.recv().context("a test program is not heard of")??;
                running -= 1;
                write_line(&mut std::io::stderr(), format!("       Ended {}", ended.name).as_bytes())?;
                ended.lines.iter().try_for_each(OutputLine::print)?;
                all.push(ended);
            }
        })
    }
}

/// The processors that this process may use.
pub fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// What is said when a program begins, in Cargo's words.
fn announced(program: &TestProgram, name: &str) -> String {
    format!("     Running {name} ({})", program.path.display())
}

impl Ended {
    /// What it printed on standard output.
    pub fn printed(&self) -> impl Iterator<Item = String> {
        self.lines.iter().filter_map(|line| match line {
            OutputLine::Out(line) => Some(String::from_utf8_lossy(line).into_owned()),
            OutputLine::Err(_) => None,
        })
    }
}

impl OutputLine {
    /// To where it belongs.
    fn print(&self) -> std::io::Result<()> {
        match self {
            Self::Out(line) => write_line(&mut std::io::stdout(), line),
            Self::Err(line) => write_line(&mut std::io::stderr(), line),
        }
    }
}

/// Runs a command to its end; each line goes to `heard` as it comes.
fn end_of(
    mut command: Command,
    name: String,
    heard: impl Fn(&OutputLine) -> std::io::Result<()>,
) -> anyhow::Result<Ended> {
    let begun = Instant::now();
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start {name}"))?;
    let (said, hears) = mpsc::channel();
    pass_on(child.stdout.take(), said.clone(), OutputLine::Out);
    pass_on(child.stderr.take(), said, OutputLine::Err);
    let mut lines = Vec::new();
    for line in hears {
        heard(&line)?;
        lines.push(line);
    }
    let code = child.wait()?.code().unwrap_or(FAILED);
    Ok(Ended { name, code, took: begun.elapsed(), lines })
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

    /// A program of this shell's.
    fn shell() -> TestProgram {
        TestProgram { name: "sh".to_owned(), path: "/bin/sh".into(), folder: "/".into() }
    }

    #[test]
    fn a_program_is_what_cargo_built_for_tests() {
        let message = |is_test: bool, executable: &str| {
            format!(
                r#"{{"reason":"compiler-artifact","manifest_path":"/w/crates/lab/Cargo.toml","target":{{"name":"secrets"}},"profile":{{"test":{is_test}}},"executable":{executable}}}"#
            )
        };
        let program = program_of(&message(true, r#""/w/target/secrets-1""#)).expect("a program");
        assert_eq!(
            (program.name.as_str(), program.folder.as_path()),
            ("secrets", Path::new("/w/crates/lab")),
            "it runs where its package is"
        );
        assert_eq!(program_of(&message(false, r#""/w/target/kdyno""#)), None, "a program of ours is no test");
        assert_eq!(program_of(&message(true, "null")), None);
        assert_eq!(program_of("Compiling"), None);
    }

    #[test]
    fn programs_at_once_have_their_own_output_and_end() {
        let program = shell();
        let runner = Runner { arguments: &[], variable: Some(("WORD", "given".into())) };
        let scripts: [&[&str]; 3] = [
            &["-c", "echo one; echo $WORD; echo aside >&2; exit 3"],
            &["-c", "echo $KDYNO_TEST_TOGETHER"],
            &["-c", "kill -9 $$"],
        ];
        let all = runner.run_together(&scripts.map(|script| (&program, script)), 1).expect("they run");
        let mut ends: Vec<(i32, Vec<String>)> =
            all.iter().map(|ended| (ended.code, ended.printed().collect())).collect();
        ends.sort();
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        assert_eq!(ends, [(0, words(&["yes"])), (3, words(&["one", "given"])), (FAILED, vec![])]);
        let alone =
            runner.run(&program, "alone", &["-c", "echo ${KDYNO_TEST_TOGETHER:-no}"]).expect("it runs");
        assert_eq!((alone.name.as_str(), alone.printed().collect::<Vec<_>>()), ("sh alone", words(&["no"])));
    }
}
