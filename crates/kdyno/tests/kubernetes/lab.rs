//! The lab itself in a pod: `--in kubernetes`.

use super::{Namespace, SCENARIO, broker, evidence, kubectl};
use crate::common::{RUN_DEADLINE, TestFolder, ran};
use kdyno_store::RunFile;
use rustix::process::Signal;

const IN: &[&str] = &["--in", "kubernetes"];

#[test]
fn a_lab_in_a_pod_runs_and_its_file_comes_here() {
    let place = TestFolder::new();
    let broker = broker();
    let namespace = Namespace::new(&place);
    let said = namespace.start(SCENARIO, &broker.address, "", IN, &[]).wait(RUN_DEADLINE);
    ran(&said);
    for words in ["its own pod carries the load", "the lab runs in the pod of job kdyno-", "trial 1"] {
        assert!(said.stderr.contains(words), "{words}: {said:?}");
    }
    assert!(!said.stdout.is_empty(), "the table is printed here: {said:?}");
    let evidence = evidence(&place);
    assert!(!evidence.start.cluster.keys().any(|fact| fact.starts_with("generator.")));
    let acknowledged: u64 = evidence.totals.iter().map(|totals| totals.counts.acknowledged).sum();
    let offered: u64 = evidence.totals.iter().map(|totals| totals.counts.offered).sum();
    assert!(offered > 1000 && acknowledged == offered, "{acknowledged} of {offered}");
    assert_eq!(broker.stop().records, acknowledged);
    assert!(place.run_file().with_extension("html").exists(), "the page is made here");
    namespace.expect_nothing();
    place.expect_no_processes();
}

#[test]
fn an_interrupted_lab_in_a_pod_keeps_its_evidence() {
    let place = TestFolder::new();
    let broker = broker();
    let namespace = Namespace::new(&place);
    let mut running = namespace.start(SCENARIO, &broker.address, "", IN, &["--set", "dur=120s"]);
    running.wait_for("· measure");
    running.signal(Signal::INT);
    let said = running.wait(RUN_DEADLINE);
    assert_eq!(said.code, Some(130), "{said:?}");
    assert!(said.stderr.contains("what was measured until then is kept in"), "{said:?}");
    let file = RunFile::open(&place.run_file()).expect("the run file");
    assert_eq!(file.trials().expect("its trials").len(), 1);
    namespace.expect_nothing();
    broker.stop();
    place.expect_no_processes();
}

#[test]
fn a_lab_whose_pod_is_deleted_is_lost_and_that_is_said() {
    let place = TestFolder::new();
    let broker = broker();
    let namespace = Namespace::new(&place);
    let mut running = namespace.start(SCENARIO, &broker.address, "", IN, &["--set", "dur=120s"]);
    running.wait_for("· measure");
    kubectl(&["delete", "pods", "--all", "--grace-period=1", "--wait=false", "-n", &namespace.name]);
    let said = running.wait(RUN_DEADLINE);
    assert_eq!(said.code, Some(1), "{said:?}");
    let words = crate::common::one_line(&said.stderr);
    assert!(words.contains("the lab in the pod is lost: "), "{words}");
    namespace.expect_nothing();
    broker.stop();
}

#[test]
fn a_lab_whose_pod_gets_no_node_leaves_nothing() {
    let place = TestFolder::new();
    let broker = broker();
    let namespace = Namespace::new(&place);
    let more = ", node_selector: {pool: clients}, wait: 3s";
    let said = namespace.start(SCENARIO, &broker.address, more, IN, &[]).wait(RUN_DEADLINE);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.stderr.contains("the lab's pod: "), "{said:?}");
    assert!(said.stderr.contains("0/2 nodes are available"), "{said:?}");
    namespace.expect_nothing();
    broker.stop();
}
