//! What counts as a record, and that it is the same however far a batch is read.

use super::tests::{FetchFixture, batch, batch_of, config};
use super::*;
use crate::errors::ErrorCode;
use crate::records::{BatchHeader, TRANSACTIONAL_BIT};
use proptest::prelude::*;

const CONTROL_BIT: i16 = 0x20;
const READINGS: [FetchDepth; 3] = [FetchDepth::Header, FetchDepth::Crc, FetchDepth::Decode];

/// Records, those of aborted transactions, control records, missing offsets.
fn counted(effects: &Effects) -> [u64; 4] {
    let tally = effects.tally;
    [tally.records, tally.aborted_records, tally.control_records, tally.missing_offsets]
}

fn read(
    (reading, isolation): (FetchDepth, FetchIsolation),
    from: i64,
    aborted: &[(i64, i64)],
    set: &[u8],
) -> ([u64; 4], Option<i64>) {
    let mut world = FetchFixture::at(config(reading, isolation), &[from]);
    let effects = world.fetch(ErrorCode::NONE, aborted, set);
    assert_eq!(effects.events, [], "{reading:?}");
    (counted(&effects), world.position(0).next)
}

fn transactional(producer_id: i64) -> impl Fn(&mut BatchHeader) {
    move |header| (header.attributes, header.producer_id) = (TRANSACTIONAL_BIT, producer_id)
}

/// The marker that ends a producer's transaction.
fn marker(offset: i64, producer_id: i64, kind: u8) -> Vec<u8> {
    let mut body = Vec::new();
    crate::records::encode_record(&mut body, 0, 0, Some(&[0, 0, 0, kind]), &[0; 6]);
    let plain = BatchHeader::plain(crate::records::Compression::None, 1, 0, 0);
    let attributes = TRANSACTIONAL_BIT | CONTROL_BIT;
    let header = BatchHeader { base_offset: offset, attributes, producer_id, ..plain };
    let mut head = [0; crate::records::HEADER_BYTES];
    let sum = crate::records::BodySum::of(&body);
    crate::records::write_batch_header(&mut head, &header, &sum);
    [head.as_slice(), &body].concat()
}

const ABORT: u8 = 0;
const COMMIT: u8 = 1;

#[test]
fn records_that_were_compacted_away_are_no_records() {
    let set = [batch_of(&[10, 13, 14], |head| head.last_offset_delta = 6), batch(20, 2)].concat();
    for reading in READINGS {
        let read = |from| read((reading, FetchIsolation::ReadUncommitted), from, &[], &set);
        assert_eq!(read(10), ([5, 0, 0, 7], Some(22)), "{reading:?}: 11, 12, 15, 16 and 17 to 19");
        assert_eq!(read(4), ([5, 0, 0, 13], Some(22)), "{reading:?}");
        assert_eq!(read(13), ([4, 0, 0, 5], Some(22)), "{reading:?}: it begins in the first batch");
        assert_eq!(read(15), ([2, 0, 0, 5], Some(22)), "{reading:?}: behind its last record");
        // A batch with nothing left but its place.
        let empty = batch_of(&[], |head| (head.base_offset, head.last_offset_delta) = (30, 4));
        let (counts, next) = self::read((reading, FetchIsolation::ReadUncommitted), 30, &[], &empty);
        assert_eq!((counts, next), ([0, 0, 0, 5], Some(35)), "{reading:?}");
    }
}

