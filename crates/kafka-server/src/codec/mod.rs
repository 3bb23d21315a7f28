//! The broker's side of the protocol: decodes requests, encodes responses. Shared by the null broker and
//! the fake broker, and by nothing else.
//!
//! Requests come from anyone, so everything is read by the bounded [`Reader`](kdyno_kafka::wire::Reader): the
//! small ones as the messages of `kdyno_kafka`, Fetch and the head of Produce here, borrowed from their frame. Only the
//! versions that a broker names are spoken; a request in another one is an error, except for `ApiVersions`, which is
//! then answered in version 0 as brokers do.

pub mod batch;
pub mod fetch;
#[cfg(test)]
pub(crate) mod oracle;
pub mod produce;
pub mod responses;

use kdyno_kafka::messages;
use kdyno_kafka::wire::{Reader, Result, WireError, Writer};

/// Longest topic name Kafka allows.
pub const TOPIC_NAME_BYTES_MAX: usize = 249;

/// Error codes that the null broker answers with of its own accord; the fake broker has more of its own.
pub mod code {
    /// Success.
    pub const NONE: i16 = 0;
    /// The asked offset is not in the log.
    pub const OFFSET_OUT_OF_RANGE: i16 = 1;
    /// No such topic or partition.
    pub const UNKNOWN_TOPIC_OR_PARTITION: i16 = 3;
    /// The version of the request is not spoken here.
    pub const UNSUPPORTED_VERSION: i16 = 35;
    /// The topic is there already.
    pub const TOPIC_ALREADY_EXISTS: i16 = 36;
    /// The name is empty, too long or holds other characters than Kafka allows.
    pub const INVALID_TOPIC: i16 = 17;
    /// Zero, negative or too many partitions.
    pub const INVALID_PARTITIONS: i16 = 37;
    /// More replicas than brokers, or none.
    pub const INVALID_REPLICATION_FACTOR: i16 = 38;
    /// Refused by a rule of this broker: it remembers no more topics.
    pub const POLICY_VIOLATION: i16 = 44;
}

/// The requests spoken, called as in Kafka's protocol.
#[expect(missing_docs, reason = "the protocol says what each is")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ApiKind {
    Produce,
    Fetch,
    ListOffsets,
    Metadata,
    OffsetCommit,
    OffsetFetch,
    FindCoordinator,
    JoinGroup,
    Heartbeat,
    LeaveGroup,
    SyncGroup,
    ApiVersions,
    CreateTopics,
    DeleteTopics,
    InitProducerId,
    AddPartitionsToTxn,
    EndTxn,
    DescribeConfigs,
    ConsumerGroupHeartbeat,
}

impl ApiKind {
    /// All of them, by ascending key.
    pub const ALL: [Self; 19] = [
        Self::Produce,
        Self::Fetch,
        Self::ListOffsets,
        Self::Metadata,
        Self::OffsetCommit,
        Self::OffsetFetch,
        Self::FindCoordinator,
        Self::JoinGroup,
        Self::Heartbeat,
        Self::LeaveGroup,
        Self::SyncGroup,
        Self::ApiVersions,
        Self::CreateTopics,
        Self::DeleteTopics,
        Self::InitProducerId,
        Self::AddPartitionsToTxn,
        Self::EndTxn,
        Self::DescribeConfigs,
        Self::ConsumerGroupHeartbeat,
    ];

    /// The API as our client knows it.
    fn of_client(self) -> messages::Api {
        match self {
            Self::Produce => messages::m00_produce::API,
            Self::Fetch => messages::m01_fetch::API,
            Self::ListOffsets => messages::m02_list_offsets::API,
            Self::Metadata => messages::m03_metadata::API,
            Self::OffsetCommit => messages::m08_offset_commit::API,
            Self::OffsetFetch => messages::m09_offset_fetch::API,
            Self::JoinGroup => messages::m11_join_group::API,
            Self::Heartbeat => messages::m12_heartbeat::API,
            Self::LeaveGroup => messages::m13_leave_group::API,
            Self::SyncGroup => messages::m14_sync_group::API,
            Self::ApiVersions => messages::m18_api_versions::API,
            Self::CreateTopics => messages::m19_create_topics::API,
            Self::DeleteTopics => messages::m20_delete_topics::API,
            Self::FindCoordinator => messages::m10_find_coordinator::API,
            Self::InitProducerId => messages::m22_init_producer_id::API,
            Self::AddPartitionsToTxn => messages::m24_add_partitions_to_txn::API,
            Self::EndTxn => messages::m26_end_txn::API,
            Self::DescribeConfigs => messages::m32_describe_configs::API,
            Self::ConsumerGroupHeartbeat => messages::m68_consumer_group_heartbeat::API,
        }
    }

    /// The number in the request header.
    pub fn key(self) -> i16 {
        self.of_client().key
    }

