//! A producer over several topics.

use super::tests::config;
use super::*;
use crate::messages::m01_fetch::TopicName;

const MS: u64 = 1_000_000;

fn producer(config: ProducerConfig) -> Producer<Vec<u64>> {
    let topics = ["a", "b", "c"].map(str::to_owned).to_vec();
    let shape = RecordShape { value_bytes: 100, has_own_timestamp: true, ..RecordShape::default() };
    Producer::new(ProducerConfig { topics, buffer_bytes: 1 << 20, ..config }, shape, &[3, 1, 2])
}

/// Records that wait, by topic and partition.
fn waiting(producer: &Producer<Vec<u64>>) -> Vec<(usize, usize, u32)> {
    let places = 0..producer.queues.count();
    let counted = places.map(|place| {
        let (topic, partition) = producer.turns.split(place);
        (topic, partition, producer.queues.of(place).map(|batch| batch.count).sum())
    });
    counted.filter(|(_, _, records)| *records > 0).collect()
}

#[test]
fn topics_take_turns_and_keep_their_partition() {
    let mut producer = producer(config());
    for step in 0..3 {
        assert_eq!(producer.sure_room(step * MS), 1, "the next record is another topic's");
        assert_eq!(producer.admit(4, step * MS, |_| Some(0), |_, count| assert_eq!(count, 1)), 4);
    }
    let records = waiting(&producer);
    let topics: Vec<_> = records.iter().map(|(topic, _, records)| (*topic, *records)).collect();
    assert_eq!(
        topics,
        [(0, 4), (1, 4), (2, 4)],
        "one partition of each, until `batch.size` bytes went there"
    );
}

#[test]
fn partitions_have_their_turns_within_a_topic() {
    let mut producer = producer(ProducerConfig { partitioner: Partitioner::RoundRobin, ..config() });
    producer.admit(18, 0, |_| Some(0), |_, _| {});
    let all = [(0, 0, 2), (0, 1, 2), (0, 2, 2), (1, 0, 6), (2, 0, 3), (2, 1, 3)];
    assert_eq!(waiting(&producer), all);
    let mut producer = self::producer(config());
    for record in 0..6 {
        let shape = producer.shape;
        // The second topic has one partition alone.
        let partition = if record % 3 == 1 { 0 } else { 1 };
        assert!(producer.admit_one(shape, Some(partition), 0, |_| Some(0)).is_some());
    }
    assert_eq!(waiting(&producer), [(0, 1, 2), (1, 0, 2), (2, 1, 2)]);
}

#[test]
fn a_partition_without_a_leader_is_left_within_its_topic() {
    let mut producer = producer(config());
    let leader = |place: usize| (place != 4).then_some(0);
    for step in 0..200 {
        assert_eq!(producer.admit(3, step, leader, |_, _| {}), 3);
    }
    assert!(waiting(&producer).iter().all(|(topic, partition, _)| (*topic, *partition) != (2, 0)));
}

#[test]
fn what_a_reply_names_is_found_by_name_and_by_id() {
    let mut producer = producer(config());
    producer.topic_ids = vec![[1; 16], [2; 16], [3; 16]];
    assert_eq!(producer.place_of(TopicName::Name("c"), 1), Some(5));
    assert_eq!(producer.place_of(TopicName::Id([2; 16]), 0), Some(3));
    for (topic, partition) in
        [(TopicName::Name("d"), 0), (TopicName::Id([9; 16]), 0), (TopicName::Name("b"), 1)]
    {
        assert_eq!(producer.place_of(topic, partition), None, "{topic:?} {partition}");
    }
}
