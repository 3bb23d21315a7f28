//! What answers to a consuming client mean, and which of them are believed.

use super::answers::FetchAnswers;
use super::effects::Effects;
use super::position::{PartitionPosition, PartitionPositions};
use super::session::FetchSession;
use super::*;
use crate::errors::ErrorCode;
use crate::records::{BatchHeader, BodySum, Compression, HEADER_BYTES, encode_record, write_batch_header};
use crate::wire::{WireError, Writer};

/// The lowest versions kdyno speaks: plain encodings, no tags.
const FETCH_VERSION: i16 = m01_fetch::API.version_min;
const OFFSETS_VERSION: i16 = m02_list_offsets::API.version_min;
const NOW_NS: u64 = 1_000;
const RETRY_NS: u64 = 1_100;
pub(super) const HIGH_WATERMARK: i64 = 30;
pub(super) const STABLE: i64 = 25;
const THROTTLE_MS: i32 = 7;

pub(super) fn config(reading: FetchDepth, isolation: FetchIsolation) -> ConsumerConfig {
    ConsumerConfig {
        topics: vec!["t".to_owned()],
        partitions: Partitions::Share { first: 0, clients: 1 },
        from: OffsetAt::Earliest,
        fetch_wait_ms: 500,
        fetch_bytes_min: 1,
        fetch_bytes_max: 1 << 20,
        partition_bytes_max: 1 << 20,
        retry_backoff_ns: RETRY_NS - NOW_NS,
        isolation,
        reading,
        holds_fetched: false,
        rack: String::new(),
        metadata_max_age_ns: 1_000_000,
    }
}

/// A client's partitions and what was requested from one broker.
pub(super) struct FetchFixture {
    pub config: ConsumerConfig,
    pub positions: PartitionPositions,
    session: FetchSession,
    sink: (),
}

impl FetchFixture {
    /// Partitions that begin at these offsets.
    pub(super) fn at(config: ConsumerConfig, offsets: &[i64]) -> Self {
        let mut positions = PartitionPositions::of(0..offsets.len() as i32);
        for (position, offset) in positions.iter_mut().zip(offsets) {
            position.next = Some(*offset);
        }
        Self { config, positions, session: FetchSession::default(), sink: () }
    }

    pub(super) fn position(&mut self, partition: i32) -> &mut PartitionPosition {
        self.positions.find_mut(partition).expect("one of ours")
    }

    /// Takes in a reply to a full fetch of all partitions that know where to begin.
    pub(super) fn receive(&mut self, body: &[u8]) -> (Effects, Result<(), WireError>) {
        let ask = |position: &PartitionPosition| {
            position.next.map(|offset| PartitionFetch {
                topic: 0,
                partition: position.partition,
                leader_epoch: -1,
                offset,
            })
        };
        let wanted: Vec<PartitionFetch> = self.positions.iter().filter_map(ask).collect();
        self.session.next(&wanted, &[]);
        let mut effects = Effects::default();
        let taken = self.answer(&mut effects).on_fetch(FETCH_VERSION, body);
        (effects, taken)
    }

    /// Partition 0 answers to a fetch.
    pub(super) fn fetch(&mut self, error: ErrorCode, aborted: &[(i64, i64)], set: &[u8]) -> Effects {
        let (effects, taken) = self.receive(&reply(&[partition(0, error, aborted, set)]));
        taken.expect("an answer");
        effects
    }

    /// Partition 0 answers where to begin.
    fn list(&mut self, error: ErrorCode, offset: i64) -> Effects {
        self.position(0).is_listing = true;
        let mut effects = Effects::default();
        let body = offsets(error, offset);
        self.answer(&mut effects).on_offsets(OFFSETS_VERSION, &body).expect("an answer");
        effects
    }

    /// Partition 0 answers where its log ends.
    fn tell_log_end(&mut self, error: ErrorCode, offset: i64) -> Effects {
        let mut effects = Effects::default();
        let body = offsets(error, offset);
        self.answer(&mut effects).on_log_ends(OFFSETS_VERSION, &body).expect("an answer");
        effects
    }

    fn answer<'a>(&'a mut self, effects: &'a mut Effects) -> FetchAnswers<'a, ()> {
        let Self { config, positions, session, sink } = self;
        FetchAnswers { config, positions, session, now_ns: NOW_NS, effects, sink }
    }
}