    /// First and last version spoken; some lower ones than those of our own client, for other clients. Topics go
    /// by name. Where an API is not spoken at all the last one is below the first.
    pub fn versions(self) -> (i16, i16) {
        match self {
            Self::Produce => (3, 9),
            Self::Fetch => (4, 12),
            Self::ListOffsets => (1, 6),
            Self::Metadata => (0, 9),
            Self::ApiVersions => (0, 3),
            Self::CreateTopics => (2, 5),
            Self::DeleteTopics => (1, 4),
            Self::FindCoordinator => (0, 4),
            Self::InitProducerId => (0, 4),
            Self::AddPartitionsToTxn => (0, 3),
            Self::EndTxn => (0, 4),
            Self::DescribeConfigs => (1, 4),
            // Groups.
            Self::OffsetCommit
            | Self::OffsetFetch
            | Self::JoinGroup
            | Self::Heartbeat
            | Self::LeaveGroup
            | Self::SyncGroup
            | Self::ConsumerGroupHeartbeat => (0, -1),
        }
    }

    fn of_key(key: i16) -> Option<Self> {
        Self::ALL.into_iter().find(|api| api.key() == key)
    }
}

/// What the header of a request says, as far as an answer needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestHead {
    /// What is requested.
    pub api: ApiKind,
    /// In which version.
    pub version: i16,
    /// Number that the response repeats.
    pub correlation_id: i32,
    /// Compact fields and tags.
    pub flexible: bool,
    /// An `ApiVersions` request in a version that is not spoken: the body must not be read and the answer
    /// is version 0 with an error.
    pub unsupported: bool,
}

impl RequestHead {
    /// Reads the header, up to the first byte of the body; `versions` are those that are spoken.
    pub fn read(reader: &mut Reader<'_>, versions: fn(ApiKind) -> (i16, i16)) -> Result<Self> {
        let key = reader.i16()?;
        let version = reader.i16()?;
        let correlation_id = reader.i32()?;
        let api =
            ApiKind::of_key(key).ok_or(WireError::Invalid("request of a kind that is not spoken here"))?;
        let (first, last) = versions(api);
        let unsupported = !(first..=last).contains(&version);
        if unsupported {
            return match api {
                ApiKind::ApiVersions => {
                    Ok(Self { api, version: 0, correlation_id, flexible: false, unsupported: true })
                }
                _ => Err(WireError::Invalid("request in a version that is not spoken here")),
            };
        }
        let flexible = api.of_client().is_flexible(version);
        // The client id stays a classic string in the flexible header too.
        reader.nullable_string(false)?;
        reader.skip_tags(flexible)?;
        Ok(Self { api, version, correlation_id, flexible, unsupported: false })
    }
}

/// Begins a response frame at the end of `out`; give the value returned to [`end_frame`].
pub fn begin_frame(out: &mut Vec<u8>, head: &RequestHead) -> usize {
    let start = out.len();
    out.put_i32(0);
    out.put_i32(head.correlation_id);
    // Clients must be able to read this one before they know what the broker speaks: never tags.
    out.put_no_tags(head.flexible && head.api != ApiKind::ApiVersions);
    start
}

/// Ends the frame that was begun at `start`: fills in its length.
pub fn end_frame(out: &mut [u8], start: usize) {
    let length = (out.len() - start - 4) as i32;
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
}

/// Tagged fields, in flexible versions.
fn put_tags(out: &mut Vec<u8>, flexible: bool, tags: &[(u32, Vec<u8>)]) {
    if flexible {
        out.put_tags(tags);
    }
}

/// An array's count without a check against what is left, for readers of streams that bound it otherwise.
/// Null is `None`.
pub fn raw_count(reader: &mut Reader<'_>, compact: bool) -> Result<Option<u32>> {
    if compact {
        return Ok(reader.uvarint()?.checked_sub(1));
    }
    match reader.i32()? {
        -1 => Ok(None),
        count => u32::try_from(count)
            .map(Some)
            .map_err(|_| WireError::Length { what: "array", length: count.into() }),
    }
}

/// A topic's name, with Kafka's bound on its length.
pub fn topic_name<'a>(reader: &mut Reader<'a>, compact: bool) -> Result<&'a str> {
    let name = reader.string(compact)?;
    if name.len() > TOPIC_NAME_BYTES_MAX {
        return Err(WireError::Length { what: "topic name", length: name.len() as i64 });
    }
    Ok(name)
}

/// A topic as a request names it, by its name or its id.
///
/// The ids of the fake cluster consist of a byte that counts how often the topic was made, and the topic's name. Topics
/// with longer names than fit have none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TopicRef<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its id; all 0 when it is named by its name.
    pub id: [u8; 16],
}

impl<'a> TopicRef<'a> {
    /// By name.
    pub fn named(name: &'a str) -> Self {
        Self { name, id: [0; 16] }
    }

    /// Reads a name, or an id. One that was not made here means no name.
    pub fn read(reader: &mut Reader<'a>, flexible: bool, by_id: bool) -> Result<Self> {
        if !by_id {
            return topic_name(reader, flexible).map(Self::named);
        }
        let bytes = reader.take(16)?;
        let mut id = [0; 16];
        id.copy_from_slice(bytes);
        let text = bytes[1..].split(|byte| *byte == 0).next().unwrap_or_default();
        Ok(Self { name: std::str::from_utf8(text).unwrap_or_default(), id })
    }

    /// Appends what was read.
    pub fn write(&self, out: &mut Vec<u8>, flexible: bool) {
        match self.id {
            [0, ..] => out.put_string(self.name, flexible),
            id => out.put(&id),
        }
    }
}
