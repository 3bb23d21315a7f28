//! Accuracy test 10: whatever the brokers do, offered = acknowledged + failed + unresolved, exactly.

use crate::common::{Load, MS, SECOND, T0, TOPIC, simulate};
use kdyno_fake_broker::{FakeCluster, FakeConfig, Hostile, Service, ServicePer, ServiceTime, StoredAnyway};
use kdyno_model::plan::{Arrivals, Fill, Payload, Rate, RatePiece};
use kdyno_model::sample::{Grain, Phase, Timing};
use std::collections::{BTreeMap, BTreeSet};

const REQUEST_TIMED_OUT: i16 = 7;
const INVALID_RECORD: i16 = 87;

fn config(brokers: u32, partitions: u32) -> FakeConfig {
    let time = ServiceTime::Exponential { mean_ns: 20_000.0 };
    FakeConfig::new(brokers)
        .topic(TOPIC, partitions)
        .service(Service::Queue { per: ServicePer::Record, time })
}

/// A load whose timeouts fit into a test.
fn hasty(per_s: f64) -> Load {
    Load::open(per_s, Arrivals::Poisson).seconds(30.0).with(|plan| {
        plan.client.request_timeout_ns = 2 * SECOND;
        plan.client.delivery_timeout_ns = 5 * SECOND;
        plan.client.max_block_ns = 3 * SECOND;
    })
}

#[test]
fn drops_errors_silence_and_closed_sockets_are_accounted_for() {
    for acks in [-1, 1] {
        let mut cluster = FakeCluster::new(config(3, 6));
        cluster.script().share(0.01).drop_request(StoredAnyway::No);
        cluster.script().share(0.01).fail(INVALID_RECORD, StoredAnyway::No);
        cluster.script().share(0.01).fail(REQUEST_TIMED_OUT, StoredAnyway::Yes);
        cluster.script().share(0.001).drop_request(StoredAnyway::Yes);
        cluster.script().share(0.002).close(StoredAnyway::Yes);
        cluster.script().share(0.002).close(StoredAnyway::No);
        let mut load = hasty(3_000.0).with(|plan| plan.client.acks = acks);
        load.clients = 3;
        let outcome = simulate(&load, cluster);
        outcome.assert_accounted();
        let counts = outcome.counts();
        assert!(counts.acknowledged > 0 && counts.retries > 0, "{counts:?}");
        let refused = counts.failed.get("INVALID_RECORD").copied().unwrap_or(0);
        assert!(refused > 0, "an error that is not retried fails its records: {counts:?}");
        assert!(
            outcome.cluster.counts().stored_records >= counts.acknowledged,
            "nothing is acknowledged that is not stored"
        );
        assert!(outcome.events.iter().any(|event| event.starts_with("disconnected")), "{:?}", outcome.events);
        let (host, _) = outcome.cluster.address(outcome.cluster.broker_ids()[0]);
        assert!(outcome.events.iter().all(|event| !event.contains(&host)), "addresses are private");
    }
}

/// Each batch counts for its partition once, whatever was sent again.
#[test]
fn acknowledged_records_are_those_of_their_partitions() {
    let mut cluster = FakeCluster::new(config(3, 6));
    cluster.script().share(0.02).fail(REQUEST_TIMED_OUT, StoredAnyway::No);
    let mut load = hasty(1_000.0);
    load.clients = 2;
    let outcome = simulate(&load, cluster);
    outcome.assert_accounted();
    let partitions = &outcome.totals.partitions;
    assert!(partitions.len() == 6 && partitions.iter().all(|one| one.records > 0), "{partitions:?}");
    // What is acknowledged in the drain belongs to no phase that counts.
    let rows = || outcome.samples.iter().filter(|row| row.grain == Grain::Second && row.written_second < 30);
    let acknowledged: u64 = rows().map(|row| row.counts.acknowledged).sum();
    assert_eq!(partitions.iter().map(|one| one.records).sum::<u64>(), acknowledged);
    // Values, and what surrounds each of them.
    let (bytes, of_values): (u64, u64) =
        (partitions.iter().map(|one| one.bytes).sum(), rows().map(|row| row.counts.acknowledged_bytes).sum());
    assert_eq!(bytes, rows().map(|row| row.counts.record_bytes).sum::<u64>());
    assert!(of_values > 0 && bytes >= of_values, "{bytes} bytes with {of_values} of values");
}

