//! What a large reply costs in addition to the frame in which it came, whatever is in it: nothing, but for the aborted
//! transactions of one partition at a time, which take no more than they do in the reply. The frame itself takes up to
//! twice its size while it comes ([`Input`](crate::connection)), and no partition is read before it is there: so a
//! reply never takes more than two times its own size, plus a decompressed batch's stated maximum.

use super::tests::{FetchFixture, batch_of, config, partition, reply};
use super::*;
use crate::counting::peak_bytes;
use crate::errors::ErrorCode;
use crate::wire::Writer;

/// A reply from which 148 MB were made once.
const REPLY_BYTES: usize = 30_000_000;
/// What does not grow with the reply: a partition's place in lists, an error's text.
const CONSTANT_BYTES: usize = 4 << 10;

/// The most memory that is held in addition to the reply, and what was measured.
fn received(world: &mut FetchFixture, body: &[u8]) -> (usize, FetchTally, bool) {
    assert!(body.len() >= REPLY_BYTES, "{}", body.len());
    let (mut tally, mut is_taken) = (FetchTally::default(), false);
    let peak = peak_bytes(|| {
        let (effects, taken) = world.receive(body);
        (tally, is_taken) = (effects.tally, taken.is_ok());
    });
    (peak, tally, is_taken)
}

#[test]
fn millions_of_topics_without_a_partition_take_nothing() {
    let mut topic = Vec::new();
    topic.put_string("t", false);
    topic.put_i32(0);
    let count = REPLY_BYTES / topic.len() + 1;
    let mut body = [0, count as i32].map(i32::to_be_bytes).concat();
    body.extend(topic.repeat(count));
    let mut world = FetchFixture::at(config(FetchDepth::Decode, FetchIsolation::ReadUncommitted), &[0]);
    let (peak, _, is_taken) = received(&mut world, &body);
    assert!(peak <= CONSTANT_BYTES && !is_taken, "{peak}: the requested one is not there");
}

#[test]
fn a_million_unrequested_partitions_take_no_memory() {
    let one = |index| partition(index, ErrorCode::NONE, &[], &[]);
    let count = (REPLY_BYTES / one(0).len()) as i32 + 1;
    let partitions: Vec<_> = (0..count).map(one).collect();
    let mut world = FetchFixture::at(config(FetchDepth::Decode, FetchIsolation::ReadUncommitted), &[0]);
    let (peak, _, is_taken) = received(&mut world, &reply(&partitions));
    assert!(peak <= CONSTANT_BYTES && !is_taken, "{peak}");
}

#[test]
fn as_many_batches_as_fit_are_read_and_kept_nowhere() {
    let one = batch_of(&[0], |_| {});
    let count = REPLY_BYTES / one.len() + 1;
    let mut set = one.repeat(count);
    for (offset, batch) in set.chunks_mut(one.len()).enumerate() {
        batch[..8].copy_from_slice(&(offset as i64).to_be_bytes());
    }
    for reading in [FetchDepth::Header, FetchDepth::Crc, FetchDepth::Decode] {
        let mut world = FetchFixture::at(config(reading, FetchIsolation::ReadUncommitted), &[0]);
        let (peak, tally, is_taken) =
            received(&mut world, &reply(&[partition(0, ErrorCode::NONE, &[], &set)]));
        assert!(peak <= CONSTANT_BYTES && is_taken, "{reading:?}: {peak}");
        assert_eq!((tally.records, tally.batches as usize), (count as u64, count), "{reading:?}");
    }
}

#[test]
fn aborted_transactions_take_what_they_do_in_the_reply() {
    let aborted: Vec<(i64, i64)> = (0..REPLY_BYTES as i64 / 16 + 1).map(|id| (id, id * 7 % 1_000)).collect();
    let body = reply(&[partition(0, ErrorCode::NONE, &aborted, &batch_of(&[0], |_| {}))]);
    let mut world = FetchFixture::at(config(FetchDepth::Decode, FetchIsolation::ReadCommitted), &[0]);
    let (peak, tally, is_taken) = received(&mut world, &body);
    assert!(is_taken && tally.records == 1);
    assert!(peak <= body.len() + CONSTANT_BYTES, "{peak} for {}", body.len());
    // A client that requested all records gets none.
    let mut world = FetchFixture::at(config(FetchDepth::Decode, FetchIsolation::ReadUncommitted), &[0]);
    let (peak, ..) = received(&mut world, &body);
    assert!(peak <= CONSTANT_BYTES, "{peak}");
}
