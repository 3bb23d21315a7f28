//! Whatever is killed, interrupted or full: nothing survives, and the run keeps its evidence.

use crate::common::cgroups::{self, of_brokers};
use crate::common::turns::with_others;
use crate::common::{QUICKLY, RUN_DEADLINE, TestFolder, signal};
use crate::fixture::{
    caveats, ended, event_kinds, evidences, figure, files, invalid_but_for_late_load, judged, ran, scenario,
    stand, start, start_and_measure, start_scenario, take_down, totals,
};
use kdyno_model::caveat::Caveat;
use kdyno_model::event::{EventKind, Subject};
use kdyno_model::evidence::TrialEvidence;
use kdyno_model::finding::Scope;
use kdyno_model::sample::series;
use kdyno_model::trial::TrialId;
use rustix::process::Signal;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

#[test]
fn ctrl_c_stops_cleanly_and_keeps_the_evidence() {
    let _turn = with_others();
    let place = TestFolder::new();
    let running = start_and_measure(&place, 1, 120);
    running.signal(Signal::INT);
    let said = running.wait(RUN_DEADLINE);
    ended(&said, 130);
    place.expect_no_processes();
    let document = place.show();
    assert!(event_kinds(&document).contains(&"cut-short".to_owned()), "{}", document["events"]);
    assert_eq!(document["status"], "interrupted");
}

#[test]
fn ctrl_c_while_the_cluster_starts_does_not_wait_for_it() {
    let _turn = with_others();
    let place = TestFolder::new();
    let mut running = start(&place, 1, 120);
    running.wait_for_process("kafka.Kafka");
    running.signal(Signal::INT);
    ended(&running.wait(RUN_DEADLINE), 130);
    place.expect_no_processes();
    assert_eq!(place.show()["status"], "interrupted");
}

#[test]
fn killing_kdyno_leaves_no_process_and_a_readable_run() {
    let _turn = with_others();
    let place = TestFolder::new();
    let running = start_and_measure(&place, 1, 120);
    running.signal(Signal::KILL);
    assert_eq!(running.wait(RUN_DEADLINE).code, None);
    place.expect_no_processes();
    for name in ["server.properties", "meta.properties"] {
        assert!(files(&place, name).is_empty(), "{name}: the guard has removed what brokers wrote");
    }
    let document = place.show();
    assert_eq!(document["status"], Value::Null, "cut off");
    assert!(place.kdyno(&["runs"]).stdout.contains("cut off"));
}

/// The limit is so high that it holds nothing up: only what is left behind counts. No other test that runs meanwhile has one.
#[test]
fn killing_kdyno_leaves_no_control_group() {
    let _turn = with_others();
    if !cgroups::can_be_made() {
        eprintln!("skipped: no control group with a limit on CPU time can be made here (needs root)");
        return;
    }
    let place = TestFolder::new();
    let limited = scenario(1, 120).replace("heap: 256MiB", "heap: 256MiB, cpus: 1.5");
    let mut running = start_scenario(&place, &limited);
    running.wait_for("· measure");
    assert_eq!(of_brokers().len(), 1);
    running.signal(Signal::KILL);
    running.wait(RUN_DEADLINE);
    let end = Instant::now() + QUICKLY;
    while !of_brokers().is_empty() && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(50));
    }
    let left = of_brokers();
    assert!(left.is_empty(), "its guard has removed it: {left:?}");
    place.expect_no_processes();
}

#[test]
fn killing_the_worker_ends_the_run_with_an_error_and_evidence() {
    let _turn = with_others();
    let place = TestFolder::new();
    let running = start_and_measure(&place, 1, 120);
    let workers = running.processes("kdyno worker");
    assert_eq!(workers.len(), 1, "one worker");
    signal(workers[0], Signal::KILL);
    let said = running.wait(RUN_DEADLINE);
    ended(&said, 1);
    assert!(said.stderr.contains("error: worker 0 ended (signal: 9"), "{}", said.stderr);
    assert!(said.stderr.contains("hint:") && said.stderr.contains("kept in"), "{}", said.stderr);
    place.expect_no_processes();
    let kinds = event_kinds(&place.show());
    assert!(
        kinds.contains(&"worker-ended".to_owned()) && kinds.contains(&"cut-short".to_owned()),
        "{kinds:?}"
    );
}