/// What partition 0 answers to ListOffsets.
fn offsets(error: ErrorCode, offset: i64) -> Vec<u8> {
    let mut body = [THROTTLE_MS, 1].map(i32::to_be_bytes).concat();
    body.put_string("t", false);
    body.extend_from_slice(&[1i32, 0].map(i32::to_be_bytes).concat());
    body.put_i16(error.0);
    body.extend_from_slice(&[-1, offset].map(i64::to_be_bytes).concat());
    body
}

/// A reply of topic `t` with these partitions.
pub(super) fn reply(partitions: &[Vec<u8>]) -> Vec<u8> {
    let mut body = [THROTTLE_MS, 1].map(i32::to_be_bytes).concat();
    body.put_string("t", false);
    body.put_i32(partitions.len() as i32);
    body.extend(partitions.concat());
    body
}

/// A partition's answer, with producer and first offset of aborted transactions.
pub(super) fn partition(index: i32, error: ErrorCode, aborted: &[(i64, i64)], set: &[u8]) -> Vec<u8> {
    let mut out = index.to_be_bytes().to_vec();
    out.put_i16(error.0);
    out.extend_from_slice(&[HIGH_WATERMARK, STABLE].map(i64::to_be_bytes).concat());
    out.put_i32(aborted.len() as i32);
    for (producer, first) in aborted {
        out.extend_from_slice(&[*producer, *first].map(i64::to_be_bytes).concat());
    }
    out.put_i32(set.len() as i32);
    out.extend_from_slice(set);
    out
}

/// A batch whose header says what `change` makes of it, of records with these offsets.
pub(super) fn batch_of(offsets: &[i64], change: impl FnOnce(&mut BatchHeader)) -> Vec<u8> {
    let base_offset = offsets.first().copied().unwrap_or(0);
    let mut body = Vec::new();
    for offset in offsets {
        encode_record(&mut body, (offset - base_offset) as i32, 0, Some(b"key"), b"value");
    }
    let count = offsets.len() as i32;
    let mut header = BatchHeader { base_offset, ..BatchHeader::plain(Compression::None, count, 0, 0) };
    header.last_offset_delta = offsets.last().map_or(0, |last| (last - base_offset) as i32);
    change(&mut header);
    let mut head = [0; HEADER_BYTES];
    write_batch_header(&mut head, &header, &BodySum::of(&body));
    [head.as_slice(), &body].concat()
}

/// A batch of so many records from an offset on.
pub(super) fn batch(base_offset: i64, records: i64) -> Vec<u8> {
    batch_of(&(base_offset..base_offset + records).collect::<Vec<_>>(), |_| {})
}

fn plain(offset: i64) -> FetchFixture {
    FetchFixture::at(config(FetchDepth::Decode, FetchIsolation::ReadUncommitted), &[offset])
}

/// Before it is known where to begin.
fn unknown() -> FetchFixture {
    let mut world = plain(0);
    world.position(0).next = None;
    world
}

#[test]
fn an_error_is_reported_once_until_the_answer_changes() {
    let mut world = unknown();
    let denied = ErrorCode::TOPIC_AUTHORIZATION_FAILED;
    let reported = world.list(denied, -1).events;
    let detail = "partition 0: asking for its offsets failed: TOPIC_AUTHORIZATION_FAILED".to_owned();
    assert_eq!(reported, [ConsumerEvent::FetchError(detail)]);
    assert_eq!((world.position(0).next, world.position(0).not_before_ns), (None, RETRY_NS));
    assert!(world.list(denied, -1).events.is_empty(), "a retry is no news");
    assert!(world.list(ErrorCode::NONE, 5).events.is_empty());
    let mut fetch = |error| world.fetch(error, &[], &[]);
    let moved = fetch(ErrorCode::NOT_LEADER_OR_FOLLOWER);
    assert!(moved.is_metadata_old && moved.has_error);
    let detail = "partition 0: fetching failed: NOT_LEADER_OR_FOLLOWER".to_owned();
    assert_eq!(moved.events, [ConsumerEvent::FetchError(detail)]);
    assert_eq!(fetch(denied).events.len(), 1, "another error is news");
    assert!(!fetch(ErrorCode::NONE).has_error);
    assert_eq!(fetch(denied).events.len(), 1, "and so is one that comes back");
}

