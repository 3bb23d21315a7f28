//! Whole runs without brokers of Kafka: what they send to is the null broker in a process of its own, or a fake cluster.

mod action;
mod agents;
mod brokers_words;
mod closed_memory;
mod commands;
#[path = "../common/mod.rs"]
mod common;
mod components;
mod consumer_perf_test;
mod databases;
mod denied;
mod document;
mod gate;
mod hangup;
mod host_folders;
mod http_load;
mod import;
mod init;
mod java;
mod lab;
mod many_clients;
mod metrics;
mod namespaces;
mod omb;
#[cfg(not(feature = "kubernetes"))]
mod pods;
mod probe;
mod producer_perf_test;
mod quick;
mod several_topics;
mod ssh;
mod system;
mod terminal;

use common::{ProgramOutput, RUN_DEADLINE, Running, TestFolder, ran, signal};
use kdyno_kafka::admin::Admin;
use kdyno_model::event::EventKind;
use kdyno_model::outcome::TrialOutcome;
use kdyno_store::RunFile;
use rustix::process::Signal;
use std::path::Path;
use std::process::Command;

/// Name by which the null broker answers.
const CLUSTER_ID: &str = "kdyno-null-broker";

const SCENARIO: &str = "\
kdyno: 1
id: small
question: Does it work?
params: {dur: 2s, rate: 200/s}
topics:
  perf: {partitions: 2, replicas: 1}
load:
  writers: {produce: perf, clients: 2, rate: $rate, value: 100B}
phases: {warmup: 1s, measure: $dur, drain: 5s}
show: {columns: [writers.acked_per_s]}
";

/// A null broker on a free port.
struct NullBroker<'a> {
    running: Running<'a>,
    address: String,
}

impl<'a> NullBroker<'a> {
    fn start(place: &'a TestFolder) -> Self {
        Self::start_by(place, |args| place.command(args))
    }

    fn start_by(place: &'a TestFolder, command: impl Fn(&[&str]) -> Command) -> Self {
        let mut running = place.start(command(&["null-broker", "--port", "0", "--partitions", "2"]));
        let address = running.wait_for_line();
        Self { running, address }
    }

    /// One that speaks TLS, and its certificate, PEM.
    fn start_tls(place: &'a TestFolder) -> (Self, String) {
        let args = ["null-broker", "--port", "0", "--partitions", "2", "--tls", "any"];
        let mut running = place.start(place.command(&args));
        let said = running.wait_for_output("-----END CERTIFICATE-----");
        let (address, certificate) = said.split_once('\n').expect("two lines at least");
        (Self { running, address: address.to_owned() }, certificate.to_owned())
    }

    /// Ends it as its user would; it says what it saw.
    fn stop(self) -> ProgramOutput {
        self.running.signal(Signal::TERM);
        self.running.wait(RUN_DEADLINE)
    }
}

/// Writes scenario and target; returns what `kdyno run` is given.
fn files(place: &TestFolder, address: &str, cluster_id: &str) -> [String; 3] {
    let scenario = place.file("small.yaml", SCENARIO);
    let target = place.file(
        "target.yaml",
        &format!(
            "kdyno: 1\ntarget: null\ncluster_id: {cluster_id}\nclient: {{bootstrap: [\"{address}\"]}}\n\
             guard: {{prefix: kdyno-, caps: {{produce: 1MiB/s}}}}\n"
        ),
    );
    let text = |path: std::path::PathBuf| path.to_str().expect("plain path").to_owned();
    [text(scenario), "--target".to_owned(), text(target)]
}

fn run<'a>(place: &'a TestFolder, files: &[String; 3], more: &[&str]) -> Running<'a> {
    let args: Vec<&str> = ["run"].into_iter().chain(files.iter().map(String::as_str)).collect();
    place.start(place.command(&[&args[..], &["--share"], more].concat()))
}