#[test]
fn killing_the_guard_ends_the_brokers_and_the_run_reports_it() {
    let _turn = with_others();
    let place = TestFolder::new();
    let running = start_and_measure(&place, 1, 120);
    let guards = running.processes("kdyno guard");
    assert_eq!(guards.len(), 1, "one guard");
    signal(guards[0], Signal::KILL);
    let said = running.wait(RUN_DEADLINE);
    ended(&said, 1);
    assert!(said.stderr.contains("error: no broker is left"), "{}", said.stderr);
    place.expect_no_processes();
    let document = place.show();
    let kinds = event_kinds(&document);
    assert!(kinds.contains(&"process-died".to_owned()), "{kinds:?}");
    assert!(kinds.contains(&"cut-short".to_owned()), "it does not wait for nobody: {kinds:?}");
    assert!(!kinds.contains(&"worker-ended".to_owned()), "the worker hands in its account: {kinds:?}");
    assert!(figure(&document, "writers.unresolved") + figure(&document, "writers.failed") > 0.0);
}

/// So many clients that they are not all connected when the guard is killed.
#[test]
fn killing_the_guard_while_clients_connect_ends_the_run_at_once() {
    let _turn = with_others();
    let place = TestFolder::new();
    let many = scenario(1, 120).replace("produce: perf, clients: 1,", "produce: perf, clients: 400,");
    let path = place.file("small.yaml", &many);
    let args = ["run", path.to_str().expect("plain path"), "--share"];
    let mut running = place.start(place.command(&args));
    running.wait_for_process("kdyno worker");
    signal(running.processes("kdyno guard")[0], Signal::KILL);
    let said = running.wait(RUN_DEADLINE);
    ended(&said, 1);
    assert!(said.stderr.contains("error: no broker is left"), "{}", said.stderr);
    assert!(said.stderr.contains("ended before the load began: the guard ended"), "{}", said.stderr);
    place.expect_no_processes();
    let kinds = event_kinds(&place.show());
    assert!(kinds.contains(&"process-died".to_owned()), "{kinds:?}");
}

#[test]
fn a_broker_killed_in_the_middle_shows_and_the_run_goes_on() {
    let turn = with_others();
    let place = TestFolder::new();
    let running = start_and_measure(&place, 2, 10);
    let brokers = running.processes("kafka.Kafka");
    assert_eq!(brokers.len(), 2, "two brokers");
    signal(brokers[0], Signal::KILL);
    let _turn = turn.waits();
    let said = running.wait(RUN_DEADLINE);
    // Every record is accounted for, so the figures are right: those of a cluster that lost a broker, unless this host made the
    // generator late.
    ran(&said);
    place.expect_no_processes();
    let document = place.show();
    let warnings = caveats(&document, "warning");
    assert!(warnings.contains(&"process-died"), "{}", document["caveats"]);
    // The partitions that it led have no other replica, and so no leader that could be asked.
    assert!(warnings.contains(&"log-not-checked"), "{}", document["caveats"]);
    assert!(invalid_but_for_late_load(&document).is_empty(), "{}", document["caveats"]);
    assert!(event_kinds(&document).contains(&"process-died".to_owned()));
    let lost = figure(&document, "writers.failed") + figure(&document, "writers.unresolved");
    assert!(lost > 0.0, "records of the dead broker's partitions were not acknowledged");
    assert!((figure(&document, "writers.offered_per_s") - 500.0).abs() < 50.0, "the schedule does not wait");
}

/// Two brokers that both hold each partition; controllers count a broker as dead after five seconds, not nine.
const LED: &str = "\
kdyno: 1
id: led
question: Does it work?
system: {kafka: 4.1.1, mode: {controllers: 1}, brokers: 2, limits: {heap: 256MiB}, metrics: none, jvm: QUICK_JVM, \
         config: {broker.session.timeout.ms: 5000}}
topics: {perf: {partitions: 4, replicas: 2}}
load: {writers: {produce: perf, rate: 500/s, value: 100B, client: {acks: 1}}}
phases: {warmup: 1s, condition: none, measure: 9s, drain: 5s}
show: {columns: [writers.acked_per_s]}
";

