//! What a cluster may expect of the clients of a load, and what they make of its answers, in simulated time. The rules
//! themselves are tested next to `kdyno_kafka::broker_connections`.

use crate::common::{Fetching, Load, MS, Outcome, SECOND, T0, TOPIC, fetch, simulate};
use kdyno_fake_broker::{FakeCluster, FakeConfig, Service, StoredAnyway};
use kdyno_model::plan::{Arrivals, StartOffset};
use kdyno_model::sample::Timing;

/// How long a broker takes for a produce request.
const DELAY_NS: u64 = MS;

fn config(brokers: u32, partitions: u32) -> FakeConfig {
    FakeConfig::new(brokers).topic(TOPIC, partitions).service(Service::Fixed { delay_ns: DELAY_NS })
}

fn load() -> Load {
    Load::open(2_000.0, Arrivals::Poisson).seconds(6.0)
}

fn assert_all_acknowledged(outcome: &Outcome) {
    outcome.assert_accounted();
    assert_eq!(outcome.counts().acknowledged, outcome.counts().offered, "{:?}", outcome.counts());
    assert!(outcome.cluster.counts().stored_records >= outcome.counts().acknowledged);
}

/// With the error comes who leads instead (KIP-951), or the metadata has it: either way no record waits for
/// `retry.backoff.ms`, since that pause is for the broker that did not take it.
#[test]
fn a_new_leader_gets_the_records_of_the_old_one_at_once() {
    for (config, least_ns, most_ns) in
        [(config(3, 3), 2 * DELAY_NS, 10 * MS), (config(3, 3).without_topic_ids(), 2 * DELAY_NS, 80 * MS)]
    {
        let mut cluster = FakeCluster::new(config);
        let from = cluster.leader(TOPIC, 0).expect("a leader");
        cluster.script().at(T0 + 2 * SECOND).move_leader(TOPIC, 0, (from + 1) % 3);
        let outcome = simulate(&load(), cluster);
        assert_all_acknowledged(&outcome);
        let worst_ns = outcome.histogram(Timing::Response).max();
        assert!((least_ns..most_ns).contains(&worst_ns), "{worst_ns} ns");
    }
}

/// Topics go by id, so records for the old topic do not end in the new one by chance: the client gets an error,
/// requests the new id and sends them again.
#[test]
fn a_recreated_topic_is_reported_and_gets_the_records() {
    let reported =
        "metadata-error: the topic was deleted and created again: what was written to it before is gone";
    for (config, events) in [(config(2, 4), vec![reported]), (config(2, 4).without_topic_ids(), vec![])] {
        let mut cluster = FakeCluster::new(config);
        cluster.script().at(T0 + 2 * SECOND).recreate_topic(TOPIC);
        let mut load = load();
        load.clients = 3;
        let outcome = simulate(&load, cluster);
        assert_all_acknowledged(&outcome);
        assert_eq!(outcome.events, events, "all clients hear of it");
        let there: u64 =
            (0..4).filter_map(|at| outcome.cluster.stored(TOPIC, at)).map(|stored| stored.records).sum();
        assert!((6_000..outcome.counts().acknowledged).contains(&there), "{there} since it was made anew");
    }
}

#[test]
fn a_consumer_of_a_recreated_topic_continues_with_the_new_one() {
    let filled = simulate(&load(), FakeCluster::new(config(1, 1).keep_batches()));
    let (mut cluster, now_ns, records) = (filled.cluster, filled.ended_ns, filled.totals.counts.acknowledged);
    cluster.script().at(now_ns + 3 * SECOND).recreate_topic(TOPIC);
    let outcome = fetch(&Fetching::from(StartOffset::Earliest), cluster, now_ns);
    assert_eq!(outcome.counts().fetched, records, "all of the old one");
    let reported = [
        "fetch-error: client 0: partition 0: fetching failed: UNKNOWN_TOPIC_ID".to_owned(),
        "metadata-error: the topic was deleted and created again: what was written to it before is gone"
            .to_owned(),
        format!(
            "records-skipped: client 0: partition 0: offset {records} does not exist: fetching went back to offset 0"
        ),
    ];
    assert_eq!(outcome.events, reported);
}

/// A quota: the broker answers at once and leaves it to the client to wait (KIP-219).
#[test]
fn a_client_sends_nothing_while_its_broker_throttles_it() {
    const THROTTLE_NS: u64 = 50 * MS;
    let mut cluster = FakeCluster::new(config(1, 1).keep_traces());
    cluster.script().at(T0 + SECOND).throttle(0, (THROTTLE_NS / MS) as i32);
    let mut outcome = simulate(&load(), cluster);
    assert_all_acknowledged(&outcome);
    let arrivals = outcome.cluster.take_traces().into_iter().map(|trace| trace.arrival_ns);
    let throttled: Vec<u64> = arrivals.filter(|at| *at > T0 + SECOND + 10 * MS).collect();
    // What is sent before the first answer says so, and then nothing.
    let gaps: Vec<u64> = throttled.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(gaps.iter().all(|&gap| gap <= DELAY_NS || gap >= THROTTLE_NS), "{gaps:?}");
    let pauses = gaps.iter().filter(|&&gap| gap >= THROTTLE_NS).count() as u64;
    assert!((90..=100).contains(&pauses), "five seconds of them: {pauses}");
}