#[test]
fn an_attached_run_is_counted_exactly_and_leaves_no_topic() {
    let place = TestFolder::new();
    let broker = NullBroker::start(&place);
    let files = files(&place, &broker.address, CLUSTER_ID);
    let said = run(&place, &files, &["--json"]).wait(RUN_DEADLINE);
    ran(&said);
    let document: serde_json::Value =
        serde_json::from_str(&said.stdout).expect("only JSON on standard output");
    assert_eq!(document["trials"][0]["cluster"]["target"], "null");
    assert_eq!(document["trials"][0]["cluster"]["on_this_host"], "yes");
    assert_eq!(document["status"], "completed");
    assert_drawn_alike(&place.run_file());
    let clean = place.kdyno(&["clean", "--target", &files[2]]);
    assert_eq!((clean.code, clean.stdout.as_str()), (Some(0), ""), "no topic is left: {clean:?}");
    assert!(!said.stdout.contains(&broker.address), "addresses are private");
    let bare = place.kdyno(&["rerun", "latest", "--share"]);
    assert_eq!(bare.code, Some(2), "{bare:?}");
    let args = ["rerun", "latest", "--share", "--no-progress", "--target", &files[2]];
    let again = place.start(place.command(&args)).wait(RUN_DEADLINE);
    ran(&again);
    assert!(
        again.stderr.contains("time: about") && again.stderr.contains(".kdyno"),
        "the plan and the files: {again:?}"
    );
    assert!(
        !again.stderr.contains("trial 1") && !again.stderr.contains("· measure"),
        "no progress: {again:?}"
    );
    let seen = broker.stop();
    assert_eq!(seen.code, Some(0), "{seen:?}");
    place.expect_no_processes();
}

#[test]
fn a_wait_for_the_host_ends_with_how_long_it_was() {
    let place = TestFolder::new();
    let broker = NullBroker::start(&place);
    let files = files(&place, &broker.address, CLUSTER_ID);
    let held = std::fs::File::create(place.path().join("lock/kdyno-host.lock")).expect("the lock");
    held.lock().expect("it is free");
    let args = ["run", &files[0], &files[1], &files[2], "--wait", "1s"];
    let said = place.start(place.command(&args)).wait(RUN_DEADLINE);
    let over = "this host is taken by another measured run: another process is measuring; waited 1 s\n";
    assert!(said.code != Some(0) && said.stderr.contains(over), "{said:?}");
    drop(held);
    broker.stop();
    place.expect_no_processes();
}

#[test]
fn an_existing_topic_is_written_to_but_not_made_or_deleted() {
    let place = TestFolder::new();
    let broker = NullBroker::start(&place);
    let files = files(&place, &broker.address, CLUSTER_ID);
    let target = std::fs::read_to_string(&files[2]).expect("the target");
    let target =
        target.replace("guard: {", "topics: {perf: team-a.load}\nguard: {allow: [existing-topics], ");
    place.file("target.yaml", &target);
    place.file("small.yaml", &SCENARIO.replace("partitions: 2", "partitions: 3"));
    for _ in 0..2 {
        let said = run(&place, &files, &["--json"]).wait(RUN_DEADLINE);
        ran(&said);
        for reported in [
            "topic `perf` is the existing topic `team-a.load` of target null",
            "which has 2 partitions, not 3",
        ] {
            assert!(said.stderr.contains(reported), "{reported}: {said:?}");
        }
        let document: serde_json::Value = serde_json::from_str(&said.stdout).expect("JSON");
        let caveats = document["caveats"].as_array().expect("caveats");
        let of_log = |caveat: &&serde_json::Value| {
            caveat["kind"].as_str().is_some_and(|kind| kind.starts_with("log") || kind == "lost")
        };
        assert_eq!(caveats.iter().find(of_log), None, "what was there before is not counted");
    }
    let mut admin =
        Admin::connect(std::slice::from_ref(&broker.address), "test", RUN_DEADLINE).expect("a broker");
    let topics = admin.topics(None).expect("its topics");
    let names: Vec<&str> = topics.iter().map(|topic| topic.name.as_str()).collect();
    assert_eq!(names, ["team-a.load"]);
    let quick = [
        "quick",
        "--bootstrap-server",
        &broker.address,
        "--topic",
        "team-a.load",
        "--duration",
        "2s",
        "--share",
    ];
    let said = place.start(place.command(&quick)).wait(RUN_DEADLINE);
    ran(&said);
    assert_eq!(admin.topics(None).expect("its topics").len(), 1, "none is made");
    broker.stop();
}