/// A leader that dies has acknowledged alone what its followers had not fetched yet: the log is read all the same, from
/// those that are left.
#[test]
fn the_log_is_compared_where_a_leader_died() {
    let turn = with_others();
    let place = TestFolder::new();
    let mut running = start_scenario(&place, LED);
    running.wait_for("· measure");
    let brokers = running.processes("broker-1");
    assert_eq!(brokers.len(), 1, "the second broker");
    signal(brokers[0], Signal::KILL);
    let _turn = turn.waits();
    let said = running.wait(RUN_DEADLINE);
    place.expect_no_processes();

    let trial = &evidences(&place)[0];
    let kinds: Vec<EventKind> = trial.events.iter().map(|event| event.kind).collect();
    assert!(kinds.contains(&EventKind::ProcessDied), "{:?}", trial.events);
    assert!(!kinds.contains(&EventKind::LogUnchecked), "{:?}", trial.events);
    let after = trial
        .probes
        .iter()
        .filter(|reading| reading.at_ns > 0 && reading.series == series::LOG_RECORDS_TOTAL);
    assert_eq!(after.count(), 1, "the end after the drain");
    // Whether anything was lost is chance.
    let caveats = judged(&place).caveats;
    let is_lost = caveats.iter().any(|found| matches!(found.caveat, Caveat::Lost { .. }));
    if is_lost { ended(&said, 6) } else { ran(&said) }
}

/// Two trials on two brokers that both hold part of the topic.
const TWICE: &str = "\
kdyno: 1
id: twice
question: Does it work?
repeat: 2
system: {kafka: 4.1.1, mode: kraft, brokers: 2, limits: {heap: 256MiB}, metrics: none, jvm: QUICK_JVM}
topics: {perf: {partitions: 4, replicas: 1}}
load: {writers: {produce: perf, rate: 200/s, value: 100B}}
phases: {condition: none, warmup: 1s, measure: 5s, drain: 3s}
show: {columns: [writers.acked_per_s]}
";

/// Programs that are not part of the run use a third of the CPUs meanwhile: both are reported, each with its trial.
#[test]
fn a_cluster_that_lost_a_broker_is_replaced_for_the_next_trial() {
    let _turn = with_others();
    let place = TestFolder::new();
    let mut running = start_scenario(&place, TWICE);
    running.wait_for("· measure");
    let mut spinning = Vec::new();
    for _ in 0..=std::thread::available_parallelism().map_or(1, usize::from) / 3 {
        let mut shell = Command::new("sh");
        shell.args(["-c", "while :; do :; done"]).current_dir(place.path());
        spinning.push(place.start(shell));
    }
    let brokers = running.processes("kafka.Kafka");
    assert_eq!(brokers.len(), 2, "two brokers");
    signal(brokers[0], Signal::KILL);
    running.wait_for("trial 2 of 2");
    drop(spinning);
    let said = running.wait(RUN_DEADLINE);
    ran(&said);
    place.expect_no_processes();
    // The exit code says nothing of it: the run does, at once and at its end.
    let at_once = said.stderr.lines().find(|line| line.contains(" ended in the middle of the trial: "));
    assert!(at_once.is_some_and(|line| line.contains("warning: broker-")), "{}", said.stderr);
    let last = said.stderr.lines().rev().take(3).collect::<Vec<_>>().join("\n");
    assert!(
        last.contains("ended in trial 1: figures are those of a cluster that lost it on the way"),
        "{last}"
    );

    let all = evidences(&place);
    let has_died = |of: &TrialEvidence| of.events.iter().any(|event| event.kind == EventKind::ProcessDied);
    assert!(has_died(&all[0]), "{:?}", all[0].events);
    assert!(!has_died(&all[1]), "{:?}", all[1].events);
    let cluster = |of: &TrialEvidence| of.start.cluster.get("cluster_id").expect("an id").clone();
    assert_ne!(cluster(&all[0]), cluster(&all[1]), "what is left of a cluster is measured no further");
    for broker in [0, 1] {
        let is_probed = all[1].probes.iter().any(|reading| reading.subject == Subject::Broker(broker));
        assert!(is_probed, "broker {broker}");
    }
    let written = &totals(&all[1], "writers").counts;
    assert_eq!(written.acknowledged, written.offered, "both of its brokers serve");

    let caveats = judged(&place).caveats;
    let of_first = |is_one: fn(&Caveat) -> bool| {
        caveats.iter().any(|found| found.scope == Scope::Trial(TrialId(1)) && is_one(&found.caveat))
    };
    assert!(of_first(|caveat| matches!(caveat, Caveat::ProcessDied { .. })), "{caveats:#?}");
    assert!(of_first(|caveat| matches!(caveat, Caveat::OtherLoad { .. })), "{caveats:#?}");
    assert!(of_first(|caveat| matches!(caveat, Caveat::Unconditioned)), "{caveats:#?}");
    assert!(of_first(|caveat| matches!(caveat, Caveat::SharedProcessors { .. })), "{caveats:#?}");
}

