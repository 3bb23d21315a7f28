//! What the black-box tests are written in: a kdyno that is started in a folder of its own, watched with
//! deadlines, and leaves nothing behind, also when a test fails.
#![allow(dead_code, reason = "each test binary uses its own part of this")]

pub mod cgroups;
pub mod served_broker;
pub mod turns;

use kdyno_model::conclusion::of_kind;
use kdyno_model::health::{Health, HealthRule};
use kdyno_model::outcome::Judgement;
use rustix::process::{Pid, Signal, kill_process};
use std::fs::File;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Whether all of a long table is to be tested, with `KDYNO_MATRIX=full` (`make test-matrix`).
pub fn is_matrix() -> bool {
    std::env::var_os("KDYNO_MATRIX").is_some_and(|value| value == "full")
}

/// The rules of health that trials break, the heaviest of each first.
pub fn broken_rules(judgement: &Judgement) -> Vec<HealthRule> {
    let checks = of_kind::<Health>(&judgement.conclusions).flat_map(|health| &health.checks);
    checks.filter(|check| check.is_broken).map(|check| check.rule).collect()
}

/// Longest a command may take that starts nothing.
pub const QUICKLY: Duration = Duration::from_secs(60);

/// Longest a run with real brokers may take here: a busy two-core machine, the first download included.
pub const RUN_DEADLINE: Duration = Duration::from_secs(300);

/// A folder of this test's own: runs, brokers' data and target files lie in it, and every process that a
/// kdyno in it starts can be recognized by it.
pub struct TestFolder {
    dir: tempfile::TempDir,
}

/// How a command ended and what it said.
#[derive(Debug)]
pub struct ProgramOutput {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

/// A run that went to its end. On a host that others use its figures may be invalid: what they are is another question.
pub fn ran(said: &ProgramOutput) {
    assert!(matches!(said.code, Some(0 | 6)), "{}\n{}", said.stdout, said.stderr);
}

/// Printed text without its line ends: lines are broken where the terminal ends.
pub fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A line with `#` for each number, and how many decimals it has: `#.1` and `#.6` are two formats.
pub fn masked(line: &str) -> String {
    let digits = |text: &str| text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (mut out, mut rest) = (String::new(), line);
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        out.extend([&rest[..at], "#"]);
        rest = &rest[at + digits(&rest[at..])..];
        let decimals = rest.strip_prefix('.').map_or(0, digits);
        if decimals > 0 {
            out.extend([".", &decimals.to_string()]);
            rest = &rest[1 + decimals..];
        }
    }
    out + rest
}

/// Options with which a JVM of Kafka's classes starts sooner, for tests that do not judge its speed: the quick compiler
/// alone, and the classes from the archive that `cargo xtask test` has made of the release (`4.1.1` or `newest`). The
/// archive of another release is not used by the JVM, which prints nothing about it.
pub fn quick_jvm(release: &str) -> Vec<String> {
    let mut options = vec!["-XX:TieredStopAtLevel=1".to_owned()];
    let archive = std::env::var_os("KDYNO_TEST_CLASSES");
    let archive = archive.map(|folder| Path::new(&folder).join(format!("{release}.jsa")));
    if let Some(archive) = archive.filter(|archive| archive.exists()) {
        options.push(format!("-XX:SharedArchiveFile={}", archive.display()));
        options.extend(["-Xlog:cds=off", "-Xlog:cds+dynamic=off"].map(str::to_owned));
    }
    options
}

/// These options as a list in a scenario.
fn quick_jvm_of(scenario: &str) -> String {
    let release = if scenario.contains("kafka: 4.1.1") { "4.1.1" } else { "newest" };
    format!("[\"{}\"]", quick_jvm(release).join("\", \""))
}

