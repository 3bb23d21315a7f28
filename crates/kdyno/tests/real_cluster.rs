//! Runs against real brokers: what is measured and kept, and that nothing survives whatever is killed.
//!
//! One test at a time: each starts a cluster, and two at once on a small machine would only wait for
//! each other.

mod common;

use common::{Place, RUN_DEADLINE, Running, Said, signal};
use kdyno_lab::{Progress, RunOptions, RunRequest};
use kdyno_model::event::{EventKind, Subject};
use kdyno_model::evidence::TrialEvidence;
use kdyno_model::finding::Scope;
use kdyno_model::sample::{Grain, Phase, series};
use kdyno_model::trial::TrialReason;
use kdyno_store::RunFile;
use kdyno_testbed::Environment;
use rustix::process::Signal;
use serde_json::Value;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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
phases: {{warmup: 1s, condition: none, measure: $dur, drain: 5s}}
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

/// The value of a finding of the first case in the run's document.
fn figure(document: &Value, address: &str) -> f64 {
    figure_of(document, 0, address)
}

/// The value of a case's finding.
fn figure_of(document: &Value, case: usize, address: &str) -> f64 {
    let (subject, metric) = address.split_once('.').expect("SUBJECT.METRIC");
    let findings = document["findings"].as_array().expect("findings");
    let is_of_case =
        |finding: &&Value| finding["scope"]["kind"] == "case" && finding["scope"]["case"] == case;
    let mut of_case = findings.iter().filter(is_of_case).filter(|finding| finding["quantity"] == "value");
    let found = of_case.find(|finding| finding["subject"] == subject && finding["metric"] == metric);
    let finding = found.unwrap_or_else(|| panic!("no {address} among {} findings", findings.len()));
    finding["value"].as_f64().unwrap_or_else(|| panic!("{address} is no number: {finding}"))
}

/// Kinds of the run's events, in order.
fn event_kinds(document: &Value) -> Vec<String> {
    let events = document["events"].as_array().expect("events");
    events.iter().filter_map(|event| event["kind"].as_str().map(ToOwned::to_owned)).collect()
}

/// Kinds of the run's doubts of a severity.
fn doubts<'a>(document: &'a Value, severity: &str) -> Vec<&'a str> {
    let caveats = document["caveats"].as_array().expect("caveats");
    let of_weight = caveats.iter().filter(|caveat| caveat["severity"] == severity);
    of_weight.filter_map(|caveat| caveat["kind"].as_str()).collect()
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
    exports(&place, &document);
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
    assert!(caveat["severity"] == "warning", "{caveat}");
    let doubt = said.stdout.find("the brokers know no setting").expect("a doubt in the table");
    assert!(doubt < said.stdout.find("acked_per_s").expect("figures"), "{}", said.stdout);
}

/// The stored run in every form.
fn exports(place: &Place, document: &Value) {
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
    ended(&table, 0);
    for word in ["writers", "acked_per_s", "response.p99", "cpu_us_per"] {
        assert!(table.stdout.contains(word), "no {word}: {}", table.stdout);
    }
    // The scenario's one row: its one broker, then the rate.
    let row = table.stdout.lines().find_map(|line| line.strip_prefix("1 "));
    let cells = row.into_iter().flat_map(str::split_whitespace);
    // Marks may stand before it.
    let rate = cells.into_iter().find_map(|cell| cell.strip_suffix("/s")?.parse().ok());
    let found = figure(document, "writers.acked_per_s");
    assert!(rate.is_some_and(|rate: f64| (rate / found - 1.0).abs() < 0.01), "{found}: {}", table.stdout);
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
    assert_eq!(document["status"], "interrupted");
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
    assert_eq!(place.show()["status"], "interrupted");
}

#[test]
fn an_unknown_version_is_named_in_one_message() {
    let _turn = one_at_a_time();
    let place = Place::new();
    let args = ["cluster", "up", "new", "--kafka", "3.9.99"];
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
    assert_eq!(document["status"], Value::Null, "cut off");
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
    // Every record is accounted for, so the figures are right: those of a cluster that lost a broker.
    ended(&said, 0);
    place.expect_no_processes();
    let document = place.show();
    assert!(doubts(&document, "warning").contains(&"process-died"), "{}", document["caveats"]);
    assert_eq!(doubts(&document, "invalid"), Vec::<&str>::new());
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
    assert_eq!(document["status"], "failed");
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
    // A Java, wherever the user has it, and nothing else.
    let bin = place.path().join("bin");
    std::fs::create_dir(&bin).expect("a folder");
    let path_of_user = std::env::var_os("PATH").expect("PATH");
    let mut javas = std::env::split_paths(&path_of_user).map(|folder| folder.join("java"));
    if let Some(java) = javas.find(|java| java.is_file()) {
        std::os::unix::fs::symlink(java.canonicalize().expect("a Java"), bin.join("java")).expect("a link");
    }
    let mut command = place.command(&["run", path.to_str().expect("plain path"), "--share"]);
    command.env("PATH", bin).env("XDG_CACHE_HOME", place.path().join("cache"));
    let said = place.start(command).wait(RUN_DEADLINE);
    ended(&said, 1);
    let errors: Vec<&str> = said.stderr.lines().filter(|line| line.starts_with("error:")).collect();
    assert!(errors.len() == 1 && errors[0].contains("no Maven found on PATH"), "{}", said.stderr);
    assert!(said.stderr.contains("hint: install it, e.g. `apt-get install maven`"), "{}", said.stderr);
    place.expect_no_processes();
}

