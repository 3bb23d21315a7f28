//! The lab of `--in kubernetes` as the agent in its pod starts it, without a pod.

use crate::common::{ProgramOutput, RUN_DEADLINE, Running, TestFolder};
use crate::{CLUSTER_ID, NullBroker, files, run};
use kdyno_lab::generator::{LabFailure, LabRequest, LabTask};
use kdyno_store::RunFile;
use rustix::process::Signal;
use std::fs::File;
use std::path::PathBuf;

/// Sends a lab the plan of the small scenario; where the run file will be.
fn lab<'a>(place: &'a TestFolder, broker: &NullBroker<'_>, set: &[&str]) -> (Running<'a>, PathBuf) {
    let files = files(place, &broker.address, CLUSTER_ID);
    let dry = run(place, &files, &[&["--dry-run", "--json"][..], set].concat()).wait(RUN_DEADLINE);
    assert_eq!(dry.code, Some(0), "{dry:?}");
    let task = LabTask {
        plan: serde_json::from_str(&dry.stdout).expect("a plan"),
        scenario_text: "kdyno: 1".to_owned(),
        scenario_path: "small.yaml".to_owned(),
        command_line: vec!["kdyno".to_owned(), "run".to_owned()],
        git_head: None,
        run_id: 0xab,
        run_file: "small.kdyno".to_owned(),
        generators: None,
        no_progress: false,
    };
    let request = LabRequest { task, variables: Default::default(), files: Default::default() };
    let sent = place.path().join("request");
    std::fs::write(&sent, request.encoded().expect("small").expose()).expect("written");
    let runs = place.path().join("runs");
    let mut command = place.command(&["lab", runs.to_str().expect("plain path")]);
    command.stdin(File::open(sent).expect("just written"));
    (place.start(command), runs.join("small.kdyno"))
}

fn failure(said: &ProgramOutput) -> Option<LabFailure> {
    assert_eq!(said.code, Some(0), "{said:?}");
    serde_json::from_str(&said.stdout).expect("what stopped it")
}

#[test]
fn a_plan_that_was_sent_is_run_and_its_file_is_kept() {
    let place = TestFolder::new();
    let broker = NullBroker::start(&place);
    let (running, file) = lab(&place, &broker, &[]);
    let said = running.wait(RUN_DEADLINE);
    assert_eq!(failure(&said), None, "{said:?}");
    assert!(said.stderr.contains("trial 1"), "{said:?}");
    let file = RunFile::open(&file).expect("a run file");
    let header = file.header().expect("its header");
    assert_eq!((header.run_id, header.scenario_path.as_str()), (0xab, "small.yaml"));
    let trials = file.trials().expect("its trials");
    assert!(file.evidence(trials[0].trial.id).expect("evidence").totals.iter().any(|one| {
        let counts = &one.counts;
        counts.acknowledged > 0 && counts.acknowledged == counts.offered
    }));
    broker.stop();
    place.expect_no_processes();
}

#[test]
fn a_lab_that_is_stopped_keeps_its_evidence_and_says_so() {
    let place = TestFolder::new();
    let broker = NullBroker::start(&place);
    let (mut running, file) = lab(&place, &broker, &["--set", "dur=120s"]);
    running.wait_for("· measure");
    running.signal(Signal::TERM);
    let said = running.wait(RUN_DEADLINE);
    assert_eq!(failure(&said).expect("a failure").exit, 130, "{said:?}");
    assert_eq!(RunFile::open(&file).expect("a run file").trials().expect("its trials").len(), 1);
    broker.stop();
    place.expect_no_processes();
}