#[test]
fn a_silent_cluster_leaves_failures_and_unresolved_records() {
    let mut cluster = FakeCluster::new(config(1, 2));
    cluster.script().at(T0 + 10 * SECOND).stall(0, 10_000 * SECOND);
    let mut load = hasty(1_000.0).with(|plan| {
        plan.client.buffer_bytes = 64 << 10;
        plan.client.delivery_timeout_ns = 60 * SECOND;
    });
    load.drain_seconds = 1;
    let outcome = simulate(&load, cluster);
    outcome.assert_accounted();
    let counts = outcome.counts();
    assert!(counts.failed.get("max-block").is_some_and(|records| *records > 10_000), "{counts:?}");
    assert!(counts.unresolved > 0, "{counts:?}");
}

#[test]
fn records_past_their_delivery_timeout_fail() {
    let mut cluster = FakeCluster::new(config(1, 1));
    cluster.script().at(T0 + 5 * SECOND).stall(0, 20 * SECOND);
    let outcome = simulate(&hasty(500.0), cluster);
    outcome.assert_accounted();
    let counts = outcome.counts();
    assert!(counts.failed.get("delivery-timeout").is_some_and(|records| *records > 5_000), "{counts:?}");
    assert!(counts.acknowledged > 4_000, "{counts:?}");
    assert_eq!(counts.unresolved, 0);
}

#[test]
fn a_moved_leader_is_found_and_nothing_is_lost() {
    let mut cluster = FakeCluster::new(config(3, 3));
    cluster.script().at(T0 + 5 * SECOND).move_leader(TOPIC, 0, 2);
    cluster.script().at(T0 + 8 * SECOND).lose_leader(TOPIC, 1);
    cluster.script().at(T0 + 9 * SECOND).move_leader(TOPIC, 1, 0);
    let outcome = simulate(&hasty(2_000.0), cluster);
    outcome.assert_accounted();
    assert_eq!(outcome.failed(), 0, "{:?}", outcome.counts());
    assert_eq!(outcome.counts().acknowledged, outcome.counts().offered);
    assert_eq!(outcome.cluster.counts().stored_records, outcome.counts().acknowledged);
    assert!(outcome.events.iter().any(|event| event.starts_with("leader-moved: partition 0")));
    let worst = outcome.histogram(Timing::Response).max();
    assert!((900 * MS..2 * SECOND).contains(&worst), "the second without leader shows: {worst} ns");
}

#[test]
fn a_broker_that_dies_and_returns_costs_time_but_no_records() {
    let mut cluster = FakeCluster::new(config(3, 6));
    cluster.script().at(T0 + 5 * SECOND).remove_broker(1);
    cluster.script().at(T0 + 12 * SECOND).add_broker(1);
    let outcome = simulate(&hasty(2_000.0), cluster);
    outcome.assert_accounted();
    assert_eq!(outcome.counts().acknowledged, outcome.counts().offered, "{:?}", outcome.counts());
    assert!(outcome.events.iter().any(|event| event.starts_with("disconnected")));
}

#[test]
fn hostile_replies_close_the_connection_and_records_are_resent() {
    let kinds = [
        Hostile::Garbage { bytes: 100 },
        Hostile::Truncated,
        Hostile::HugeFrame,
        Hostile::NegativeFrame,
        Hostile::HugeArray,
        Hostile::WrongCorrelation,
    ];
    for hostile in kinds {
        let mut cluster = FakeCluster::new(config(1, 1));
        cluster.script().every(50).answer_hostile(hostile);
        let outcome = simulate(&hasty(500.0), cluster);
        outcome.assert_accounted();
        assert_eq!(
            outcome.counts().acknowledged,
            outcome.counts().offered,
            "{hostile:?}: {:?}",
            outcome.counts()
        );
        assert!(outcome.counts().retries > 0, "{hostile:?}");
    }
}