#[test]
fn records_gone_before_the_fetch_are_reported_with_their_number() {
    for (offset, reported) in [
        (250, "partition 0: offset 100 is gone: 150 records before offset 250 were not fetched"),
        (40, "partition 0: offset 100 does not exist: fetching went back to offset 40"),
    ] {
        let mut world = plain(100);
        let lost = world.fetch(ErrorCode::OFFSET_OUT_OF_RANGE, &[], &[]);
        assert!(lost.events.is_empty() && world.position(0).next.is_none());
        let events = world.list(ErrorCode::NONE, offset).events;
        assert_eq!(events, [ConsumerEvent::RecordsSkipped(reported.to_owned())]);
        assert_eq!(world.position(0).next, Some(offset));
    }
}

#[test]
fn the_lag_is_unknown_before_the_first_log_end_and_then_kept() {
    let mut world = unknown();
    assert_eq!(world.position(0).lag_records(), None);
    world.list(ErrorCode::NONE, 12);
    assert_eq!(
        world.position(0).lag_records(),
        None,
        "it is known where to begin, and not where the log ends"
    );
    world.fetch(ErrorCode::TOPIC_AUTHORIZATION_FAILED, &[], &[]);
    assert_eq!(world.position(0).lag_records(), None, "what comes with an error is no end");
    world.fetch(ErrorCode::NONE, &[], &[]);
    let lag = Some(HIGH_WATERMARK as u64 - 12);
    assert_eq!(world.position(0).lag_records(), lag);
    world.fetch(ErrorCode::NOT_LEADER_OR_FOLLOWER, &[], &[]);
    assert_eq!(world.position(0).lag_records(), lag);
    world.fetch(ErrorCode::OFFSET_OUT_OF_RANGE, &[], &[]);
    assert_eq!((world.position(0).next, world.position(0).lag_records()), (None, lag));
    world.list(ErrorCode::NONE, 20);
    assert_eq!(world.position(0).lag_records(), Some(HIGH_WATERMARK as u64 - 20));
    world.config.isolation = FetchIsolation::ReadCommitted;
    world.fetch(ErrorCode::NONE, &[], &[]);
    assert_eq!(world.position(0).lag_records(), Some(STABLE as u64 - 20), "what is open cannot be fetched");
}

/// Nothing is fetched of a partition whose records wait for the application, so its leader is asked how the log grows.
#[test]
fn of_a_partition_that_is_held_the_end_of_the_log_is_asked_for() {
    let mut world = plain(12);
    world.config.holds_fetched = true;
    assert_eq!(world.position(0).end_due_ns(), None, "fetches tell");
    world.fetch(ErrorCode::NONE, &[], &batch(12, 5));
    let due_ns = world.position(0).end_due_ns().expect("it is held");
    assert!(due_ns > NOW_NS && due_ns <= NOW_NS + 500_000_000, "{due_ns}");
    let end = HIGH_WATERMARK + 1_000;
    world.tell_log_end(ErrorCode::NONE, end);
    assert_eq!(world.position(0).lag_records(), Some(end as u64 - 17));
    let moved = world.tell_log_end(ErrorCode::NOT_LEADER_OR_FOLLOWER, -1);
    assert!(moved.is_metadata_old && moved.events.is_empty());
    world.tell_log_end(ErrorCode::NONE, end - 1);
    assert_eq!(world.position(0).lag_records(), Some(end as u64 - 17), "an answer may be older than a fetch");
    world.position(0).is_stopped = true;
    assert_eq!(world.position(0).end_due_ns(), None, "it is about to be another client's");
}

#[test]
fn batches_count_and_one_with_a_wrong_checksum_does_not() {
    let mut world = plain(12);
    // The first batch begins before the requested offset.
    let mut record_set = [batch(10, 5), batch(15, 3), batch(18, 4)].concat();
    let last = record_set.len() - 1;
    record_set[last] ^= 1;
    let effects = world.fetch(ErrorCode::NONE, &[], &record_set);
    assert_eq!((effects.tally.records, effects.tally.batches, effects.throttled_ns), (6, 2, 7_000_000));
    assert_eq!(world.position(0).next, Some(18), "the damaged batch is asked for again");
    assert_eq!(world.position(0).lag_records(), Some(12), "and is what is behind, with what comes after it");
    let [ConsumerEvent::FetchError(detail)] = effects.events.as_slice() else {
        panic!("{:?}", effects.events)
    };
    assert!(detail.starts_with("partition 0: what was fetched is damaged: checksum"), "{detail}");
}

