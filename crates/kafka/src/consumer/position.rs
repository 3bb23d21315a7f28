//! What a leader's answers mean for the partitions of a consuming client.
//!
//! An error is told once, until the partition answers something else: a retry that fails in the same way is no
//! news. Every batch's checksum is computed, as the Java consumer does unless it is told not to.

use crate::errors::ErrorCode;
use crate::messages::{Request as _, m01_fetch, m02_list_offsets};
use crate::records;
use crate::wire::WireError;
use std::fmt;

/// Something worth a line on a timeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConsumerEvent {
    /// A partition could not be fetched from, or what was fetched is damaged.
    FetchError(String),
    /// Records were gone before they were fetched, or an offset was not there.
    RecordsSkipped(String),
}

/// A partition of ours.
#[derive(Debug, Clone, Copy)]
pub(super) struct Position {
    pub partition: i32,
    /// Next offset to fetch; `None`: to be asked for.
    pub next: Option<i64>,
    /// The offset after the last record that all in-sync replicas have, as the latest answer says; −1 before one.
    high_watermark: i64,
    /// After an error: not before this instant; 0: at once.
    pub not_before_ns: u64,
    /// What the last answer said.
    error: ErrorCode,
    /// The offset that the leader did not have; `next` is asked for because of it.
    missed: Option<i64>,
}

/// What an answer changes beside the positions.
#[derive(Debug, Default)]
pub(super) struct Effects {
    /// Metadata is to be fetched again.
    pub is_metadata_old: bool,
    /// A partition could not be answered.
    pub has_error: bool,
    pub records: u64,
    pub bytes: u64,
    pub batches: u32,
    pub throttled_ns: u64,
    pub events: Vec<ConsumerEvent>,
}

impl Effects {
    /// Whether the leader had nothing to give.
    pub(super) fn is_empty(&self) -> bool {
        self.records == 0 && !self.is_metadata_old && !self.has_error
    }
}

impl Position {
    pub(super) fn new(partition: i32) -> Self {
        Self {
            partition,
            next: None,
            high_watermark: -1,
            not_before_ns: 0,
            error: ErrorCode::NONE,
            missed: None,
        }
    }

    /// Records that could have been fetched and have not been, as of the latest answer; `None` before one. While it is asked
    /// where to go on, they are counted from where fetching ended.
    pub(super) fn lag_records(&self) -> Option<u64> {
        let next = self.next.or(self.missed).filter(|_| self.high_watermark >= 0)?;
        Some(self.high_watermark.saturating_sub(next).max(0) as u64)
    }

    /// There is no answer: the leader is asked again after a while.
    fn failed(&mut self, error: ErrorCode, what: fmt::Arguments<'_>, retry_ns: u64, effects: &mut Effects) {
        self.not_before_ns = retry_ns;
        effects.has_error = true;
        effects.is_metadata_old |= error.refreshes_metadata();
        if self.error != error {
            self.error = error;
            effects.events.push(ConsumerEvent::FetchError(format!("partition {}: {what}", self.partition)));
        }
    }

    /// Where to begin, or to go on, is asked for again after a while if it is still not known.
    pub(super) fn wait_for_offset(&mut self, retry_ns: u64) {
        if self.next.is_none() && self.not_before_ns == 0 {
            self.not_before_ns = retry_ns;
        }
    }

    /// The offset to go on from.
    fn listed(&mut self, offset: i64, effects: &mut Effects) {
        self.error = ErrorCode::NONE;
        self.next = Some(offset);
        let Some(missed) = self.missed.take() else { return };
        let skipped = if offset > missed {
            let records = offset.saturating_sub(missed);
            format!("is gone: {records} records before offset {offset} were not fetched")
        } else {
            format!("does not exist: fetching went back to offset {offset}")
        };
        let detail = format!("partition {}: offset {missed} {skipped}", self.partition);
        effects.events.push(ConsumerEvent::RecordsSkipped(detail));
    }

    /// Counts the batches of an answer, up to the first that is damaged.
    fn fetched(&mut self, answer: &m01_fetch::PartitionReply<'_>, retry_ns: u64, effects: &mut Effects) {
        // −1: it does not know it yet.
        if answer.high_watermark >= 0 {
            self.high_watermark = answer.high_watermark;
        }
        let record_set = answer.records;
        for batch in records::batches(record_set) {
            let batch = match batch.and_then(|batch| batch.verify_crc().map(|()| batch)) {
                Ok(batch) => batch,
                Err(error) => {
                    let what = format_args!("what was fetched is damaged: {error}");
                    return self.failed(ErrorCode::CORRUPT_MESSAGE, what, retry_ns, effects);
                }
            };
            let from = self.next.unwrap_or(0).max(batch.header.base_offset);
            if !batch.is_control() {
                // A batch may begin before the offset asked for; what was fetched before counts once.
                effects.records += batch.next_offset().saturating_sub(from).max(0) as u64;
                effects.bytes += batch.bytes() as u64;
                effects.batches += 1;
            }
            self.next = Some(batch.next_offset().max(from));
        }
        self.error = ErrorCode::NONE;
    }
}

