//! Runs against real brokers: what is measured and kept, and that nothing survives whatever is killed.
//!
//! One test at a time: each starts a cluster, and two at once on a small machine would only wait for
//! each other.

mod common;

use common::{Place, RUN_DEADLINE, Running, Said, signal};
use rustix::process::Signal;
use serde_json::Value;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

fn one_at_a_time() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    // A test that failed before has cleaned up behind itself.
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A small scenario: `brokers` brokers without replication and with a setting that they do not know, a constant
/// load, one reader.
fn scenario(brokers: u32, seconds: u32) -> String {
    format!(
        "\
kdyno: 1
id: small
question: Does it work?
params: {{brokers: {brokers}, dur: {seconds}s}}
system: {{kafka: 4.1.1, mode: kraft, brokers: $brokers, limits: {{heap: 256MiB}}, config: {{num.io.thread: 4}}}}
topics:
  perf: {{partitions: = 2*brokers, replicas: 1}}
load:
  writers: {{produce: perf, clients: 1, rate: 500/s, value: 100B}}
  readers: {{consume: perf, clients: 1}}
phases: {{warmup: 1s, measure: $dur, drain: 5s}}
show: {{rows: [brokers], columns: [writers.acked_per_s, writers.response.p99, brokers.cpu_us_per_record]}}
"
    )
}

/// Starts a run of such a scenario.
fn start(place: &Place, brokers: u32, seconds: u32) -> Running<'_> {
    let path = place.file("small.yaml", &scenario(brokers, seconds));
    place.start(place.command(&[
        "run",
        path.to_str().expect("plain path"),
        "--share",
        "--yes",
        "--seed",
        "1",
    ]))
}

/// Starts a long run and waits until its load is under way.
fn start_and_measure(place: &Place, brokers: u32, seconds: u32) -> Running<'_> {
    let mut running = start(place, brokers, seconds);
    running.wait_for("· measure");
    running
}

/// The value of a finding in the run's document.
fn figure(document: &Value, address: &str) -> f64 {
    let (subject, metric) = address.split_once('.').expect("SUBJECT.METRIC");
    let findings = document["findings"].as_array().expect("findings");
    let found = findings.iter().find(|finding| finding["subject"] == subject && finding["metric"] == metric);
    let finding = found.unwrap_or_else(|| panic!("no {address} among {} findings", findings.len()));
    finding["value"].as_f64().unwrap_or_else(|| panic!("{address} is no number: {finding}"))
}

/// Kinds of the run's events, in order.
fn event_kinds(document: &Value) -> Vec<String> {
    let events = document["events"].as_array().expect("events");
    events.iter().filter_map(|event| event["kind"].as_str().map(ToOwned::to_owned)).collect()
}

fn ended(said: &Said, code: i32) {
    assert_eq!(said.code, Some(code), "{}\n{}", said.stdout, said.stderr);
}

#[test]
fn a_run_measures_counts_and_keeps_everything() {
    let _turn = one_at_a_time();
    let place = Place::new();
    let said = start(&place, 1, 4).wait(RUN_DEADLINE);
    ended(&said, 0);
    assert!(said.stdout.contains("small"), "{}", said.stdout);
    let document = place.show();
    assert!((figure(&document, "writers.offered_per_s") - 500.0).abs() < 50.0);
    assert_eq!(figure(&document, "writers.failed"), 0.0);
    assert_eq!(figure(&document, "writers.unresolved"), 0.0);
    assert!(figure(&document, "brokers.cpu_us_per_record") > 0.0);
    assert!(figure(&document, "readers.fetched_per_s") > 0.0);
    unknown_setting(&said, &document);
    exports(&place);
    let page = std::fs::read_to_string(place.run_file().with_extension("html")).expect("a report");
    assert!(page.contains("<svg") && page.contains("small"));
    place.expect_no_processes();
    let left: Vec<_> = std::fs::read_dir(place.path())
        .expect("the test's folder")
        .filter_map(|entry| entry.ok().and_then(|entry| entry.file_name().into_string().ok()))
        .filter(|name| name.starts_with("kdyno-") && name != "kdyno-runs")
        .collect();
    assert!(left.is_empty(), "the run's work folder is gone: {left:?}");
}

/// The misspelt setting is told before the load, kept as an event, and doubted before the figures.
fn unknown_setting(said: &Said, document: &Value) {
    let warning = "warning: the brokers know no setting `num.io.thread`;";
    let warned = said.stderr.find(warning).expect("a warning");
    assert!(warned < said.stderr.find("making topics").expect("the next step"), "{}", said.stderr);
    assert!(said.stderr.contains("`num.io.threads`"), "{}", said.stderr);
    assert!(event_kinds(document).contains(&"unknown-setting".to_owned()), "{}", document["events"]);
    let caveats = document["caveats"].as_array().expect("caveats");
    let caveat = caveats.iter().find(|caveat| caveat["kind"] == "unknown-setting").expect("a caveat");
    assert!(caveat["weight"] == "caveat", "{caveat}");
    let doubt = said.stdout.find("the brokers know no setting").expect("a doubt in the table");
    assert!(doubt < said.stdout.find("acked_per_s").expect("figures"), "{}", said.stdout);
}

