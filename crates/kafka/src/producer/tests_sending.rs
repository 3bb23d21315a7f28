//! What goes into a request, and how long it waits for that.

use super::tests::{MS, PARTITIONS, ProducerFixture, admitted, config};
use super::*;
use crate::errors::ErrorCode;

/// Room for many batches of one record of 900 bytes each: 970 bytes.
fn world(config: ProducerConfig) -> ProducerFixture {
    ProducerFixture::new(ProducerConfig { buffer_bytes: 1 << 20, ..config }, 900, 1.0)
}

/// Admits a record to a partition.
fn admitted_to(world: &mut ProducerFixture, partition: usize, at_ms: u64) {
    (world.producer.current, world.producer.current_bytes) = (partition, 0);
    admitted(world, 1, [at_ms]);
}

/// The partitions with a batch in a request over a connection, in its order; none where there is no request.
fn sent(world: &mut ProducerFixture, connection: usize) -> Vec<i32> {
    if world.send(connection, false) == 0 {
        return Vec::new();
    }
    let request = world.requests.last().map(|&token| &world.producer.in_flight[token]);
    request.into_iter().flatten().flatten().map(|batch| batch.partition).collect()
}

/// As in the Java client, where a leader is ready and not a partition: what lingers travels with what is ready.
#[test]
fn a_ready_batch_takes_along_lingering_ones_of_the_same_leader() {
    let mut world = world(config());
    world.leaders = [0, 0, 1, 0].map(Some).to_vec();
    for partition in [1, 2, 3] {
        admitted_to(&mut world, partition, 0);
    }
    assert!(sent(&mut world, 0).is_empty(), "all of them linger");
    admitted_to(&mut world, 0, 1);
    admitted_to(&mut world, 0, 1);
    let leaders = world.leaders.clone();
    assert_eq!(world.producer.next_ready(false, |partition| leaders[partition]), Some(0));
    assert_eq!(sent(&mut world, 0), [0, 1, 3], "one full batch, and what its leader gets with it");
    assert!(sent(&mut world, 0).is_empty(), "the second one of the first partition lingers");
    assert!(sent(&mut world, 1).is_empty(), "another leader is none of this");
    world.now_ns = 5 * MS;
    assert_eq!((sent(&mut world, 0), sent(&mut world, 1)), (vec![], vec![2]));
    world.now_ns = 6 * MS;
    assert_eq!(sent(&mut world, 0), [0]);
}

/// As with Java's client, whose application goes on while the sender thread closes a full batch.
#[test]
fn what_comes_while_a_full_batch_is_compressed_travels_along() {
    // Batches of one record each, which are full when another one finds no room.
    let mut world =
        ProducerFixture::new(ProducerConfig { compression: Compression::Zstd, ..config() }, 450, 1.0);
    world.leaders = vec![Some(0); PARTITIONS];
    admitted_to(&mut world, 0, 0);
    assert_eq!(world.compress_full(), None, "it lingers");
    (0..2).for_each(|_| admitted_to(&mut world, 0, 1));
    assert_eq!(world.compress_full(), Some(1.0), "the first of three, less than a piece");
    assert_eq!(world.compress_full(), None, "the next full one is of the next request");
    admitted_to(&mut world, 1, 2);
    assert_eq!(sent(&mut world, 0), [0, 1]);
    let request = world.requests.last().and_then(|&token| world.producer.in_flight[token].as_ref());
    let instants = |batch: &ProducerBatch<_>| (batch.count, batch.sealed_ns(), batch.sent_ns());
    let of_request: Vec<_> = request.into_iter().flatten().map(instants).collect();
    assert_eq!(of_request, [(1, Some(2 * MS), 2 * MS); 2], "sealed when the request begins");
    assert_eq!(world.compress_full(), Some(1.0), "now it is");
    assert_eq!(sent(&mut world, 0), [0]);
}

#[test]
fn what_is_not_compressed_is_not_held_up_for_it() {
    let mut world = world(config());
    (0..2).for_each(|_| admitted_to(&mut world, 0, 0));
    assert_eq!(world.compress_full(), None);
}

/// Two pieces of 16 KiB are compressed when the sender comes to it, the rest is its own.
#[test]
fn the_sender_compresses_what_a_large_batch_left_behind_pieces() {
    let config = ProducerConfig { compression: Compression::Gzip, batch_bytes: 40_000, ..config() };
    let mut world = ProducerFixture::new(ProducerConfig { buffer_bytes: 1 << 20, ..config }, 1_000, 1.0);
    world.leaders = vec![Some(0); PARTITIONS];
    (0..38).for_each(|_| admitted_to(&mut world, 0, 0));
    let share = world.compress_full().expect("a full batch");
    let request = (sent(&mut world, 0), world.producer.in_flight.last());
    let Some(Some(batches)) = request.1 else { panic!("no request: {:?}", request.0) };
    let bytes = batches[0].body_bytes;
    assert!((33_000..40_000).contains(&bytes), "{bytes}");
    assert!((share - (bytes - 32_768) as f64 / bytes as f64).abs() < 1e-9, "{share} of {bytes}");
}