#[test]
fn without_acknowledgements_written_is_what_counts() {
    let load = hasty(2_000.0).with(|plan| plan.client.acks = 0);
    let outcome = simulate(&load, FakeCluster::new(config(2, 4)));
    outcome.assert_accounted();
    assert_eq!(outcome.counts().acknowledged, outcome.counts().offered);
    assert_eq!(outcome.cluster.counts().stored_records, outcome.counts().acknowledged);
    assert_eq!(outcome.histogram(Timing::Request).max(), 0);
}

#[test]
fn a_closed_loop_keeps_the_buffer_full_and_ends_on_request() {
    for (fill, payload) in
        [(Fill::Buffer, Payload::Unique), (Fill::InFlight, Payload::Pooled { pool_bytes: 0 })]
    {
        let load = Load::max(fill).seconds(2.0).with(|plan| plan.payload = payload);
        let outcome = simulate(&load, FakeCluster::new(config(1, 3)));
        outcome.assert_accounted();
        let counts = outcome.counts();
        assert_eq!(counts.acknowledged, counts.offered);
        // One server at 20 µs a record is busy for the two seconds and for what the buffer still held.
        assert!(counts.acknowledged >= 95_000, "{fill:?}: {counts:?}");
        let in_window: u64 = outcome
            .samples
            .iter()
            .filter(|s| s.grain == Grain::Second && s.written_second < 2 && s.phase == Phase::Measure)
            .map(|sample| sample.counts.acknowledged)
            .sum();
        assert!(in_window.abs_diff(100_000) < 3_000, "{fill:?}: {in_window}");
    }
}

/// What gave up has freed its room: a closed loop goes on at once, also while requests hang that are not
/// given up for half a minute yet.
#[test]
fn a_closed_loop_goes_on_as_soon_as_batches_gave_up() {
    for fill in [Fill::Buffer, Fill::InFlight] {
        let mut cluster = FakeCluster::new(config(1, 1));
        cluster.script().at(T0 + 2 * SECOND).stall(0, 1_000 * SECOND);
        let mut load = Load::max(fill).seconds(20.0).with(|plan| {
            plan.client.buffer_bytes = 256 << 10;
            plan.client.delivery_timeout_ns = 5 * SECOND;
            plan.client.request_timeout_ns = 30 * SECOND;
        });
        load.drain_seconds = 1;
        let outcome = simulate(&load, cluster);
        outcome.assert_accounted();
        let offered_in = |seconds: std::ops::Range<u32>| -> u64 {
            let rows = outcome.samples.iter().filter(|s| s.grain == Grain::Second);
            rows.filter(|s| seconds.contains(&s.t0_second)).map(|s| s.counts.offered).sum()
        };
        assert!(offered_in(0..2) > 0, "{fill:?}");
        assert_eq!(offered_in(3..6), 0, "{fill:?}: the buffer is full and nothing moves");
        // What was taken in the second second gives up in the seventh, what was taken then in the twelfth.
        assert!(offered_in(6..8) > 0, "{fill:?}: {:?}", outcome.counts());
        assert!(offered_in(11..13) > 0, "{fill:?}: {:?}", outcome.counts());
        assert_eq!(outcome.counts().failed.keys().collect::<Vec<_>>(), ["delivery-timeout"]);
    }
}

#[test]
fn a_limit_on_records_is_kept_to_the_record() {
    for load in [Load::max(Fill::Buffer), Load::open(50_000.0, Arrivals::Constant)] {
        let mut load = load.seconds(1_000.0).with(|plan| plan.records_max = Some(100_003));
        load.clients = 4;
        let outcome = simulate(&load, FakeCluster::new(config(3, 6)));
        outcome.assert_accounted();
        assert_eq!(outcome.counts().acknowledged, 100_003);
        let per_client: Vec<u64> = outcome.totals.clients.iter().map(|client| client.records).collect();
        assert_eq!(per_client, [25_001, 25_001, 25_001, 25_000]);
    }
}