/// What was stored while the run went on is what the same evidence says now.
fn assert_drawn_alike(path: &Path) {
    let file = RunFile::open(path).expect("the run file");
    let header = file.header().expect("its head");
    let mut outcomes = Vec::new();
    for start in file.trials().expect("its trials") {
        let evidence = file.evidence(start.trial.id).expect("its evidence");
        let judgement = kdyno_analysis::trial::judge(&evidence).expect("findings");
        outcomes.push(TrialOutcome { session: start.session, ..TrialOutcome::new(start.trial, judgement) });
    }
    let sessions: Vec<_> = file.sessions().expect("its sessions").into_iter().map(|(one, _)| one).collect();
    let starts = file.trials().expect("its trials");
    let drawn = kdyno_analysis::run::all(&header.plan, outcomes, &starts, &sessions, false);
    let stored = file.judgement().expect("stored findings");
    assert!(drawn.findings.len() > 50, "{} findings", drawn.findings.len());
    assert_eq!(sorted(&drawn.findings), sorted(&stored.findings));
    assert_eq!(sorted(&drawn.caveats), sorted(&stored.caveats));
    assert_eq!(sorted(&drawn.conclusions), sorted(&stored.conclusions));
}

fn sorted(items: &[impl std::fmt::Debug]) -> Vec<String> {
    let mut texts: Vec<String> = items.iter().map(|item| format!("{item:?}")).collect();
    texts.sort();
    texts
}

#[test]
fn clients_are_not_limited_by_the_usual_number_of_open_files() {
    let place = TestFolder::new();
    let limited = |args: &[&str]| place.command_with_files(128, args);
    let broker = NullBroker::start_by(&place, limited);
    let [scenario, option, target] = files(&place, &broker.address, CLUSTER_ID);
    let many = SCENARIO.replace("clients: 2,", "clients: 300,");
    place.file("small.yaml", &many);
    let args = ["run", &scenario, &option, &target, "--share", "--json", "--set", "rate=3k/s"];
    let said = place.start(limited(&args)).wait(RUN_DEADLINE);
    ran(&said);
    let document: serde_json::Value = serde_json::from_str(&said.stdout).expect("JSON");
    let findings = document["findings"].as_array().expect("findings");
    let figure = |metric: &str| {
        let finding = findings.iter().find(|finding| finding["metric"] == metric);
        finding.and_then(|finding| finding["value"].as_f64()).unwrap_or(f64::NAN)
    };
    assert_eq!((figure("failed"), figure("unresolved")), (0.0, 0.0));
    assert!(figure("acked_per_s") > 1000.0, "{findings:?}");
    assert!(broker.stop().stderr.contains(", 0 errors"));
}

#[test]
fn another_cluster_than_the_targets_is_sent_nothing() {
    let place = TestFolder::new();
    let broker = NullBroker::start(&place);
    let files = files(&place, &broker.address, "another");
    let said = run(&place, &files, &[]).wait(RUN_DEADLINE);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.stderr.contains("names cluster id another") && said.stderr.contains("nothing was sent"));
    let seen = broker.stop();
    assert!(seen.stderr.contains("0 records"), "{seen:?}");
}

