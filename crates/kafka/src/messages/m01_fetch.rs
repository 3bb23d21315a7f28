//! Fetch, key 1: versions 4 to 12, flexible from 12; from 13 on topics go by id. 4 is the oldest that 4.x
//! brokers accept, 12 the newest that 2.7 brokers know.
//!
//! Sent without a fetch session (session id 0, epoch −1: a full fetch each time), without rack.
//! Format: <https://kafka.apache.org/protocol#The_Messages_Fetch>.

use super::Api;
use crate::wire::{Reader, Result, Writer};

/// Key, name and versions.
pub const API: Api = Api { key: 1, name: "Fetch", version_min: 4, version_max: 12, flexible_from: 12 };

/// What to fetch.
#[derive(Debug, Clone)]
pub struct Request<'a> {
    /// Longest wait for `bytes_min`, ms.
    pub wait_ms: i32,
    /// Least bytes worth an answer before that.
    pub bytes_min: i32,
    /// Most bytes of the whole answer (a first batch may exceed it).
    pub bytes_max: i32,
    /// Most bytes of one partition.
    pub partition_bytes_max: i32,
    /// The topic.
    pub topic: &'a str,
    /// Partitions and the offsets to begin at.
    pub partitions: &'a [(i32, i64)],
}

/// Appends the request's body.
pub fn encode(request: &Request<'_>, version: i16, out: &mut Vec<u8>) {
    let flexible = API.is_flexible(version);
    out.put_i32(-1); // replica id: a consumer
    out.put_i32(request.wait_ms);
    out.put_i32(request.bytes_min);
    out.put_i32(request.bytes_max);
    out.put_i8(0); // isolation level: read uncommitted
    if version >= 7 {
        out.put_i32(0); // no session
        out.put_i32(-1);
    }
    out.put_array_length(1, flexible);
    out.put_string(request.topic, flexible);
    out.put_array_length(request.partitions.len(), flexible);
    for &(partition, offset) in request.partitions {
        out.put_i32(partition);
        if version >= 9 {
            out.put_i32(-1); // leader epoch: unknown
        }
        out.put_i64(offset);
        if version >= 12 {
            out.put_i32(-1); // last fetched epoch
        }
        if version >= 5 {
            out.put_i64(-1); // log start offset: for followers
        }
        out.put_i32(request.partition_bytes_max);
        out.put_no_tags(flexible);
    }
    out.put_no_tags(flexible);
    if version >= 7 {
        out.put_array_length(0, flexible); // topics to forget
    }
    if version >= 11 {
        out.put_string("", flexible); // rack
    }
    out.put_no_tags(flexible);
}

/// One partition's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartitionReply<'a> {
    /// Partition.
    pub partition: i32,
    /// Kafka's error code, 0 for none.
    pub error: i16,
    /// First offset that is not committed yet.
    pub high_watermark: i64,
    /// Record batches; the last may be cut off.
    pub records: &'a [u8],
}

/// What a reply says beside its partitions' answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reply {
    /// Kafka's error code of the whole answer, 0 for none.
    pub error: i16,
    /// How long the broker throttles the client, ms.
    pub throttle_ms: i32,
}

/// Reads a reply's body and hands each partition's answer to `each`.
///
/// # Errors
/// When the bytes are not such a reply; answers handed over before that stand.
pub fn decode<'a>(bytes: &'a [u8], version: i16, mut each: impl FnMut(PartitionReply<'a>)) -> Result<Reply> {
    let flexible = API.is_flexible(version);
    let mut reader = Reader::new(bytes);
    let throttle_ms = reader.i32()?;
    let mut error = 0;
    if version >= 7 {
        error = reader.i16()?;
        reader.i32()?; // session id
    }
    for _ in 0..reader.array_length(flexible, 3)? {
        reader.string(flexible)?;
        for _ in 0..reader.array_length(flexible, 24)? {
            let partition = reader.i32()?;
            let partition_error = reader.i16()?;
            let high_watermark = reader.i64()?;
            reader.i64()?; // last stable offset
            if version >= 5 {
                reader.i64()?; // log start offset
            }
            for _ in 0..reader.array_length(flexible, 16)? {
                reader.i64()?; // aborted transaction: producer id
                reader.i64()?; // and first offset
                reader.skip_tags(flexible)?;
            }
            if version >= 11 {
                reader.i32()?; // preferred read replica
            }
            let records = reader.nullable_bytes(flexible)?.unwrap_or_default();
            reader.skip_tags(flexible)?;
            each(PartitionReply { partition, error: partition_error, high_watermark, records });
        }
        reader.skip_tags(flexible)?;
    }
    reader.skip_tags(flexible)?;
    reader.finish()?;
    Ok(Reply { error, throttle_ms })
}