#[test]
fn a_standing_cluster_is_listed_and_taken_down() {
    let _turn = one_at_a_time();
    let place = Place::new();
    let up = ["cluster", "up", "mine", "--kafka", "4.1.1", "--heap", "256MiB"];
    let config = ["--config", "num.io.thread=4", "--config", "num.network.threads=2"];
    let said = place.start(place.command(&[&up[..], &config].concat())).wait(RUN_DEADLINE);
    ended(&said, 0);
    let warnings: Vec<&str> = said.stderr.lines().filter(|line| line.starts_with("warning:")).collect();
    assert!(warnings.len() == 1 && warnings[0].contains("`num.io.thread`"), "{}", said.stderr);
    assert!(said.stdout.contains("127.0.0.1:") || said.stdout.contains("localhost:"), "{said:?}");
    let list = place.kdyno(&["cluster", "list"]);
    assert!(list.stdout.contains("mine"), "{list:?}");
    let again = place.start(place.command(&["cluster", "up", "mine"])).wait(RUN_DEADLINE);
    assert_ne!(again.code, Some(0), "the name is taken");
    let down = place.start(place.command(&["cluster", "down", "mine"])).wait(RUN_DEADLINE);
    ended(&down, 0);
    place.expect_no_processes();
    assert!(!place.kdyno(&["cluster", "list"]).stdout.contains("mine"));
}

/// Runs a bundled scenario with small heaps and returns its document.
fn bundled(place: &Place, args: &[&str]) -> Value {
    let fixed = ["--set", "heap=256MiB", "--share", "--yes", "--seed", "1"];
    let said = place.start(place.command(&[&["run"], args, &fixed].concat())).wait(RUN_DEADLINE);
    ended(&said, 0);
    place.expect_no_processes();
    let document = place.show();
    assert_eq!(document["status"], "completed");
    assert_eq!(doubts(&document, "invalid"), Vec::<&str>::new());
    document
}

/// Every second's figure of a load item in a case, warm-up and drain included, summed.
fn sum_of_seconds(place: &Place, case: &str, series: &str) -> f64 {
    let csv = place.kdyno(&["export", "latest", "--format", "series-csv"]);
    ended(&csv, 0);
    let mut rows = csv.stdout.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let head = rows.next().expect("a head");
    let column = |name| head.iter().position(|column| *column == name).expect(name);
    let wanted =
        [("case", case), ("subject", "writers"), ("series", series)].map(|(name, is)| (column(name), is));
    let value = column("value");
    let mine = rows.filter(|row| wanted.iter().all(|(column, is)| row[*column] == *is));
    mine.map(|row| row[value].parse::<f64>().expect("a number")).sum()
}

#[test]
fn the_first_scenario_replicates_and_loses_nothing() {
    let _turn = one_at_a_time();
    let place = Place::new();
    // At a rate that brokers carry whose JVMs have just started, however busy the machine is.
    let text = include_str!("../../../scenarios/first-light.yaml");
    assert!(text.contains("cases:\n  - {rate: 10k/s}\n  - {rate: max}\n"), "{text}");
    let path = place.file("first-light.yaml", &text.replace("10k/s", "500/s"));
    let path = path.to_str().expect("plain path");
    let document = bundled(&place, &[path, "--set", "warmup=2s", "--set", "dur=3s"]);
    let (rates, metrics) = (["500/s", "max"], ["writers.failed", "writers.unresolved"]);
    for (case, rate) in rates.into_iter().enumerate() {
        assert_eq!(document["cases"][case]["params"]["rate"], rate);
        assert!(figure_of(&document, case, "writers.records_per_batch") >= 1.0);
        assert!(figure_of(&document, case, "brokers.cpu_us_per_record") > 0.0);
    }
    for trial in document["trials"].as_array().expect("trials") {
        let lines = trial["command_lines"].as_object().expect("command lines");
        assert_eq!(lines.keys().filter(|subject| subject.starts_with("broker-")).count(), 3, "{lines:?}");
    }
    assert_eq!(metrics.map(|metric| figure_of(&document, 0, metric)), [0.0, 0.0]);
    assert!(figure_of(&document, 0, "writers.response.p50") > 0.0);
    let offered_per_s = figure_of(&document, 0, "writers.offered_per_s");
    assert!((offered_per_s - 500.0).abs() < 100.0, "Poisson arrivals: {offered_per_s}");
    let all = ["offered_per_s", "acked_per_s"].map(|series| sum_of_seconds(&place, "0", series));
    assert!(all[0] > 2_000.0 && all[0] == all[1], "each record offered was acknowledged: {all:?}");
    assert!(figure_of(&document, 1, "writers.acked_per_s") > 0.0);
}