#[test]
fn addresses_of_a_failing_target_are_printed_but_not_stored() {
    let place = TestFolder::new();
    let broker = NullBroker::start(&place);
    let files = files(&place, &broker.address, CLUSTER_ID);
    let mut running = run(&place, &files, &["--json"]);
    running.wait_for("· measure");
    let address = broker.address.clone();
    broker.stop();
    let said = running.wait(RUN_DEADLINE);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.stderr.contains(&format!("broker {address} refused")), "the user is told: {said:?}");
    let shown = place.kdyno(&["show", "latest", "--json"]).stdout;
    assert!(shown.contains("HOST") && shown.contains("unreachable"), "the events are there: {shown}");
    let page = place.run_file().with_extension("html");
    let page = std::fs::read_to_string(page).expect("a page");
    let port = address.rsplit_once(':').expect("a port").1;
    for (what, text) in [("run --json", &said.stdout), ("show --json", &shown), ("the page", &page)] {
        assert!(!text.contains(&address) && !text.contains("127.0.0.1"), "{what}: {text}");
    }
    let stored = std::fs::read(place.run_file()).expect("the run file");
    for private in [&address, port] {
        let found = stored.windows(private.len()).any(|bytes| bytes == private.as_bytes());
        assert!(!found, "{private} is in the run file");
    }
}

#[test]
fn a_targets_cap_on_time_ends_the_run_and_keeps_its_evidence() {
    let place = TestFolder::new();
    let broker = NullBroker::start(&place);
    let [scenario, option, target] = files(&place, &broker.address, CLUSTER_ID);
    // Planned: 1 s, 2 s and some for the rest. The drain lasts for a minute, because no broker answers.
    place.file("small.yaml", &SCENARIO.replace("drain: 5s", "drain: 60s"));
    let text = std::fs::read_to_string(&target).expect("the target");
    place.file("target.yaml", &text.replace("produce: 1MiB/s", "produce: 1MiB/s, time: 9s"));
    let files = [scenario, option, target];
    let begin = std::time::Instant::now();
    let mut running = run(&place, &files, &["--json"]);
    running.wait_for("· measure");
    signal(broker.running.pid(), Signal::STOP);
    running.wait_for("· drain");
    // The run's own clock began later than this one. The broker is needed again to delete the topics.
    std::thread::sleep(std::time::Duration::from_secs(9 + 3).saturating_sub(begin.elapsed()));
    signal(broker.running.pid(), Signal::CONT);
    let said = running.wait(RUN_DEADLINE);
    assert!(begin.elapsed().as_secs() < 30, "the drain was cut off: {:?}", begin.elapsed());
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.stderr.contains("cap on `time`, 9 s"), "{said:?}");
    let document: serde_json::Value = serde_json::from_str(&said.stdout).expect("JSON");
    assert_eq!(document["status"], "failed");
    assert!(document["findings"].as_array().is_some_and(|findings| !findings.is_empty()), "{document}");
    broker.stop();
}

#[test]
fn a_run_is_found_by_its_whole_name_and_a_path_is_no_scenario() {
    let place = TestFolder::new();
    let broker = NullBroker::start(&place);
    let files = files(&place, &broker.address, CLUSTER_ID);
    ran(&run(&place, &files, &["--no-progress"]).wait(RUN_DEADLINE));
    broker.stop();
    let said = place.kdyno(&["show", "backup/small"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.stderr.contains("there is no run `backup/small`"), "{said:?}");
    assert_eq!(place.kdyno(&["rerun", "backup/small", "--target", &files[2]]).code, Some(2));
    assert_eq!(place.kdyno(&["show", "small"]).code, Some(0), "the newest run of the scenario");
    let original = place.run_file();
    for name in ["copy.kdyno", "copy-2.kdyno"] {
        std::fs::copy(&original, original.with_file_name(name)).expect("a copy");
    }
    let said = place.kdyno(&["show", "copy"]);
    assert_eq!(said.code, Some(0), "one name is the beginning of another: {said:?}");
    assert_eq!(place.kdyno(&["show", "cop"]).code, Some(2));
}

#[test]
fn a_targets_cap_is_enforced_before_anything_is_started() {
    let place = TestFolder::new();
    let files = files(&place, "127.0.0.1:1", CLUSTER_ID);
    let said = run(&place, &files, &["--set", "rate=1M/s"]).wait(RUN_DEADLINE);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.stderr.contains("cap"), "{said:?}");
}

