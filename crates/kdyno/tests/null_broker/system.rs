//! A null broker as the system of a scenario: the client is measured alone, and every output says so.

use crate::SCENARIO;
use crate::common::{QUICKLY, RUN_DEADLINE, Running, TestFolder, ran};
use rustix::process::{Pid, Signal, kill_process_group};
use std::os::unix::process::CommandExt;

/// What every output says.
const MARK: &str = "null broker: the figures are of the client alone";

fn run<'a>(place: &'a TestFolder, system: &str, more: &[&str]) -> Running<'a> {
    let text = SCENARIO.replace("topics:", &format!("system: {{kafka: null-broker{system}}}\ntopics:"));
    let scenario = place.file("alone.yaml", &text);
    let args = [&["run", scenario.to_str().expect("plain path"), "--share"], more].concat();
    place.start(place.command(&args))
}

#[test]
fn a_null_broker_run_is_counted_exactly_and_named_as_such() {
    let place = TestFolder::new();
    let said = run(&place, "", &["--json"]).wait(RUN_DEADLINE);
    ran(&said);
    let document: serde_json::Value = serde_json::from_str(&said.stdout).expect("JSON");
    assert_eq!(document["status"], "completed");
    assert_eq!(document["trials"][0]["cluster"]["kafka"], "null broker");
    let caveats = document["caveats"].as_array().expect("caveats");
    assert!(caveats.iter().any(|caveat| caveat["kind"] == "null-broker"), "{caveats:?}");
    for kind in ["log-unchecked", "lost", "unexplained", "unconditioned"] {
        assert!(!caveats.iter().any(|caveat| caveat["kind"] == kind), "{kind}: {caveats:?}");
    }
    let findings = document["findings"].as_array().expect("findings");
    let figure = |subject: &str, metric: &str| {
        let is_it =
            |finding: &&serde_json::Value| finding["subject"] == subject && finding["metric"] == metric;
        findings.iter().find(is_it).and_then(|finding| finding["value"].as_f64())
    };
    assert!(figure("writers", "acked_per_s").is_some_and(|rate| rate > 150.0), "{findings:?}");
    assert_eq!((figure("writers", "failed"), figure("writers", "unresolved")), (Some(0.0), Some(0.0)));
    assert!(figure("brokers", "cpu_percent").is_some(), "its process is observed");
    for args in [
        &["show", "latest"][..],
        &["show", "latest", "--json"],
        &["show", "latest", "--format", "markdown"],
        &["export", "latest", "--format", "json"],
        &["export", "latest", "--format", "markdown"],
        &["export", "latest", "--format", "junit"],
    ] {
        let said = place.kdyno(args);
        let is_said = said.stdout.contains(MARK) || said.stdout.contains("null-broker");
        assert!(said.code == Some(0) && is_said, "{args:?}: {said:?}");
    }
    let page = std::fs::read_to_string(place.run_file().with_extension("html")).expect("a page");
    assert!(page.contains(MARK), "the page");
    let plan = place.kdyno(&["show", "latest", "--plan"]);
    assert!(plan.stdout.contains("null broker, PLAINTEXT: no Kafka"), "{plan:?}");
    let file = kdyno_store::RunFile::open(&place.run_file()).expect("the run file");
    let trial = file.trials().expect("its trials").remove(0).trial.id;
    let drawn = kdyno_analysis::series::trial(&file.evidence(trial).expect("evidence")).expect("courses");
    assert_eq!(file.course(trial).expect("stored"), Some(drawn), "what was drawn is what its rows tell");
    place.expect_no_processes();
}

#[test]
fn it_speaks_tls_where_its_listener_does() {
    let place = TestFolder::new();
    let system = ", listeners: {clients: {protocol: SSL, tls: 1.3}}";
    let said = run(&place, system, &["--json"]).wait(RUN_DEADLINE);
    ran(&said);
    let document: serde_json::Value = serde_json::from_str(&said.stdout).expect("JSON");
    assert_eq!(document["trials"][0]["cluster"]["protocol"], "SSL");
    place.expect_no_processes();
}

#[test]
fn consumers_read_logs_without_end() {
    let place = TestFolder::new();
    let scenario = "kdyno: 1\nid: alone\nquestion: Does it work?\nsystem: {kafka: {null_broker: 1KiB}}\n\
                    topics: {perf: {partitions: 2}}\nload: {readers: {consume: perf}}\n\
                    phases: {warmup: 1s, measure: 2s, drain: 5s}\nshow: {columns: [readers.fetched_per_s]}\n";
    let scenario = place.file("readers.yaml", scenario);
    let args = ["run", scenario.to_str().expect("plain path"), "--share", "--json"];
    let said = place.start(place.command(&args)).wait(RUN_DEADLINE);
    ran(&said);
    let document: serde_json::Value = serde_json::from_str(&said.stdout).expect("JSON");
    let findings = document["findings"].as_array().expect("findings");
    let is_rate = |finding: &&serde_json::Value| finding["metric"] == "fetched_per_s";
    let rate = findings.iter().find(is_rate).and_then(|finding| finding["value"].as_f64());
    assert!(rate.is_some_and(|rate| rate > 1000.0), "{findings:?}");
    place.expect_no_processes();
}

#[test]
fn a_run_that_is_killed_leaves_no_null_broker() {
    let place = TestFolder::new();
    let mut running = run(&place, "", &["--set", "dur=60s"]);
    running.wait_for("· measure");
    running.signal(Signal::KILL);
    running.wait(QUICKLY);
    place.expect_no_processes();
}

/// Ctrl-C of a terminal reaches every process of its foreground group.
#[test]
fn ctrl_c_of_a_terminal_stops_the_run_and_not_its_null_broker() {
    let place = TestFolder::new();
    let text = SCENARIO.replace("topics:", "system: {kafka: null-broker}\ntopics:");
    let scenario = place.file("alone.yaml", &text);
    let scenario = scenario.to_str().expect("plain path");
    let mut command = place.command(&["run", scenario, "--share", "--set", "dur=60s"]);
    let mut running = place.start({
        command.process_group(0);
        command
    });
    running.wait_for("· measure");
    let group = i32::try_from(running.pid()).ok().and_then(Pid::from_raw).expect("a process");
    kill_process_group(group, Signal::INT).expect("it runs");
    let said = running.wait(RUN_DEADLINE);
    assert_eq!(said.code, Some(130), "{said:?}");
    let document = place.show();
    assert_eq!(document["status"], "interrupted");
    let events = document["events"].as_array().expect("events");
    assert!(!events.iter().any(|event| event["kind"] == "process-died"), "{events:?}");
    place.expect_no_processes();
}