#[test]
fn another_cluster_at_the_addresses_is_reported_with_both_ids() {
    let mut cluster = FakeCluster::new(config(2, 2));
    cluster.script().at(T0 + 2 * SECOND).set_cluster_id("another");
    let mut load = load().with(|plan| {
        plan.client.metadata_max_age_ns = SECOND;
        plan.client.delivery_timeout_ns = 2 * SECOND;
    });
    load.drain_seconds = 5;
    let outcome = simulate(&load, cluster);
    outcome.assert_accounted();
    let reported = "a broker of cluster \"another\" answers there, while the client began with cluster \"kdyno-fake-cluster\"";
    assert!(outcome.events.iter().any(|event| event.ends_with(reported)), "{:?}", outcome.events);
    assert!(outcome.counts().acknowledged < outcome.counts().offered * 3 / 4, "it gets no records");
}

/// One of three brokers cannot be reached: the run begins without it, says so, and goes on at the others.
#[test]
fn an_unreachable_broker_does_not_keep_others_from_their_load() {
    let mut load = load().with(|plan| plan.client.delivery_timeout_ns = 2 * SECOND);
    (load.machine.cut_off, load.connect_seconds, load.drain_seconds) = (Some(1), 60, 5);
    // Two time-outs of up to 12 s each at most: of a bootstrap address, and of the leader.
    let outcome = simulate(&load, FakeCluster::new(config(3, 3)));
    outcome.assert_accounted();
    let unreachable =
        "unreachable: client 0: broker 1 cannot be reached, trying on: no connection could be made within ";
    let reported = outcome.events.iter().filter(|event| event.starts_with(unreachable));
    assert!(reported.count() >= 2, "before the load and as it begins: {:?}", outcome.events);
    for partition in 0..3 {
        let leader = outcome.cluster.leader(TOPIC, partition).expect("a leader");
        let stored = outcome.cluster.stored(TOPIC, partition).expect("a partition").records;
        assert_eq!(stored > 1_000, leader != 1, "partition {partition} has {stored} records");
    }
}

/// If a topic is not there, a broker gives the same answer again and again.
#[test]
fn a_topic_missing_for_long_is_reported_once_by_all_clients() {
    let mut cluster = FakeCluster::new(config(2, 2));
    cluster.script().at(T0 + SECOND).delete_topic(TOPIC);
    let mut load = load().with(|plan| plan.client.delivery_timeout_ns = 2 * SECOND);
    (load.clients, load.drain_seconds) = (5, 5);
    let outcome = simulate(&load, cluster);
    outcome.assert_accounted();
    let reported = outcome.events.iter().filter(|event| event.starts_with("metadata-error"));
    assert_eq!(reported.count(), 1, "{:?}", outcome.events);
}

/// A batch that its broker refuses again and again is sent after `retry.backoff.ms`, then after twice as long each time, up to
/// `retry.backoff.max.ms`, each pause up to a fifth longer or shorter.
#[test]
fn pauses_of_a_batch_that_is_refused_double_up_to_the_longest() {
    const REQUEST_TIMED_OUT: i16 = 7;
    let (from, to) = (T0 + SECOND, T0 + 6 * SECOND);
    let mut cluster = FakeCluster::new(config(1, 1).keep_traces());
    cluster.script().share_between(1.0, from, to).fail(REQUEST_TIMED_OUT, StoredAnyway::No);
    // While one batch is refused, no other of its partition is sent.
    let mut outcome = simulate(&load().with(|plan| plan.client.in_flight_max = 1), cluster);
    assert_all_acknowledged(&outcome);
    let arrivals = outcome.cluster.take_traces().into_iter().map(|trace| trace.arrival_ns);
    let attempts: Vec<u64> = arrivals.filter(|at| (from..to + 2 * SECOND).contains(at)).collect();
    let pauses = attempts.windows(2).map(|pair| (pair[1] - pair[0]) / MS).take(7).collect::<Vec<_>>();
    let longest = [(80, 122), (160, 242), (320, 482), (640, 962), (800, 1_002), (800, 1_002), (800, 1_002)];
    let are_in = pauses.iter().zip(longest).all(|(pause, (least, most))| (least..=most).contains(pause));
    assert!(pauses.len() == 7 && are_in, "{pauses:?}");
}

/// A plan that was stored before `retry.backoff.max.ms` was known has none: pauses are then all alike, and not nothing.
#[test]
fn constant_metadata_backoff_is_no_shorter_than_growing_backoff() {
    let mut cluster = FakeCluster::new(config(1, 1));
    cluster.script().at(T0 + SECOND).delete_topic(TOPIC);
    let mut load = load().with(|plan| {
        plan.client.retry_backoff_max_ns = 0;
        plan.client.delivery_timeout_ns = 2 * SECOND;
    });
    load.drain_seconds = 5;
    let outcome = simulate(&load, cluster);
    outcome.assert_accounted();
    let asked = outcome.cluster.counts().other_requests;
    // Every 100 ms for the five seconds of load that are left, and the two until its last record has failed.
    assert!((50..=80).contains(&asked), "{asked}");
}
