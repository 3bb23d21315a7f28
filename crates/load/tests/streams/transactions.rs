//! Transactions from the client's first record to the markers in the logs, against a cluster that keeps transactions
//! as Kafka does, before and since KIP-890.

use crate::common::{Fetching, Load, MS, Outcome, SECOND, T0, TOPIC, fetch, simulate};
use kdyno_fake_broker::{FakeCluster, FakeConfig, Service, StoredAnyway};
use kdyno_kafka::records;
use kdyno_model::plan::{
    Arrivals, Fill, IsolationLevel, Payload, ProducePlan, ReadDepth, StartOffset, TRAILER_BYTES,
    TransactionsPlan, ValuesPlan,
};
use kdyno_model::sample::Timing;
use std::collections::{BTreeMap, BTreeSet};

const NOT_ENOUGH_REPLICAS: i16 = 19;
const INVALID_RECORD: i16 = 87;
const PARTITIONS: i32 = 4;
/// How long brokers take for a produce request, and for any other.
const DELAY_NS: u64 = 2 * MS;
/// Levels of `transaction.version`: before KIP-890, and since.
const LEVELS: [i16; 2] = [1, 2];

fn config(level: i16) -> FakeConfig {
    let service = Service::Fixed { delay_ns: DELAY_NS };
    let config = FakeConfig::new(3).topic(TOPIC, PARTITIONS as u32).service(service).keep_batches();
    config.control_delay_ns(DELAY_NS).transaction_version(level)
}

fn load(every_ns: u64, abort_share: f64) -> Load {
    Load::open(2_000.0, Arrivals::Poisson).with(|plan| {
        plan.payload = Payload::Unique;
        plan.client.enable_idempotence = true;
        plan.transactions = Some(TransactionsPlan { every_ns, records: None, abort_share });
    })
}

/// A record by its partition, its producer and its number there.
type Id = (i32, i64, u64);

/// What the logs hold.
#[derive(Debug, Default)]
struct LogContents {
    committed: BTreeSet<Id>,
    aborted: BTreeSet<Id>,
    /// Markers of transactions that did not end.
    open: BTreeSet<Id>,
    markers: u64,
    /// Most records of one partition that a marker ended.
    most_of_marker: usize,
    /// Records of a producer by its epoch: since KIP-890 each transaction has one of its own.
    by_epoch: BTreeMap<(i64, i16), usize>,
}

/// Goes through the logs as a consumer does: a transaction's records count from its marker on.
fn seen(cluster: &FakeCluster) -> LogContents {
    let mut seen = LogContents::default();
    for partition in 0..PARTITIONS {
        let mut open: BTreeMap<i64, Vec<Id>> = BTreeMap::new();
        for stored in cluster.batches(TOPIC, partition) {
            let batch = records::batches(&stored.bytes).next().expect("a batch").expect("well formed");
            batch.verify_crc().expect("its checksum");
            let mut scratch = Vec::new();
            let of_it = batch.records(&mut scratch, 1 << 24).expect("records").map(|one| one.expect("one"));
            let mut of_it = of_it.peekable();
            if batch.is_control() {
                let is_commit = of_it.peek().and_then(|marker| marker.key) == Some([0, 0, 0, 1].as_slice());
                let ended = open.remove(&batch.header.producer_id).unwrap_or_default();
                seen.most_of_marker = seen.most_of_marker.max(ended.len());
                if is_commit {
                    seen.committed.extend(ended)
                } else {
                    seen.aborted.extend(ended)
                }
                seen.markers += 1;
                continue;
            }
            let number = |value: &[u8]| {
                let bytes = &value[value.len() - TRAILER_BYTES as usize + 16..][..8];
                u64::from_be_bytes(bytes.try_into().expect("eight bytes"))
            };
            let producer = batch.header.producer_id;
            let ids: Vec<Id> =
                of_it.map(|one| (partition, producer, number(one.value.expect("a value")))).collect();
            *seen.by_epoch.entry((producer, batch.header.producer_epoch)).or_default() += ids.len();
            open.entry(producer).or_default().extend(ids);
        }
        seen.open.extend(open.into_values().flatten());
    }
    seen
}