/// The stored run in every form.
fn exports(place: &Place) {
    let runs = place.kdyno(&["runs"]);
    assert!(runs.stdout.contains("completed") && runs.stdout.contains("small"), "{runs:?}");
    for (format, word) in
        [("json", "\"findings\""), ("csv", "acked_per_s"), ("series-csv", "acked_per_s"), ("hlog", "#[")]
    {
        let said = place.kdyno(&["export", "latest", "--format", format]);
        ended(&said, 0);
        assert!(said.stdout.contains(word), "{format}: {}", said.stdout);
    }
    let table = place.kdyno(&["show", "latest"]);
    assert!(table.stdout.contains("500") || table.stdout.contains("writers"), "{table:?}");
}

#[test]
fn ctrl_c_stops_cleanly_and_keeps_the_evidence() {
    let _turn = one_at_a_time();
    let place = Place::new();
    let running = start_and_measure(&place, 1, 120);
    running.signal(Signal::INT);
    let said = running.wait(RUN_DEADLINE);
    ended(&said, 130);
    place.expect_no_processes();
    let document = place.show();
    assert!(event_kinds(&document).contains(&"cut-short".to_owned()), "{}", document["events"]);
    assert_eq!(document["end"]["status"], "interrupted");
}

#[test]
fn ctrl_c_while_the_cluster_starts_does_not_wait_for_it() {
    let _turn = one_at_a_time();
    let place = Place::new();
    let mut running = start(&place, 1, 120);
    running.wait_for_process("kafka.Kafka");
    running.signal(Signal::INT);
    ended(&running.wait(RUN_DEADLINE), 130);
    place.expect_no_processes();
    assert_eq!(place.show()["end"]["status"], "interrupted");
}

#[test]
fn an_unknown_version_is_named_in_one_message() {
    let _turn = one_at_a_time();
    let place = Place::new();
    let args = ["cluster", "up", "--name", "new", "--kafka", "3.9.99"];
    let said = place.start(place.command(&args)).wait(RUN_DEADLINE);
    ended(&said, 1);
    let errors: Vec<&str> = said.stderr.lines().filter(|line| line.starts_with("error:")).collect();
    assert!(errors.len() == 1 && errors[0].contains("3.9.99"), "{}", said.stderr);
    assert!(said.stderr.contains("hint:"), "{}", said.stderr);
    place.expect_no_processes();
}

#[test]
fn killing_kdyno_leaves_no_process_and_a_readable_run() {
    let _turn = one_at_a_time();
    let place = Place::new();
    let running = start_and_measure(&place, 1, 120);
    running.signal(Signal::KILL);
    assert_eq!(running.wait(RUN_DEADLINE).code, None);
    place.expect_no_processes();
    let document = place.show();
    assert_eq!(document["end"], Value::Null, "cut off");
    assert!(place.kdyno(&["runs"]).stdout.contains("cut off"));
}

#[test]
fn killing_the_worker_ends_the_run_with_an_error_and_its_evidence() {
    let _turn = one_at_a_time();
    let place = Place::new();
    let running = start_and_measure(&place, 1, 120);
    let workers = running.processes("kdyno worker");
    assert_eq!(workers.len(), 1, "one worker");
    signal(workers[0], Signal::KILL);
    let said = running.wait(RUN_DEADLINE);
    ended(&said, 1);
    assert!(said.stderr.contains("error: worker 0 ended (signal: 9"), "{}", said.stderr);
    assert!(said.stderr.contains("hint:") && said.stderr.contains("kept in"), "{}", said.stderr);
    place.expect_no_processes();
    let kinds = event_kinds(&place.show());
    assert!(
        kinds.contains(&"worker-ended".to_owned()) && kinds.contains(&"cut-short".to_owned()),
        "{kinds:?}"
    );
}

#[test]
fn killing_the_guard_takes_the_brokers_down_and_the_run_tells_of_it() {
    let _turn = one_at_a_time();
    let place = Place::new();
    let running = start_and_measure(&place, 1, 120);
    let guards = running.processes("kdyno guard");
    assert_eq!(guards.len(), 1, "one guard");
    signal(guards[0], Signal::KILL);
    let said = running.wait(RUN_DEADLINE);
    ended(&said, 1);
    assert!(said.stderr.contains("error: no broker is left"), "{}", said.stderr);
    place.expect_no_processes();
    let document = place.show();
    let kinds = event_kinds(&document);
    assert!(kinds.contains(&"process-died".to_owned()), "{kinds:?}");
    assert!(kinds.contains(&"cut-short".to_owned()), "it does not wait for nobody: {kinds:?}");
    assert!(!kinds.contains(&"worker-ended".to_owned()), "the worker hands in its account: {kinds:?}");
    assert!(figure(&document, "writers.unresolved") + figure(&document, "writers.failed") > 0.0);
}

