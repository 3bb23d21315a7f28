//! A client with several topics.

use super::places::place;
use super::tests::{FetchFixture, batch, config, partition};
use super::*;
use crate::errors::ErrorCode;
use crate::wire::Writer;

/// A reply with these topics, of partition 0 each.
fn reply(topics: &[(&str, i64)]) -> Vec<u8> {
    let mut body = [0, topics.len() as i32].map(i32::to_be_bytes).concat();
    for (name, records) in topics {
        body.put_string(name, false);
        body.put_i32(1);
        body.extend(partition(0, ErrorCode::NONE, &[], &batch(0, *records)));
    }
    body
}

fn world() -> FetchFixture {
    let mut config = config(FetchDepth::Decode, FetchIsolation::ReadUncommitted);
    config.topics.push("u".to_owned());
    let mut world = FetchFixture::at(config, &[0]);
    let mut other = PartitionPosition::new(place(1, 0).expect("a place"));
    other.next = Some(0);
    world.positions.add(other);
    world
}

#[test]
fn partitions_of_the_same_number_are_those_of_their_topics() {
    for order in [[("t", 2), ("u", 7)], [("u", 7), ("t", 2)]] {
        let mut world = world();
        let (effects, taken) = world.receive(&reply(&order));
        taken.expect("an answer");
        assert_eq!(effects.tally.records, 9);
        let next: Vec<_> = world.positions.iter().map(|position| position.next).collect();
        assert_eq!(next, [Some(2), Some(7)]);
    }
}

#[test]
fn topics_not_asked_for_or_named_twice_are_refused() {
    for topics in [[("t", 2), ("v", 7)], [("t", 2), ("t", 2)]] {
        let (_, taken) = world().receive(&reply(&topics));
        assert!(taken.is_err(), "{topics:?}");
    }
}

#[test]
fn errors_name_the_topic() {
    let mut world = world();
    let mut body = [0, 2].map(i32::to_be_bytes).concat();
    for name in ["t", "u"] {
        body.put_string(name, false);
        body.put_i32(1);
        body.extend(partition(0, ErrorCode::TOPIC_AUTHORIZATION_FAILED, &[], &[]));
    }
    let (effects, taken) = world.receive(&body);
    taken.expect("an answer");
    let detail = |place: &str| {
        ConsumerEvent::FetchError(format!("{place}: fetching failed: TOPIC_AUTHORIZATION_FAILED"))
    };
    assert_eq!(effects.events, [detail("partition 0"), detail("partition 0 of topic 2")]);
}
