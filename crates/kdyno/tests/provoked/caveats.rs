//! What a cluster does wrong, and what the plan makes of the load.

use crate::common::turns::beside_any;
use crate::common::{ProgramOutput, QUICKLY, TestFolder};
use crate::fixture::{MS, brokers, measured, provoke, scenario, topic};
use kdyno_fake_broker::{FakeCluster, FakeConfig, Service, ServicePer, ServiceTime, StoredAnyway};
use kdyno_model::caveat::{Caveat, Severity};
use rustix::process::Signal;
use std::collections::BTreeSet;

const REQUEST_TIMED_OUT: i16 = 7;
const MESSAGE_TOO_LARGE: i16 = 10;

const PACED: &str = "  writers: {produce: perf, rate: 500/s, value: 100B, client: {linger.ms: 0}}\n";
const SHORT: &str = "warmup: 1s, measure: 3s, drain: 5s";

/// What else runs on the host may void a latency (6); that is not what is asked here.
fn ran_to_its_end(said: &ProgramOutput) {
    assert!(matches!(said.code, Some(0 | 6)), "{said:?}");
}

#[test]
fn requests_that_are_refused_are_failures_and_retries() {
    let (_turn, place) = (beside_any(), TestFolder::new());
    let mut cluster = brokers(1, 1);
    cluster
        .script()
        .every(40)
        .fail(REQUEST_TIMED_OUT, StoredAnyway::Yes)
        .every(100)
        .fail(MESSAGE_TOO_LARGE, StoredAnyway::No);
    let (said, seen) = provoke(&place, cluster, &scenario("", PACED, SHORT), |_, _| ());
    ran_to_its_end(&said);
    let retries = seen.caveat(|caveat| matches!(caveat, Caveat::Retries { .. }));
    let Caveat::Retries { batches, .. } = retries.caveat else { panic!() };
    assert_eq!(batches as f64, seen.value(1, "writers.retries"));
    let failures = seen.caveat(|caveat| matches!(caveat, Caveat::Failures { .. }));
    let Caveat::Failures { records, reason, .. } = &failures.caveat else { panic!() };
    assert_eq!(reason, "MESSAGE_TOO_LARGE");
    assert_eq!(*records as f64, seen.value(1, "writers.failed"));
    // Records that were stored twice are explained.
    let about_the_log =
        seen.caveats(|caveat| matches!(caveat, Caveat::Lost { .. } | Caveat::LogUnexplained { .. }));
    assert!(about_the_log.is_empty(), "{about_the_log:?}");
}

#[test]
fn what_is_acknowledged_and_not_stored_is_lost() {
    let (_turn, place) = (beside_any(), TestFolder::new());
    let mut cluster = brokers(1, 1);
    cluster.script().every(50).fail(0, StoredAnyway::No);
    let (said, seen) = provoke(&place, cluster, &scenario("", PACED, SHORT), |_, _| ());
    assert_eq!(said.code, Some(6), "records were lost: {said:?}");
    let lost = seen.caveat(|caveat| matches!(caveat, Caveat::Lost { .. }));
    assert_eq!(lost.severity, Severity::Invalid);
    let Caveat::Lost { acknowledged, growth, .. } = lost.caveat else { panic!() };
    assert!(growth < acknowledged, "{lost:?}");
    assert!(seen.finding(1, "writers.acked_per_s").is_invalid());
}

#[test]
fn records_of_another_program_are_not_explained() {
    let (_turn, place) = (beside_any(), TestFolder::new());
    let phases = "warmup: 1s, measure: 60s, drain: 5s";
    let (said, seen) = provoke(&place, brokers(1, 1), &scenario("", PACED, phases), |server, running| {
        measured(running);
        let (bootstrap, topic, elsewhere) = (server.bootstrap(), topic(&place), TestFolder::new());
        let args = ["producer-perf-test", "--bootstrap-server", &bootstrap[0], "--topic", &topic];
        let more = ["--num-records", "100", "--record-size", "128", "--throughput", "-1"];
        let other = elsewhere.start(elsewhere.command(&[&args[..], &more].concat())).wait(QUICKLY);
        assert_eq!(other.code, Some(0), "{other:?}");
        running.signal(Signal::INT);
    });
    assert_eq!(said.code, Some(130), "{said:?}");
    let found = seen.caveat(|caveat| matches!(caveat, Caveat::LogUnexplained { .. }));
    let Caveat::LogUnexplained { expected_max, growth, .. } = found.caveat else { panic!() };
    assert_eq!(growth, expected_max + 100);
}

#[test]
fn a_load_that_is_not_carried_queues_and_its_latencies_are_void() {
    let (_turn, place) = (beside_any(), TestFolder::new());
    // A record at a time by a single server, 400 a second of 500 that are offered.
    let service =
        Service::Queue { per: ServicePer::Record, time: ServiceTime::Constant { time_ns: 2_500_000 } };
    let cluster = FakeCluster::new(FakeConfig::new(1).service(service));
    let client = "linger.ms: 0, batch.size: 1B, max.in.flight.requests.per.connection: 5";
    let load = PACED.replace("linger.ms: 0", client);
    let phases = "warmup: 1s, measure: 8s, drain: 20s";
    let (said, seen) = provoke(&place, cluster, &scenario("", &load, phases), |_, _| ());
    let queue = seen.caveat(|caveat| matches!(caveat, Caveat::QueueGrowth { .. }));
    assert_eq!(queue.severity, Severity::Invalid, "{said:?}");
    let Caveat::QueueGrowth { growth_s, .. } = queue.caveat else { panic!() };
    // A busy host makes the server slower.
    assert!((1.0..5.0).contains(&growth_s), "a fifth of eight seconds waits: {growth_s}");
    let is_void = |address: &str| seen.finding(1, address).is_invalid();
    assert_eq!(["writers.response.p50", "writers.acked_per_s"].map(is_void), [true, false]);
}

