//! Produce: the request from a whole frame, its head for readers of streams, the response piece by piece.

use super::responses::BrokerView;
use super::{RequestHead, TopicRef, begin_frame, end_frame};
use kdyno_kafka::messages::m00_produce::BY_NAME_MAX;
use kdyno_kafka::wire::{Reader, Result, Writer};

/// The fields in front of the topics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProduceStart<'a> {
    /// The id of a transactional producer.
    pub transactional_id: Option<&'a str>,
    /// 0: no answer is expected.
    pub acks: i16,
}

impl<'a> ProduceStart<'a> {
    /// Reads up to the count of topics.
    pub fn read(reader: &mut Reader<'a>, flexible: bool) -> Result<Self> {
        let transactional_id = reader.nullable_string(flexible)?;
        let acks = reader.i16()?;
        reader.i32()?; // timeout
        Ok(Self { transactional_id, acks })
    }
}

/// One partition's share of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProducePartition<'a> {
    /// Its number.
    pub index: i32,
    /// The record set as sent; null reads as empty.
    pub records: &'a [u8],
}

/// A whole request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProduceRequest<'a> {
    /// Of a transaction.
    pub transactional_id: Option<&'a str>,
    /// Acknowledgements that are wanted; 0 gets no response.
    pub acks: i16,
    /// Topics with their partitions.
    pub topics: Vec<(TopicRef<'a>, Vec<ProducePartition<'a>>)>,
}

impl<'a> ProduceRequest<'a> {
    /// Reads the body to its end.
    pub fn decode(mut reader: Reader<'a>, head: &RequestHead) -> Result<Self> {
        let (flexible, by_id) = (head.flexible, head.version > BY_NAME_MAX);
        let ProduceStart { transactional_id, acks } = ProduceStart::read(&mut reader, flexible)?;
        let count = reader.array_length(flexible, 2)?;
        let mut topics = Vec::with_capacity(count);
        for _ in 0..count {
            let topic = TopicRef::read(&mut reader, flexible, by_id)?;
            let count = reader.array_length(flexible, 5)?;
            let mut partitions = Vec::with_capacity(count);
            for _ in 0..count {
                let index = reader.i32()?;
                let records = reader.nullable_bytes(flexible)?.unwrap_or_default();
                reader.skip_tags(flexible)?;
                partitions.push(ProducePartition { index, records });
            }
            reader.skip_tags(flexible)?;
            topics.push((topic, partitions));
        }
        reader.skip_tags(flexible)?;
        reader.finish()?;
        Ok(Self { transactional_id, acks, topics })
    }

    /// All partitions in order, each with its topic.
    pub fn partitions(&self) -> impl Iterator<Item = (TopicRef<'a>, &ProducePartition<'a>)> {
        self.topics.iter().flat_map(|(topic, partitions)| partitions.iter().map(move |p| (*topic, p)))
    }
}

/// Writes a response in the order of the request's pieces, into a buffer that the caller keeps.
#[derive(Debug, Clone, Copy)]
pub struct ProduceResponse {
    start: usize,
    version: i16,
    flexible: bool,
}

impl ProduceResponse {
    /// Begins a response for `topics` topics.
    pub fn begin(out: &mut Vec<u8>, head: &RequestHead, topics: usize) -> Self {
        let start = begin_frame(out, head);
        out.put_array_length(topics, head.flexible);
        Self { start, version: head.version, flexible: head.flexible }
    }

    /// Begins a topic.
    pub fn topic(&self, out: &mut Vec<u8>, topic: TopicRef<'_>, partitions: usize) {
        topic.write(out, self.flexible);
        out.put_array_length(partitions, self.flexible);
    }

    /// One partition's outcome; `base_offset` is -1 with an error.
    pub fn partition(&self, out: &mut Vec<u8>, index: i32, error: i16, base_offset: i64) {
        self.partition_led_by(out, index, (error, base_offset), None);
    }

    /// As [`partition`](Self::partition), with who leads instead, and since which election, where that is known and the
    /// version has it.
    pub fn partition_led_by(
        &self,
        out: &mut Vec<u8>,
        index: i32,
        (error, base_offset): (i16, i64),
        leader: Option<(i32, i32)>,
    ) {
        out.put_i32(index);
        out.put_i16(error);
        out.put_i64(base_offset);
        out.put_i64(-1); // append time: the records' own timestamps are kept
        if self.version >= 5 {
            out.put_i64(if error == 0 { 0 } else { -1 }); // log start offset
        }
        if self.version >= 8 {
            out.put_array_length(0, self.flexible); // errors of single records
            out.put_nullable_string(None, self.flexible);
        }
        match leader.filter(|_| self.version >= LEADER_HINTS_FROM) {
            Some(leader) => out.put_tags(&[(0, leader_field(leader))]),
            None => out.put_no_tags(self.flexible),
        }
    }

    /// Ends a topic.
    pub fn end_topic(&self, out: &mut Vec<u8>) {
        out.put_no_tags(self.flexible);
    }

    /// Ends the response, which says that the client was throttled for so long.
    pub fn end(self, out: &mut Vec<u8>, throttle_ms: i32) {
        self.end_with_leaders(out, throttle_ms, &[]);
    }

    /// As [`end`](Self::end), with where the leaders listen that were named.
    pub fn end_with_leaders(self, out: &mut Vec<u8>, throttle_ms: i32, leaders: &[&BrokerView]) {
        out.put_i32(throttle_ms);
        match leaders {
            [_, ..] if self.version >= LEADER_HINTS_FROM => out.put_tags(&[(0, endpoints_field(leaders))]),
            _ => out.put_no_tags(self.flexible),
        }
        end_frame(out, self.start);
    }
}

/// The first version whose responses say who leads instead.
const LEADER_HINTS_FROM: i16 = 10;

/// A `LeaderIdAndEpoch`.
pub(super) fn leader_field((leader, epoch): (i32, i32)) -> Vec<u8> {
    let mut field = Vec::new();
    field.put_i32(leader);
    field.put_i32(epoch);
    field.put_no_tags(true);
    field
}

/// An array of `NodeEndpoint`.
pub(super) fn endpoints_field(brokers: &[&BrokerView]) -> Vec<u8> {
    let mut field = Vec::new();
    field.put_array_length(brokers.len(), true);
    for broker in brokers {
        field.put_i32(broker.id);
        field.put_string(&broker.host, true);
        field.put_i32(broker.port.into());
        field.put_nullable_string(None, true); // rack
        field.put_no_tags(true);
    }
    field
}
