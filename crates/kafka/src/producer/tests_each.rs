//! Records that are admitted one by one, since sizes or partitions are their own.

use super::tests::{MS, PARTITIONS, config};
use super::*;
use proptest::prelude::*;

fn producer(config: ProducerConfig) -> Producer<Vec<u64>> {
    let shape = RecordShape { value_bytes: 100, has_own_timestamp: true, ..RecordShape::default() };
    Producer::new(config, shape, &[PARTITIONS])
}

fn leader(partition: usize) -> Option<usize> {
    Some(partition % 2)
}

/// What waits: by partition the first number, the records and the estimated bytes of each batch.
fn waiting(producer: &Producer<Vec<u64>>) -> Vec<Vec<(u64, Vec<u64>, u64)>> {
    let of = |partition: usize| {
        let batches = producer.queues.of(partition);
        batches.map(|batch| (batch.first, batch.user_data.clone(), batch.bytes())).collect()
    };
    (0..PARTITIONS).map(of).collect()
}

proptest! {
    /// Equal records one by one make the same batches as equal records together, and as a whole burst at once.
    #[test]
    fn one_by_one_is_as_all_at_once(
        bursts in prop::collection::vec((prop_oneof![1u64..40, 1u64..2_000], 0u64..100), 1..12),
        value_bytes in prop_oneof![0u32..10, 0u32..600],
        (batch_bytes, batch_records_max) in (200u32..12_000, prop_oneof![Just(u32::MAX), 1u32..90]),
        (is_compressed, expected_ratio) in (any::<bool>(), 0.1f32..1.2),
        partitioner in prop::sample::select(vec![
            Partitioner::Sticky, Partitioner::RoundRobin, Partitioner::One(2),
        ]),
        (fill_in_flight, adaptive_partitioning) in any::<(bool, bool)>(),
    ) {
        let compression = if is_compressed { Compression::Zstd } else { Compression::None };
        let buffer_bytes = 40 * u64::from(batch_bytes);
        let config = ProducerConfig {
            partitioner, compression, fill_in_flight, adaptive_partitioning, batch_bytes, batch_records_max,
            buffer_bytes, ..config()
        };
        let shape = RecordShape { value_bytes, has_own_timestamp: true, ..RecordShape::default() };
        let new = || {
            let mut producer = Producer::<Vec<u64>>::new(config.clone(), shape, &[PARTITIONS]);
            for _ in 0..200 {
                producer.ratio.learn(1_000_000, (1e6 * expected_ratio) as u64);
            }
            producer
        };
        let (mut one, mut all, mut burst) = (new(), new(), new());
        let (mut now_ns, mut next) = (0, 0u64);
        for (records, wait_ms) in bursts {
            now_ns += wait_ms * MS;
            let mut number = next;
            burst.admit(records, now_ns, leader, |data, count| {
                data.extend(number..number + u64::from(count));
                number += u64::from(count);
            });
            for _ in 0..records {
                let taken = all.admit(1, now_ns, leader, |data, _| data.push(next));
                let joined = one.admit_one(shape, None, now_ns, leader).map(|data| data.push(next));
                prop_assert_eq!(joined.is_some(), taken == 1);
                next += 1;
            }
            prop_assert_eq!(waiting(&one), waiting(&all));
            // Queues are looked at once for a burst, so that where their lengths count other partitions are drawn.
            if !adaptive_partitioning || partitioner != Partitioner::Sticky {
                prop_assert_eq!(waiting(&burst), waiting(&all));
            }
        }
    }

    /// Each record is in its partition, in order; no batch is larger than it may be, and the buffer is accounted for.
    #[test]
    fn records_of_their_own_size_go_where_they_belong(
        records in prop::collection::vec((0u32..40, 0u32..3_000, 0..PARTITIONS, 0u64..90), 1..200),
    ) {
        let mut producer = producer(config());
        let mut expected = vec![Vec::new(); PARTITIONS];
        let mut now_ns = 0;
        for (number, (key_bytes, value_bytes, partition, wait_ms)) in (0..).zip(records) {
            now_ns += wait_ms * MS;
            let shape = RecordShape { key_bytes, value_bytes, has_own_timestamp: true, ..RecordShape::default() };
            if let Some(data) = producer.admit_one(shape, Some(partition), now_ns, leader) {
                data.push(number);
                expected[partition].push(number);
            } else {
                prop_assert!(producer.is_exhausted(), "a record that waits has every batch sent");
                prop_assert!(producer.used_bytes + shape.buffer_bytes(1_000) > producer.config.buffer_bytes);
            }
        }
        let mut charged = 0;
        for (partition, expected) in expected.iter().enumerate() {
            let batches: Vec<_> = producer.queues.of(partition).collect();
            let numbers: Vec<u64> = batches.iter().flat_map(|batch| batch.user_data.clone()).collect();
            prop_assert_eq!(&numbers, expected);
            for batch in batches {
                prop_assert!(batch.bytes() <= batch.bytes_max);
                prop_assert_eq!(batch.count as usize, batch.user_data.len());
                charged += batch.charged_bytes();
            }
        }
        prop_assert_eq!(charged, producer.used_bytes);
    }
}