/// Records, acknowledged ones, and markers, as the client counted them and as the logs have them.
fn assert_agrees_with_logs(outcome: &Outcome) -> LogContents {
    outcome.assert_accounted();
    let (counts, seen) = (outcome.counts(), seen(&outcome.cluster));
    let stored = (seen.committed.len() + seen.aborted.len() + seen.open.len()) as u64;
    assert_eq!(stored, outcome.cluster.counts().stored_records, "each record once");
    assert!(stored >= counts.acknowledged, "{stored} of {}", counts.acknowledged);
    let markers = counts.markers..=counts.markers + counts.markers_unsure;
    assert!(markers.contains(&seen.markers), "{} markers of {markers:?}", seen.markers);
    seen
}

#[test]
fn records_are_committed_or_aborted_as_the_client_says() {
    for level in LEVELS {
        let mut load = load(100 * MS, 0.2);
        load.clients = 3;
        let outcome = simulate(&load, FakeCluster::new(config(level)));
        let seen = assert_agrees_with_logs(&outcome);
        let counts = outcome.counts();
        assert_eq!(counts.acknowledged, counts.offered, "{counts:?}");
        assert_eq!(counts.markers_unsure, 0);
        assert!(seen.open.is_empty(), "the last transaction ends with the load");
        // Three clients for ten seconds; each transaction takes 100 ms and its commit, a fifth are aborted.
        let (all, share) = (counts.committed + counts.aborted, counts.aborted as f64 / 300.0);
        assert!((260..=300).contains(&all), "{level}: {all}");
        assert!((0.13..0.27).contains(&share), "{level}: {share}");
        let aborted = seen.aborted.len() as f64 / counts.offered as f64;
        assert!((0.13..0.27).contains(&aborted), "{level}: {aborted}");
        assert!(outcome.events.is_empty(), "{:?}", outcome.events);
    }
}

/// A commit sends what lingers, waits for it, and asks the coordinator: two round trips. Records that come due meanwhile
/// wait for room.
#[test]
fn commits_are_timed_and_hold_up_records() {
    for level in LEVELS {
        let load = load(100 * MS, 0.0).with(|plan| plan.client.linger_ns = 20 * MS);
        let outcome = simulate(&load, FakeCluster::new(config(level)));
        assert_agrees_with_logs(&outcome);
        let commits = outcome.histogram(Timing::Commit);
        // The last one is of the drain.
        assert_eq!(commits.len(), outcome.counts().committed - 1);
        let (least, most) = (commits.min(), commits.max());
        // What is in flight is answered sooner, and before KIP-890 a partition may have to be added as the last thing.
        assert!(least >= DELAY_NS * 99 / 100 && most <= 5 * DELAY_NS, "{level}: {least} to {most} ns");
        assert!(commits.value_at_quantile(0.5) >= DELAY_NS * 3 / 2, "{level}");
        let blocked = outcome.histogram(Timing::Block);
        let share = blocked.count_between(MS / 1_000, u64::MAX) as f64 / blocked.len() as f64;
        assert!((0.02..0.12).contains(&share), "{level}: {share} waited");
        assert!(blocked.max() <= 5 * DELAY_NS, "{} ns", blocked.max());
    }
}

#[test]
fn a_closed_loop_goes_on_after_each_transaction() {
    for fill in [Fill::Buffer, Fill::InFlight] {
        let transactions = load(50 * MS, 0.0).plan.transactions;
        let mut load = Load::max(fill).with(|plan| {
            plan.transactions = transactions;
            plan.client.enable_idempotence = true;
            plan.client.buffer_bytes = 256 << 10;
        });
        load.seconds = 3.0;
        let outcome = simulate(&load, FakeCluster::new(config(2)));
        outcome.assert_accounted();
        let counts = outcome.counts();
        assert!((45..=60).contains(&counts.committed), "{fill:?}: {counts:?}");
        assert_eq!(counts.acknowledged, counts.offered);
    }
}