#[test]
fn a_bundled_report_runs_on_zookeeper_beside_what_was_published() {
    let _turn = one_at_a_time();
    let place = Place::new();
    let document = bundled(
        &place,
        &["reports/huawei-rate", "--profile", "smoke", "--set", "dur=2s", "--set", "drain=2s"],
    );
    for (case, row) in [(0, 0), (1, 3)] {
        let params = &document["published"]["rows"][row]["params"];
        assert_eq!(document["cases"][case]["params"]["replicas"], params["replicas"]);
        assert!(figure_of(&document, case, "writers.acked_per_s") > 0.0);
    }
    let lines = document["trials"][0]["command_lines"].as_object().expect("command lines");
    let subjects: Vec<&str> = lines.keys().map(String::as_str).collect();
    assert_eq!(subjects, ["broker-0", "broker-1", "broker-2", "zookeeper-0"]);

    let table = place.kdyno(&["show", "latest"]).stdout;
    assert!(table.contains("published") && table.contains("Huawei DMS for Kafka"), "{table}");
    // By replicas, acks, batch and zone: what this run has tested, and what it has not.
    let rows = |wanted: [&str; 4]| -> Vec<&str> {
        let cells = |line: &&str| line.split_whitespace().skip(1).take(4).eq(wanted);
        table.lines().filter(cells).collect()
    };
    let (ours, others) = (rows(["1", "1", "1KiB", "same"]), rows(["1", "1", "1KiB", "other"]));
    assert!(!ours.is_empty() && ours.iter().all(|row| !row.contains("not tested")), "{table}");
    assert!(!others.is_empty() && others.iter().all(|row| row.contains("not tested")), "{table}");
    for (printed, row) in [(ours[0], 0), (others[0], 2)] {
        let published = document["published"]["rows"][row]["values"]["writers.acked_per_s"].as_f64();
        let rate = published.expect("a published rate") as u64;
        assert!(printed.contains(&format!("{},{:03}/s", rate / 1000, rate % 1000)), "{rate}: {table}");
    }
}

/// Two trials on one broker, after conditioning; the warm-up ends by evidence.
const BY_EVIDENCE: &str = "\
kdyno: 1
id: settled
question: Does it work?
repeat: 2
system: {kafka: 4.1.1, mode: kraft, brokers: 1, limits: {heap: 256MiB}}
topics: {perf: {partitions: 2, replicas: 1}}
load: {writers: {produce: perf, clients: 1, rate: 500/s, value: 100B, client: {acks: all}}}
phases: {warmup: 2s..12s, condition: 1s..4s, measure: 2s, drain: 5s}
show: {columns: [writers.acked_per_s]}
";

#[test]
fn conditioning_warm_up_log_and_settings_are_kept_and_an_interrupted_run_goes_on() {
    let _turn = one_at_a_time();
    let place = Place::new();
    let scenario = place.file("settled.yaml", BY_EVIDENCE);
    let args = ["run", scenario.to_str().expect("plain path"), "--share", "--yes", "--seed", "1"];
    let mut running = place.start(place.command(&args));
    running.wait_for("trial 3 of 3");
    running.signal(Signal::INT);
    ended(&running.wait(RUN_DEADLINE), 130);
    place.expect_no_processes();
    let path = place.run_file();
    go_on(&place, &path);
    place.expect_no_processes();

    let file = RunFile::open(&path).expect("the run file");
    let trials = file.trials().expect("its trials");
    let listed = TrialReason::Listed { of: 2 };
    let ran: Vec<_> =
        trials.iter().map(|start| (start.trial.reason, start.trial.repeat, start.session)).collect();
    let conditioning = TrialReason::Conditioning;
    assert_eq!(ran, [(conditioning, 1, 1), (listed, 1, 1), (conditioning, 1, 2), (listed, 2, 2)]);
    assert!(trials.windows(2).all(|pair| pair[0].trial.id < pair[1].trial.id));
    let judgement = file.judgement().expect("findings");
    for start in &trials {
        let evidence = file.evidence(start.trial.id).expect("evidence");
        let is_judged =
            judgement.findings.iter().any(|finding| finding.scope == Scope::Trial(start.trial.id));
        assert_eq!(is_judged, !start.trial.is_conditioning());
        assert_phases_are_as_announced(&evidence);
        assert_log_holds_what_was_acknowledged(&evidence);
        let kinds: Vec<EventKind> = evidence.events.iter().map(|event| event.kind).collect();
        assert!(!kinds.contains(&EventKind::Unconditioned), "{kinds:?}");
        // Four seconds are too few to tell.
        let is_cut_off = kinds.contains(&EventKind::WarmupNotSettled);
        assert!(is_cut_off || !start.trial.is_conditioning(), "{kinds:?}");
        let settings = start.settings.get(&Subject::Broker(0)).expect("the broker's settings");
        assert!(settings.contains_key("log.segment.bytes") && !settings.contains_key("node.id"));
    }
    let cluster = |at: usize| trials[at].cluster.get("cluster_id").expect("an id");
    assert_eq!(cluster(0), cluster(1), "what was conditioned is what was measured");
    assert_ne!(cluster(1), cluster(2), "another session has another cluster");
}

