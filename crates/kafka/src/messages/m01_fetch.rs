//! Fetch, key 1: versions 4 to 17, flexible from 12; from 13 on topics go by id. 4 is the oldest that 4.x
//! brokers accept, 12 the newest that 2.7 brokers know. From 7 on a broker keeps what was requested in a session, from
//! 11 on it knows racks; from 12 on responses say who leads instead, from 16 on where that broker listens.
//!
//! Format: <https://kafka.apache.org/protocol#The_Messages_Fetch>.

use super::leader_hints::read_endpoints;
use super::{Api, LeaderHint};
use crate::wire::{Reader, Result, Writer};

/// Key, name and versions.
pub const API: Api = Api { key: 1, name: "Fetch", version_min: 4, version_max: 17, flexible_from: 12 };

/// The last version in which topics go by name.
pub const BY_NAME_MAX: i16 = 12;
/// The first version with sessions, and with an error of the whole answer.
pub const SESSIONS_FROM: i16 = 7;
/// The first version in which brokers answer before they throttle, and leave it to the client to wait.
pub const THROTTLED_BY_CLIENT_FROM: i16 = 8;
/// The first version that has the client's rack, and in which a leader may name another replica to read from.
pub const RACKS_FROM: i16 = 11;
/// The tag of a partition's leader.
const LEADER_TAG: u32 = 1;
/// The first version whose responses have the brokers' addresses, under tag 0.
const ENDPOINTS_FROM: i16 = 16;

/// What to fetch.
#[derive(Debug, Clone, Default)]
pub struct Request<'a> {
    /// Longest wait for `bytes_min`, ms.
    pub wait_ms: i32,
    /// Least bytes worth an answer before that.
    pub bytes_min: i32,
    /// Most bytes of the whole answer (a first batch may exceed it).
    pub bytes_max: i32,
    /// Most bytes of one partition.
    pub partition_bytes_max: i32,
    /// Kafka's number for `read_uncommitted`, 0, or `read_committed`, 1.
    pub isolation_level: i8,
    /// The session that it belongs to, or begins; from [`SESSIONS_FROM`] on.
    pub session: SessionStep,
    /// The client's topics.
    pub topics: &'a [String],
    /// Their ids, by which they go in versions above [`BY_NAME_MAX`].
    pub topic_ids: &'a [[u8; 16]],
    /// Partitions and where to begin; of a session that goes on those that are new or changed. They are asked for in this order.
    pub partitions: &'a [PartitionFetch],
    /// Partitions that leave the session, each behind its topic's place.
    pub forgotten: &'a [(usize, i32)],
    /// Where the client is, empty where it does not say; from [`RACKS_FROM`] on.
    pub rack: &'a str,
}

/// A partition to fetch from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartitionFetch {
    /// Place of its topic among those of the [request](Request::topics).
    pub topic: usize,
    /// Partition.
    pub partition: i32,
    /// The election since which its leader leads, as far as the client knows; −1: not known.
    pub leader_epoch: i32,
    /// Where to begin.
    pub offset: i64,
}

/// A request's place in a session ([KIP-227](https://cwiki.apache.org/confluence/display/KAFKA/KIP-227%3A+Introduce+Incremental+FetchRequests+to+Increase+Partition+Scalability)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionStep {
    /// The session; 0: none yet.
    pub id: i32,
    /// Counts the session's requests; 0 begins one, −1 wants none.
    pub epoch: i32,
}

impl Default for SessionStep {
    /// No session: all partitions are named in the request, and none is remembered.
    fn default() -> Self {
        Self { id: 0, epoch: -1 }
    }
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
    out.put_i8(request.isolation_level);
    if version >= SESSIONS_FROM {
        out.put_i32(request.session.id);
        out.put_i32(request.session.epoch);
    }
    // A topic is named once for partitions that lie one behind the other, as by the Java client.
    let by_topic = || request.partitions.chunk_by(|a, b| a.topic == b.topic);
    out.put_array_length(by_topic().count(), flexible);
    for of_topic in by_topic() {
        encode_topic(request, of_topic[0].topic, version, out);
        out.put_array_length(of_topic.len(), flexible);
        for ask in of_topic {
            encode_partition(ask, request.partition_bytes_max, version, out);
        }
        out.put_no_tags(flexible);
    }
    if version >= SESSIONS_FROM {
        let by_topic = || request.forgotten.chunk_by(|(a, _), (b, _)| a == b);
        out.put_array_length(by_topic().count(), flexible);
        for of_topic in by_topic() {
            encode_topic(request, of_topic[0].0, version, out);
            out.put_array_length(of_topic.len(), flexible);
            of_topic.iter().for_each(|(_, partition)| out.put_i32(*partition));
            out.put_no_tags(flexible);
        }
    }
    if version >= RACKS_FROM {
        out.put_string(request.rack, flexible);
    }
    out.put_no_tags(flexible);
}

fn encode_topic(request: &Request<'_>, topic: usize, version: i16, out: &mut Vec<u8>) {
    match version {
        ..=BY_NAME_MAX => {
            let name = request.topics.get(topic).map_or("", String::as_str);
            out.put_string(name, API.is_flexible(version));
        }
        _ => out.put(&request.topic_ids.get(topic).copied().unwrap_or_default()),
    }
}

fn encode_partition(ask: &PartitionFetch, bytes_max: i32, version: i16, out: &mut Vec<u8>) {
    out.put_i32(ask.partition);
    if version >= 9 {
        out.put_i32(ask.leader_epoch);
    }
    out.put_i64(ask.offset);
    if version >= 12 {
        out.put_i32(-1); // last fetched epoch: for followers
    }
    if version >= 5 {
        out.put_i64(-1); // log start offset: for followers
    }
    out.put_i32(bytes_max);
    out.put_no_tags(API.is_flexible(version));
}