#[test]
fn committed_records_alone_are_read_where_that_is_asked_for() {
    // Producer 1 aborts, producer 2 commits; then producer 1 commits, and a batch without transaction comes.
    let set = [
        batch_of(&[0, 1], transactional(1)),
        batch_of(&[2, 3, 4], transactional(2)),
        batch_of(&[5], transactional(1)),
        marker(6, 1, ABORT),
        batch_of(&[7, 8], transactional(1)),
        marker(9, 2, COMMIT),
        marker(10, 1, COMMIT),
        batch_of(&[11], |head| head.producer_id = 1),
    ]
    .concat();
    for reading in READINGS {
        let committed = (reading, FetchIsolation::ReadCommitted);
        assert_eq!(read(committed, 0, &[(1, 0)], &set), ([6, 3, 3, 0], Some(12)), "{reading:?}");
        let all = (reading, FetchIsolation::ReadUncommitted);
        assert_eq!(read(all, 0, &[(1, 0)], &set), ([9, 0, 3, 0], Some(12)), "{reading:?}");
        // Two transactions of one producer, both aborted; the second began in this answer.
        let twice = [batch_of(&[0], transactional(1)), marker(1, 1, ABORT), batch_of(&[2], transactional(1))];
        let reported = [(1, 2), (1, 0), (7, 0)];
        assert_eq!(read(committed, 0, &reported, &twice.concat()), ([0, 2, 1, 0], Some(3)), "{reading:?}");
        // It began before what is fetched.
        let later =
            [batch_of(&[5, 6], transactional(1)), marker(7, 1, ABORT), batch_of(&[8], transactional(1))];
        let read = read(committed, 6, &[(1, 0)], &later.concat());
        assert_eq!(read, ([1, 1, 1, 0], Some(9)), "{reading:?}");
    }
}

#[test]
fn what_an_application_would_stumble_over_is_damage() {
    // One record less than the header says; the checksum holds.
    let short = batch_of(&[0, 1], |head| (head.record_count, head.last_offset_delta) = (3, 2));
    let more = batch_of(&[0, 1], |head| head.last_offset_delta = 0);
    for (reading, set, is_read) in [
        (FetchDepth::Header, &short, true),
        (FetchDepth::Crc, &short, true),
        (FetchDepth::Decode, &short, false),
        (FetchDepth::Header, &more, false),
        (FetchDepth::Decode, &more, false),
    ] {
        let mut world = FetchFixture::at(config(reading, FetchIsolation::ReadUncommitted), &[0]);
        let effects = world.fetch(ErrorCode::NONE, &[], set);
        assert_eq!((effects.events.is_empty(), effects.tally.records > 0), (is_read, is_read), "{reading:?}");
    }
    let mut flipped = batch(0, 2);
    let last = flipped.len() - 2;
    flipped[last] ^= 1;
    for (reading, is_read) in
        [(FetchDepth::Header, true), (FetchDepth::Crc, false), (FetchDepth::Decode, false)]
    {
        let mut world = FetchFixture::at(config(reading, FetchIsolation::ReadUncommitted), &[0]);
        assert_eq!(world.fetch(ErrorCode::NONE, &[], &flipped).events.is_empty(), is_read, "{reading:?}");
    }
}

/// A batch: offsets that it keeps, how many it spans, and whose transaction it is of.
fn kept() -> impl Strategy<Value = (Vec<bool>, i64)> {
    (prop::collection::vec(any::<bool>(), 1..8), 0..4i64)
}

proptest! {
    /// Each way to read counts the same, and every offset is counted once.
    #[test]
    fn however_far_it_is_read_the_counts_are_the_same(
        batches in prop::collection::vec(kept(), 1..12),
        from in 0..40i64,
        aborted in prop::collection::vec((0..4i64, 0..60i64), 0..4),
    ) {
        let (mut set, mut end, mut records) = (Vec::new(), 0, 0);
        for (keeps, producer) in &batches {
            let span = keeps.len() as i64;
            let offsets: Vec<i64> = (end..end + span).zip(keeps).filter(|(_, kept)| **kept).map(|(at, _)| at).collect();
            records += offsets.iter().filter(|at| **at >= from).count() as u64;
            let base = offsets.first().copied().unwrap_or(end);
            set.extend(batch_of(&offsets, |head| {
                head.base_offset = base;
                head.last_offset_delta = (end + span - 1 - base) as i32;
                transactional(*producer)(head);
            }));
            end += span;
        }
        prop_assume!(from < end);
        for isolation in [FetchIsolation::ReadUncommitted, FetchIsolation::ReadCommitted] {
            let all = READINGS.map(|reading| read((reading, isolation), from, &aborted, &set));
            prop_assert_eq!(all[0], all[1]);
            prop_assert_eq!(all[0], all[2]);
            let ([read, left_out, control, missing], next) = all[0];
            prop_assert_eq!((read + left_out, control, next), (records, 0, Some(end)));
            prop_assert_eq!(read + left_out + missing, (end - from) as u64);
        }
    }
}
