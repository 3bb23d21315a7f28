//! Keys, sizes, headers and tombstones, from the plan to what the brokers keep, in simulated time.

use crate::common::{Load, MS, Outcome, SECOND, T0, TOPIC, simulate};
use kdyno_fake_broker::{FakeCluster, FakeConfig, Service, StoredAnyway};
use kdyno_kafka::producer::partition_of_key;
use kdyno_kafka::records;
use kdyno_model::plan::{
    Arrivals, Compression, Fill, HeaderPlan, KeyLaw, KeyPlan, Partitioner, Payload, ProducePlan, RecordPlan,
    TRAILER_BYTES, TRAILER_HEADER, TransactionsPlan, ValuesPlan,
};
use std::collections::BTreeMap;

const PARTITIONS: usize = 6;
const MESSAGE_TOO_LARGE: i16 = 10;

/// What is different about a load.
type Change = fn(&mut ProducePlan);

fn cluster() -> FakeCluster {
    let service = Service::Fixed { delay_ns: MS };
    FakeCluster::new(FakeConfig::new(3).topic(TOPIC, PARTITIONS as u32).service(service).keep_batches())
}

/// A record as a broker keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct KeptRecord {
    key: Option<String>,
    /// `None`: it is null.
    value_bytes: Option<usize>,
    headers: Vec<String>,
    number: u64,
    intended_ns: u64,
}

fn kept(outcome: &Outcome, partition: usize) -> Vec<KeptRecord> {
    let mut found = Vec::new();
    for stored in outcome.cluster.batches(TOPIC, partition as i32) {
        let batch = records::batches(&stored.bytes).next().expect("a batch").expect("well formed");
        batch.verify_crc().expect("its checksum");
        let mut scratch = Vec::new();
        for record in batch.records(&mut scratch, 1 << 24).expect("records") {
            let record = record.expect("a record");
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("text");
            let trailer = match record.headers().last() {
                Some((name, value)) if name == TRAILER_HEADER.as_bytes() => value.expect("a value"),
                _ => record.value.expect("a value with a trailer"),
            };
            let at = trailer.len() - TRAILER_BYTES as usize + 16;
            let number_at = |at: usize| {
                let bytes = trailer[at..at + 8].try_into().expect("eight bytes");
                u64::from_be_bytes(bytes)
            };
            found.push(KeptRecord {
                key: record.key.map(text),
                value_bytes: record.value.map(<[u8]>::len),
                headers: record.headers().map(|(name, _)| text(name)).collect(),
                number: number_at(at),
                intended_ns: number_at(at + 8),
            });
        }
    }
    found
}

fn load(per_s: f64, records: RecordPlan, change: impl FnOnce(&mut ProducePlan)) -> Load {
    let load = Load::open(per_s, Arrivals::Poisson).with(|plan| {
        plan.payload = Payload::Unique;
        plan.records = records;
    });
    load.with(change)
}

fn numbered(law: KeyLaw) -> Option<KeyPlan> {
    Some(KeyPlan::Numbered { law, of: 500, bytes: 8 })
}

fn zipf() -> RecordPlan {
    RecordPlan { key: numbered(KeyLaw::Zipf { exponent: 1.0 }), ..RecordPlan::default() }
}

