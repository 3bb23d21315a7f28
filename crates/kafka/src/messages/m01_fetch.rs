//! Fetch, key 1: versions 4 to 17, flexible from 12; from 13 on topics go by id. 4 is the oldest that 4.x
//! brokers accept, 12 the newest that 2.7 brokers know. From 12 on responses tell who leads instead, from 16 on
//! where that broker listens.
//!
//! Sent without a fetch session (session id 0, epoch −1: a full fetch each time), without rack.
//! Format: <https://kafka.apache.org/protocol#The_Messages_Fetch>.

use super::leader_hints::read_endpoints;
use super::{Api, LeaderHint, LeaderHints};
use crate::wire::{Reader, Result, Writer};

/// Key, name and versions.
pub const API: Api = Api { key: 1, name: "Fetch", version_min: 4, version_max: 17, flexible_from: 12 };

/// The last version in which topics go by name.
pub const BY_NAME_MAX: i16 = 12;
/// The first version in which brokers answer before they throttle, and leave it to the client to wait.
pub const THROTTLED_BY_CLIENT_FROM: i16 = 8;
/// The tag of a partition's leader.
const LEADER_TAG: u32 = 1;
/// The first version whose responses have the brokers' addresses, under tag 0.
const ENDPOINTS_FROM: i16 = 16;

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
    /// Its id, by which it goes in versions above [`BY_NAME_MAX`].
    pub topic_id: [u8; 16],
    /// Partitions and the offsets to begin at.
    pub partitions: &'a [(i32, i64)],
}

/// Appends the request's body.
pub fn encode(request: &Request<'_>, version: i16, out: &mut Vec<u8>) {
    let flexible = API.is_flexible(version);
    if version < 15 {
        out.put_i32(-1); // replica id: a consumer
    }
    out.put_i32(request.wait_ms);
    out.put_i32(request.bytes_min);
    out.put_i32(request.bytes_max);
    out.put_i8(0); // isolation level: read uncommitted
    if version >= 7 {
        out.put_i32(0); // no session
        out.put_i32(-1);
    }
    out.put_array_length(1, flexible);
    match version {
        ..=BY_NAME_MAX => out.put_string(request.topic, flexible),
        _ => out.put(&request.topic_id),
    }
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
    read(bytes, version, |reply, _| each(reply), |_, _, _| {})
}

/// What a reply's body says of leaders.
///
/// # Errors
/// When the bytes are not such a reply.
pub fn leader_hints(bytes: &[u8], version: i16) -> Result<LeaderHints> {
    LeaderHints::collect(|leader, endpoint| {
        read(bytes, version, |_, told| leader(told), endpoint).map(|_| ())
    })
}

/// Hands out answers, each with the leader that is told with it, and brokers' ids, hosts and ports. What follows
/// the body is ignored.
fn read<'a>(
    bytes: &'a [u8],
    version: i16,
    mut each: impl FnMut(PartitionReply<'a>, Option<LeaderHint>),
    mut endpoint: impl FnMut(i32, &str, i32),
) -> Result<Reply> {
    let flexible = API.is_flexible(version);
    let mut reader = Reader::new(bytes);
    let throttle_ms = reader.i32()?;
    let mut error = 0;
    if version >= 7 {
        error = reader.i16()?;
        reader.i32()?; // session id
    }
    for _ in 0..reader.array_length(flexible, 3)? {
        match version {
            ..=BY_NAME_MAX => reader.string(flexible).map(|_| ())?,
            _ => reader.uuid().map(|_| ())?,
        }
        for _ in 0..reader.array_length(flexible, 24)? {
            let (reply, leader) = read_partition(&mut reader, version, flexible)?;
            each(reply, leader);
        }
        reader.skip_tags(flexible)?;
    }
    reader.tags(flexible, |tag, field| {
        let is_known = tag == 0 && version >= ENDPOINTS_FROM;
        if is_known {
            read_endpoints(field, &mut endpoint)?;
        }
        Ok(is_known)
    })?;
    Ok(Reply { error, throttle_ms })
}

fn read_partition<'a>(
    reader: &mut Reader<'a>,
    version: i16,
    flexible: bool,
) -> Result<(PartitionReply<'a>, Option<LeaderHint>)> {
    let partition = reader.i32()?;
    let error = reader.i16()?;
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
    let mut leader = None;
    reader.tags(flexible, |tag, field| {
        let is_known = tag == LEADER_TAG;
        if is_known {
            leader = Some(LeaderHint::read(partition, field)?);
        }
        Ok(is_known)
    })?;
    Ok((PartitionReply { partition, error, high_watermark, records }, leader))
}
