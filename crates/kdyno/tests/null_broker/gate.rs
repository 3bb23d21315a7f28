//! What makes a run red: thresholds and claims, their exit codes, and what JUnit says of them.

use crate::common::{ProgramOutput, RUN_DEADLINE, TestFolder};
use crate::{CLUSTER_ID, NullBroker, files, run};
use kdyno_fake_broker::tcp::spawn;
use kdyno_fake_broker::{FakeCluster, FakeConfig};

/// The load is of 200 records a second.
const CARRIED: &str = "writers.acked_per_s > 100/s";
const NOT_CARRIED: &str = "writers.acked_per_s < 100/s";

/// A run with more in its scenario; the code that it ends with, what it says, and its JUnit file.
fn gated(
    place: &TestFolder,
    broker: &NullBroker<'_>,
    scenario: &str,
    more: &[&str],
) -> (Option<i32>, ProgramOutput, String) {
    let files = files(place, &broker.address, CLUSTER_ID);
    let text = std::fs::read_to_string(&files[0]).expect("the scenario");
    std::fs::write(&files[0], text + scenario).expect("the scenario");
    let junit = place.path().join("junit.xml");
    let junit_option = ["--junit", junit.to_str().expect("plain path")];
    let said = run(place, &files, &[&junit_option, more].concat()).wait(RUN_DEADLINE);
    let document = std::fs::read_to_string(&junit).unwrap_or_default();
    (said.code, said, document)
}

#[test]
fn one_run_is_red_by_its_own_threshold() {
    let place = TestFolder::new();
    let broker = NullBroker::start(&place);
    let (code, said, junit) = gated(&place, &broker, "", &["--fail-if", CARRIED]);
    assert_eq!(code, Some(3), "{said:?}");
    assert!(said.stdout.contains("Failed: fail_if writers.acked_per_s > 100/s (it was "), "{said:?}");
    assert!(said.stderr.ends_with("\na `fail_if` is true\n"), "{said:?}");
    assert!(junit.contains("classname=\"fail_if\"") && junit.contains("failures=\"1\""), "{junit}");
    let (code, said, junit) = gated(&place, &broker, &format!("fail_if: ['{NOT_CARRIED}']\n"), &[]);
    assert_eq!(code, Some(0), "{said:?}");
    assert!(said.stdout.contains("Passed: writers.acked_per_s was "), "{said:?}");
    assert!(said.stdout.contains("/s, not below 100/s (fail_if"), "{said:?}");
    assert!(junit.contains("classname=\"fail_if\"") && junit.contains("failures=\"0\""), "{junit}");
    broker.stop();
}

#[test]
fn an_inconclusive_claim_fails_unless_the_gate_allows_it() {
    let place = TestFolder::new();
    let broker = NullBroker::start(&place);
    let claim =
        |limit: &str| format!("expect: [{{claim: enough, that: 'writers.acked_per_s >= {limit}'}}]\n");
    let (code, said, junit) = gated(&place, &broker, &claim("150/s"), &[]);
    assert_eq!(code, Some(5), "{said:?}");
    assert!(said.stderr.contains("claim `enough` cannot hold as planned"), "{said:?}");
    assert!(junit.contains("classname=\"claim\" name=\"enough\"><failure"), "{junit}");
    let (code, said, junit) = gated(&place, &broker, &claim("150/s"), &["--gate", "worse"]);
    assert_eq!(code, Some(0), "{said:?}");
    assert!(junit.contains("classname=\"claim\" name=\"enough\"><skipped"), "{junit}");
    let (code, said, _) = gated(&place, &broker, &claim("1k/s"), &["--set", "dur=6s"]);
    assert_eq!(code, Some(3), "missed five times over: {said:?}");
    assert!(said.stderr.ends_with("\na claim does not hold\n"), "{said:?}");
    broker.stop();
}

#[test]
fn a_quick_look_and_the_drop_ins_take_thresholds_too() {
    let place = TestFolder::new();
    let broker = NullBroker::start(&place);
    let at = ["--bootstrap-server", broker.address.as_str()];
    let red = |args: &[&str], words: &str| {
        let said = place.start(place.command(args)).wait(RUN_DEADLINE);
        assert_eq!(said.code, Some(3), "{said:?}");
        assert!(said.stderr.contains(words) || said.stdout.contains(words), "{words}: {said:?}");
    };
    let quick = ["quick", "--duration", "2s", "--share", "--fail-if", CARRIED];
    red(&[&quick[..], &at].concat(), "Failed: fail_if writers.acked_per_s > 100/s (it was ");
    let load = ["--topic", "t", "--num-records", "2000", "--record-size", "100", "--throughput", "1000"];
    let producer = [&["producer-perf-test"], &at[..], &load, &["--fail-if", "acked_per_s > 100/s"]].concat();
    red(&producer, "Failed: fail_if writers.acked_per_s > 100/s (it was ");
    let missing =
        [&["producer-perf-test"], &at[..], &load, &["--fail-if", "writer.acked_per_s > 1"]].concat();
    let said = place.kdyno(&missing);
    assert_eq!(said.code, Some(1), "as the tool ends with whatever is wrong: {said:?}");
    assert!(said.stderr.contains("`--fail-if writer.acked_per_s > 1`"), "{said:?}");
    broker.stop();
}

/// A fake cluster keeps what was written, which the null broker does not, and has groups. It takes its time over each fetch.
#[test]
fn the_consumers_drop_in_takes_thresholds_too() {
    let place = TestFolder::new();
    let config = FakeConfig::new(1).topic("t", 1).keep_batches().control_delay_ns(50_000_000);
    let server = spawn(FakeCluster::new(config)).expect("a cluster");
    let at = ["--bootstrap-server", &server.bootstrap()[0], "--topic", "t", "--num-records", "5000"];
    let does = |command: &str, more: &[&str]| {
        let args = [&[command], &at[..], more].concat();
        place.start(place.command(&args)).wait(RUN_DEADLINE)
    };
    let said = does("producer-perf-test", &["--record-size", "100", "--throughput", "-1"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let reads = |threshold: &str| {
        does("consumer-perf-test", &["--fetch-size", "20000", "--timeout", "5000", "--fail-if", threshold])
    };
    let said = reads("fetched_per_s > 1/s");
    assert_eq!(said.code, Some(3), "{said:?}");
    assert!(said.stderr.contains("Failed: fail_if consumer.fetched_per_s > 1/s (it was "), "{said:?}");
    assert!(said.stdout.contains(", 5000, "), "the tool's row: {said:?}");
    let said = reads("consumer.fetched_per_s < 1/s");
    assert_eq!(said.code, Some(0), "{said:?}");
    let said = reads("consumers.fetched_per_s > 1/s");
    assert_eq!(said.code, Some(1), "as the tool ends with whatever is wrong: {said:?}");
    assert!(said.stderr.contains("`--fail-if consumers.fetched_per_s > 1/s`"), "{said:?}");
    place.expect_no_processes();
}
