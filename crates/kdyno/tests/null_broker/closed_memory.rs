//! Processes of kdyno's that hold secrets have closed memory, and keepers hold none.

use crate::common::{QUICKLY, TestFolder, signal};
use rustix::process::{Signal, geteuid};
use std::fs::Permissions;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// An ordinary user, where the tests are root's.
const ORDINARY: u32 = 65534;

/// Ends what a test started, also when it fails.
struct KillOnDrop(Child);

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// kdyno as an ordinary user's: of such a process `/proc` is root's once its memory is closed.
struct OrdinaryUser {
    folder: TestFolder,
    exe: PathBuf,
}

impl OrdinaryUser {
    fn new() -> Self {
        let (folder, exe) = (TestFolder::new(), PathBuf::from(env!("CARGO_BIN_EXE_kdyno")));
        if !geteuid().is_root() {
            return Self { folder, exe };
        }
        // Where the program was built may be closed to others. One that may not be read would have closed memory anyway.
        let copy = folder.path().join("kdyno");
        std::fs::copy(&exe, &copy).expect("a copy");
        for path in [copy.as_path(), folder.path()] {
            std::fs::set_permissions(path, Permissions::from_mode(0o755)).expect("opened");
        }
        chown(folder.path(), Some(ORDINARY), Some(ORDINARY)).expect("given away");
        Self { folder, exe: copy }
    }

    fn start(&self, args: &[&str]) -> KillOnDrop {
        let mut command = Command::new(&self.exe);
        command.args(args).current_dir(self.folder.path()).stdin(Stdio::piped()).stdout(Stdio::piped());
        if geteuid().is_root() {
            command.uid(ORDINARY).gid(ORDINARY);
        }
        loop {
            match command.spawn() {
                // A test next to this one forked while the copy was written: until it becomes a program, it writes too.
                Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => {
                    std::thread::sleep(Duration::from_millis(5));
                }
                started => return KillOnDrop(started.expect("kdyno is built before its tests")),
            }
        }
    }
}

fn is_closed(process: &KillOnDrop) -> bool {
    let environment = format!("/proc/{}/environ", process.0.id());
    std::fs::metadata(environment).expect("a process that runs").uid() == 0
}

fn wait_closed(process: &KillOnDrop) {
    let end = Instant::now() + QUICKLY;
    while !is_closed(process) {
        assert!(Instant::now() < end, "its memory stays open");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn a_null_broker_with_a_key_has_closed_memory() {
    let user = OrdinaryUser::new();
    for (args, closed) in [
        (&["null-broker", "--port", "0"][..], false),
        (&["null-broker", "--port", "0", "--tls", "any"], true),
    ] {
        let mut broker = user.start(args);
        let stdout = broker.0.stdout.take().expect("a pipe");
        let mut address = String::new();
        BufReader::new(stdout).read_line(&mut address).expect("an address");
        assert!(address.starts_with("127.0.0.1:"), "{address}");
        assert_eq!(is_closed(&broker), closed, "{args:?}");
    }
}

/// What it passes on may be logins.
#[test]
fn a_relay_has_closed_memory() {
    let user = OrdinaryUser::new();
    let tally = user.folder.path().join("tally");
    let spec = serde_json::json!({ "links": [], "tally": tally, "seed": 1 });
    let path = user.folder.path().join("spec.json");
    std::fs::write(&path, spec.to_string()).expect("written");
    wait_closed(&user.start(&["relay", path.to_str().expect("a plain path")]));
}

/// The step between keeper and program waits here for variables that are long in coming.
#[test]
fn who_reads_a_commands_variables_has_closed_memory() {
    let user = OrdinaryUser::new();
    let spec = serde_json::json!({
        "guard_pid": std::process::id(),
        "cpus": [],
        "group": null,
        "has_variables": true,
        "command_line": ["/bin/sh", "-c", "printenv WORD; cat"],
    });
    let mut step = user.start(&["guard-exec", &spec.to_string()]);
    wait_closed(&step);
    let mut stdin = step.0.stdin.take().expect("a pipe");
    stdin.write_all(br#"[["WORD","xyzzy"]]"#).expect("a reader");
    drop(stdin);
    let mut said = String::new();
    step.0.stdout.take().expect("a pipe").read_to_string(&mut said).expect("its output");
    assert_eq!(said, "xyzzy\n", "and the program's input is empty");
}

/// Whether the memory of a process has a text in it; `None`: this host lets no process look.
fn holds(pid: u32, text: &str) -> Option<bool> {
    let folder = Path::new("/proc").join(pid.to_string());
    let maps = std::fs::read_to_string(folder.join("maps")).ok()?;
    let memory = std::fs::File::open(folder.join("mem")).ok()?;
    let range = |line: &str| {
        let (range, rights) = line.split_once(' ')?;
        let (from, to) = range.split_once('-')?;
        let address = |text| u64::from_str_radix(text, 16).ok();
        // What is written to: a program's own texts are elsewhere.
        rights.starts_with("rw").then_some((address(from)?, address(to)?))
    };
    let has = |(from, to): (u64, u64)| {
        let mut bytes = vec![0; usize::try_from(to - from).expect("a range")];
        let count = memory.read_at(&mut bytes, from).unwrap_or(0);
        bytes[..count].windows(text.len()).any(|window| window == text.as_bytes())
    };
    Some(maps.lines().filter_map(range).any(has))
}

#[test]
fn keepers_do_not_hold_what_they_give_to_a_program() {
    let place = TestFolder::new();
    let scenario = "\
kdyno: 1
id: kept
question: Who knows the word?
system: {kafka: null-broker}
topics: {perf: {partitions: 2}}
components:
  service: {command: 'printenv WORD > word; sleep 601', environment: {WORD: xyzzy-plugh}, ready: started}
load: {writers: {produce: perf, rate: 50/s, value: 10B}}
phases: {warmup: 0s, measure: 5m}
";
    let path = place.file("kept.yaml", scenario);
    let mut running = place.start(place.command(&["run", path.to_str().expect("plain path"), "--share"]));
    running.wait_for("· measure");
    let [keepers, watchers] = ["keep-command", "watch-keeper"].map(|words| running.processes(words));
    assert!(keepers.len() == 1 && watchers.len() == 1, "{keepers:?} {watchers:?}");
    match holds(keepers[0], "sleep 601") {
        None => eprintln!("skipped: this host lets no process look into memory"),
        Some(is_seen) => {
            assert!(is_seen, "it has the command line");
            for pid in [keepers[0], watchers[0]] {
                assert_eq!(holds(pid, "xyzzy-plugh"), Some(false), "{pid}");
            }
        }
    }
    let word = std::fs::read_to_string(place.path().join("word")).expect("written by the service");
    assert_eq!(word, "xyzzy-plugh\n");
    signal(running.pid(), Signal::KILL);
    drop(running);
    place.expect_no_processes();
}
