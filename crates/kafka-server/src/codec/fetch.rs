//! Fetch: the request, and its response piece by piece.

use super::{RequestHead, TopicRef, begin_frame, end_frame, put_tags};
use kdyno_kafka::messages::m01_fetch::{BY_NAME_MAX, RACKS_FROM, SESSIONS_FROM, SessionStep};
use kdyno_kafka::wire::{Reader, Result, Writer};

/// One requested partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FetchPartition {
    /// Its number.
    pub index: i32,
    /// Since which election its leader leads, as the client knows it; -1: it does not say.
    pub leader_epoch: i32,
    /// First offset that is wanted.
    pub offset: i64,
    /// Most bytes of this partition.
    pub bytes_max: i32,
}

/// A whole request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchRequest<'a> {
    /// How long the broker may wait for `bytes_min`, ms.
    pub max_wait_ms: i32,
    /// Bytes that are waited for.
    pub bytes_min: i32,
    /// Most bytes of the whole response.
    pub bytes_max: i32,
    /// Committed records alone.
    pub is_committed: bool,
    /// What becomes of the fetch session.
    pub session: SessionStep,
    /// Topics with their partitions.
    pub topics: Vec<(TopicRef<'a>, Vec<FetchPartition>)>,
    /// Partitions that leave the session.
    pub forgotten: Vec<(TopicRef<'a>, Vec<i32>)>,
    /// Where the client is; empty: it does not say.
    pub rack: &'a str,
}

impl<'a> FetchRequest<'a> {
    /// Reads the body to its end.
    pub fn decode(mut reader: Reader<'a>, version: i16, flexible: bool) -> Result<Self> {
        if version < 15 {
            reader.i32()?; // replica id
        }
        let max_wait_ms = reader.i32()?;
        let bytes_min = reader.i32()?;
        let bytes_max = reader.i32()?;
        let is_committed = reader.i8()? == 1;
        let mut session = SessionStep::default();
        if version >= SESSIONS_FROM {
            session = SessionStep { id: reader.i32()?, epoch: reader.i32()? };
        }
        let count = reader.array_length(flexible, 2)?;
        let mut topics = Vec::with_capacity(count);
        for _ in 0..count {
            let topic = TopicRef::read(&mut reader, flexible, version > BY_NAME_MAX)?;
            let count = reader.array_length(flexible, 16)?;
            let mut partitions = Vec::with_capacity(count);
            for _ in 0..count {
                partitions.push(Self::partition(&mut reader, version, flexible)?);
            }
            reader.skip_tags(flexible)?;
            topics.push((topic, partitions));
        }
        let mut forgotten = Vec::new();
        if version >= SESSIONS_FROM {
            forgotten = read_forgotten(&mut reader, flexible, version > BY_NAME_MAX)?;
        }
        let rack = if version >= RACKS_FROM { reader.string(flexible)? } else { "" };
        reader.skip_tags(flexible)?;
        reader.finish()?;
        Ok(Self { max_wait_ms, bytes_min, bytes_max, is_committed, session, topics, forgotten, rack })
    }

    fn partition(reader: &mut Reader<'_>, version: i16, flexible: bool) -> Result<FetchPartition> {
        let index = reader.i32()?;
        let leader_epoch = if version >= 9 { reader.i32()? } else { -1 };
        let offset = reader.i64()?;
        if version >= 12 {
            reader.i32()?; // last fetched epoch
        }
        if version >= 5 {
            reader.i64()?; // log start offset
        }
        let bytes_max = reader.i32()?;
        reader.skip_tags(flexible)?;
        Ok(FetchPartition { index, leader_epoch, offset, bytes_max })
    }
}

fn read_forgotten<'a>(
    reader: &mut Reader<'a>,
    flexible: bool,
    by_id: bool,
) -> Result<Vec<(TopicRef<'a>, Vec<i32>)>> {
    let count = reader.array_length(flexible, 2)?;
    let mut forgotten = Vec::with_capacity(count);
    for _ in 0..count {
        let topic = TopicRef::read(reader, flexible, by_id)?;
        let partitions = reader.array_length(flexible, 4)?;
        let partitions = (0..partitions).map(|_| reader.i32()).collect::<Result<_>>()?;
        reader.skip_tags(flexible)?;
        forgotten.push((topic, partitions));
    }
    Ok(forgotten)
}

