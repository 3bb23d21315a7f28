//! Produce, key 0: versions 3 to 13, flexible from 9. 3 is the first with record batches of magic 2 and the
//! oldest that 4.x brokers accept; 2.7 brokers know up to 8, and 9 is the first flexible one. From 10 on responses
//! say who leads instead; in 13 topics go by id.
//!
//! The request is built as a chain of segments, so that record bodies are never copied: heads come from an
//! arena, bodies are shared. With acks=0 the broker sends no reply.
//! Format: <https://kafka.apache.org/protocol#The_Messages_Produce>.

use super::leader_hints::read_endpoints;
use super::m01_fetch::TopicName;
use super::{Api, BrokerEndpoint, LeaderHint, LeaderHints};
use crate::records::HEADER_BYTES;
use crate::wire::{Reader, Result, Writer};
use bytes::{Bytes, BytesMut};

/// Key, name and versions.
pub const API: Api = Api { key: 0, name: "Produce", version_min: 3, version_max: 13, flexible_from: 9 };

/// The last version whose brokers do not add partitions to transactions by themselves (KIP-890).
pub const BEFORE_V2_MAX: i16 = 11;
/// The last version in which topics go by name.
pub const BY_NAME_MAX: i16 = 12;
/// The first version in which brokers answer before they throttle, and leave it to the client to wait.
pub const THROTTLED_BY_CLIENT_FROM: i16 = 6;
/// The first version whose responses say who leads instead.
const LEADER_HINTS_FROM: i16 = 10;

/// What a request says once.
#[derive(Debug, Clone, Copy)]
pub struct ProduceHead<'a> {
    /// Negotiated version.
    pub version: i16,
    /// Correlation id.
    pub correlation_id: i32,
    /// Client id.
    pub client_id: &'a str,
    /// Id of a transactional producer.
    pub transactional_id: Option<&'a str>,
    /// 0, 1 or −1.
    pub acks: i16,
    /// How long the broker may wait for its followers.
    pub timeout_ms: i32,
    /// The client's topics.
    pub topics: &'a [String],
    /// Their ids, by which they go in versions above [`BY_NAME_MAX`].
    pub topic_ids: &'a [[u8; 16]],
}

/// One partition's record batch.
#[derive(Debug, Clone)]
pub struct PartitionBatch {
    /// Place of its topic among those of the [head](ProduceHead::topics).
    pub topic: usize,
    /// Partition.
    pub partition: i32,
    /// The batch's header, checksum included.
    pub header: [u8; HEADER_BYTES],
    /// The records.
    pub body: Bytes,
}

impl PartitionBatch {
    fn bytes(&self) -> usize {
        HEADER_BYTES + self.body.len()
    }
}

/// Appends a whole frame to `out` as segments and returns its size in bytes. Heads are taken from `arena`. The batches of one
/// topic lie one behind the other.
pub fn encode(
    head: &ProduceHead<'_>,
    batches: &[PartitionBatch],
    arena: &mut BytesMut,
    out: &mut impl Extend<Bytes>,
) -> usize {
    let flexible = API.is_flexible(head.version);
    let by_topic = || batches.chunk_by(|a, b| a.topic == b.topic);
    let mut small = Vec::with_capacity(256 + head.client_id.len());
    super::write_frame(&mut small, |small| {
        super::request_header(small, API.key, head.version, flexible, head.correlation_id, head.client_id);
        small.put_nullable_string(head.transactional_id, flexible);
        small.put_i16(head.acks);
        small.put_i32(head.timeout_ms);
        small.put_array_length(by_topic().count(), flexible);
    });
    let mut total = small.len() + if flexible { 2 } else { 0 };
    arena.extend_from_slice(&small);
    let mut segments = Vec::with_capacity(2 * batches.len() + 1);
    let mut of_topic = by_topic();
    let mut topic_left = 0;
    for (place, batch) in batches.iter().enumerate() {
        small.clear();
        if topic_left == 0 {
            if place > 0 {
                small.put_no_tags(flexible); // of the topic before
            }
            topic_left = of_topic.next().map_or(0, <[PartitionBatch]>::len);
            encode_topic(head, batch.topic, topic_left, &mut small);
        }
        topic_left -= 1;
        small.put_i32(batch.partition);
        if flexible {
            small.put_uvarint(batch.bytes() as u32 + 1);
        } else {
            small.put_i32(batch.bytes() as i32);
        }
        total += small.len() + batch.bytes() + usize::from(flexible);
        arena.extend_from_slice(&small);
        arena.extend_from_slice(&batch.header);
        segments.push(arena.split());
        segments.push(BytesMut::new());
        arena.extend_from_slice(if flexible { &[0] } else { &[] }); // tags of the partition
    }
    arena.extend_from_slice(if flexible { &[0, 0] } else { &[] }); // tags of topic and request
    let tail = arena.split();
    if let Some(first) = segments.first_mut() {
        first[..4].copy_from_slice(&((total - 4) as i32).to_be_bytes());
    }
    let mut bodies = batches.iter().map(|batch| batch.body.clone());
    out.extend(segments.into_iter().enumerate().map(|(position, segment)| match position % 2 {
        0 => segment.freeze(),
        _ => bodies.next().unwrap_or_default(),
    }));
    if !tail.is_empty() {
        out.extend([tail.freeze()]);
    }
    total
}