/// Every record that was offered is kept once, numbered without a gap, and counted with its bytes.
fn assert_kept(what: &str, outcome: &Outcome) -> Vec<Vec<KeptRecord>> {
    outcome.assert_accounted();
    let counts = outcome.counts();
    assert_eq!(counts.acknowledged, counts.offered, "{what}: {counts:?}");
    let kept: Vec<Vec<KeptRecord>> = (0..PARTITIONS).map(|partition| kept(outcome, partition)).collect();
    for records in &kept {
        assert!((0..).zip(records).all(|(number, record)| record.number == number), "{what}");
    }
    let all = || kept.iter().flatten();
    assert_eq!(all().count() as u64, counts.acknowledged, "{what}");
    let bytes: usize = all().filter_map(|record| record.value_bytes).sum();
    assert_eq!(counts.acknowledged_bytes, bytes as u64, "{what}");
    // Each record's bytes are of its own second.
    let (mut by_second, mut reported) = (BTreeMap::new(), BTreeMap::new());
    for record in all() {
        let second = (record.intended_ns - T0) / SECOND;
        *by_second.entry(second).or_insert(0) += record.value_bytes.unwrap_or(0) as u64;
    }
    for row in outcome.samples.iter().filter(|row| row.counts.acknowledged > 0) {
        *reported.entry(u64::from(row.t0_second)).or_insert(0) += row.counts.acknowledged_bytes;
    }
    assert_eq!(reported, by_second, "{what}");
    let trailers = all().filter(|record| record.headers.iter().any(|name| name == TRAILER_HEADER));
    assert_eq!(counts.header_trailers, trailers.count() as u64, "{what}");
    assert!(counts.record_bytes > counts.acknowledged_bytes, "{what}: {counts:?}");
    kept
}

#[test]
fn records_go_to_the_partition_of_their_key() {
    let changes: [(&str, Change); 4] = [
        ("as it comes", |_| ()),
        ("a small buffer", |plan| plan.client.buffer_bytes = 3 * 16_384),
        ("compressed", |plan| plan.client.compression = Compression::Lz4),
        ("sizes", |plan| {
            plan.records.values = ValuesPlan::Lognormal { median_bytes: 100, sigma: 1.0, bytes_max: 4_000 }
        }),
    ];
    for (what, change) in changes {
        let outcome = simulate(&load(20_000.0, zipf(), change).seconds(3.0), cluster());
        let kept = assert_kept(what, &outcome);
        let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
        for (partition, records) in kept.iter().enumerate() {
            for record in records {
                let key = record.key.as_deref().expect("a key");
                assert_eq!(partition_of_key(key.as_bytes(), PARTITIONS), partition, "{what}: {key}");
                *counts.entry(key).or_default() += 1;
            }
        }
        // Half as often as the first key, within five standard deviations of some 4,400.
        let ratio = f64::from(counts["00000001"]) / f64::from(counts["00000000"]);
        assert!((ratio - 0.5).abs() < 0.06, "{what}: {ratio}");
    }
}

/// A closed loop takes as many as there is room for, and nothing overtakes the record that found none.
#[test]
fn a_closed_loop_keeps_the_order_of_its_keys() {
    for fill in [Fill::Buffer, Fill::InFlight] {
        let load = Load::max(fill).seconds(1.0).with(|plan| {
            plan.payload = Payload::Unique;
            plan.records.key = numbered(KeyLaw::Sequential);
            plan.client.buffer_bytes = 8 * 16_384;
            plan.records_max = Some(20_000);
        });
        let kept = assert_kept(&format!("{fill:?}"), &simulate(&load, cluster()));
        let count: usize = kept.iter().map(Vec::len).sum();
        for (partition, records) in kept.iter().enumerate() {
            let number =
                |record: &KeptRecord| record.key.as_ref().expect("a key").parse::<u64>().expect("a number");
            let all: Vec<u64> = records.iter().map(number).collect();
            let belongs =
                |key: u64| partition_of_key(format!("{key:08}").as_bytes(), PARTITIONS) == partition;
            let in_turn = (0..count as u64).map(|record| record % 500).filter(|key| belongs(*key));
            assert_eq!(all, in_turn.collect::<Vec<u64>>(), "{fill:?}: partition {partition}");
        }
    }
}

