//! What happens to a cluster between one trial and the next. One that has lost a broker is in `faults`.

use crate::common::turns::alone;
use crate::common::{RUN_DEADLINE, TestFolder, signal};
use crate::fixture::{ended, start_scenario};
use kdyno_model::caveat::Caveat;
use kdyno_model::event::EventKind;
use kdyno_model::evidence::TrialEvidence;
use kdyno_model::trial::TrialId;
use kdyno_store::RunFile;
use rustix::process::Signal;
use std::time::{Duration, Instant, SystemTime};

/// Two trials on a cluster whose replicas fall behind soon, and whose controllers count a broker as dead after five seconds. With
/// acks=1 a record that the leader acknowledged just before it was stopped, and that no follower had yet, would be lost. Shown is
/// the rate alone: what happens to the first trial may make its latencies void, and the run would then end with 6.
const TWICE: &str = "\
kdyno: 1
id: twice
question: Does it work?
repeat: 2
system:
  kafka: 4.1.1
  mode: {controllers: 1}
  brokers: 2
  storage: memory
  limits: {heap: 256MiB}
  metrics: none
  jvm: QUICK_JVM
  config: {replica.lag.time.max.ms: 1500, broker.session.timeout.ms: 5000}
topics: {perf: {partitions: 4, replicas: 2}}
load:
  writers:
    produce: perf
    rate: 200/s
    value: 100B
    client: {acks: all, enable.idempotence: false, request.timeout.ms: 2000ms, delivery.timeout.ms: 4000ms}
phases: {condition: none, warmup: 1s, measure: 7s, drain: 2s}
show: {columns: [writers.acked_per_s]}
";

fn evidence(place: &TestFolder, trial: u32) -> TrialEvidence {
    let file = RunFile::open(&place.run_file()).expect("the run file");
    file.evidence(TrialId(trial)).expect("evidence")
}

fn kinds(evidence: &TrialEvidence) -> Vec<EventKind> {
    evidence.events.iter().map(|event| event.kind).collect()
}

/// A follower that is stopped falls out of sync; the next trial waits until it has caught up.
#[test]
fn the_next_trial_waits_for_replicas_that_are_out_of_sync() {
    let _turn = alone();
    let place = TestFolder::new();
    let mut running = start_scenario(&place, TWICE);
    running.wait_for("· measure");
    // Dedicated controllers are started by the same class.
    let brokers = running.processes("broker-1");
    assert_eq!(brokers.len(), 1, "the second broker");
    signal(brokers[0], Signal::STOP);
    let end = Instant::now() + RUN_DEADLINE;
    while evidence(&place, 1).totals.is_empty() {
        assert!(Instant::now() < end, "the first trial does not end");
        std::thread::sleep(Duration::from_millis(100));
    }
    // The logs' ends are read meanwhile: they settle once the controllers count the broker as dead, which they do after five
    // seconds.
    std::thread::sleep(Duration::from_secs(8));
    let goes_on = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("a clock").as_nanos();
    signal(brokers[0], Signal::CONT);
    ended(&running.wait(RUN_DEADLINE), 0);
    place.expect_no_processes();

    let (first, second) = (evidence(&place, 1), evidence(&place, 2));
    assert!(kinds(&first).contains(&EventKind::IsrShrunk), "{:?}", first.events);
    for kind in [EventKind::IsrShrunk, EventKind::LogUnchecked] {
        assert!(!kinds(&second).contains(&kind), "{kind}: {:?}", second.events);
    }
    assert!(!kinds(&second).contains(&EventKind::ClusterUnsettled), "{:?}", second.events);
    assert!(u128::from(second.start.t0_unix_ns) > goes_on, "it began before the replicas were in sync");
    let same = |of: &TrialEvidence| of.start.cluster.get("cluster_id").cloned();
    assert_eq!(same(&first), same(&second));
    let file = RunFile::open(&place.run_file()).expect("the run file");
    let caveats = file.judgement().expect("what was concluded").caveats;
    let is_reported = |is_one: fn(&Caveat) -> bool| caveats.iter().any(|found| is_one(&found.caveat));
    assert!(
        is_reported(|caveat| matches!(caveat, Caveat::ClusterChanged { event, .. } if event == "isr-shrunk")),
        "{caveats:#?}"
    );
    assert!(is_reported(|caveat| matches!(caveat, Caveat::MemoryStorage)), "{caveats:#?}");
}
