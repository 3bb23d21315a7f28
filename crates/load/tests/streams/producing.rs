//! What a producing client does with its records, as a cluster sees it: where they go, what they say, in which order
//! they are stored.

use crate::common::{Load, MS, Outcome, SECOND, T0, TOPIC, simulate};
use kdyno_fake_broker::{FakeCluster, FakeConfig, Service, StoredAnyway};
use kdyno_kafka::records;
use kdyno_model::plan::{
    Arrivals, Compression, Partitioner, Payload, ProducePlan, TRAILER_BYTES, TransactionsPlan,
};
use kdyno_model::sample::Timing;

const REQUEST_TIMED_OUT: i16 = 7;
const MESSAGE_TOO_LARGE: i16 = 10;

fn cluster(brokers: u32, partitions: u32) -> FakeCluster {
    let service = Service::Fixed { delay_ns: MS };
    FakeCluster::new(FakeConfig::new(brokers).topic(TOPIC, partitions).service(service).keep_batches())
}

/// A record as it is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct StoredRecord {
    timestamp_ms: i64,
    number: u64,
    intended_ns: u64,
}

/// The records of a partition, batch by batch; markers of transactions are none.
fn kept(cluster: &FakeCluster, partition: i32) -> Vec<Vec<StoredRecord>> {
    let number_at = |value: &[u8], at: usize| {
        let bytes = &value[value.len() - TRAILER_BYTES as usize + at..][..8];
        u64::from_be_bytes(bytes.try_into().expect("eight bytes"))
    };
    let batch = |stored: &kdyno_fake_broker::StoredBatch| {
        let batch = records::batches(&stored.bytes).next().expect("a batch").expect("well formed");
        if batch.is_control() {
            return None;
        }
        let mut scratch = Vec::new();
        let records = batch.records(&mut scratch, 1 << 24).expect("records");
        let records = records.map(|record| {
            let record = record.expect("a record");
            let value = record.value.expect("a value");
            let (number, intended_ns) = (number_at(value, 16), number_at(value, 24));
            StoredRecord { timestamp_ms: record.timestamp_ms, number, intended_ns }
        });
        let records: Vec<StoredRecord> = records.collect();
        assert_eq!(
            records.iter().map(|record| record.timestamp_ms).max(),
            Some(batch.header.max_timestamp_ms)
        );
        Some(records)
    };
    cluster.batches(TOPIC, partition).iter().filter_map(batch).collect()
}

/// Records that can be distinguished.
fn load(per_s: f64, change: impl FnOnce(&mut ProducePlan)) -> Load {
    let load = Load::open(per_s, Arrivals::Constant).with(|plan| plan.payload = Payload::Unique);
    load.with(change)
}

fn assert_all_acknowledged(outcome: &Outcome) {
    outcome.assert_accounted();
    assert_eq!(outcome.counts().acknowledged, outcome.counts().offered, "{:?}", outcome.counts());
}

/// One of six partitions is without leader for half of the load. When the client hears of it, the batch that is open there
/// is filled up, as in the Java client; after that nothing goes there, so that of a hundred records not even five meet it.
#[test]
fn leaderless_partitions_get_only_what_fills_their_open_batch() {
    for partitioner in [Partitioner::Sticky, Partitioner::RoundRobin] {
        let mut cluster = cluster(6, 6);
        let leader = cluster.leader(TOPIC, 2).expect("a leader");
        cluster.script().at(T0 + 2 * SECOND).lose_leader(TOPIC, 2);
        cluster.script().at(T0 + 7 * SECOND).move_leader(TOPIC, 2, leader);
        let outcome = simulate(&load(2_000.0, |plan| plan.client.partitioner = partitioner), cluster);
        assert_all_acknowledged(&outcome);
        let response = outcome.histogram(Timing::Response);
        let late = response.count_between(SECOND, u64::MAX);
        // Two batches of 16 KiB hold 298 records of 110 bytes, half a millisecond each; in turn it is one of six until
        // the first answer is there.
        let (most, most_ms) = if partitioner == Partitioner::Sticky { (298, 150) } else { (2, 5) };
        assert!((1..=most).contains(&late), "{partitioner:?}: {late} records waited for the leader");
        assert!(response.value_at_quantile(0.95) < 10 * MS, "{partitioner:?}");
        let intended = kept(&outcome.cluster, 2).into_iter().flatten().map(|record| record.intended_ns - T0);
        let lost: Vec<u64> = intended.filter(|at| (2 * SECOND..7 * SECOND).contains(at)).collect();
        let span_ns = lost.last().copied().unwrap_or(0) - lost.first().copied().unwrap_or(0);
        assert!(span_ns <= most_ms * MS, "{partitioner:?}: {span_ns} ns");
    }
}