#[test]
fn a_broker_killed_in_the_middle_shows_and_the_run_goes_on() {
    let _turn = one_at_a_time();
    let place = Place::new();
    let running = start_and_measure(&place, 2, 10);
    let brokers = running.processes("kafka.Kafka");
    assert_eq!(brokers.len(), 2, "two brokers");
    signal(brokers[0], Signal::KILL);
    let said = running.wait(RUN_DEADLINE);
    assert!(matches!(said.code, Some(0 | 6)), "the run goes on: {said:?}");
    place.expect_no_processes();
    let document = place.show();
    assert!(event_kinds(&document).contains(&"process-died".to_owned()));
    let lost = figure(&document, "writers.failed") + figure(&document, "writers.unresolved");
    assert!(lost > 0.0, "records of the dead broker's partitions did not come home");
    assert!((figure(&document, "writers.offered_per_s") - 500.0).abs() < 50.0, "the schedule does not wait");
}

#[test]
fn a_full_disk_stops_the_run_with_one_clear_error() {
    let _turn = one_at_a_time();
    let place = Place::new();
    let small = place.path().join("small-disk");
    let Some(_mount) = SmallDisk::mount(&small) else {
        eprintln!("skipped: a small file system cannot be mounted here (needs root)");
        return;
    };
    let path = place.file("small.yaml", &scenario(1, 120));
    let out = small.to_str().expect("plain path");
    let mut running =
        place.start(place.command(&["run", path.to_str().expect("plain path"), "--share", "--out", out]));
    running.wait_for("· measure");
    SmallDisk::fill(&small);
    let said = running.wait(RUN_DEADLINE);
    ended(&said, 1);
    assert!(said.stderr.contains("error: the disk is full"), "{}", said.stderr);
    place.expect_no_processes();
    std::fs::remove_file(small.join("filler")).expect("the filler");
    let said = place.kdyno(&["show", "latest", "--dir", out, "--json"]);
    ended(&said, 0);
    let document: Value = serde_json::from_str(&said.stdout).expect("JSON");
    assert_eq!(document["end"]["status"], "failed");
}

/// A file system in memory of 64 MiB, unmounted at the end.
struct SmallDisk<'a>(&'a Path);

impl<'a> SmallDisk<'a> {
    fn mount(path: &'a Path) -> Option<Self> {
        std::fs::create_dir(path).expect("a folder");
        let mut mount = std::process::Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=64m", "tmpfs"]).arg(path);
        let mounted = mount.output().is_ok_and(|output| output.status.success());
        mounted.then_some(Self(path))
    }

    /// Writes until nothing more fits.
    fn fill(path: &Path) {
        use std::io::Write;
        let mut filler = std::fs::File::create(path.join("filler")).expect("a file");
        while filler.write_all(&[7; 4096]).is_ok() {}
    }
}

impl Drop for SmallDisk<'_> {
    fn drop(&mut self) {
        // `-l`: also when something still holds a file there.
        let _ = std::process::Command::new("umount").arg("-l").arg(self.0).output();
    }
}

#[test]
fn without_maven_and_without_a_cached_release_one_message_says_so() {
    let _turn = one_at_a_time();
    let place = Place::new();
    let path = place.file("small.yaml", &scenario(1, 2));
    let mut command = place.command(&["run", path.to_str().expect("plain path"), "--share"]);
    command.env("PATH", "").env("XDG_CACHE_HOME", place.path().join("cache"));
    let said = place.start(command).wait(RUN_DEADLINE);
    ended(&said, 1);
    let errors: Vec<&str> = said.stderr.lines().filter(|line| line.starts_with("error:")).collect();
    assert_eq!(errors.len(), 1, "{}", said.stderr);
    let lower = said.stderr.to_lowercase();
    assert!(lower.contains("maven") || lower.contains("java"), "{}", said.stderr);
    assert!(said.stderr.contains("hint:"), "{}", said.stderr);
    place.expect_no_processes();
}

#[test]
fn a_standing_cluster_is_listed_and_taken_down() {
    let _turn = one_at_a_time();
    let place = Place::new();
    let up = ["cluster", "up", "--name", "mine", "--kafka", "4.1.1", "--heap", "256MiB"];
    let config = ["--config", "num.io.thread=4", "--config", "num.network.threads=2"];
    let said = place.start(place.command(&[&up[..], &config].concat())).wait(RUN_DEADLINE);
    ended(&said, 0);
    let warnings: Vec<&str> = said.stderr.lines().filter(|line| line.starts_with("warning:")).collect();
    assert!(warnings.len() == 1 && warnings[0].contains("`num.io.thread`"), "{}", said.stderr);
    assert!(said.stdout.contains("127.0.0.1:") || said.stdout.contains("localhost:"), "{said:?}");
    let list = place.kdyno(&["cluster", "list"]);
    assert!(list.stdout.contains("mine"), "{list:?}");
    let again = place.start(place.command(&["cluster", "up", "--name", "mine"])).wait(RUN_DEADLINE);
    assert_ne!(again.code, Some(0), "the name is taken");
    let down = place.start(place.command(&["cluster", "down", "mine"])).wait(RUN_DEADLINE);
    ended(&down, 0);
    place.expect_no_processes();
    assert!(!place.kdyno(&["cluster", "list"]).stdout.contains("mine"));
}