/// Goes on with an interrupted run.
fn go_on(place: &Place, path: &Path) {
    let header = RunFile::open(path).expect("the run file").header().expect("its head");
    let request = RunRequest {
        plan: header.plan,
        scenario_text: header.scenario_text,
        scenario_path: header.scenario_path,
        command_line: Vec::new(),
        git_head: None,
        kdyno_version: "test".to_owned(),
        run_id: header.run_id,
    };
    let environment = Environment::from_lookup(&|name| std::env::var_os(name)).expect("a home");
    let mut steps = Vec::new();
    let options = RunOptions {
        run_file: path.to_owned(),
        resume: true,
        work_dir: place.path().join("kdyno-again"),
        self_exe: env!("CARGO_BIN_EXE_kdyno").into(),
        environment: Environment { state_dir: place.path().join("state"), ..environment },
        share: true,
        stop: Arc::default(),
        variables: &|_| None,
        progress: &mut |progress| {
            if let Progress::Step(step) = progress {
                steps.push(step);
            }
        },
    };
    let outcome = kdyno_lab::run(&request, options).expect("the run file");
    assert!(outcome.failure.is_none(), "{:?}", outcome.failure);
    assert!(steps.iter().any(|step| step == "going on after 1 finished trials"), "{steps:?}");
}

/// Phases lie without a gap, the measure phase begins on a whole second within the bounds, and rows lie in theirs.
fn assert_phases_are_as_announced(evidence: &TrialEvidence) {
    const SECOND_NS: u64 = 1_000_000_000;
    let phases = &evidence.phases;
    let lengths = evidence.start.trial.effective.phases;
    let auto = lengths.warmup_auto.expect("a warm-up that ends by evidence");
    let names: Vec<Phase> = phases.iter().map(|span| span.phase).collect();
    assert_eq!(names, [Phase::Warmup, Phase::Measure, Phase::Drain]);
    assert!(phases.windows(2).all(|pair| pair[0].end_ns == pair[1].start_ns));
    let measure = evidence.span(Phase::Measure).expect("a measure phase");
    assert_eq!(measure.start_ns % SECOND_NS, 0);
    // A late announcement on a busy machine moves the latest start by a second or two.
    assert!((auto.least_ns..=lengths.warmup_ns + 5 * SECOND_NS).contains(&measure.start_ns), "{measure:?}");
    assert_eq!(measure.end_ns - measure.start_ns, lengths.measure_ns);
    let rows = evidence.samples.iter().filter(|row| row.grain == Grain::Second);
    for row in rows.filter(|row| row.counts.offered > 0) {
        let span = evidence.span(row.phase).expect("a phase of the trial");
        let at_ns = u64::from(row.t0_second) * SECOND_NS;
        assert!((span.start_ns..span.end_ns).contains(&at_ns), "{:?} in {span:?}", row.t0_second);
    }
}

/// The log grew by exactly what was acknowledged.
fn assert_log_holds_what_was_acknowledged(evidence: &TrialEvidence) {
    let readings: Vec<_> =
        evidence.probes.iter().filter(|reading| reading.series == series::LOG_RECORDS_TOTAL).collect();
    assert_eq!(readings.len(), 2, "{readings:?}");
    assert!(readings.iter().all(|reading| reading.subject == Subject::Topic("perf".to_owned())));
    let load_end_ns = evidence.span(Phase::Measure).expect("a measure phase").end_ns;
    assert!(readings[0].at_ns < 0 && readings[1].at_ns > load_end_ns.cast_signed());
    let acknowledged: u64 = evidence.totals.iter().map(|totals| totals.counts.acknowledged).sum();
    assert!(acknowledged > 0);
    assert_eq!(readings[1].value - readings[0].value, acknowledged as f64);
}