fn encode_topic(head: &ProduceHead<'_>, topic: usize, batches: usize, out: &mut Vec<u8>) {
    let flexible = API.is_flexible(head.version);
    match head.version {
        ..=BY_NAME_MAX => out.put_string(head.topics.get(topic).map_or("", String::as_str), flexible),
        _ => out.put(&head.topic_ids.get(topic).copied().unwrap_or_default()),
    }
    out.put_array_length(batches, flexible);
}

/// One partition's outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProducePartitionReply {
    /// Partition.
    pub partition: i32,
    /// Kafka's error code, 0 for none.
    pub error: i16,
    /// Offset of the batch's first record, −1 on error.
    pub base_offset: i64,
}

/// Reads a reply's body and hands each partition's outcome to `each`, with its topic. Returns the throttle time in ms.
///
/// # Errors
/// When the bytes are not such a reply; outcomes handed over before that remain valid.
pub fn decode(
    bytes: &[u8],
    version: i16,
    mut each: impl FnMut(TopicName<'_>, ProducePartitionReply),
) -> Result<i32> {
    read(bytes, version, |topic, reply, _| each(topic, reply), |_, _, _| {})
}

/// What a reply's body says of leaders; `place` has a topic's place among those of the client.
///
/// # Errors
/// When the bytes are not such a reply.
pub fn leader_hints(
    bytes: &[u8],
    version: i16,
    place: impl Fn(TopicName<'_>) -> Option<usize>,
) -> Result<LeaderHints> {
    let mut hints = LeaderHints::default();
    let LeaderHints { leaders, endpoints } = &mut hints;
    read(
        bytes,
        version,
        |topic, _, leader| {
            let of_topic = |leader| Some(LeaderHint { topic: u32::try_from(place(topic)?).ok()?, ..leader });
            leaders.extend(leader.and_then(of_topic));
        },
        |broker, host, port| BrokerEndpoint::add_to(endpoints, broker, host, port),
    )?;
    Ok(hints)
}

/// Hands out outcomes, each with the leader that is reported with it, and brokers' ids, hosts and ports; returns the
/// throttle time in ms. What follows the body is ignored.
fn read(
    bytes: &[u8],
    version: i16,
    mut each: impl FnMut(TopicName<'_>, ProducePartitionReply, Option<LeaderHint>),
    mut endpoint: impl FnMut(i32, &str, i32),
) -> Result<i32> {
    let flexible = API.is_flexible(version);
    let mut reader = Reader::new(bytes);
    for _ in 0..reader.array_length(flexible, 3)? {
        let topic = match version {
            ..=BY_NAME_MAX => TopicName::Name(reader.string(flexible)?),
            _ => TopicName::Id(reader.uuid()?),
        };
        for _ in 0..reader.array_length(flexible, 22)? {
            let (reply, leader) = read_partition(&mut reader, version, flexible)?;
            each(topic, reply, leader);
        }
        reader.skip_tags(flexible)?;
    }
    let throttle_ms = reader.i32()?;
    reader.tags(flexible, |tag, field| {
        let is_known = tag == 0 && version >= LEADER_HINTS_FROM;
        if is_known {
            read_endpoints(field, |broker, host, port| {
                endpoint(broker, host, port);
                Ok(())
            })?;
        }
        Ok(is_known)
    })?;
    Ok(throttle_ms)
}

fn read_partition(
    reader: &mut Reader<'_>,
    version: i16,
    flexible: bool,
) -> Result<(ProducePartitionReply, Option<LeaderHint>)> {
    let partition = reader.i32()?;
    let error = reader.i16()?;
    let base_offset = reader.i64()?;
    reader.i64()?; // log append time
    if version >= 5 {
        reader.i64()?; // log start offset
    }
    if version >= 8 {
        for _ in 0..reader.array_length(flexible, 5)? {
            reader.i32()?;
            reader.nullable_string(flexible)?;
            reader.skip_tags(flexible)?;
        }
        reader.nullable_string(flexible)?;
    }
    let mut leader = None;
    reader.tags(flexible, |tag, field| {
        let is_known = tag == 0 && version >= LEADER_HINTS_FROM;
        if is_known {
            leader = Some(LeaderHint::read(partition, field)?);
        }
        Ok(is_known)
    })?;
    Ok((ProducePartitionReply { partition, error, base_offset }, leader))
}