/// A limit is on the measure phase: before it every client sends, also those that have no record of it.
#[test]
fn a_limit_leaves_the_warm_up_to_all_clients() {
    let (limit, warmup_seconds) = (3, 4);
    let mut load =
        Load::open(100.0, Arrivals::Constant).seconds(60.0).with(|plan| plan.records_max = Some(limit));
    (load.clients, load.warmup_seconds) = (10, warmup_seconds);
    let outcome = simulate(&load, FakeCluster::new(config(3, 6)));
    outcome.assert_accounted();
    let offered = |phase| -> u64 {
        let rows = outcome.samples.iter().filter(|s| s.grain == Grain::Second && s.phase == phase);
        rows.map(|sample| sample.counts.offered).sum()
    };
    assert_eq!(offered(Phase::Warmup), 100 * warmup_seconds, "all ten clients at 10 records/s");
    assert_eq!(offered(Phase::Measure), limit);
    assert!(outcome.ended_ns < T0 + 10 * SECOND, "nothing is left to wait for: {} ns", outcome.ended_ns);
}

/// The same, where the item's other clients, and with them all records of the limit, are on another worker.
#[test]
fn a_worker_without_records_of_the_limit_joins_the_warm_up() {
    for load in [Load::open(100.0, Arrivals::Constant), Load::max(Fill::Buffer)] {
        let mut load = load.seconds(60.0).with(|plan| {
            (plan.records_max, plan.client.buffer_bytes) = (Some(3), 256 << 10);
        });
        (load.clients, load.clients_elsewhere, load.warmup_seconds, load.heard_seconds) = (5, 5, 4, 2);
        let outcome = simulate(&load, FakeCluster::new(config(3, 6)));
        outcome.assert_accounted();
        let seconds = outcome.samples.iter().filter(|s| s.grain == Grain::Second && s.counts.offered > 0);
        let seconds: BTreeSet<u32> = seconds.map(|sample| sample.t0_second).collect();
        assert_eq!(seconds, BTreeSet::from([0, 1, 2, 3]), "all of the warm-up and nothing after it");
        assert!(outcome.ended_ns < T0 + 10 * SECOND, "{} ns", outcome.ended_ns);
    }
}

/// A load without a rate of its own, a warm-up that ends when the lab says so and a measure phase of one second: what
/// is acknowledged in each second is what the brokers answered in it, to the record.
#[test]
fn a_closed_loop_is_counted_exactly_in_a_warm_up_of_any_length() {
    for fill in [Fill::Buffer, Fill::InFlight] {
        let mut load = Load::max(fill).seconds(8.0).with(|plan| plan.client.buffer_bytes = 256 << 10);
        (load.clients, load.warmup_seconds, load.heard_seconds) = (3, 7, 6);
        load.tick_ns = 200_000;
        let mut outcome = simulate(&load, FakeCluster::new(config(2, 4).keep_traces()));
        outcome.assert_accounted();
        assert_eq!(outcome.counts().acknowledged, outcome.counts().offered);
        let mut answered = BTreeMap::<u64, u64>::new();
        for trace in outcome.cluster.take_traces() {
            *answered.entry((trace.completion_ns - T0) / SECOND).or_default() += trace.records;
        }
        let rows = || outcome.samples.iter().filter(|sample| sample.grain == Grain::Second);
        let mut acknowledged = BTreeMap::<u64, u64>::new();
        for row in rows().filter(|row| row.counts.acknowledged > 0) {
            *acknowledged.entry(u64::from(row.written_second)).or_default() += row.counts.acknowledged;
        }
        assert_eq!(acknowledged, answered, "{fill:?}");
        assert!((0..=7).all(|second| acknowledged[&second] > 10_000), "{fill:?}: {acknowledged:?}");
        for row in rows().filter(|row| row.counts.offered > 0) {
            let phase = if row.t0_second < 7 { Phase::Warmup } else { Phase::Measure };
            assert_eq!((row.phase, row.t0_second <= 7), (phase, true), "{fill:?}");
        }
    }
}

