//! What goes into a request, and how long it waits for that.

use super::tests::{MS, PARTITIONS, World, admitted, config};
use super::*;
use crate::errors::ErrorCode;

/// Room for many batches of one record of 900 bytes each: 970 bytes.
fn world(config: ProducerConfig) -> World {
    World::new(ProducerConfig { buffer_bytes: 1 << 20, ..config }, 900, 1.0)
}

/// Admits a record to a partition.
fn admitted_to(world: &mut World, partition: usize, at_ms: u64) {
    (world.producer.current, world.producer.current_bytes) = (partition, 0);
    admitted(world, 1, [at_ms]);
}

/// The partitions of which a request over a connection has a batch, in its order; none where there is no request.
fn sent(world: &mut World, connection: usize) -> Vec<i32> {
    if world.send(connection, false) == 0 {
        return Vec::new();
    }
    let request = world.requests.last().map(|&token| &world.producer.in_flight[token]);
    request.into_iter().flatten().flatten().map(|batch| batch.partition).collect()
}

/// As in the Java client, of which a leader is ready and not a partition: what lingers travels with what is ready.
#[test]
fn with_a_batch_that_is_ready_goes_what_lingers_for_the_same_leader() {
    let mut world = world(config());
    world.leaders = [0, 0, 1, 0].map(Some).to_vec();
    for partition in [1, 2, 3] {
        admitted_to(&mut world, partition, 0);
    }
    assert_eq!(sent(&mut world, 0), [], "all of them linger");
    admitted_to(&mut world, 0, 1);
    admitted_to(&mut world, 0, 1);
    let leaders = world.leaders.clone();
    assert_eq!(world.producer.next_ready(false, |partition| leaders[partition]), Some(0));
    assert_eq!(sent(&mut world, 0), [0, 1, 3], "one full batch, and what its leader gets beside it");
    assert_eq!(sent(&mut world, 0), [], "the second one of the first partition lingers");
    assert_eq!(sent(&mut world, 1), [], "another leader is none of this");
    world.now_ns = 5 * MS;
    assert_eq!((sent(&mut world, 0), sent(&mut world, 1)), (vec![], vec![2]));
    world.now_ns = 6 * MS;
    assert_eq!(sent(&mut world, 0), [0]);
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
    assert_eq!(sent(&mut world, 0), []);
    world.now_ns = 11 * MS;
    assert_eq!(sent(&mut world, 0), [1], "the first one pauses for 8 ms at least");
    world.now_ns = 17 * MS;
    assert_eq!(sent(&mut world, 0), [0], "and for 12 ms at most");
}

/// Two leaders of two partitions each, requests of one batch, and the second one takes two while the first takes one.
#[test]
fn each_leader_goes_on_with_its_own_partition_that_found_no_room() {
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
