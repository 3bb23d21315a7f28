//! CreateTopics (key 19): new topics; goes to the controller (with KRaft any broker passes it on).
//!
//! Versions 2 to 7. From version 4 a count of -1 asks for the broker's default, version 5 is flexible and
//! returns the topic's settings, 6 may answer `THROTTLING_QUOTA_EXCEEDED`, 7 returns the topic's id.
//! <https://kafka.apache.org/protocol#The_Messages_CreateTopics>.

use super::topics;
use crate::errors::ErrorCode;
use crate::wire::{Reader, Result, Writer};

/// Key of this API.
pub const API_KEY: i16 = 19;
/// Lowest version spoken here.
pub const VERSION_MIN: i16 = 2;
/// Highest version spoken here.
pub const VERSION_MAX: i16 = 7;
/// First version with compact lengths and tagged fields.
pub const FLEXIBLE_FROM: i16 = 5;

/// One topic to be created; the brokers choose where its replicas lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request<'a> {
    /// Name of the topic.
    pub name: &'a str,
    /// Number of partitions, 1 or more.
    pub partitions: i32,
    /// Copies of each partition, 1 or more.
    pub replicas: i16,
    /// Settings by name that differ from the brokers' defaults.
    pub config: &'a [(&'a str, &'a str)],
    /// How long the broker may wait for the topic to exist, in ms.
    pub timeout_ms: i32,
}

/// Appends the request's body.
pub fn encode(request: &Request<'_>, version: i16, out: &mut Vec<u8>) {
    let flexible = version >= FLEXIBLE_FROM;
    out.put_array_length(1, flexible);
    out.put_string(request.name, flexible);
    out.put_i32(request.partitions);
    out.put_i16(request.replicas);
    out.put_array_length(0, flexible); // assignments
    out.put_array_length(request.config.len(), flexible);
    for (name, value) in request.config {
        out.put_string(name, flexible);
        out.put_string(value, flexible);
        out.put_no_tags(flexible);
    }
    out.put_no_tags(flexible);
    out.put_i32(request.timeout_ms);
    out.put_bool(false); // validate only
    out.put_no_tags(flexible);
}

/// What became of the topics.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// One entry per topic.
    pub topics: Vec<Topic>,
}

/// What became of one topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topic {
    /// Name of the topic.
    pub name: String,
    /// Why it was not created.
    pub error: ErrorCode,
    /// The broker's own words on that.
    pub message: Option<String>,
}

impl Response {
    /// Reads the reply's body.
    ///
    /// # Errors
    /// When the bytes are not such a reply.
    pub fn decode(bytes: &[u8], version: i16) -> Result<Self> {
        let topics = topics(bytes, version >= FLEXIBLE_FROM, 6, |reader| topic(reader, version))?;
        Ok(Self { topics })
    }
}

fn topic(reader: &mut Reader<'_>, version: i16) -> Result<Topic> {
    let flexible = version >= FLEXIBLE_FROM;
    let name = reader.string(flexible)?.to_owned();
    if version >= 7 {
        reader.uuid()?; // topic id
    }
    let error = ErrorCode(reader.i16()?);
    let message = reader.nullable_string(flexible)?.map(str::to_owned);
    if version >= 5 {
        reader.i32()?; // partitions
        reader.i16()?; // replicas
        for _ in 0..reader.array_length(flexible, 6)? {
            reader.string(flexible)?; // name of a setting
            reader.nullable_string(flexible)?; // its value
            reader.take(3)?; // read-only, source, sensitive
            reader.skip_tags(flexible)?;
        }
    }
    reader.skip_tags(flexible)?;
    Ok(Topic { name, error, message })
}