#[test]
fn a_maximum_rate_needs_the_targets_leave() {
    let place = TestFolder::new();
    let files = files(&place, "127.0.0.1:1", CLUSTER_ID);
    let said = run(&place, &files, &["--set", "rate=max"]).wait(RUN_DEADLINE);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.stderr.contains("rate-max"), "{said:?}");
}

#[test]
fn a_second_run_on_the_host_is_refused_unless_it_shares() {
    let place = TestFolder::new();
    let broker = NullBroker::start(&place);
    let files = files(&place, &broker.address, CLUSTER_ID);
    let args: Vec<&str> = files.iter().map(String::as_str).collect();
    let mut first = place.start(place.command(&[&["run"], &args[..], &["--set", "dur=60s"]].concat()));
    first.wait_for("trial 1 of 1");
    let second = place.start(place.command(&[&["run"], &args[..]].concat())).wait(RUN_DEADLINE);
    assert_eq!(second.code, Some(1), "{second:?}");
    assert!(second.stderr.contains("--share"), "{second:?}");
    ran(&run(&place, &files, &["--no-progress"]).wait(RUN_DEADLINE));
    let shown = place.show();
    let event =
        shown["events"].as_array().and_then(|events| events.iter().find(|e| e["kind"] == "host-shared"));
    let detail = event.expect("the other run is told")["detail"].as_str().unwrap_or_default().to_owned();
    assert!(detail.contains(&format!("process {} (small)", first.pid())), "{detail}");
    first.signal(Signal::INT);
    assert_eq!(first.wait(RUN_DEADLINE).code, Some(130));
    broker.stop();
}

#[test]
fn a_second_signal_ends_at_once_and_leaves_no_process() {
    let place = TestFolder::new();
    let broker = NullBroker::start(&place);
    let files = files(&place, &broker.address, CLUSTER_ID);
    let mut running = run(&place, &files, &["--set", "dur=60s"]);
    running.wait_for("· measure");
    signal(broker.running.pid(), Signal::STOP);
    running.signal(Signal::INT);
    std::thread::sleep(std::time::Duration::from_millis(300));
    running.signal(Signal::INT);
    let said = running.wait(RUN_DEADLINE);
    signal(broker.running.pid(), Signal::CONT);
    assert_eq!(said.code, Some(130), "{said:?}");
    let last = said.stderr.lines().last().unwrap_or_default();
    let run_file = place.run_file().file_name().map(|name| name.to_string_lossy().into_owned());
    for words in ["ended at once; topics that begin with kdyno-", "kdyno clean --target", ".yaml --yes`"] {
        assert!(last.contains(words), "no {words:?} in: {last}");
    }
    assert!(last.ends_with(&run_file.unwrap_or_default()), "{last}");
    let show = place.kdyno(&["show", "latest"]);
    assert_eq!(show.code, Some(0), "{show:?}");
    assert_eq!(work_folders(&place), 1, "nobody was left to remove it");
    ran(&run(&place, &files, &["--no-progress"]).wait(RUN_DEADLINE));
    assert_eq!(work_folders(&place), 0, "a later run removes it");
    broker.stop();
    place.expect_no_processes();
}

/// Work folders of runs, `kdyno-ID`.
fn work_folders(place: &TestFolder) -> usize {
    let is_one = |name: &str| name.len() == 22 && name.starts_with("kdyno-");
    let entries = std::fs::read_dir(place.path()).expect("the test's folder");
    entries.filter(|entry| entry.as_ref().is_ok_and(|e| is_one(&e.file_name().to_string_lossy()))).count()
}

