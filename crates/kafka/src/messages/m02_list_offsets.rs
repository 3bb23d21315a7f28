//! ListOffsets (key 2): the offset of a partition's first record, or that after its last.
//!
//! Versions 2 to 6; goes to the partition's leader. Version 4 adds leader epochs, 5 may answer
//! `OFFSET_NOT_AVAILABLE` while a new leader catches up, 6 is flexible. Later ones add special timestamps.
//! <https://kafka.apache.org/protocol#The_Messages_ListOffsets>.

use super::topics;
use crate::errors::ErrorCode;
use crate::wire::{Reader, Result, Writer};

/// Key of this API.
pub const API_KEY: i16 = 2;
/// Lowest version spoken here.
pub const VERSION_MIN: i16 = 2;
/// Highest version spoken here.
pub const VERSION_MAX: i16 = 6;
/// First version with compact lengths and tagged fields.
pub const FLEXIBLE_FROM: i16 = 6;

/// Timestamp that asks for the offset after the last record: the high watermark.
pub const LATEST: i64 = -1;
/// Timestamp that asks for the offset of the first record.
pub const EARLIEST: i64 = -2;

/// Partitions of one topic whose offsets are asked for, all at the same place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request<'a> {
    /// Name of the topic.
    pub topic: &'a str,
    /// Partitions that the addressed broker leads.
    pub partitions: &'a [i32],
    /// [`LATEST`], [`EARLIEST`], or a time in ms since 1970: the first record not older than that.
    pub timestamp_ms: i64,
}

/// Appends the request's body.
pub fn encode(request: &Request<'_>, version: i16, out: &mut Vec<u8>) {
    let flexible = version >= FLEXIBLE_FROM;
    out.put_i32(-1); // replica id: a client
    out.put_i8(0); // isolation level: read uncommitted
    out.put_array_length(1, flexible);
    out.put_string(request.topic, flexible);
    out.put_array_length(request.partitions.len(), flexible);
    for partition in request.partitions {
        out.put_i32(*partition);
        if version >= 4 {
            out.put_i32(-1); // leader epoch: not checked
        }
        out.put_i64(request.timestamp_ms);
        out.put_no_tags(flexible);
    }
    out.put_no_tags(flexible);
    out.put_no_tags(flexible);
}

/// Offsets by topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// One entry per topic.
    pub topics: Vec<Topic>,
}

/// Offsets of one topic's partitions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topic {
    /// Name of the topic.
    pub name: String,
    /// One entry per partition.
    pub partitions: Vec<Partition>,
}

/// Offset of one partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partition {
    /// Number of the partition.
    pub id: i32,
    /// Why there is no offset.
    pub error: ErrorCode,
    /// The offset; -1 when no record is that young.
    pub offset: i64,
}

impl Response {
    /// Reads the reply's body.
    ///
    /// # Errors
    /// When the bytes are not such a reply.
    pub fn decode(bytes: &[u8], version: i16) -> Result<Self> {
        let topics = topics(bytes, version >= FLEXIBLE_FROM, 3, |reader| topic(reader, version))?;
        Ok(Self { topics })
    }
}

fn topic(reader: &mut Reader<'_>, version: i16) -> Result<Topic> {
    let flexible = version >= FLEXIBLE_FROM;
    let name = reader.string(flexible)?.to_owned();
    let count = reader.array_length(flexible, 22)?;
    let mut partitions = Vec::with_capacity(count);
    for _ in 0..count {
        let id = reader.i32()?;
        let error = ErrorCode(reader.i16()?);
        reader.i64()?; // timestamp
        let offset = reader.i64()?;
        if version >= 4 {
            reader.i32()?; // leader epoch
        }
        reader.skip_tags(flexible)?;
        partitions.push(Partition { id, error, offset });
    }
    reader.skip_tags(flexible)?;
    Ok(Topic { name, partitions })
}