/// Each record has the time at which the client accepted it, in batches of any length.
#[test]
fn every_record_has_its_own_timestamp() {
    for (linger_ms, compression) in
        [(0, Compression::None), (40, Compression::Zstd), (900, Compression::None)]
    {
        let outcome = simulate(
            &load(100.0, |plan| {
                plan.client.linger_ns = linger_ms * MS;
                plan.client.compression = compression;
            }),
            cluster(1, 1),
        );
        assert_all_acknowledged(&outcome);
        let batches = kept(&outcome.cluster, 0);
        let longest = batches.iter().map(Vec::len).max();
        assert_eq!(longest, Some(linger_ms as usize / 10 + 1), "{linger_ms} ms");
        for (number, record) in batches.iter().flatten().enumerate() {
            assert_eq!(record.number, number as u64);
            assert_eq!(record.timestamp_ms as u64, record.intended_ns / MS, "{record:?}");
        }
    }
}

/// A broker refuses a batch: its records come in smaller ones, each once and in order, none has failed and none counts
/// as sent again.
#[test]
fn a_batch_that_is_too_large_is_divided() {
    let mut cluster = cluster(1, 1);
    for request in [5, 6, 7] {
        cluster.script().request(request).fail(MESSAGE_TOO_LARGE, StoredAnyway::No);
    }
    let outcome = simulate(
        &load(1_000.0, |plan| {
            plan.client.linger_ns = 100 * MS;
            plan.client.in_flight_max = 1;
        }),
        cluster,
    );
    assert_all_acknowledged(&outcome);
    assert_eq!(outcome.counts().retries, 0);
    let reported = outcome.events.iter().filter(|event| event.contains("MESSAGE_TOO_LARGE"));
    assert_eq!(reported.count(), 1, "{:?}", outcome.events);
    let batches = kept(&outcome.cluster, 0);
    let numbers: Vec<u64> = batches.iter().flatten().map(|record| record.number).collect();
    assert_eq!(numbers, (0..outcome.counts().offered).collect::<Vec<_>>());
    let lengths: Vec<usize> = batches.iter().take(8).map(Vec::len).collect();
    // A hundred records: as a whole once more, then halves; the first half is refused too.
    assert!(lengths[4..8].iter().all(|length| *length <= 50), "{lengths:?}");
}

/// With one request in flight a batch that is sent again holds up those behind it: nothing overtakes.
#[test]
fn one_request_in_flight_keeps_the_order() {
    let mut cluster = cluster(2, 3);
    cluster.script().share(0.1).fail(REQUEST_TIMED_OUT, StoredAnyway::No);
    cluster.script().share(0.02).close(StoredAnyway::No);
    cluster.script().at(T0 + 5 * SECOND).move_leader(TOPIC, 1, 0);
    let outcome = simulate(&load(2_000.0, |plan| plan.client.in_flight_max = 1), cluster);
    assert_all_acknowledged(&outcome);
    assert!(outcome.counts().retries > 100, "{:?}", outcome.counts());
    for partition in 0..3 {
        let numbers: Vec<u64> =
            kept(&outcome.cluster, partition).iter().flatten().map(|record| record.number).collect();
        assert_eq!(numbers, (0..numbers.len() as u64).collect::<Vec<_>>(), "partition {partition}");
    }
}

/// What goes wrong with produce requests from one second on until the load ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Faults {
    /// Each request alike, those that are sent again too.
    AnyRequest,
    /// Four a second, so that what is sent again is answered.
    OncePerBatch,
}

fn spoil(cluster: &mut FakeCluster, faults: Faults) {
    let (begin, end) = (T0 + SECOND, T0 + 10 * SECOND);
    match faults {
        Faults::AnyRequest => {
            cluster.script().share_between(0.02, begin, end).fail(REQUEST_TIMED_OUT, StoredAnyway::Yes);
            cluster.script().share_between(0.02, begin, end).fail(REQUEST_TIMED_OUT, StoredAnyway::No);
            cluster.script().share_between(0.005, begin, end).close(StoredAnyway::Yes);
        }
        // The pause before a batch is sent again is 120 ms at most.
        Faults::OncePerBatch => {
            for (number, at_ns) in (begin..end).step_by(250 * MS as usize).enumerate() {
                let script = cluster.script().at(at_ns);
                match number % 3 {
                    0 => script.fail(REQUEST_TIMED_OUT, StoredAnyway::Yes),
                    1 => script.fail(REQUEST_TIMED_OUT, StoredAnyway::No),
                    _ => script.close(StoredAnyway::Yes),
                };
            }
        }
    }
    cluster.script().at(T0 + 5 * SECOND).move_leader(TOPIC, 1, 2);
}