impl TestFolder {
    pub fn new() -> Self {
        let dir = tempfile::Builder::new().prefix("kdyno-test-").tempdir().expect("a temporary folder");
        std::fs::create_dir(dir.path().join("lock")).expect("a folder for the host's lock");
        Self { dir }
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Writes a file that only its owner may read, as target files must be, and returns its path. `QUICK_JVM` in a
    /// scenario becomes the options of [`quick_jvm`].
    pub fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path().join(name);
        std::fs::write(&path, text.replace("QUICK_JVM", &quick_jvm_of(text))).expect("write a test's file");
        let owner_only = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(&path, owner_only).expect("make a test's file private");
        path
    }

    /// A kdyno in this folder. Downloads are kept where the user keeps them; records of running clusters
    /// and locks are this test's own.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kdyno"));
        command
            .args(args)
            .current_dir(self.path())
            .env("TMPDIR", self.path())
            .env("XDG_STATE_HOME", self.path().join("state"))
            .env("KDYNO_LOCK_DIR", self.path().join("lock"))
            .stdin(Stdio::null());
        // Options in the environment of the tests are not theirs.
        for option in ["KDYNO_OUT", "KDYNO_YES", "KDYNO_BOOTSTRAP_SERVER", "KDYNO_COMMAND_CONFIG"] {
            command.env_remove(option);
        }
        command
    }

    /// The command under a limit on open files that a process may raise for itself, as 1024 is on most
    /// systems.
    pub fn command_with_files(&self, files_max: u32, args: &[&str]) -> Command {
        let kdyno = self.command(args);
        let mut shell = Command::new("sh");
        shell.args(["-c", "ulimit -S -n \"$0\"; exec \"$@\"", &files_max.to_string()]);
        shell.arg(kdyno.get_program()).args(kdyno.get_args()).current_dir(self.path()).stdin(Stdio::null());
        shell.envs(kdyno.get_envs().filter_map(|(name, value)| Some((name, value?))));
        shell
    }

    /// Runs a command that starts nothing.
    pub fn kdyno(&self, args: &[&str]) -> ProgramOutput {
        self.start(self.command(args)).wait(QUICKLY)
    }

    /// Starts a command; its output goes to files here.
    pub fn start(&self, mut command: Command) -> Running<'_> {
        static NUMBER: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let file = |ending: &str| self.path().join(format!("said-{number}.{ending}"));
        let create = |path: &Path| File::create(path).expect("a file for output");
        let (stdout, stderr) = (file("out"), file("err"));
        let child = command
            .stdout(create(&stdout))
            .stderr(create(&stderr))
            .spawn()
            .expect("kdyno is built before its tests");
        Running { place: self, child, stdout, stderr }
    }

    /// Processes whose command line names this folder or that have their folder in it, but for `except`:
    /// brokers, guards, workers.
    pub fn processes(&self, except: u32) -> Vec<(u32, String)> {
        let here = self.path().to_string_lossy().into_owned();
        let mut found = Vec::new();
        for process in procfs::process::all_processes().expect("/proc").flatten() {
            let pid = u32::try_from(process.pid()).unwrap_or(0);
            let zombie = process.stat().is_ok_and(|stat| stat.state == 'Z');
            let line = process.cmdline().unwrap_or_default().join(" ");
            let inside = process.cwd().is_ok_and(|cwd| cwd.starts_with(self.path()));
            if pid != except && pid != std::process::id() && !zombie && (inside || line.contains(&here)) {
                found.push((pid, line));
            }
        }
        found
    }

    /// Waits until no process of this folder is left.
    pub fn expect_no_processes(&self) {
        let end = Instant::now() + Duration::from_secs(60);
        let mut left = self.processes(0);
        while !left.is_empty() && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(100));
            left = self.processes(0);
        }
        assert!(left.is_empty(), "still there: {left:?}");
    }

    /// The one run file in the folder of runs.
    pub fn run_file(&self) -> PathBuf {
        let mut files: Vec<PathBuf> = std::fs::read_dir(self.path().join("kdyno-runs"))
            .expect("a folder of runs")
            .map(|entry| entry.expect("entry").path())
            .filter(|path| path.extension().is_some_and(|ending| ending == "kdyno"))
            .collect();
        assert_eq!(files.len(), 1, "one run file: {files:?}");
        files.remove(0)
    }

    /// The run's JSON document, read back from its file.
    pub fn show(&self) -> serde_json::Value {
        let said = self.kdyno(&["show", "latest", "--json"]);
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        serde_json::from_str(&said.stdout).expect("a JSON document")
    }

    /// All of the newest run as text.
    pub fn details(&self) -> String {
        let said = self.kdyno(&["show", "latest", "--details"]);
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        said.stdout
    }
}

