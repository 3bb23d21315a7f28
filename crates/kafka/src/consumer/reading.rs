//! A fetched record set is read, as far as the client is configured to, and its records are counted.
//!
//! However little is read, what is counted is the same: records at or behind the requested offset. Records of
//! aborted transactions, markers of transactions, and offsets that no record has are kept apart from them.

use super::aborted::Aborted;
use super::sink::RecordSink;
use crate::records::{Batch, Record, RecordsError, batches};
use crate::wire::WireError;
use std::cell::RefCell;

/// How far what was fetched is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FetchDepth {
    /// The headers of batches.
    Header,
    /// These, and each batch's checksum is computed.
    Crc,
    /// All that an application gets: bodies are decompressed too, and key, value and headers of each record found.
    Decode,
}

/// Most bytes of a batch's records when they are decompressed.
const BODY_BYTES_MAX: usize = 256 << 20;
/// A larger buffer for them is given back once they are read.
const BODY_BYTES_KEPT: usize = 4 << 20;

thread_local! {
    /// Where bodies are decompressed: one for all clients of a thread, since one reads at a time.
    static BODY: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// What was fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FetchTally {
    /// Batches whose records are counted.
    pub batches: u32,
    /// Their bytes.
    pub bytes: u64,
    /// Records that were not fetched before.
    pub records: u64,
    /// Records of aborted transactions, which are not among these.
    pub aborted_records: u64,
    /// Records of the brokers' own, which mark the ends of transactions, likewise.
    pub control_records: u64,
    /// Offsets without a record: it was compacted away.
    pub missing_offsets: u64,
}

/// Reads a partition's record set, whose offsets from `next` on are wanted, and moves `next` behind each batch that was
/// read. What is in `aborted` is not counted as records, and not handed to `sink`.
///
/// # Errors
/// When a batch is damaged; what was read before it remains valid.
pub(super) fn read_set<S: RecordSink>(
    (partition, set): (i32, &[u8]),
    next: &mut i64,
    reading: FetchDepth,
    aborted: &mut Aborted,
    (tally, sink): (&mut FetchTally, &mut S),
) -> Result<(), RecordsError> {
    let is_wanted = sink.wants_records();
    BODY.with_borrow_mut(|body| {
        let read = batches(set).try_for_each(|batch| {
            let batch = batch?;
            let sink = |record: &Record<'_>| sink.record(partition, record);
            read_batch(&batch, *next, (reading, body), aborted, (tally, is_wanted.then_some(sink)))?;
            *next = batch.next_offset().max(*next);
            Ok(())
        });
        if body.capacity() > BODY_BYTES_KEPT {
            *body = Vec::new();
        }
        read
    })
}

fn read_batch(
    batch: &Batch<'_>,
    next: i64,
    (reading, body): (FetchDepth, &mut Vec<u8>),
    aborted: &mut Aborted,
    (tally, sink): (&mut FetchTally, Option<impl FnMut(&Record<'_>)>),
) -> Result<(), RecordsError> {
    if reading != FetchDepth::Header {
        batch.verify_crc()?;
    }
    if batch.header.record_count > batch.header.last_offset_delta.saturating_add(1) {
        return Err(WireError::Invalid("a record batch has more records than offsets").into());
    }
    let is_aborted = aborted.begin_batch(batch, body)?;
    let sink = sink.filter(|_| !is_aborted && !batch.is_control());
    let is_decoded = reading == FetchDepth::Decode && !is_aborted;
    let records = match sink {
        Some(mut sink) => each(batch, next, body, &mut sink)?,
        None => count(batch, next, is_decoded, body)?,
    };
    tally.missing_offsets += (batch.next_offset().saturating_sub(next).max(0) as u64).saturating_sub(records);
    if batch.is_control() {
        tally.control_records += records;
    } else if is_aborted {
        tally.aborted_records += records;
    } else {
        tally.records += records;
        tally.bytes += batch.bytes() as u64;
        tally.batches += 1;
    }
    Ok(())
}

/// How many of a batch's records are at `next` or behind it. A batch may begin before the requested offset; where
/// some of its records were compacted away, only the records themselves show which.
fn count(batch: &Batch<'_>, next: i64, is_decoded: bool, body: &mut Vec<u8>) -> Result<u64, RecordsError> {
    let header = &batch.header;
    let is_whole = header.base_offset >= next;
    let is_dense = header.record_count == header.last_offset_delta.saturating_add(1);
    if !is_decoded && (is_whole || is_dense) {
        let before = if is_whole { 0 } else { next.saturating_sub(header.base_offset) };
        return Ok(i64::from(header.record_count).saturating_sub(before).max(0) as u64);
    }
    each(batch, next, body, |_| {})
}

/// Hands over each of a batch's records that is at `next` or behind it, and counts them.
fn each(
    batch: &Batch<'_>,
    next: i64,
    body: &mut Vec<u8>,
    mut sink: impl FnMut(&Record<'_>),
) -> Result<u64, RecordsError> {
    let mut count = 0;
    for record in batch.records(body, BODY_BYTES_MAX)? {
        let record = record?;
        if record.offset >= next {
            sink(&record);
            count += 1;
        }
    }
    Ok(count)
}