/// Equal records that are handed over in runs, as [`Producer::sure_room_in`] has room for them.
#[derive(Default)]
struct EqualRecords {
    /// By partition: how many more are sure of room, and those of them that came.
    by_partition: [(u32, Vec<u64>); PARTITIONS],
}

impl EqualRecords {
    fn admit(
        &mut self,
        producer: &mut Producer<Vec<u64>>,
        shape: RecordShape,
        partition: usize,
        record: u64,
        now_ns: u64,
    ) -> bool {
        if self.by_partition[partition].0 == 0 {
            self.hand_over(producer, shape, partition, now_ns);
            let Some(data) = producer.admit_one(shape, Some(partition), now_ns, leader) else { return false };
            data.push(record);
            self.by_partition[partition].0 = producer.sure_room_in(partition, shape, 7, now_ns);
        } else {
            self.by_partition[partition].0 -= 1;
            self.by_partition[partition].1.push(record);
        }
        true
    }

    fn hand_over(
        &mut self,
        producer: &mut Producer<Vec<u64>>,
        shape: RecordShape,
        partition: usize,
        now_ns: u64,
    ) {
        let (room, run) = &mut self.by_partition[partition];
        *room = 0;
        if !run.is_empty() {
            let count = run.len() as u32;
            producer.admit_run(shape, partition, count, now_ns).expect("an open batch").append(run);
        }
    }
}

proptest! {
    /// In runs as one by one: the same records find room, in the same batches.
    #[test]
    fn runs_are_as_one_by_one(
        bursts in prop::collection::vec((prop::collection::vec(0..PARTITIONS, 0..60), 0u64..100), 1..20),
        value_bytes in 0u32..600,
        (batch_bytes, batch_records_max) in (200u32..12_000, prop_oneof![Just(u32::MAX), 1u32..90]),
        (is_compressed, expected_ratio) in (any::<bool>(), 0.1f32..1.0),
        (fill_in_flight, is_synchronous) in (any::<bool>(), prop::bool::weighted(0.1)),
    ) {
        let compression = if is_compressed { Compression::Zstd } else { Compression::None };
        let buffer_bytes = 6 * u64::from(batch_bytes);
        let config = ProducerConfig {
            compression, fill_in_flight, is_synchronous, batch_bytes, buffer_bytes, batch_records_max, ..config()
        };
        let shape = RecordShape { key_bytes: 3, value_bytes, has_own_timestamp: true, ..RecordShape::default() };
        let new = || {
            let mut producer = Producer::<Vec<u64>>::new(config.clone(), shape, &[PARTITIONS]);
            for _ in 0..200 {
                producer.ratio.learn(1_000_000, (1e6 * expected_ratio) as u64);
            }
            producer
        };
        let (mut one, mut by_run, mut runs) = (new(), new(), EqualRecords::default());
        let (mut now_ns, mut next) = (0, 0u64);
        for (records, wait_ms) in bursts {
            now_ns += wait_ms * MS;
            for partition in records {
                let joined = one.admit_one(shape, Some(partition), now_ns, leader).map(|data| data.push(next));
                prop_assert_eq!(runs.admit(&mut by_run, shape, partition, next, now_ns), joined.is_some());
                next += 1;
                if joined.is_none() {
                    break; // nothing overtakes it
                }
            }
            for partition in 0..PARTITIONS {
                runs.hand_over(&mut by_run, shape, partition, now_ns);
            }
            prop_assert_eq!(waiting(&by_run), waiting(&one));
            let seen = |producer: &Producer<Vec<u64>>| {
                (producer.next_numbers.clone(), producer.used_bytes, producer.is_exhausted())
            };
            prop_assert_eq!(seen(&by_run), seen(&one));
        }
    }
}

/// With `fill: in-flight` a record waits while a full batch of its partition does; another partition's goes on.
#[test]
fn a_full_batch_that_waits_holds_back_its_partition_alone() {
    let mut producer = producer(ProducerConfig { fill_in_flight: true, ..config() });
    let shape = RecordShape { value_bytes: 500, has_own_timestamp: true, ..RecordShape::default() };
    assert!(producer.admit_one(shape, Some(1), 0, leader).is_some());
    assert!(
        producer.admit_one(shape, Some(1), 0, leader).is_none(),
        "a second one finds no room in 1,000 bytes"
    );
    assert!(producer.admit_one(shape, Some(2), 0, leader).is_some());
    assert!(!producer.is_exhausted(), "another record found room");
}

/// As `send().get()`: the next record is taken when the one before has its outcome, however many are offered.
#[test]
fn a_synchronous_producer_has_one_record() {
    let mut producer = producer(ProducerConfig { is_synchronous: true, ..config() });
    for _ in 0..3 {
        assert_eq!((producer.takes_records(), producer.sure_room(0)), (true, 1));
        assert_eq!(producer.admit(5, 0, leader, |data, _| data.push(0)), 1);
        assert_eq!((producer.takes_records(), producer.sure_room(0)), (false, 0));
        assert_eq!(producer.admit(5, 0, leader, |data, _| data.push(0)), 0);
        assert!(producer.admit_one(RecordShape::default(), None, 0, leader).is_none());
        let waiting = producer.queues.waiting().next().expect("one batch");
        let batch = producer.queues.pop(waiting).expect("one batch");
        producer.resolve(batch, Delivery::Failed { reason: DELIVERY_TIMEOUT });
    }
}
