//! What happens to a cluster between one trial and the next.

use crate::common::turns::alone;
use crate::common::{RUN_DEADLINE, TestFolder, signal};
use crate::fixture::{ended, start_scenario};
use kdyno_model::caveat::Caveat;
use kdyno_model::event::{EventKind, Subject};
use kdyno_model::evidence::TrialEvidence;
use kdyno_model::finding::Scope;
use kdyno_model::trial::TrialId;
use kdyno_store::RunFile;
use rustix::process::Signal;
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

/// Two trials on a cluster. Shown is the rate alone: what happens to the first trial may make its latencies void, and the
/// run would then end with 6.
fn scenario(system: &str, replicas: u32, load: &str, phases: &str) -> String {
    format!(
        "kdyno: 1\nid: twice\nquestion: Does it work?\nrepeat: 2\n\
         system: {{kafka: 4.1.1, brokers: 2, limits: {{heap: 256MiB}}, metrics: none, jvm: QUICK_JVM, {system}}}\n\
         topics: {{perf: {{partitions: 4, replicas: {replicas}}}}}\nload: {{writers: {{produce: perf, {load}}}}}\n\
         phases: {{condition: none, {phases}}}\nshow: {{columns: [writers.acked_per_s]}}\n"
    )
}

fn evidence(place: &TestFolder, trial: u32) -> TrialEvidence {
    let file = RunFile::open(&place.run_file()).expect("the run file");
    file.evidence(TrialId(trial)).expect("evidence")
}

fn kinds(evidence: &TrialEvidence) -> Vec<EventKind> {
    evidence.events.iter().map(|event| event.kind).collect()
}

/// Programs that are not part of the run use a third of the CPUs meanwhile: both are reported, each with its trial.
#[test]
fn a_cluster_that_lost_a_broker_is_replaced_for_the_next_trial() {
    let _turn = alone();
    let place = TestFolder::new();
    let load = "rate: 200/s, value: 100B";
    let mut running =
        start_scenario(&place, &scenario("mode: kraft", 1, load, "warmup: 1s, measure: 5s, drain: 1s"));
    running.wait_for("· measure");
    let mut spinning = Vec::new();
    for _ in 0..=std::thread::available_parallelism().map_or(1, usize::from) / 3 {
        let mut shell = Command::new("sh");
        spinning.push(place.start({
            shell.args(["-c", "while :; do :; done"]).current_dir(place.path());
            shell
        }));
    }
    let brokers = running.processes("kafka.Kafka");
    assert_eq!(brokers.len(), 2, "two brokers");
    signal(brokers[0], Signal::KILL);
    running.wait_for("trial 2 of 2");
    drop(spinning);
    let said = running.wait(RUN_DEADLINE);
    ended(&said, 0);
    place.expect_no_processes();
    // The exit code says nothing of it: the run does, at once and at its end.
    let at_once = said.stderr.lines().find(|line| line.contains(" ended in the middle of the trial: "));
    assert!(at_once.is_some_and(|line| line.contains("warning: broker-")), "{}", said.stderr);
    let last = said.stderr.lines().rev().take(3).collect::<Vec<_>>().join("\n");
    assert!(
        last.contains("ended in trial 1: figures are those of a cluster that lost it on the way"),
        "{last}"
    );

    let (first, second) = (evidence(&place, 1), evidence(&place, 2));
    assert!(kinds(&first).contains(&EventKind::ProcessDied), "{:?}", first.events);
    assert!(!kinds(&second).contains(&EventKind::ProcessDied), "{:?}", second.events);
    let cluster = |of: &TrialEvidence| of.start.cluster.get("cluster_id").expect("an id").clone();
    assert_ne!(cluster(&first), cluster(&second), "what is left of a cluster is measured no further");
    let probed = |of: &TrialEvidence, broker| {
        of.probes.iter().any(|reading| reading.subject == Subject::Broker(broker))
    };
    assert!(probed(&second, 0) && probed(&second, 1));
    let acknowledged: u64 = second.totals.iter().map(|totals| totals.counts.acknowledged).sum();
    let offered: u64 = second.totals.iter().map(|totals| totals.counts.offered).sum();
    assert_eq!(acknowledged, offered, "both of its brokers serve");

    let file = RunFile::open(&place.run_file()).expect("the run file");
    let caveats = file.judgement().expect("what was concluded").caveats;
    let of_first = |is_one: fn(&Caveat) -> bool| {
        caveats.iter().any(|found| found.scope == Scope::Trial(TrialId(1)) && is_one(&found.caveat))
    };
    assert!(of_first(|caveat| matches!(caveat, Caveat::ProcessDied { .. })), "{caveats:#?}");
    assert!(of_first(|caveat| matches!(caveat, Caveat::OtherLoad { .. })), "{caveats:#?}");
    assert!(of_first(|caveat| matches!(caveat, Caveat::Unconditioned)), "{caveats:#?}");
    assert!(of_first(|caveat| matches!(caveat, Caveat::SharedProcessors { .. })), "{caveats:#?}");
}

/// A follower that is stopped falls out of sync; the next trial waits until it has caught up.
#[test]
fn the_next_trial_waits_for_replicas_that_are_out_of_sync() {
    let _turn = alone();
    let place = TestFolder::new();
    let system = "mode: {controllers: 1}, storage: memory, \
                  config: {replica.lag.time.max.ms: 1500, broker.session.timeout.ms: 5000}";
    // With acks=1 a record that the leader acknowledged just before it was stopped, and that no follower had yet, would be lost.
    let load = "rate: 200/s, value: 100B, client: {acks: all, enable.idempotence: false, request.timeout.ms: 2000ms, \
                delivery.timeout.ms: 4000ms}";
    let mut running =
        start_scenario(&place, &scenario(system, 2, load, "warmup: 1s, measure: 7s, drain: 2s"));
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