#[test]
fn a_full_disk_stops_the_run_with_one_clear_error() {
    let _turn = with_others();
    let place = TestFolder::new();
    let small = place.path().join("small-disk");
    let Some(_mount) = SmallDisk::mount(&small) else {
        eprintln!("skipped: a small file system cannot be mounted here (needs root)");
        return;
    };
    let path = place.file("small.yaml", &scenario(1, 120));
    let out = small.to_str().expect("plain path");
    let mut running =
        place.start(place.command(&["run", path.to_str().expect("plain path"), "--share", "--out", out]));
    running.wait_for("· measure");
    SmallDisk::fill(&small);
    let said = running.wait(RUN_DEADLINE);
    ended(&said, 1);
    assert!(said.stderr.contains("error: the disk is full"), "{}", said.stderr);
    place.expect_no_processes();
    std::fs::remove_file(small.join("filler")).expect("the filler");
    let said = place.kdyno(&["show", "latest", "--dir", out, "--json"]);
    ended(&said, 0);
    let document: Value = serde_json::from_str(&said.stdout).expect("JSON");
    assert_eq!(document["status"], "failed");
}

/// A file system in memory of 64 MiB, unmounted at the end.
struct SmallDisk<'a>(&'a Path);

impl<'a> SmallDisk<'a> {
    fn mount(path: &'a Path) -> Option<Self> {
        std::fs::create_dir(path).expect("a folder");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=64m", "tmpfs"]).arg(path);
        let mounted = mount.output().is_ok_and(|output| output.status.success());
        mounted.then_some(Self(path))
    }

    /// Writes until nothing more fits.
    fn fill(path: &Path) {
        use std::io::Write;
        let mut filler = std::fs::File::create(path.join("filler")).expect("a file");
        while filler.write_all(&[7; 4096]).is_ok() {}
    }
}

impl Drop for SmallDisk<'_> {
    fn drop(&mut self) {
        // `-l`: also when something still holds a file there.
        let _ = Command::new("umount").arg("-l").arg(self.0).output();
    }
}

/// On a broker that takes no batch above 2,000 bytes: batches of several records are split until they go, and a record
/// that is too large by itself fails under the broker's name for it.
#[test]
fn too_large_batches_are_split_and_records_fail_by_error_name() {
    const LOAD: &str = "\
kdyno: 1
id: small
question: Does it work?
topics: {perf: {partitions: 1, replicas: 1}}
load:
  writers: {produce: perf, rate: 1000/s, value: 100B, client: {linger.ms: 100}}
  huge: {produce: perf, rate: 20/s, value: 5000B}
  readers: {consume: perf}
phases: {warmup: 1s, condition: none, measure: 3s, drain: 20s}
show: {columns: [writers.acked_per_s]}
";
    let turn = with_others();
    let place = TestFolder::new();
    stand(&place, "small", "kafka: newest, metrics: none, config: {message.max.bytes: 2000}");
    let _turn = turn.waits();
    let target = place.kdyno(&["cluster", "target", "small"]);
    ended(&target, 0);
    place.file("target.yaml", &target.stdout);
    place.file("small.yaml", LOAD);
    let args = ["run", "small.yaml", "--target", "target.yaml", "--share", "--yes", "--seed", "1"];
    ran(&place.start(place.command(&args)).wait(RUN_DEADLINE));
    let evidence = &evidences(&place)[0];
    let [written, huge, read] = ["writers", "huge", "readers"].map(|item| &totals(evidence, item).counts);
    assert!(written.offered > 2_000 && written.acknowledged == written.offered, "{written:?}");
    assert!(written.acknowledged < 20 * written.batches, "no more than 18 fit: {written:?}");
    assert_eq!(huge.failed, BTreeMap::from([("MESSAGE_TOO_LARGE".to_owned(), huge.offered)]), "{huge:?}");
    assert_eq!(read.fetched, written.acknowledged, "{read:?}");
    take_down(&place, "small");
}
