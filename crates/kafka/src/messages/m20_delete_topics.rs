//! DeleteTopics (key 20): removes topics by name; goes to the controller (with KRaft any broker passes it on).
//!
//! Versions 1 to 5. Version 4 is flexible, 5 adds the broker's words and may answer
//! `THROTTLING_QUOTA_EXCEEDED`; from 6 on topics can also be named by id.
//! <https://kafka.apache.org/protocol#The_Messages_DeleteTopics>.

use super::topics;
use crate::errors::ErrorCode;
use crate::wire::{Reader, Result, Writer};

/// Key of this API.
pub const API_KEY: i16 = 20;
/// Lowest version spoken here.
pub const VERSION_MIN: i16 = 1;
/// Highest version spoken here.
pub const VERSION_MAX: i16 = 5;
/// First version with compact lengths and tagged fields.
pub const FLEXIBLE_FROM: i16 = 4;

/// The topics to remove.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request<'a> {
    /// Their names.
    pub names: &'a [&'a str],
    /// How long the broker may wait for them to be gone, in ms.
    pub timeout_ms: i32,
}

/// Appends the request's body.
pub fn encode(request: &Request<'_>, version: i16, out: &mut Vec<u8>) {
    let flexible = version >= FLEXIBLE_FROM;
    out.put_array_length(request.names.len(), flexible);
    for name in request.names {
        out.put_string(name, flexible);
    }
    out.put_i32(request.timeout_ms);
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
    /// Why it was not removed.
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
        let topics = topics(bytes, version >= FLEXIBLE_FROM, 4, |reader| topic(reader, version))?;
        Ok(Self { topics })
    }
}

fn topic(reader: &mut Reader<'_>, version: i16) -> Result<Topic> {
    let flexible = version >= FLEXIBLE_FROM;
    let name = reader.string(flexible)?.to_owned();
    let error = ErrorCode(reader.i16()?);
    let message = if version >= 5 { reader.nullable_string(flexible)?.map(str::to_owned) } else { None };
    reader.skip_tags(flexible)?;
    Ok(Topic { name, error, message })
}