/// What the leader did not take pauses all the same, and makes nothing ready while it does.
#[test]
fn what_pauses_does_not_travel_along() {
    let mut world = world(config());
    world.leaders = vec![Some(0); PARTITIONS];
    admitted_to(&mut world, 0, 0);
    world.now_ns = 5 * MS;
    assert_eq!(sent(&mut world, 0), [0]);
    for batch in world.requests.pop().map(|token| world.producer.untrack(token)).into_iter().flatten() {
        world.producer.on_error(batch, ErrorCode::REQUEST_TIMED_OUT, 5 * MS);
    }
    admitted_to(&mut world, 1, 6);
    assert!(sent(&mut world, 0).is_empty());
    world.now_ns = 11 * MS;
    assert_eq!(sent(&mut world, 0), [1], "the first one pauses for 8 ms at least");
    world.now_ns = 17 * MS;
    assert_eq!(sent(&mut world, 0), [0], "and for 12 ms at most");
}

/// Two leaders of two partitions each, requests of one batch, and the second one takes two while the first takes one.
#[test]
fn each_leader_resumes_with_its_partition_that_found_no_room() {
    let mut world = world(ProducerConfig { request_bytes_max: 1_500, ..config() });
    for partition in 0..PARTITIONS {
        (0..12).for_each(|_| admitted_to(&mut world, partition, 0));
    }
    let mut taken = [0; PARTITIONS];
    for connection in [0, 1, 1].repeat(4) {
        for partition in sent(&mut world, connection) {
            taken[partition as usize] += 1;
        }
    }
    assert_eq!(taken, [2, 4, 2, 4]);
}

/// The body of a reply of version 3: of each partition an error.
fn reply(partitions: &[(i32, ErrorCode)]) -> Vec<u8> {
    let mut out = Vec::new();
    out.extend_from_slice(&1i32.to_be_bytes());
    out.extend_from_slice(&[0, 1, b't']);
    out.extend_from_slice(&(partitions.len() as i32).to_be_bytes());
    for (partition, error) in partitions {
        out.extend_from_slice(&partition.to_be_bytes());
        out.extend_from_slice(&error.0.to_be_bytes());
        out.extend_from_slice(&[0; 16]); // offset and time
    }
    out.extend_from_slice(&0i32.to_be_bytes()); // throttle time
    out
}

/// In whatever order it says so; what it says twice counts once, and what it does not speak of is sent again after a
/// pause.
#[test]
fn each_batch_gets_what_the_reply_says_of_its_partition() {
    let mut world = world(ProducerConfig { request_bytes_max: 10_000, ..config() });
    world.leaders = vec![Some(0); PARTITIONS];
    (0..PARTITIONS).for_each(|partition| admitted_to(&mut world, partition, 0));
    world.now_ns = 5 * MS;
    assert_eq!(sent(&mut world, 0), [0, 1, 2, 3]);
    let token = world.requests.pop().expect("a request");
    let body = reply(&[
        (3, ErrorCode::NONE),
        (9, ErrorCode::NONE),
        (1, ErrorCode::TOPIC_AUTHORIZATION_FAILED),
        (3, ErrorCode::REQUEST_TIMED_OUT),
        (0, ErrorCode::NONE),
    ]);
    world.producer.on_reply(token, 3, &body, 6 * MS, 7 * MS).expect("a reply");
    let mut outcomes = Vec::new();
    world.producer.take_outcomes(&mut outcomes);
    let outcomes: Vec<_> = outcomes.iter().map(|(batch, outcome)| (batch.partition, *outcome)).collect();
    let stored = Delivery::Acknowledged { written_ns: 6 * MS, received_ns: 7 * MS };
    let failed = Delivery::Failed { reason: "TOPIC_AUTHORIZATION_FAILED" };
    assert_eq!(outcomes, [(0, stored), (1, failed), (3, stored)]);
    assert_eq!((0..PARTITIONS).map(|of| world.producer.queues.length(of)).collect::<Vec<_>>(), [0, 0, 1, 0]);
    assert!(world.producer.queues.front(2).is_some_and(|left_out| left_out.pauses_until_ns(0) > 7 * MS));
}

/// Half a reply: what the bytes seem to say up to where they end is no outcome, and all is sent again.
#[test]
fn what_comes_before_the_broken_end_of_a_reply_is_not_believed() {
    let mut world = world(ProducerConfig { request_bytes_max: 10_000, ..config() });
    world.leaders = vec![Some(0); PARTITIONS];
    (0..PARTITIONS).for_each(|partition| admitted_to(&mut world, partition, 0));
    world.now_ns = 5 * MS;
    assert_eq!(sent(&mut world, 0), [0, 1, 2, 3]);
    let token = world.requests.pop().expect("a request");
    let body = reply(&[(0, ErrorCode::NONE), (1, ErrorCode::INVALID_RECORD), (2, ErrorCode::NONE)]);
    world.producer.on_reply(token, 3, &body[..body.len() - 5], 6 * MS, 7 * MS).expect_err("half a reply");
    let mut outcomes = Vec::new();
    world.producer.take_outcomes(&mut outcomes);
    assert!(outcomes.is_empty(), "{outcomes:?}");
    assert_eq!(
        (0..PARTITIONS).map(|of| world.producer.queues.length(of)).collect::<Vec<_>>(),
        [1; PARTITIONS]
    );
}
