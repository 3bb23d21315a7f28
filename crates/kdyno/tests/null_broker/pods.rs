//! Pods as generators, where the program has no client of Kubernetes' API.

use crate::common::{RUN_DEADLINE, TestFolder, one_line};
use crate::{CLUSTER_ID, NullBroker, files, run};

#[test]
fn a_build_without_the_client_says_so_before_a_run_begins() {
    let place = TestFolder::new();
    let broker = NullBroker::start(&place);
    let files = files(&place, &broker.address, CLUSTER_ID);
    let digest = "ab".repeat(32);
    let pods = place.file("pods.yaml", &format!("kubernetes: {{image: 'kdyno@sha256:{digest}', pods: 2}}\n"));
    let more = ["--generators", pods.to_str().expect("plain path")];
    let said = run(&place, &files, &more).wait(RUN_DEADLINE);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.stderr.contains("this build of kdyno has no client of Kubernetes' API"), "{said:?}");
    assert!(!place.path().join("kdyno-runs").exists(), "no run began");
    let args = ["run", &files[0], &files[1], &files[2], more[0], more[1], "--in", "kubernetes"];
    let said = place.start(place.command(&args)).wait(RUN_DEADLINE);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.stderr.contains("the lab's pod: this build of kdyno has no client"), "{said:?}");
    broker.stop();
    place.expect_no_processes();
}

#[test]
fn a_build_without_the_client_makes_no_cluster_by_strimzi() {
    let place = TestFolder::new();
    let scenario = place.file(
        "pods.yaml",
        "kdyno: 1\nid: pods\nquestion: Why?\nsystem: {strimzi: {}}\ntopics: {t: {partitions: 1}}\n\
         load: {w: {produce: t, rate: 1/s, value: 100B}}\nphases: {warmup: 1s, condition: none, measure: 1s}\n",
    );
    let command = place.command(&["run", scenario.to_str().expect("plain path"), "--share"]);
    let said = place.start(command).wait(RUN_DEADLINE);
    assert_eq!(said.code, Some(1), "{said:?}");
    let words = one_line(&said.stderr);
    assert!(words.contains("no cluster by Strimzi: this build of kdyno has no client"), "{words}");
    place.expect_no_processes();
}