/// Requests that are lost, refused, or stored and refused, a coordinator that moves and one that reads its log: what was
/// acknowledged in a transaction that was committed is there, once.
#[test]
fn whatever_happens_what_was_committed_is_there_once() {
    for level in LEVELS {
        let mut cluster = FakeCluster::new(config(level).marker_delay_ns(5 * MS));
        let end = T0 + 8 * SECOND;
        cluster.script().share_between(0.01, T0 + SECOND, end).fail(NOT_ENOUGH_REPLICAS, StoredAnyway::No);
        cluster.script().share_between(0.002, T0 + SECOND, end).close(StoredAnyway::Yes);
        cluster.script().share_between(0.002, T0 + SECOND, end).fail(INVALID_RECORD, StoredAnyway::No);
        cluster
            .script()
            .at(T0 + 2 * SECOND)
            .move_coordinator(2)
            .at(T0 + 4 * SECOND)
            .load_coordinator(SECOND / 2)
            // Whatever the shares above bring by chance.
            .at(T0 + 5 * SECOND)
            .fail(INVALID_RECORD, StoredAnyway::No);
        cluster
            .script()
            .at(T0 + 6 * SECOND)
            .close_connections(2)
            .at(T0 + 7 * SECOND)
            .move_leader(TOPIC, 1, 0);
        let mut load = load(50 * MS, 0.1);
        load.clients = 2;
        let outcome = simulate(&load, cluster);
        let seen = assert_agrees_with_logs(&outcome);
        let counts = outcome.counts();
        assert!(seen.open.is_empty(), "{level}: {} records", seen.open.len());
        assert!(seen.committed.is_disjoint(&seen.aborted));
        // Retries: before KIP-890 one request in a hundred, of thousands; since then also the first batch of a transaction
        // that the markers of the one before, 5 ms, hold up: most of them. Commits: a transaction takes 50 ms, its end,
        // and one pause of 120 ms at most, so 200 ms with what is refused; of ten seconds two clients have six at least.
        assert!(outcome.failed() > 0 && counts.retries > 10 && counts.committed > 60, "{level}: {counts:?}");
        // A client with a batch that no broker will ever take waits for `delivery.timeout.ms`, and records for room.
        let gave_up =
            counts.failed.keys().find(|reason| matches!(reason.as_str(), "delivery-timeout" | "max-block"));
        assert_eq!(gave_up, None, "{level}: {counts:?}");
        let reported = "transaction-aborted: a transaction was aborted: INVALID_RECORD";
        assert!(outcome.events.iter().any(|event| event == reported), "{:?}", outcome.events);
    }
}

/// Nothing of an aborted transaction is lost for the books: it was acknowledged, and it is in the log.
#[test]
fn everything_may_be_aborted() {
    let outcome = simulate(&load(100 * MS, 1.0), FakeCluster::new(config(2)));
    let seen = assert_agrees_with_logs(&outcome);
    assert_eq!((seen.committed.len(), outcome.counts().committed), (0, 0));
    assert_eq!(seen.aborted.len() as u64, outcome.counts().acknowledged);
}

/// Whatever the records are and however they come, a transaction holds no more of them, and the last one what is left.
#[test]
fn a_transaction_ends_with_so_many_records() {
    let in_fifties = |plan: &mut ProducePlan| {
        plan.payload = Payload::Unique;
        plan.client.enable_idempotence = true;
        plan.client.buffer_bytes = 64 << 10;
        let records = Some(50);
        plan.transactions = Some(TransactionsPlan { every_ns: 10 * SECOND, records, abort_share: 0.0 });
    };
    let paced = || Load::open(2_000.0, Arrivals::Poisson).with(in_fifties);
    let unlike = ValuesPlan::Uniform { bytes_min: 60, bytes_max: 100 };
    for level in LEVELS {
        for load in [
            paced(),
            paced().with(|plan| (plan.value_bytes, plan.records.values) = (80, unlike.clone())),
            Load::max(Fill::Buffer).with(in_fifties).seconds(2.0),
        ] {
            let outcome = simulate(&load, FakeCluster::new(config(level)));
            let (seen, counts) = (assert_agrees_with_logs(&outcome), outcome.counts());
            assert!(counts.offered > 1_000 && counts.acknowledged == counts.offered, "{counts:?}");
            assert!(seen.open.is_empty() && seen.aborted.is_empty(), "{level}");
            assert_eq!(counts.committed, counts.offered.div_ceil(50), "{level}: {counts:?}");
            assert!((1..=50).contains(&seen.most_of_marker), "{level}: {}", seen.most_of_marker);
            let most = seen.by_epoch.values().copied().max();
            // Before KIP-890 all transactions have one epoch.
            assert!(level == 1 || most == Some(50), "{level}: {most:?}");
        }
    }
}

