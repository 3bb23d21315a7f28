//! Fetch: the request, and its response piece by piece. Fetch sessions are not kept: the response names
//! session 0, upon which clients send full requests.

use super::produce::{endpoints_field, leader_field};
use super::responses::BrokerView;
use super::{RequestHead, TopicRef, begin_frame, end_frame};
use kdyno_kafka::messages::m01_fetch::BY_NAME_MAX;
use kdyno_kafka::wire::{Reader, Result, Writer};

/// One partition asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FetchPartition {
    pub index: i32,
    pub offset: i64,
    pub bytes_max: i32,
}

/// A whole request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FetchRequest<'a> {
    pub max_wait_ms: i32,
    pub bytes_min: i32,
    pub bytes_max: i32,
    pub topics: Vec<(TopicRef<'a>, Vec<FetchPartition>)>,
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
        reader.i8()?; // isolation level
        if version >= 7 {
            reader.i32()?; // session id
            reader.i32()?; // session epoch
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
        if version >= 7 {
            skip_forgotten(&mut reader, flexible, version > BY_NAME_MAX)?;
        }
        if version >= 11 {
            reader.string(flexible)?; // rack
        }
        reader.skip_tags(flexible)?;
        reader.finish()?;
        Ok(Self { max_wait_ms, bytes_min, bytes_max, topics })
    }

    fn partition(reader: &mut Reader<'_>, version: i16, flexible: bool) -> Result<FetchPartition> {
        let index = reader.i32()?;
        if version >= 9 {
            reader.i32()?; // leader epoch
        }
        let offset = reader.i64()?;
        if version >= 12 {
            reader.i32()?; // last fetched epoch
        }
        if version >= 5 {
            reader.i64()?; // log start offset
        }
        let bytes_max = reader.i32()?;
        reader.skip_tags(flexible)?;
        Ok(FetchPartition { index, offset, bytes_max })
    }
}

fn skip_forgotten(reader: &mut Reader<'_>, flexible: bool, by_id: bool) -> Result<()> {
    for _ in 0..reader.array_length(flexible, 2)? {
        TopicRef::read(reader, flexible, by_id)?;
        let partitions = reader.array_length(flexible, 4)?;
        reader.take(partitions * 4)?;
        reader.skip_tags(flexible)?;
    }
    Ok(())
}

/// Writes a response in the order of the request's pieces.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FetchResponse {
    start: usize,
    version: i16,
    flexible: bool,
}

/// Offsets and outcome of one partition.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FetchOutcome {
    pub index: i32,
    pub error: i16,
    /// First offset that is not readable yet; -1 with an error.
    pub high_watermark: i64,
    /// Of the records that follow.
    pub records_bytes: usize,
    /// Who leads instead, and since which election.
    pub leader: Option<(i32, i32)>,
}

impl FetchResponse {
    /// Begins a response for `topics` topics, which says that the client was throttled for so long.
    pub fn begin(out: &mut Vec<u8>, head: &RequestHead, topics: usize, throttle_ms: i32) -> Self {
        let start = begin_frame(out, head);
        out.put_i32(throttle_ms);
        if head.version >= 7 {
            out.put_i16(0); // error of the session
            out.put_i32(0); // session id
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
        out.put_i64(outcome.high_watermark); // last stable offset
        if self.version >= 5 {
            out.put_i64(if outcome.error == 0 { 0 } else { -1 }); // log start offset
        }
        if self.flexible {
            out.put_uvarint(0); // aborted transactions: null
        } else {
            out.put_i32(-1);
        }
        if self.version >= 11 {
            out.put_i32(-1); // preferred replica
        }
        out.put_array_length(outcome.records_bytes, self.flexible); // bytes are prefixed as arrays are
    }

    /// Ends a partition.
    pub fn end_partition(&self, out: &mut Vec<u8>, outcome: &FetchOutcome) {
        match outcome.leader.filter(|_| self.flexible) {
            Some(leader) => out.put_tags(&[(1, leader_field(leader))]),
            None => out.put_no_tags(self.flexible),
        }
    }

    /// Ends a topic.
    pub fn end_topic(&self, out: &mut Vec<u8>) {
        out.put_no_tags(self.flexible);
    }

    /// Ends the response, with where the leaders listen that were named.
    pub fn end(self, out: &mut Vec<u8>, leaders: &[&BrokerView]) {
        match leaders {
            [_, ..] if self.version >= 16 => out.put_tags(&[(0, endpoints_field(leaders))]),
            _ => out.put_no_tags(self.flexible),
        }
        end_frame(out, self.start);
    }
}