/// A quota: each answer says so, and is counted; each broker is reported once, however many clients it throttles.
#[test]
fn throttled_answers_are_counted_and_reported_once_per_broker() {
    let mut cluster = FakeCluster::new(config(3, 6));
    cluster.script().at(T0 + SECOND).throttle(0, 40).at(T0 + SECOND).throttle(2, 5);
    let mut load = hasty(2_000.0).seconds(4.0);
    load.clients = 5;
    let outcome = simulate(&load, cluster);
    outcome.assert_accounted();
    let throttled = outcome.events.iter().filter(|event| event.starts_with("throttled: "));
    let reported: BTreeSet<&str> =
        throttled.clone().map(|event| &event[.."throttled: broker 0".len()]).collect();
    assert_eq!(
        (reported, throttled.count()),
        (BTreeSet::from(["throttled: broker 0", "throttled: broker 2"]), 2)
    );
    let by_second = |second: u32| -> u64 {
        let rows = outcome.samples.iter().filter(|row| row.written_second == second);
        rows.map(|row| row.counts.throttled_ns).sum()
    };
    assert_eq!(by_second(0), 0);
    let (ns, requests) = (outcome.counts().throttled_ns, outcome.counts().requests);
    assert!(by_second(2) > 0 && ns.is_multiple_of(5 * MS), "{ns} ns");
    assert!((requests / 4 * 5 * MS..requests * 40 * MS).contains(&ns), "{ns} ns in {requests} answers");
}

/// Every client hears of a new leader; the time line has it once.
#[test]
fn a_moved_leader_is_reported_once_by_all_clients_together() {
    let mut cluster = FakeCluster::new(config(3, 3));
    let from = cluster.leader(TOPIC, 1).expect("a leader");
    let to = (from + 1) % 3;
    cluster.script().at(T0 + 2 * SECOND).move_leader(TOPIC, 1, to);
    let mut load = hasty(2_000.0).seconds(5.0);
    load.clients = 6;
    let outcome = simulate(&load, cluster);
    outcome.assert_accounted();
    let reported = format!("leader-moved: partition 1 is led by broker {to} now, by broker {from} before");
    assert_eq!(outcome.events, [reported]);
}

/// However long before it the measure phase is announced, the same load comes out, to the sample.
#[test]
fn an_announcement_changes_nothing_but_the_warm_up() {
    let ramp = vec![
        RatePiece { from_per_s: 40.0, to_per_s: 900.0, length_ns: 3 * SECOND },
        RatePiece { from_per_s: 200.0, to_per_s: 200.0, length_ns: 0 },
    ];
    let slow = vec![
        RatePiece { from_per_s: 0.1, to_per_s: 0.1, length_ns: SECOND },
        RatePiece { from_per_s: 300.0, to_per_s: 300.0, length_ns: 0 },
    ];
    let constant = vec![RatePiece { from_per_s: 333.3, to_per_s: 333.3, length_ns: 0 }];
    for pieces in [ramp, slow, constant] {
        for arrivals in [Arrivals::Constant, Arrivals::Poisson] {
            let run = |heard_seconds, records_max| {
                let mut load = Load::open(1.0, arrivals).seconds(16.0).with(|plan| {
                    plan.rate = Rate::Open { pieces: pieces.clone(), arrivals };
                    plan.records_max = records_max;
                });
                (load.clients, load.warmup_seconds, load.heard_seconds) = (3, 7, heard_seconds);
                load.tick_ns = 200_000;
                simulate(&load, FakeCluster::new(config(2, 4)))
            };
            for records_max in [None, Some(500), Some(1)] {
                let planned = run(0, records_max);
                planned.assert_accounted();
                assert!(records_max.is_none_or(|limit| planned.counts().offered >= limit));
                for heard_seconds in [1, 6] {
                    let heard = run(heard_seconds, records_max);
                    assert_eq!(
                        heard.samples, planned.samples,
                        "{pieces:?} {arrivals:?} at {heard_seconds} s"
                    );
                    assert_eq!(heard.ended_ns, planned.ended_ns);
                }
            }
        }
    }
}