#[test]
fn a_cluster_that_changes_is_reported_with_what_changed() {
    let (_turn, place) = (beside_any(), TestFolder::new());
    let load = format!("{PACED}  readers: {{consume: perf}}\n");
    let phases = "warmup: 1s, measure: 9s, drain: 5s";
    let (said, seen) = provoke(&place, brokers(2, 1), &scenario("", &load, phases), |server, running| {
        measured(running);
        let (topic, now_ns) = (topic(&place), server.now_ns());
        server.with(|cluster| {
            let script = cluster.script().at(now_ns).throttle(0, 5).at(now_ns).move_leader(&topic, 0, 1);
            script.at(now_ns + 1_000 * MS).remove_broker(1);
        });
    });
    ran_to_its_end(&said);
    let changed = seen.caveats(|caveat| matches!(caveat, Caveat::ClusterChanged { .. }));
    let kinds: BTreeSet<&str> = changed
        .iter()
        .filter_map(|found| match &found.caveat {
            Caveat::ClusterChanged { event, .. } => Some(event.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(kinds, BTreeSet::from(["brokers-changed", "leader-moved", "throttled"]), "{changed:#?}");
    assert!(
        !seen.caveats(|caveat| matches!(caveat, Caveat::FetchErrors { .. })).is_empty(),
        "readers saw it"
    );
}

#[test]
fn a_reader_that_does_not_keep_up_is_behind() {
    let (_turn, place) = (beside_any(), TestFolder::new());
    let config = FakeConfig::new(1).control_delay_ns(100 * MS).keep_batches();
    // Batches of one record of 2 KB; a fetch brings one of each partition.
    let load = "  writers: {produce: perf, rate: 200/s, value: 2000B, client: {batch.size: 1B, linger.ms: 0}}\n\
                \x20 readers: {consume: perf, client: {max.partition.fetch.bytes: 1KiB}}\n";
    let phases = "warmup: 1s, measure: 4s, drain: 1s";
    let (said, seen) = provoke(&place, FakeCluster::new(config), &scenario("", load, phases), |_, _| ());
    let behind = seen.caveat(|caveat| matches!(caveat, Caveat::ConsumerBehind { .. }));
    let Caveat::ConsumerBehind { records, seconds, .. } = behind.caveat else { panic!() };
    assert!(records > 200 && seconds.is_some_and(|seconds| seconds > 1.0), "{behind:?}, {said:?}");
}

#[test]
fn what_the_plan_makes_doubtful_is_reported() {
    let (_turn, place) = (beside_any(), TestFolder::new());
    let load = "  blind: {produce: perf, rate: 200/s, value: 100B, client: {acks: 0}}\n\
                \x20 pooled: {produce: perf, rate: 200/s, value: 100B, payload: pooled, client: {compression.type: lz4}}\n\
                \x20 random: {produce: perf, rate: 200/s, value: 100B, client: {compression.type: snappy}}\n\
                \x20 batched: {produce: perf, rate: 200/s, value: 100B, client: {batch.size: $batch, linger.ms: 0}}\n\
                \x20 readers: {consume: perf}\n";
    let head = "params: {batch: 16KiB}\nvary: {batch: [150B, 64KiB]}\n";
    let phases = "warmup: 1s, measure: 2s, drain: 5s";
    let (said, seen) = provoke(&place, brokers(1, 5), &scenario(head, load, phases), |_, _| ());
    let reported = |found: &kdyno_model::caveat::ScopedCaveat| match &found.caveat {
        Caveat::WrittenNotAppended { item } => Some(("not appended", item.clone())),
        Caveat::PooledCompression { item } => Some(("pooled", item.clone())),
        Caveat::RandomValues { item, .. } => Some(("random", item.clone())),
        Caveat::AssignedNotGroup { item } => Some(("assigned", item.clone())),
        // All are paced, with too few records for the last quantiles.
        Caveat::FewRecords { item, .. } if item == "batched" => Some(("few records", item.clone())),
        _ => None,
    };
    let reported: BTreeSet<(&str, String)> = seen.judgement.caveats.iter().filter_map(reported).collect();
    let wanted = [
        ("assigned", "readers"),
        ("few records", "batched"),
        ("not appended", "blind"),
        ("pooled", "pooled"),
        ("random", "random"),
    ];
    let wanted: BTreeSet<(&str, String)> = wanted.map(|(what, item)| (what, item.to_owned())).into();
    assert_eq!(reported, wanted, "{said:?}");
    // Where a batch has room for one record it is full.
    let small =
        seen.caveats(|caveat| matches!(caveat, Caveat::SmallBatches { item, .. } if item == "batched"));
    let trials: Vec<_> = small.iter().map(|found| found.scope).collect();
    let large =
        seen.file.trials().expect("trials").into_iter().find(|start| start.trial.label.contains("64KiB"));
    let large = large.expect("the case of 64 KiB").trial.id;
    assert_eq!(trials, [kdyno_model::finding::Scope::Trial(large)]);
}