/// Requested at once, the same bytes would come again and again.
#[test]
fn a_partition_without_progress_is_asked_again_after_a_pause() {
    let cut = batch(12, 5);
    for (set, bytes) in [(cut[..cut.len() - 1].to_vec(), cut.len() - 1), (batch(3, 4), batch(3, 4).len())] {
        let mut world = plain(12);
        let effects = world.fetch(ErrorCode::NONE, &[], &set);
        let detail =
            format!("partition 0: no whole batch at or behind offset 12 is in the {bytes} bytes fetched");
        assert_eq!(effects.events, [ConsumerEvent::FetchError(detail)]);
        assert_eq!((world.position(0).next, world.position(0).not_before_ns), (Some(12), RETRY_NS));
        assert!(!effects.is_empty(), "there is something to fetch");
        assert!(world.fetch(ErrorCode::NONE, &[], &set).events.is_empty(), "told once");
        world.position(0).not_before_ns = 0;
        assert_eq!(world.fetch(ErrorCode::NONE, &[], &batch(12, 5)).tally.records, 5);
        assert_eq!(world.position(0).not_before_ns, 0);
    }
}

/// As the Java client has it: a partition that brought something, or an error, comes last the next time.
#[test]
fn partitions_have_their_turn_one_after_the_other() {
    let mut world =
        FetchFixture::at(config(FetchDepth::Decode, FetchIsolation::ReadUncommitted), &[0, 0, 0, 0]);
    let none = |index| partition(index, ErrorCode::NONE, &[], &[]);
    let some = |index| partition(index, ErrorCode::NONE, &[], &batch(0, 2));
    let (_, taken) = world.receive(&reply(&[some(2), none(1), some(0), none(3)]));
    taken.expect("an answer");
    let failed = partition(3, ErrorCode::UNKNOWN_LEADER_EPOCH, &[], &[]);
    let (_, taken) = world.receive(&reply(&[none(0), none(1), none(2), failed]));
    taken.expect("an answer");
    let mut order: Vec<(u64, i32)> = world.positions.iter().map(|at| (at.turn, at.partition)).collect();
    order.sort_unstable();
    assert_eq!(order.into_iter().map(|(_, partition)| partition).collect::<Vec<_>>(), [1, 2, 0, 3]);
}

/// A reply that names what was not requested, or the same twice, is not believed from there on, whatever its size; what
/// it says makes no events without end.
#[test]
fn a_reply_is_read_up_to_what_was_not_asked_for() {
    let denied = |index| partition(index, ErrorCode::TOPIC_AUTHORIZATION_FAILED, &[], &[]);
    let failed = |index| partition(index, ErrorCode::KAFKA_STORAGE_ERROR, &[], &[]);
    for many in [
        [denied(0), failed(0)].concat().repeat(10_000),
        [denied(0), failed(1), denied(2)].concat().repeat(10_000),
    ] {
        let mut world =
            FetchFixture::at(config(FetchDepth::Decode, FetchIsolation::ReadUncommitted), &[0, 0]);
        let mut body = reply(&[]);
        let at = body.len() - 4;
        body[at..].copy_from_slice(&20_000i32.to_be_bytes());
        body.extend(many);
        let (effects, taken) = world.receive(&body);
        assert!(matches!(taken, Err(WireError::Invalid(_))), "{taken:?}");
        assert!(effects.events.len() <= 2, "{}", effects.events.len());
    }
    let mut world = plain(0);
    let mut other = reply(&[partition(0, ErrorCode::NONE, &[], &batch(0, 2))]);
    other[10] = b'u';
    let (effects, taken) = world.receive(&other);
    assert!(taken.is_err() && effects.tally.records == 0, "of another topic");
}

/// What comes for an offset that fetching has left is no news.
#[test]
fn an_answer_to_where_fetching_was_before_is_ignored() {
    let mut world = plain(0);
    let ask = PartitionFetch { topic: 0, partition: 0, leader_epoch: -1, offset: 0 };
    world.session.next(&[ask], &[]);
    world.position(0).next = Some(7);
    let mut effects = Effects::default();
    let body = reply(&[partition(0, ErrorCode::NONE, &[], &batch(0, 5))]);
    world.answer(&mut effects).on_fetch(FETCH_VERSION, &body).expect("an answer");
    assert_eq!((effects.tally.records, world.position(0).next), (0, Some(7)));
}