/// Writes a response in the order of the request's pieces.
#[derive(Debug, Clone, Copy)]
pub struct FetchResponse {
    start: usize,
    version: i16,
    flexible: bool,
}

/// Offsets and outcome of one partition.
#[derive(Debug, Clone)]
pub struct FetchOutcome {
    /// Number of the partition.
    pub index: i32,
    /// Error code, 0 for none.
    pub error: i16,
    /// First offset that is not readable yet; -1 with an error.
    pub high_watermark: i64,
    /// The same, but not behind the first record of a transaction that is open.
    pub last_stable: i64,
    /// First offset that is there; -1 with an error.
    pub log_start: i64,
    /// Producer and first offset of aborted transactions; `None`: not requested.
    pub aborted: Option<Vec<(i64, i64)>>,
    /// The replica to read from; -1: this one.
    pub preferred: i32,
    /// Bytes of the records that follow.
    pub records_bytes: usize,
}

impl FetchOutcome {
    /// An error.
    pub fn failed(index: i32, error: i16) -> Self {
        Self { error, log_start: -1, ..Self::of(index, -1) }
    }

    /// A partition that ends there, with nothing sent.
    pub fn of(index: i32, high_watermark: i64) -> Self {
        Self {
            index,
            error: 0,
            high_watermark,
            last_stable: high_watermark,
            log_start: 0,
            aborted: None,
            preferred: -1,
            records_bytes: 0,
        }
    }
}

impl FetchResponse {
    /// Begins a response for `topics` topics, which says that the client was throttled for so long, and what came of its
    /// session: an error code, and the session's id; 0: none is kept, so that clients send full requests.
    pub fn begin(
        out: &mut Vec<u8>,
        head: &RequestHead,
        topics: usize,
        throttle_ms: i32,
        (error, session): (i16, i32),
    ) -> Self {
        let start = begin_frame(out, head);
        out.put_i32(throttle_ms);
        if head.version >= SESSIONS_FROM {
            out.put_i16(error);
            out.put_i32(session);
        }
        out.put_array_length(topics, head.flexible);
        Self { start, version: head.version, flexible: head.flexible }
    }

    /// Begins a topic.
    pub fn topic(&self, out: &mut Vec<u8>, topic: TopicRef<'_>, partitions: usize) {
        topic.write(out, self.flexible);
        out.put_array_length(partitions, self.flexible);
    }

    /// Begins a partition: the caller appends exactly `records_bytes` bytes, then calls
    /// [`end_partition`](Self::end_partition).
    pub fn partition(&self, out: &mut Vec<u8>, outcome: &FetchOutcome) {
        out.put_i32(outcome.index);
        out.put_i16(outcome.error);
        out.put_i64(outcome.high_watermark);
        out.put_i64(outcome.last_stable);
        if self.version >= 5 {
            out.put_i64(outcome.log_start);
        }
        match &outcome.aborted {
            None if self.flexible => out.put_uvarint(0),
            None => out.put_i32(-1),
            Some(aborted) => {
                out.put_array_length(aborted.len(), self.flexible);
                for (producer, first) in aborted {
                    out.put_i64(*producer);
                    out.put_i64(*first);
                    out.put_no_tags(self.flexible);
                }
            }
        }
        if self.version >= RACKS_FROM {
            out.put_i32(outcome.preferred);
        }
        out.put_array_length(outcome.records_bytes, self.flexible); // bytes are prefixed as arrays are
    }

    /// Ends a partition, with tagged fields behind it where the version has them.
    pub fn end_partition(&self, out: &mut Vec<u8>, tags: &[(u32, Vec<u8>)]) {
        put_tags(out, self.flexible, tags);
    }

    /// Ends a topic.
    pub fn end_topic(&self, out: &mut Vec<u8>) {
        out.put_no_tags(self.flexible);
    }

    /// Ends the response, with tagged fields behind it where the version has them.
    pub fn end(self, out: &mut Vec<u8>, tags: &[(u32, Vec<u8>)]) {
        put_tags(out, self.flexible, tags);
        end_frame(out, self.start);
    }
}