/// Whatever is lost on the way, or stored and refused, an idempotent producer has each record stored once, in order and
/// acknowledged. Without idempotence the same cluster stores some twice.
///
/// With five requests in flight that holds as long as a batch is not spoilt again when it is sent again: four new batches
/// travel with it then, and a broker remembers five (docs/reference/client.md, Idempotence). Two in flight leave it
/// five attempts.
#[test]
fn an_idempotent_producer_stores_each_record_once() {
    for (is_idempotent, in_flight_max, faults) in [
        (true, 2, Faults::AnyRequest),
        (true, 5, Faults::OncePerBatch),
        (false, 5, Faults::AnyRequest),
        (false, 5, Faults::OncePerBatch),
    ] {
        let mut cluster = cluster(3, 6);
        spoil(&mut cluster, faults);
        let load = load(2_000.0, |plan| {
            plan.client.enable_idempotence = is_idempotent;
            plan.client.in_flight_max = in_flight_max;
        });
        let outcome = simulate(&load, cluster);
        assert_all_acknowledged(&outcome);
        let counts = outcome.counts();
        assert!(counts.retries >= 36, "{counts:?}");
        let stored = outcome.cluster.counts().stored_records;
        if !is_idempotent {
            assert!(stored > counts.offered, "{faults:?}: {stored}");
            continue;
        }
        assert_eq!(stored, counts.offered);
        assert_stored_in_order(&outcome);
    }
}

fn assert_stored_in_order(outcome: &Outcome) {
    for partition in 0..6 {
        let numbers: Vec<u64> =
            kept(&outcome.cluster, partition).iter().flatten().map(|record| record.number).collect();
        assert_eq!(numbers, (0..numbers.len() as u64).collect::<Vec<_>>(), "partition {partition}");
    }
}

/// With five in flight, and batches that are spoilt twice, some end as not delivered, as with Java: each of them is there
/// nevertheless, once and in its place.
#[test]
fn undelivered_records_of_an_idempotent_producer_are_in_the_log() {
    let mut gave_up = 0;
    for seed in 1..=100 {
        let mut cluster = cluster(3, 6);
        spoil(&mut cluster, Faults::AnyRequest);
        let load = Load { seed, ..load(2_000.0, |plan| plan.client.enable_idempotence = true) };
        let outcome = simulate(&load, cluster);
        outcome.assert_accounted();
        let counts = outcome.counts();
        let reasons: Vec<&str> = counts.failed.keys().map(String::as_str).collect();
        // By chance none is spoilt so often.
        assert!(matches!(reasons[..], [] | ["delivery-timeout"]), "{seed}: {counts:?}");
        gave_up += reasons.len();
        assert_eq!(outcome.cluster.counts().stored_records, counts.offered, "{seed}");
        assert_stored_in_order(&outcome);
    }
    assert!(gave_up > 0, "in none of the runs a batch was given up");
}

/// A synchronous producer has one record open, whatever its settings: its rate is one over the time that each takes.
#[test]
fn a_synchronous_producer_waits_for_each_record() {
    for (linger_ns, transactions) in [(0, false), (4 * MS, false), (0, true)] {
        let load = load(2_000.0, |plan| {
            (plan.synchronous, plan.client.linger_ns) = (true, linger_ns);
            plan.client.enable_idempotence = true;
            let every = TransactionsPlan { every_ns: SECOND, records: None, abort_share: 0.0 };
            plan.transactions = transactions.then_some(every);
        });
        let outcome = simulate(&load.seconds(5.0), cluster(2, 2));
        outcome.assert_accounted();
        let each_ns = MS + linger_ns;
        let (acknowledged, most) = (outcome.counts().acknowledged, (outcome.ended_ns - T0) / each_ns);
        assert!((most * 9 / 10..=most).contains(&acknowledged), "{acknowledged} of {most} at {linger_ns}");
        for batch in (0..2).flat_map(|partition| kept(&outcome.cluster, partition)) {
            assert_eq!(batch.len(), 1);
        }
        assert_eq!(outcome.counts().batches, acknowledged);
    }
}

/// A batch that no broker will have: what comes after it goes on in a new epoch.
#[test]
fn an_idempotent_producer_goes_on_after_a_batch_that_failed() {
    let mut cluster = cluster(1, 2);
    cluster.script().request(20).fail(87, StoredAnyway::No); // INVALID_RECORD
    cluster.script().request(40).fail(45, StoredAnyway::No); // OUT_OF_ORDER_SEQUENCE_NUMBER, out of the blue
    let outcome = simulate(&load(2_000.0, |plan| plan.client.enable_idempotence = true), cluster);
    outcome.assert_accounted();
    let (counts, failed) = (outcome.counts(), outcome.failed());
    assert!(failed > 0 && failed < 100, "{counts:?}");
    assert_eq!(counts.acknowledged + failed, counts.offered, "{counts:?}");
    assert_eq!(outcome.cluster.counts().stored_records, counts.acknowledged);
    for partition in 0..2 {
        let numbers: Vec<u64> =
            kept(&outcome.cluster, partition).iter().flatten().map(|record| record.number).collect();
        assert!(numbers.is_sorted_by(|a, b| a < b), "partition {partition}");
    }
}