/// Takes in an answer to ListOffsets.
pub(super) fn on_offsets(
    positions: &mut [Position],
    version: i16,
    body: &[u8],
    retry_ns: u64,
    effects: &mut Effects,
) -> Result<(), WireError> {
    let response = m02_list_offsets::Request::decode_response(body, version)?;
    for answer in response.topics.iter().flat_map(|topic| &topic.partitions) {
        let Some(position) =
            positions.iter_mut().find(|position| position.partition == answer.partition_index)
        else {
            continue;
        };
        if answer.error_code.is_error() {
            let what = format_args!("asking for its offsets failed: {}", answer.error_code);
            position.failed(answer.error_code, what, retry_ns, effects);
        } else {
            position.listed(answer.offset, effects);
        }
    }
    Ok(())
}

/// Takes in an answer to Fetch.
pub(super) fn on_fetch(
    positions: &mut [Position],
    version: i16,
    body: &[u8],
    retry_ns: u64,
    effects: &mut Effects,
) -> Result<(), WireError> {
    let m01_fetch::Reply { error, throttle_ms } = m01_fetch::decode(body, version, |answer| {
        let Some(position) = positions.iter_mut().find(|position| position.partition == answer.partition)
        else {
            return;
        };
        match ErrorCode(answer.error) {
            ErrorCode::NONE => position.fetched(&answer, retry_ns, effects),
            ErrorCode::OFFSET_OUT_OF_RANGE => {
                // Told when it is known where fetching goes on.
                position.missed = position.next.take().or(position.missed);
                position.not_before_ns = retry_ns;
                effects.has_error = true;
            }
            error => {
                position.failed(error, format_args!("fetching failed: {error}"), retry_ns, effects);
            }
        }
    })?;
    effects.throttled_ns = u64::try_from(throttle_ms).unwrap_or(0) * 1_000_000;
    let error = ErrorCode(error);
    if error.is_error() {
        effects.is_metadata_old = true;
        // The answer as a whole; which partitions were asked for is not in it.
        for position in positions {
            position.failed(error, format_args!("fetching failed: {error}"), retry_ns, effects);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::{BatchHeader, BodySum, Compression, HEADER_BYTES, write_batch_header};

    /// The lowest versions kdyno speaks: plain encodings, no tags.
    const FETCH_VERSION: i16 = m01_fetch::API.version_min;
    const OFFSETS_VERSION: i16 = m02_list_offsets::API.version_min;
    const RETRY_NS: u64 = 100;
    const HIGH_WATERMARK: i64 = 30;
    const THROTTLE_MS: i32 = 7;

    /// A body of topic `t` with one partition: throttle time, then the counts.
    fn body(partition: i32, error: ErrorCode, rest: &[u8]) -> Vec<u8> {
        let mut body = [THROTTLE_MS, 1].map(i32::to_be_bytes).concat();
        body.extend_from_slice(&[0, 1, b't']);
        body.extend_from_slice(&[1, partition].map(i32::to_be_bytes).concat());
        body.extend_from_slice(&error.0.to_be_bytes());
        body.extend_from_slice(rest);
        body
    }

    fn fetch(position: &mut Position, error: ErrorCode, record_set: &[u8]) -> Effects {
        // High watermark, last stable offset, no aborted transactions, the records.
        let mut rest = [HIGH_WATERMARK, 9].map(i64::to_be_bytes).concat();
        rest.extend_from_slice(&[-1, record_set.len() as i32].map(i32::to_be_bytes).concat());
        rest.extend_from_slice(record_set);
        let mut effects = Effects::default();
        let body = body(position.partition, error, &rest);
        on_fetch(std::slice::from_mut(position), FETCH_VERSION, &body, RETRY_NS, &mut effects)
            .expect("an answer");
        effects
    }

    fn list(position: &mut Position, error: ErrorCode, offset: i64) -> Effects {
        let mut effects = Effects::default();
        let body = body(position.partition, error, &[-1, offset].map(i64::to_be_bytes).concat());
        on_offsets(std::slice::from_mut(position), OFFSETS_VERSION, &body, RETRY_NS, &mut effects)
            .expect("an answer");
        effects
    }

    fn batch(base_offset: i64, records: i32) -> Vec<u8> {
        let body = b"what the records hold is not looked at";
        let header = BatchHeader { base_offset, ..BatchHeader::plain(Compression::None, records, 0, 0) };
        let mut head = [0; HEADER_BYTES];
        write_batch_header(&mut head, &header, &BodySum::of(body));
        [head.as_slice(), body].concat()
    }

    #[test]
    fn an_error_is_told_once_until_the_partition_answers_something_else() {
        let mut position = Position::new(3);
        let denied = ErrorCode::TOPIC_AUTHORIZATION_FAILED;
        let told = list(&mut position, denied, -1).events;
        let detail = "partition 3: asking for its offsets failed: TOPIC_AUTHORIZATION_FAILED".to_owned();
        assert_eq!(told, [ConsumerEvent::FetchError(detail)]);
        assert_eq!((position.next, position.not_before_ns), (None, RETRY_NS));
        assert!(list(&mut position, denied, -1).events.is_empty(), "a retry is no news");
        assert!(list(&mut position, ErrorCode::NONE, 5).events.is_empty());
        let moved = fetch(&mut position, ErrorCode::NOT_LEADER_OR_FOLLOWER, &[]);
        assert!(moved.is_metadata_old && moved.has_error);
        let detail = "partition 3: fetching failed: NOT_LEADER_OR_FOLLOWER".to_owned();
        assert_eq!(moved.events, [ConsumerEvent::FetchError(detail)]);
        assert_eq!(fetch(&mut position, denied, &[]).events.len(), 1, "another error is news");
        assert!(!fetch(&mut position, ErrorCode::NONE, &[]).has_error);
        assert_eq!(fetch(&mut position, denied, &[]).events.len(), 1, "and so is one that comes back");
    }

    #[test]
    fn records_that_were_gone_before_they_were_fetched_are_told_with_their_number() {
        for (offset, told) in [
            (250, "partition 0: offset 100 is gone: 150 records before offset 250 were not fetched"),
            (40, "partition 0: offset 100 does not exist: fetching went back to offset 40"),
        ] {
            let mut position = Position::new(0);
            list(&mut position, ErrorCode::NONE, 100);
            let lost = fetch(&mut position, ErrorCode::OFFSET_OUT_OF_RANGE, &[]);
            assert!(lost.events.is_empty() && position.next.is_none());
            let events = list(&mut position, ErrorCode::NONE, offset).events;
            assert_eq!(events, [ConsumerEvent::RecordsSkipped(told.to_owned())]);
            assert_eq!(position.next, Some(offset));
        }
    }

    #[test]
    fn the_lag_is_unknown_until_a_leader_told_its_end_and_then_stays_as_it_was() {
        let mut position = Position::new(0);
        assert_eq!(position.lag_records(), None);
        list(&mut position, ErrorCode::NONE, 12);
        assert_eq!(position.lag_records(), None, "where to begin is known, and not where the log ends");
        fetch(&mut position, ErrorCode::TOPIC_AUTHORIZATION_FAILED, &[]);
        assert_eq!(position.lag_records(), None, "what comes with an error is no end");
        fetch(&mut position, ErrorCode::NONE, &[]);
        let lag = Some(HIGH_WATERMARK as u64 - 12);
        assert_eq!(position.lag_records(), lag);
        fetch(&mut position, ErrorCode::NOT_LEADER_OR_FOLLOWER, &[]);
        assert_eq!(position.lag_records(), lag);
        fetch(&mut position, ErrorCode::OFFSET_OUT_OF_RANGE, &[]);
        assert_eq!((position.next, position.lag_records()), (None, lag));
        list(&mut position, ErrorCode::NONE, 20);
        assert_eq!(position.lag_records(), Some(HIGH_WATERMARK as u64 - 20));
    }

    #[test]
    fn batches_count_and_one_with_a_wrong_checksum_does_not() {
        let mut position = Position::new(0);
        list(&mut position, ErrorCode::NONE, 12);
        // The first batch begins before what was asked for.
        let mut record_set = [batch(10, 5), batch(15, 3), batch(18, 4)].concat();
        let last = record_set.len() - 1;
        record_set[last] ^= 1;
        let effects = fetch(&mut position, ErrorCode::NONE, &record_set);
        assert_eq!((effects.records, effects.batches, effects.throttled_ns), (6, 2, 7_000_000));
        assert_eq!(position.next, Some(18), "the damaged batch is asked for again");
        assert_eq!(position.lag_records(), Some(12), "and is what is behind, with what comes after it");
        let [ConsumerEvent::FetchError(detail)] = effects.events.as_slice() else {
            panic!("{:?}", effects.events)
        };
        assert!(detail.starts_with("partition 0: what was fetched is damaged: checksum"), "{detail}");
    }
}