#[test]
fn a_target_replaces_the_system_and_that_is_reported() {
    let place = TestFolder::new();
    let broker = NullBroker::start(&place);
    let files = files(&place, &broker.address, CLUSTER_ID);
    let swept = SCENARIO.replace("params: {", "params: {brokers: 1, ");
    let swept = swept.replace("topics:", "vary: {brokers: [1, 3]}\nsystem: {brokers: $brokers}\ntopics:");
    let scenario = place.file("swept.yaml", &swept);
    let scenario = scenario.to_str().expect("plain path");
    let place_taken = "target null takes the place of the scenario's `system`";
    let warning = "warning: param `brokers` is used in `system`, whose place target null takes";
    let args = ["run", scenario, &files[1], &files[2]];
    let dry = place.kdyno(&[&args[..], &["--dry-run"]].concat());
    assert!(dry.stdout.contains(place_taken) && dry.stdout.contains(warning), "{dry:?}");
    let document = place.kdyno(&[&args[..], &["--dry-run", "--json"]].concat());
    assert!(document.stderr.contains(warning), "{document:?}");
    let mut reported = place.start(place.command(&[&args[..], &["--share"]].concat()));
    reported.wait_for("trial 1 of 2");
    reported.signal(Signal::INT);
    let reported = reported.wait(RUN_DEADLINE);
    assert!(reported.stderr.contains(place_taken) && reported.stderr.contains(warning), "{reported:?}");
    let plain = place.kdyno(&["run", &files[0], &files[1], &files[2], "--dry-run"]);
    assert!(!plain.stdout.contains("takes the place"), "it has no `system`: {plain:?}");
    broker.stop();
}

#[test]
fn the_load_ends_when_a_condition_of_the_target_says_so() {
    let place = TestFolder::new();
    let broker = NullBroker::start(&place);
    let files = files(&place, &broker.address, CLUSTER_ID);
    // Holds always.
    let guard = "guard: {abort_if: [\"under_replicated < 1 for 1s\"], ";
    let target = std::fs::read_to_string(&files[2]).expect("the target").replace("guard: {", guard);
    place.file("target.yaml", &target);
    let said = run(&place, &files, &["--set", "dur=120s"]).wait(RUN_DEADLINE);
    assert_eq!(said.code, Some(1), "{said:?}");
    let words = "the load was ended: `under_replicated < 1 for 1s` of the target's abort_if holds (seen: 0)";
    assert!(said.stderr.contains(words), "{said:?}");
    let file = RunFile::open(&place.run_file()).expect("the run file");
    let events = file.events().expect("its events");
    let cut = events.iter().find(|(_, event)| event.kind == EventKind::CutShort).expect("it was cut short");
    assert!(cut.0.is_some() && cut.1.detail.contains("abort_if"), "{cut:?}");
    drop(broker);
}

#[test]
fn the_generator_is_calibrated_once_where_the_rate_is_max() {
    let place = TestFolder::new();
    let broker = NullBroker::start(&place);
    let files = files(&place, &broker.address, CLUSTER_ID);
    let target = std::fs::read_to_string(&files[2]).expect("the target");
    place.file("target.yaml", &target.replace("caps: {produce: 1MiB/s}", "allow: [rate-max]"));
    let words = "measuring what the load generator can do";
    for is_first in [true, false] {
        let args = ["run", &files[0], &files[1], &files[2], "--share", "--yes", "--set", "rate=max"];
        let mut command = place.command(&[&args[..], &["--set", "dur=1s", "--json"]].concat());
        command.env("XDG_CACHE_HOME", place.path().join("cache"));
        let said = place.start(command).wait(RUN_DEADLINE);
        assert_eq!(said.stderr.contains(words), is_first, "{said:?}");
        let document: serde_json::Value = serde_json::from_str(&said.stdout).expect("JSON");
        let fact = document["trials"][0]["cluster"]["generator_max_per_s.writers"].as_str();
        assert!(fact.and_then(|fact| fact.parse().ok()).is_some_and(|per_s: f64| per_s > 1.0), "{said:?}");
    }
    drop(broker);
    place.expect_no_processes();
}
