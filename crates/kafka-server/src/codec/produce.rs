//! Produce: the head of the request, and the response piece by piece.

use super::{RequestHead, TopicRef, begin_frame, end_frame, put_tags};
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

    /// One partition's outcome, with tagged fields behind it where the version has them; `base_offset` is -1 with an error.
    pub fn partition(
        &self,
        out: &mut Vec<u8>,
        index: i32,
        (error, base_offset): (i16, i64),
        tags: &[(u32, Vec<u8>)],
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
        put_tags(out, self.flexible, tags);
    }

    /// Ends a topic.
    pub fn end_topic(&self, out: &mut Vec<u8>) {
        out.put_no_tags(self.flexible);
    }

    /// Ends the response, which says that the client was throttled for so long, with tagged fields behind it where the
    /// version has them.
    pub fn end(self, out: &mut Vec<u8>, throttle_ms: i32, tags: &[(u32, Vec<u8>)]) {
        out.put_i32(throttle_ms);
        put_tags(out, self.flexible, tags);
        end_frame(out, self.start);
    }
}