/// Somebody else takes the transactional ids: the item ends, and says why once.
#[test]
fn a_fenced_item_ends_and_says_so_once() {
    for (level, is_max) in [(1, false), (2, false), (2, true)] {
        let mut cluster = FakeCluster::new(config(level));
        cluster.script().at(T0 + 3 * SECOND).fence_producers();
        let mut load = load(100 * MS, 0.0);
        if is_max {
            load = Load { plan: Load::max(Fill::Buffer).plan, ..load }.with(|plan| {
                plan.client.enable_idempotence = true;
                plan.client.buffer_bytes = 256 << 10;
                plan.transactions =
                    Some(TransactionsPlan { every_ns: 100 * MS, records: None, abort_share: 0.0 });
            });
        }
        load.clients = 2;
        let outcome = simulate(&load, cluster);
        assert_eq!(
            outcome.ended_ns / SECOND,
            (T0 + 3 * SECOND) / SECOND,
            "{level}: at {} ns",
            outcome.ended_ns
        );
        let seen = assert_agrees_with_logs_of_any_payload(&outcome, is_max);
        assert!(seen.is_none_or(|seen| seen.open.is_empty()), "the coordinator aborts what was open");
        let ends: Vec<&String> =
            outcome.events.iter().filter(|event| event.starts_with("producer-ended")).collect();
        assert_eq!(ends.len(), 1, "{:?}", outcome.events);
        assert!(ends[0].contains("sends nothing any more (PRODUCER_FENCED): another producer"), "{ends:?}");
    }
}

/// Pooled values carry no numbers to go by.
fn assert_agrees_with_logs_of_any_payload(outcome: &Outcome, is_pooled: bool) -> Option<LogContents> {
    outcome.assert_accounted();
    (!is_pooled).then(|| assert_agrees_with_logs(outcome))
}

/// A transaction has no records, or a second between two: it begins with the first one, and no coordinator hears of none.
#[test]
fn a_slow_load_has_a_transaction_for_each_record() {
    for level in LEVELS {
        let mut load = load(100 * MS, 0.0);
        load.plan.rate = Load::open(1.0, Arrivals::Constant).plan.rate;
        let outcome = simulate(&load, FakeCluster::new(config(level)));
        assert_agrees_with_logs(&outcome);
        let counts = outcome.counts();
        assert_eq!((counts.committed, counts.markers), (counts.offered, counts.offered));
    }
}

/// Markers take offsets: a consumer goes past them and counts records alone.
#[test]
fn consumers_go_past_markers() {
    let filled = simulate(&load(50 * MS, 0.5), FakeCluster::new(config(2)));
    let (now_ns, records) = (filled.ended_ns, filled.counts().acknowledged);
    let outcome = fetch(&Fetching::from(StartOffset::Earliest), filled.cluster, now_ns);
    assert_eq!(outcome.counts().fetched, records);
}

/// What a consumer gets is what was committed, and what it passes over is counted apart.
#[test]
fn a_consumer_of_committed_records_gets_these_alone() {
    for (level, read) in [(1, ReadDepth::Header), (2, ReadDepth::Crc), (2, ReadDepth::Decode)] {
        for isolation_level in [IsolationLevel::ReadCommitted, IsolationLevel::ReadUncommitted] {
            let outcome = simulate(&load(50 * MS, 0.3).seconds(2.0), FakeCluster::new(config(level)));
            let seen = seen(&outcome.cluster);
            let (committed, aborted) = (seen.committed.len() as u64, seen.aborted.len() as u64);
            assert!(committed > 1_000 && aborted > 300 && seen.open.is_empty(), "{committed}, {aborted}");
            let mut fetching = Fetching::from(StartOffset::Earliest).batch_by_batch();
            (fetching.plan.read, fetching.plan.isolation_level) = (read, isolation_level);
            let fetched = fetch(&fetching, outcome.cluster, outcome.ended_ns);
            let counts = fetched.counts();
            let expected = match isolation_level {
                IsolationLevel::ReadCommitted => (committed, aborted),
                IsolationLevel::ReadUncommitted => (committed + aborted, 0),
            };
            assert_eq!((counts.fetched, counts.aborted_records), expected, "{level}, {read:?}");
            assert_eq!((counts.control_records, counts.missing_offsets), (seen.markers, 0));
            assert_eq!(fetched.events, Vec::<String>::new());
        }
    }
}
