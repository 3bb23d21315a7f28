//! Which stored run is meant, and what lies beside it in the folder of runs.

mod common;

use common::{Place, Said};
use kdyno_model::run::{RunHeader, RunStatus, Session, SessionEnd};
use kdyno_plan::Choices;
use kdyno_scenario::Scenario;
use kdyno_store::RunWriter;
use std::collections::BTreeMap;

/// Stores a run without trials.
fn store(place: &Place, file: &str, scenario: &str, started_unix_ns: u64) {
    let text = format!(
        "kdyno: 1\nid: {scenario}\nquestion: Does {scenario} work?\nsystem: {{brokers: 1}}\n\
         topics: {{perf: {{partitions: 1, replicas: 1}}}}\n\
         load: {{writers: {{produce: perf, rate: 100/s, value: 100B}}}}\nphases: {{measure: 1s}}\n"
    );
    let parsed = Scenario::parse(&text, "test").expect("a scenario");
    let folder = place.path().join("kdyno-runs");
    std::fs::create_dir_all(&folder).expect("a folder of runs");
    let header = RunHeader {
        run_id: started_unix_ns,
        plan: kdyno_plan::plan(&parsed, &Choices::default()).expect("a plan"),
        scenario_text: text,
        scenario_path: "test".to_owned(),
    };
    let session = Session {
        number: 1,
        started_unix_ns,
        kdyno_version: "0.1.0".to_owned(),
        git_head: None,
        command_line: Vec::new(),
        boot_id: String::new(),
        processors: 1,
        host_facts: BTreeMap::new(),
    };
    let writer = RunWriter::create(&folder.join(file), &header, &session).expect("a run file");
    let end = SessionEnd {
        status: RunStatus::Completed,
        detail: String::new(),
        ended_unix_ns: started_unix_ns + 1,
    };
    writer.finish(end).expect("an end");
}

/// Two readable runs, and newer files that are none.
fn place() -> Place {
    let place = Place::new();
    store(&place, "20261121-100000-one.kdyno", "one", 1_000);
    store(&place, "20261121-110000-two.kdyno", "two", 2_000);
    // A copy that was renamed keeps its time.
    store(&place, "baseline.kdyno", "one", 500);
    place.file("kdyno-runs/20261121-120000-three.kdyno", "no run, but long enough to be looked at closely\n");
    place
}

fn shows(said: &Said, question: &str) {
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.stdout.contains(question), "{said:?}");
}

#[test]
fn the_latest_is_the_newest_that_can_be_read() {
    let place = place();
    let said = place.kdyno(&["show", "latest"]);
    shows(&said, "Does two work?");
    let warned = said.stderr.lines().filter(|line| line.starts_with("left out: ")).count();
    assert_eq!(warned, 1, "{said:?}");
    assert!(said.stderr.contains("three.kdyno is not a run file of kdyno"), "{said:?}");
    shows(&place.kdyno(&["export", "latest", "--format", "json"]), "Does two work?");
    place.file("kdyno-runs/20261121-130000-four.kdyno", "");
    let said = place.kdyno(&["report", "latest"]);
    shows(&said, "two.html");
    assert!(said.stderr.contains("and 1 more"), "{said:?}");
}

#[test]
fn where_nothing_can_be_read_there_is_no_latest_run() {
    let place = Place::new();
    std::fs::create_dir(place.path().join("kdyno-runs")).expect("a folder");
    place.file("kdyno-runs/x.kdyno", "no run, but long enough to be looked at closely\n");
    let said = place.kdyno(&["show", "latest"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(
        said.stderr.contains("left out: ") && said.stderr.contains("error: there is no run in"),
        "{said:?}"
    );
}

#[test]
fn a_scenario_s_name_means_its_newest_run() {
    let place = place();
    let said = place.kdyno(&["show", "one"]);
    shows(&said, "Does one work?");
    assert!(said.stderr.contains("100000-one.kdyno"), "{said:?}");
    let said = place.kdyno(&["show", "first-light"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.stderr.contains("`latest`") && said.stderr.contains("`kdyno runs`"), "{said:?}");
}

#[test]
fn the_beginning_of_a_name_is_enough_when_it_is_one_file_s() {
    let place = place();
    shows(&place.kdyno(&["show", "20261121-11"]), "Does two work?");
    let said = place.kdyno(&["show", "20261121-1"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    // One that is no run is told as such, not as missing.
    assert_eq!(place.kdyno(&["show", "20261121-12"]).code, Some(1));
}
