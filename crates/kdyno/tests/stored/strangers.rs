//! A run file may come from anybody: what a stored plan names is not started, opened or written to.

use crate::common::TestFolder;
use crate::session;
use kdyno_model::plan::Plan;
use kdyno_model::run::{RunHeader, RunStatus, SessionEnd};
use kdyno_plan::Choices;
use kdyno_scenario::Scenario;
use kdyno_store::RunWriter;
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

const TEXT: &str = "kdyno: 1\nid: planted\nquestion: Is it followed?\nsystem: {brokers: 1}\n\
                    topics: {perf: {partitions: 1, replicas: 1}}\n\
                    load: {writers: {produce: perf, rate: 100/s, value: 100B}}\nphases: {measure: 1s}\n";

/// A run that was interrupted, with this planted in its plan.
fn planted(place: &TestFolder, above: &str, key: &str, value: Value) -> PathBuf {
    let scenario = Scenario::parse(TEXT, "test").expect("a scenario");
    let plan = kdyno_plan::plan(&scenario, &Choices::default()).expect("a plan");
    let mut stored = serde_json::to_value(plan).expect("JSON");
    stored.pointer_mut(above).unwrap_or_else(|| panic!("nothing at {above}"))[key] = value;
    let plan: Plan = serde_json::from_value(stored).expect("a plan");
    let header =
        RunHeader { run_id: 7, plan, scenario_text: TEXT.to_owned(), scenario_path: "test".to_owned() };
    let path = place.path().join("planted.kdyno");
    let _ = std::fs::remove_file(&path);
    let writer = RunWriter::create(&path, &header, &session(1)).expect("a run file");
    let status = RunStatus::Interrupted;
    writer.finish(SessionEnd { status, detail: String::new(), ended_unix_ns: 2 }).expect("an end");
    path
}

const SYSTEM: &str = "/cases/0/system/local";
const OPTIONS: &str = "jvm_options";

#[test]
fn what_a_stored_plan_names_is_refused_with_key_file_and_hint() {
    let place = TestFolder::new();
    let java = json!({"java": {"client": {"jar": "/tmp/evil.jar"}, "properties": {}}});
    for (above, key, value, wanted) in [
        (SYSTEM, OPTIONS, json!(["-XX:OnOutOfMemoryError=touch owned"]), "(`cases.0.system.jvm_options`)"),
        (SYSTEM, "kafka", json!({"home": "/tmp/evil"}), "starts what the folder `/tmp/evil` holds"),
        (SYSTEM, "config", json!({"metric.reporters": "evil.Reporter"}), "sets `metric.reporters`"),
        ("/cases/0/load/writers", "driver", java, "(`cases.0.load.writers.driver.client`)"),
    ] {
        let path = planted(&place, above, key, value);
        let path = path.to_str().expect("plain path");
        for args in
            [&["rerun", path][..], &["run", "--resume", path], &["run", "--resume", path, "--dry-run"]]
        {
            let said = place.kdyno(args);
            assert_eq!(said.code, Some(2), "{args:?}: {said:?}");
            let words = [wanted, "planted.kdyno: the stored plan ", "hint: ", "--trust"];
            assert!(words.iter().all(|word| said.stderr.contains(word)), "{args:?}: {said:?}");
        }
    }
    assert!(!place.path().join("owned").exists() && !place.path().join("kdyno-runs").exists());
}

/// The name of a run file and of its page begins with the scenario's id.
#[test]
fn the_id_of_a_stored_scenario_is_no_path() {
    let place = TestFolder::new();
    std::fs::create_dir(place.path().join("victim")).expect("a folder");
    let victim = place.file("victim/index.html", "mine");
    let path = planted(&place, "", "scenario", json!("x/../../../victim/index"));
    let run = path.to_str().expect("plain path");
    let rerun = ["rerun", run, "--out", "a/b"];
    let resumed = ["run", "--resume", run];
    for (args, trust) in
        [(&rerun[..], &["--trust"][..]), (&resumed, &["--trust", "--dry-run"]), (&rerun, &[])]
    {
        let said = place.kdyno(&[args, trust].concat());
        assert_eq!(said.code, Some(2), "{trust:?}: {said:?}");
        let words = "cannot be the id of a scenario (`scenario`)\nhint: run the scenario again\n";
        assert!(said.stderr.contains(words), "{trust:?}: {said:?}");
    }
    assert_eq!(std::fs::read_to_string(victim).expect("there"), "mine");
}

#[test]
fn a_run_file_of_the_users_own_is_trusted_where_that_is_said() {
    let place = TestFolder::new();
    let path = planted(&place, SYSTEM, OPTIONS, json!(["-XX:OnOutOfMemoryError=touch owned"]));
    let run = path.to_str().expect("plain path");
    let trusted = ["run", "--resume", run, "--trust", "--dry-run"];
    let said = place.kdyno(&trusted);
    assert_eq!(said.code, Some(0), "{said:?}");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o620)).expect("its mode");
    let said = place.kdyno(&trusted);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.stderr.contains("or others can write to it"), "{said:?}");
    let said = place.kdyno(&["run", "first-light", "--trust", "--dry-run"]);
    assert!(said.code == Some(2) && said.stderr.contains("--resume"), "{said:?}");
}