#[test]
fn keys_have_no_say_where_something_else_has() {
    let changes: [(&str, Change); 3] = [
        ("ignored", |plan| plan.client.ignore_keys = true),
        ("in turn", |plan| plan.client.partitioner = Partitioner::RoundRobin),
        ("one partition", |plan| plan.records.partition = Some(4)),
    ];
    for (what, change) in changes {
        let outcome = simulate(&load(5_000.0, zipf(), change).seconds(2.0), cluster());
        let kept = assert_kept(what, &outcome);
        let counts: Vec<usize> = kept.iter().map(Vec::len).collect();
        let first =
            kept.iter().filter(|records| records.iter().any(|r| r.key.as_deref() == Some("00000000")));
        match what {
            "one partition" => assert!(counts[4] > 9_000 && counts.iter().filter(|n| **n > 0).count() == 1),
            "in turn" => assert!(counts.iter().all(|count| count.abs_diff(counts[0]) <= 1), "{counts:?}"),
            _ => assert_eq!(first.count(), PARTITIONS, "{what}: a key is everywhere"),
        }
    }
}

/// Without keys too: all records to one partition, which waits for its leader.
#[test]
fn an_explicit_partition_is_not_left_for_another() {
    let mut cluster = cluster();
    let leader = cluster.leader(TOPIC, 2).expect("a leader");
    cluster.script().at(T0 + SECOND).lose_leader(TOPIC, 2);
    cluster.script().at(T0 + 2 * SECOND).move_leader(TOPIC, 2, leader);
    let plan = RecordPlan { partition: Some(2), ..RecordPlan::default() };
    let load = load(1_000.0, plan, |plan| plan.client.in_flight_max = 1).seconds(3.0);
    let kept = assert_kept("one partition", &simulate(&load, cluster));
    assert!(kept.iter().enumerate().all(|(partition, records)| (partition == 2) != records.is_empty()));
}

#[test]
fn small_values_and_tombstones_carry_their_trailer_in_a_header() {
    let headers = vec![HeaderPlan { name: "trace".to_owned(), bytes: 16 }];
    let with = |records: RecordPlan, value_bytes| {
        let records = RecordPlan { headers: headers.clone(), ..records };
        simulate(&load(2_000.0, records, |plan| plan.value_bytes = value_bytes).seconds(2.0), cluster())
    };
    for (records, value_bytes, share) in [
        (RecordPlan::default(), 100, 0.0),
        (RecordPlan::default(), 31, 1.0),
        (RecordPlan { tombstone_share: 0.2, ..zipf() }, 100, 0.2),
        (RecordPlan { values: ValuesPlan::Uniform { bytes_min: 0, bytes_max: 63 }, ..zipf() }, 32, 0.5),
    ] {
        let outcome = with(records.clone(), value_bytes);
        let kept = assert_kept(&format!("{records:?}"), &outcome);
        let counts = outcome.counts();
        let found = counts.header_trailers as f64 / counts.acknowledged as f64;
        assert!((found - share).abs() < 0.05, "{records:?}: {found}");
        let all: Vec<&KeptRecord> = kept.iter().flatten().collect();
        assert!(all.iter().all(|record| record.headers[0] == "trace"));
        let nulls =
            all.iter().filter(|record| record.value_bytes.is_none()).count() as f64 / all.len() as f64;
        assert!((nulls - records.tombstone_share).abs() < 0.05, "{records:?}: {nulls}");
    }
}

/// What is divided keeps every record as it is, in its place. Four refusals in a row divide a batch into eighths at most:
/// the first leaves it whole, since it is not above `batch.size`; a batch of one record would fail, as with Java.
#[test]
fn a_batch_that_is_divided_keeps_its_keys() {
    let run = |refused: std::ops::Range<u64>| {
        let mut cluster = cluster();
        for request in refused {
            cluster.script().request(request).fail(MESSAGE_TOO_LARGE, StoredAnyway::No);
        }
        let sizes = ValuesPlan::Uniform { bytes_min: 0, bytes_max: 300 };
        let plan = RecordPlan { values: sizes, ..zipf() };
        let change = |plan: &mut ProducePlan| {
            plan.client.linger_ns = 100 * MS;
            plan.client.in_flight_max = 1;
        };
        let outcome = simulate(&load(5_000.0, plan, change).seconds(2.0), cluster);
        let stored = |partition| outcome.cluster.batches(TOPIC, partition).len();
        ((0..PARTITIONS as i32).map(stored).sum::<usize>(), assert_kept("divided", &outcome))
    };
    let ((batches, whole), (more_batches, divided)) = (run(0..0), run(5..9));
    assert!(more_batches >= batches + 6, "{batches} and {more_batches}");
    for (partition, (records, expected)) in divided.iter().zip(&whole).enumerate() {
        assert_eq!(records, expected, "partition {partition}");
        let is_here = |record: &KeptRecord| {
            let key = record.key.as_ref().expect("a key");
            partition_of_key(key.as_bytes(), PARTITIONS) == partition
        };
        assert!(records.iter().all(is_here));
    }
}