/// A piece of a reply, in the order of the reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplyPiece<'a> {
    /// The partitions that follow are of this topic.
    Topic(TopicName<'a>),
    /// A partition's answer.
    Partition(FetchPartitionReply<'a>),
    /// Where a broker listens that was named as a leader: its id, host and port.
    Endpoint(i32, &'a str, i32),
}

/// A topic, as a version has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TopicName<'a> {
    /// Up to [`BY_NAME_MAX`].
    Name(&'a str),
    /// Above it.
    Id([u8; 16]),
}

/// One partition's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FetchPartitionReply<'a> {
    /// Partition.
    pub partition: i32,
    /// Kafka's error code, 0 for none.
    pub error: i16,
    /// First offset that is not committed yet.
    pub high_watermark: i64,
    /// The same, but not behind the first record of the first transaction that is open.
    pub last_stable_offset: i64,
    /// Aborted transactions whose records follow; only in answers to `read_committed`.
    pub aborted: AbortedTransactions<'a>,
    /// The replica to read from instead; −1: this one.
    pub preferred_replica: i32,
    /// Who leads instead.
    pub leader: Option<LeaderHint>,
    /// Record batches; the last may be cut off.
    pub records: &'a [u8],
}

/// Producer and first offset of each aborted transaction, as they are in the reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AbortedTransactions<'a> {
    bytes: &'a [u8],
    count: usize,
    flexible: bool,
}

impl<'a> AbortedTransactions<'a> {
    fn read(reader: &mut Reader<'a>, flexible: bool) -> Result<Self> {
        let count = reader.array_length(flexible, 16)?;
        let mut from = reader.clone();
        for _ in 0..count {
            Self::next(reader, flexible)?;
        }
        let bytes = from.take(from.remaining() - reader.remaining())?;
        Ok(Self { bytes, count, flexible })
    }

    fn next(reader: &mut Reader<'_>, flexible: bool) -> Result<(i64, i64)> {
        let transaction = (reader.i64()?, reader.i64()?);
        reader.skip_tags(flexible)?;
        Ok(transaction)
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Producer id and first offset of each.
    pub fn iter(&self) -> impl Iterator<Item = (i64, i64)> + use<'a> {
        let (mut reader, flexible) = (Reader::new(self.bytes), self.flexible);
        (0..self.count).map_while(move |_| Self::next(&mut reader, flexible).ok())
    }
}

/// What a reply says in addition to its pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FetchReply {
    /// Kafka's error code of the whole answer, 0 for none.
    pub error: i16,
    /// How long the broker throttles the client, ms.
    pub throttle_ms: i32,
    /// The session in which the next request may go on; 0: none.
    pub session_id: i32,
}

/// Reads a reply's body and hands each piece to `each`. What follows the body is ignored.
///
/// # Errors
/// When the bytes are not such a reply, or the first one of `each`; pieces handed over before that remain valid.
pub fn decode<'a>(
    bytes: &'a [u8],
    version: i16,
    mut each: impl FnMut(ReplyPiece<'a>) -> Result<()>,
) -> Result<FetchReply> {
    let flexible = API.is_flexible(version);
    let mut reader = Reader::new(bytes);
    let throttle_ms = reader.i32()?;
    let (mut error, mut session_id) = (0, 0);
    if version >= SESSIONS_FROM {
        (error, session_id) = (reader.i16()?, reader.i32()?);
    }
    for _ in 0..reader.array_length(flexible, 3)? {
        each(ReplyPiece::Topic(match version {
            ..=BY_NAME_MAX => TopicName::Name(reader.string(flexible)?),
            _ => TopicName::Id(reader.uuid()?),
        }))?;
        for _ in 0..reader.array_length(flexible, 24)? {
            each(ReplyPiece::Partition(read_partition(&mut reader, version, flexible)?))?;
        }
        reader.skip_tags(flexible)?;
    }
    reader.tags(flexible, |tag, field| {
        let is_known = tag == 0 && version >= ENDPOINTS_FROM;
        if is_known {
            read_endpoints(field, |broker, host, port| each(ReplyPiece::Endpoint(broker, host, port)))?;
        }
        Ok(is_known)
    })?;
    Ok(FetchReply { error, throttle_ms, session_id })
}

fn read_partition<'a>(
    reader: &mut Reader<'a>,
    version: i16,
    flexible: bool,
) -> Result<FetchPartitionReply<'a>> {
    let partition = reader.i32()?;
    let error = reader.i16()?;
    let high_watermark = reader.i64()?;
    let last_stable_offset = reader.i64()?;
    if version >= 5 {
        reader.i64()?; // log start offset
    }
    let aborted = AbortedTransactions::read(reader, flexible)?;
    let preferred_replica = if version >= RACKS_FROM { reader.i32()? } else { -1 };
    let records = reader.nullable_bytes(flexible)?.unwrap_or_default();
    let mut leader = None;
    reader.tags(flexible, |tag, field| {
        let is_known = tag == LEADER_TAG;
        if is_known {
            leader = Some(LeaderHint::read(partition, field)?);
        }
        Ok(is_known)
    })?;
    Ok(FetchPartitionReply {
        partition,
        error,
        high_watermark,
        last_stable_offset,
        aborted,
        preferred_replica,
        leader,
        records,
    })
}