impl Drop for TestFolder {
    fn drop(&mut self) {
        // Only after a failure is something left; it is ended by its id before its folder goes.
        for (pid, _) in self.processes(0) {
            signal(pid, Signal::KILL);
        }
    }
}

/// A kdyno that runs.
pub struct Running<'a> {
    place: &'a TestFolder,
    child: Child,
    stdout: PathBuf,
    stderr: PathBuf,
}

impl Running<'_> {
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn signal(&self, signal_to_send: Signal) {
        signal(self.pid(), signal_to_send);
    }

    /// Waits until standard error says this; fails when kdyno ends before.
    pub fn wait_for(&mut self, words: &str) {
        let end = Instant::now() + RUN_DEADLINE;
        while Instant::now() < end {
            if self.said(&self.stderr).contains(words) {
                return;
            }
            if let Some(status) = self.child.try_wait().expect("a child of ours") {
                panic!("ended with {status} before it said {words:?}: {}", self.said(&self.stderr));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("did not say {words:?} in time: {}", self.said(&self.stderr));
    }

    /// Waits for the first line on standard output.
    pub fn wait_for_line(&mut self) -> String {
        let said = self.wait_for_output("\n");
        said.split_once('\n').map_or(String::new(), |(line, _)| line.to_owned())
    }

    /// Waits until these words are on standard output; returns all that is there by then.
    pub fn wait_for_output(&mut self, words: &str) -> String {
        let end = Instant::now() + QUICKLY;
        while Instant::now() < end {
            let said = self.said(&self.stdout);
            if said.contains(words) {
                return said;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("did not say {words:?}: {}", self.said(&self.stderr));
    }

    /// Waits until a process of this run has `words` in its command line.
    pub fn wait_for_process(&mut self, words: &str) {
        let end = Instant::now() + RUN_DEADLINE;
        while self.processes(words).is_empty() {
            assert!(Instant::now() < end, "no process {words:?}: {}", self.said(&self.stderr));
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Ids of processes of this run whose command line holds `words`.
    pub fn processes(&self, words: &str) -> Vec<u32> {
        let all = self.place.processes(self.pid());
        all.into_iter().filter(|(_, line)| line.contains(words)).map(|(pid, _)| pid).collect()
    }

    /// Waits for the end; a kdyno that does not end in time is killed and fails the test.
    pub fn wait(mut self, deadline: Duration) -> ProgramOutput {
        match self.ended_within(deadline) {
            Some(status) => self.into_said(status),
            None => panic!("still running after {deadline:?}: {}", self.said(&self.stderr)),
        }
    }

    fn ended_within(&mut self, deadline: Duration) -> Option<ExitStatus> {
        let end = Instant::now() + deadline;
        loop {
            match self.child.try_wait().expect("a child of ours") {
                Some(status) => return Some(status),
                None if Instant::now() >= end => return None,
                None => std::thread::sleep(Duration::from_millis(10)),
            }
        }
    }

    fn into_said(self, status: ExitStatus) -> ProgramOutput {
        ProgramOutput {
            code: status.code(),
            stdout: self.said(&self.stdout),
            stderr: self.said(&self.stderr),
        }
    }

    fn said(&self, path: &Path) -> String {
        String::from_utf8_lossy(&std::fs::read(path).unwrap_or_default()).into_owned()
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        // Has ended already, unless the test failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends a signal to one process; one that is gone needs none.
pub fn signal(pid: u32, signal: Signal) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        let _ = kill_process(pid, signal);
    }
}