#[test]
fn the_same_seed_gives_the_same_records() {
    let run = || {
        let sizes = ValuesPlan::Lognormal { median_bytes: 100, sigma: 1.0, bytes_max: 4_000 };
        let plan = RecordPlan { values: sizes, tombstone_share: 0.1, ..zipf() };
        let outcome = simulate(&load(2_000.0, plan, |_| ()).seconds(1.0), cluster());
        assert_kept("seeded", &outcome)
    };
    assert_eq!(run(), run());
}

/// The ratio that is counted is that of the batches, and near the one that is stated.
#[test]
fn the_ratio_of_compression_is_counted() {
    let plan = RecordPlan { compressible: Some(4.0), ..RecordPlan::default() };
    let change = |plan: &mut ProducePlan| {
        (plan.value_bytes, plan.client.linger_ns) = (1_000, 20 * MS);
        plan.client.compression = Compression::Zstd;
    };
    let outcome = simulate(&load(20_000.0, plan, change).seconds(2.0), cluster());
    assert_kept("compressible", &outcome);
    let counts = outcome.counts();
    let ratio = counts.record_bytes as f64 / counts.sent_bytes as f64;
    assert!((ratio / 4.0 - 1.0).abs() < 0.05, "{ratio}");
    let plain = simulate(&load(1_000.0, RecordPlan::default(), |_| ()).seconds(1.0), cluster());
    assert_eq!(plain.counts().record_bytes, plain.counts().sent_bytes, "without compression");
}

/// Below zero zstd codes no letters, so that random capitals stay as long as they are; above they become 60 %.
#[test]
fn batches_are_compressed_at_the_level_of_the_plan() {
    let ratio = |level: Option<i32>| {
        let change = |plan: &mut ProducePlan| {
            (plan.value_bytes, plan.client.linger_ns) = (1_000, 20 * MS);
            (plan.client.compression, plan.client.compression_level) = (Compression::Zstd, level);
        };
        let outcome = simulate(&load(2_000.0, RecordPlan::default(), change).seconds(1.0), cluster());
        assert_kept("a level", &outcome);
        outcome.counts().record_bytes as f64 / outcome.counts().sent_bytes as f64
    };
    let (fastest, default, best) = (ratio(Some(-131_072)), ratio(None), ratio(Some(22)));
    assert!(fastest < 1.2 && default > 1.4 && best > 1.4, "{fastest} {default} {best}");
}

/// A synchronous producer hands over one keyed record at a time, and a transactional one none while a transaction ends.
#[test]
fn keyed_records_wait_for_what_is_open() {
    let changes: [(&str, Change); 2] = [
        ("synchronous", |plan| plan.synchronous = true),
        ("transactions", |plan| {
            plan.client.enable_idempotence = true;
            plan.client.linger_ns = 30 * MS;
            plan.transactions = Some(TransactionsPlan { every_ns: 50 * MS, records: None, abort_share: 0.0 });
        }),
    ];
    for (what, change) in changes {
        let outcome = simulate(&load(300.0, zipf(), change).seconds(2.0), cluster());
        let counts = outcome.counts();
        assert_eq!(counts.acknowledged, counts.offered, "{what}: {counts:?}");
        let is_one_each = counts.batches == counts.acknowledged;
        assert_eq!(is_one_each, what == "synchronous", "{what}: {counts:?}");
        assert_eq!(counts.committed > 20, what == "transactions", "{what}: {counts:?}");
    }
}
