//! Which partition takes records: when it changes, and to which.

use super::tests::{MS, PARTITIONS, ProducerFixture, admitted, config};
use super::*;
use std::cell::Cell;
use std::collections::BTreeSet;

/// As in the Java client, of batches that are full: the first one has less than `batch.size`, so a second one follows
/// in the same partition before the next is chosen.
#[test]
fn the_partition_changes_where_no_batch_is_left_half_full() {
    let mut world = ProducerFixture::new(ProducerConfig { buffer_bytes: 1 << 20, ..config() }, 100, 1.0);
    let mut partitions = Vec::new();
    for _ in 0..160 {
        admitted(&mut world, 1, [0]);
        partitions.push(world.producer.current);
    }
    let runs: Vec<usize> = partitions.chunk_by(|a, b| a == b).map(<[usize]>::len).collect();
    assert!(runs.iter().all(|run| run.is_multiple_of(16)), "{runs:?}");
    // What lingered is sent before it is full: 5 records, 606 bytes, and 5 more.
    let mut world = ProducerFixture::new(config(), 100, 1.0);
    admitted(&mut world, 5, [0]);
    let first = world.producer.current;
    for round in 1..=2 {
        assert_eq!(world.send(world.leaders[first].unwrap_or(0), true), 1, "round {round}");
        admitted(&mut world, 5, [10 * round]);
        let is_open_elsewhere = world.producer.current != first;
        assert!(round == 2 || !is_open_elsewhere, "606 bytes are not enough to change");
    }
    assert_eq!(world.producer.current_bytes, 606, "a share of its own began with the third batch");
}

/// The table of Kafka's `BuiltInPartitionerTest`, by what is really chosen: shares as weights, within five standard
/// errors.
#[test]
fn longer_queues_get_fewer_records() {
    let tables = [
        ([0, 3, 1, 0], [4.0, 1.0, 3.0, 4.0]),
        ([5, 0, 0, 5], [1.0, 6.0, 6.0, 1.0]),
        // Something waits in every partition.
        ([2, 5, 3, 2], [4.0, 1.0, 3.0, 4.0]),
    ];
    for (queues, weights) in tables {
        for (is_adaptive, leaderless) in [(true, None), (true, Some(1)), (false, None), (false, Some(1))] {
            let config =
                ProducerConfig { adaptive_partitioning: is_adaptive, buffer_bytes: 1 << 20, ..config() };
            let mut world = ProducerFixture::new(config, 900, 1.0);
            for (partition, length) in queues.into_iter().enumerate() {
                for _ in 0..length {
                    world.producer.current = partition;
                    assert!(world.producer.begin_batch(0, 0));
                }
            }
            let mut expected: Vec<f64> = if is_adaptive { weights.to_vec() } else { vec![1.0; PARTITIONS] };
            if let Some(partition) = leaderless {
                world.leaders[partition] = None;
                expected[partition] = 0.0;
                if is_adaptive && partition == 1 && queues[1] > 0 {
                    // The longest queue of those with a leader counts: 0, 1, 0, or 2, 3, 2.
                    expected = vec![2.0, 0.0, 1.0, 2.0];
                }
            }
            let (draws, total) = (10_000, expected.iter().sum::<f64>());
            let mut chosen = [0u32; PARTITIONS];
            let leaders = world.leaders.clone();
            for _ in 0..draws {
                world.producer.move_on(0, &|partition: usize| leaders[partition]);
                chosen[world.producer.current] += 1;
            }
            for (found, weight) in chosen.into_iter().zip(expected) {
                let share = weight / total;
                let bound = 5.0 * (share * (1.0 - share) / f64::from(draws)).sqrt();
                let off = f64::from(found) / f64::from(draws) - share;
                assert!(off.abs() <= bound, "{queues:?} {is_adaptive} {leaderless:?}: {chosen:?}");
            }
        }
    }
}

/// A broker that takes nothing for longer than `partitioner.availability.timeout.ms` gets no more than it has.
#[test]
fn partitions_of_a_broker_that_takes_nothing_are_left_out() {
    let config = ProducerConfig { availability_timeout_ns: 50 * MS, buffer_bytes: 1 << 20, ..config() };
    let mut world = ProducerFixture::new(config, 900, 1.0);
    for partition in 0..PARTITIONS {
        world.producer.current = partition;
        assert!(world.producer.begin_batch(0, 0));
    }
    let chosen = |world: &mut ProducerFixture, now_ns: u64| -> BTreeSet<usize> {
        let leaders = world.leaders.clone();
        let mut draw = || {
            world.producer.move_on(now_ns, &|partition: usize| leaders[partition]);
            world.producer.current
        };
        (0..200).map(|_| draw()).collect()
    };
    for now_ms in [10, 60, 61] {
        world
            .producer
            .note_availability(now_ms * MS, false, |partition| Some((partition % 2, partition % 2 == 0)));
        let expected = if now_ms == 61 { vec![0, 2] } else { vec![0, 1, 2, 3] };
        assert_eq!(chosen(&mut world, now_ms * MS), BTreeSet::from_iter(expected), "at {now_ms} ms");
    }
    world.producer.note_availability(62 * MS, false, |partition| Some((partition % 2, true)));
    assert_eq!(chosen(&mut world, 62 * MS).len(), PARTITIONS);
}

/// A partition in which nothing waits may be chosen, whatever its broker does: nothing says that it takes nothing. Nor is
/// a broker left out for what waits for an earlier batch of its own partition.
#[test]
fn a_broker_is_left_out_for_what_waits_for_itself_alone() {
    let config = ProducerConfig {
        availability_timeout_ns: 50 * MS,
        buffer_bytes: 1 << 20,
        in_flight_max: 1,
        ..config()
    };
    for is_in_flight in [false, true] {
        let mut world = ProducerFixture::new(config.clone(), 900, 1.0);
        for _ in 0..3 {
            (world.producer.current, world.producer.current_bytes) = (1, 0);
            admitted(&mut world, 1, [0]);
        }
        if is_in_flight {
            assert_eq!(world.send(1, false), 1);
        }
        for now_ms in [10, 61] {
            let leader = |partition: usize| Some((partition % 2, false));
            world.producer.note_availability(now_ms * MS, true, leader);
        }
        let mut chosen = BTreeSet::new();
        for _ in 0..200 {
            world.producer.move_on(61 * MS, &|partition: usize| Some(partition % 2));
            chosen.insert(world.producer.current);
        }
        let expected = if is_in_flight { vec![0, 1, 2, 3] } else { vec![0, 2, 3] };
        assert_eq!(chosen, BTreeSet::from_iter(expected), "{is_in_flight}");
    }
}

/// In a wide topic not every queue is looked at for each batch: the longest is found once for all that is taken at
/// once.
#[test]
fn a_wide_topic_is_not_looked_through_for_each_batch() {
    let config = ProducerConfig { batch_bytes: 1, buffer_bytes: 1 << 20, ..config() };
    let shape = RecordShape { value_bytes: 100, has_own_timestamp: true, ..RecordShape::default() };
    let mut producer: Producer<Vec<u64>> = Producer::new(config, shape, &[1_000]);
    let looks = Cell::new(0);
    let mut admit = |records: u64| {
        looks.set(0);
        let leader = |_: usize| {
            looks.set(looks.get() + 1);
            Some(0)
        };
        let taken = producer.admit(records, 0, leader, |data, count| data.extend(0..u64::from(count)));
        assert_eq!(taken, records);
        looks.get()
    };
    admit(2_000);
    let looks = admit(500);
    assert!((500..10_000).contains(&looks), "{looks} looks at who leads for 500 batches");
}
