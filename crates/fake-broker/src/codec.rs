//! What this broker says and reads beyond the codec that it shares with the null broker: more error codes, versions in which
//! topics go by id, whole produce requests, and who leads instead.

use kdyno_kafka::messages::m00_produce::BY_NAME_MAX;
use kdyno_kafka::wire::{Reader, Result, Writer};
use kdyno_kafka_server::codec::produce::ProduceStart;
use kdyno_kafka_server::codec::responses::BrokerView;
use kdyno_kafka_server::codec::{ApiKind, RequestHead, TopicRef};

/// Error codes that the brokers here answer with of their own accord.
pub(super) mod code {
    pub use kdyno_kafka_server::codec::code::*;

    /// The record set is not one.
    pub const CORRUPT_MESSAGE: i16 = 2;
    /// The partition has no leader.
    pub const LEADER_NOT_AVAILABLE: i16 = 5;
    /// Another broker leads the partition.
    pub const NOT_LEADER_OR_FOLLOWER: i16 = 6;
    /// The coordinator reads its log.
    pub const COORDINATOR_LOAD_IN_PROGRESS: i16 = 14;
    /// There is no coordinator.
    pub const COORDINATOR_NOT_AVAILABLE: i16 = 15;
    /// Another broker coordinates.
    pub const NOT_COORDINATOR: i16 = 16;
    /// The user may not do that with the topic.
    pub const TOPIC_AUTHORIZATION_FAILED: i16 = 29;
    /// The user may not do that with the cluster.
    pub const CLUSTER_AUTHORIZATION_FAILED: i16 = 31;
    /// Records before these are missing.
    pub const OUT_OF_ORDER_SEQUENCE_NUMBER: i16 = 45;
    /// The producer has a later epoch.
    pub const INVALID_PRODUCER_EPOCH: i16 = 47;
    /// The transaction is not one that this can be done to.
    pub const INVALID_TXN_STATE: i16 = 48;
    /// The transactional id is unknown.
    pub const INVALID_PRODUCER_ID_MAPPING: i16 = 49;
    /// The producer's transaction before is not over.
    pub const CONCURRENT_TRANSACTIONS: i16 = 51;
    /// The fetch session is not there.
    pub const FETCH_SESSION_ID_NOT_FOUND: i16 = 70;
    /// A request of the fetch session is missing, or came twice.
    pub const INVALID_FETCH_SESSION_EPOCH: i16 = 71;
    /// The client has not heard of the latest election.
    pub const FENCED_LEADER_EPOCH: i16 = 74;
    /// The client has heard of a later election.
    pub const UNKNOWN_LEADER_EPOCH: i16 = 75;
    /// Another producer has the transactional id.
    pub const PRODUCER_FENCED: i16 = 90;
    /// No topic has the id.
    pub const UNKNOWN_TOPIC_ID: i16 = 100;
}

/// First and last version spoken where topics go by id.
pub(super) fn versions_by_id(api: ApiKind) -> (i16, i16) {
    match api {
        ApiKind::Produce => (3, 13),
        ApiKind::Fetch => (4, 17),
        ApiKind::Metadata => (0, 13),
        ApiKind::EndTxn => (0, 5),
        // Versions in which members by either protocol commit and request offsets.
        ApiKind::OffsetCommit => (9, 9),
        ApiKind::OffsetFetch => (9, 9),
        ApiKind::JoinGroup => (9, 9),
        ApiKind::Heartbeat => (4, 4),
        ApiKind::LeaveGroup => (5, 5),
        ApiKind::SyncGroup => (5, 5),
        ApiKind::ConsumerGroupHeartbeat => (0, 1),
        other => other.versions(),
    }
}

/// The id of a topic that was made for the `generation`th time, from 1; [`TopicRef::read`] finds the name in it.
pub(super) fn topic_id(name: &str, generation: u8) -> [u8; 16] {
    let mut id = [0; 16];
    if name.len() < id.len() {
        id[0] = generation;
        id[1..=name.len()].copy_from_slice(name.as_bytes());
    }
    id
}

/// One partition's share of a produce request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ProducePartition<'a> {
    /// Its number.
    pub index: i32,
    /// The record set as sent; null reads as empty.
    pub records: &'a [u8],
}

/// A whole produce request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ProduceRequest<'a> {
    /// The id of the transaction that the records belong to.
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

/// The tagged field, of this number, with which a partition's outcome says who leads instead, and since which election
/// (`LeaderIdAndEpoch`); none where that is not known.
pub(super) fn leader_tags(tag: u32, leader: Option<(i32, i32)>) -> Vec<(u32, Vec<u8>)> {
    let field = |(leader, epoch): (i32, i32)| {
        let mut field = Vec::new();
        field.put_i32(leader);
        field.put_i32(epoch);
        field.put_no_tags(true);
        (tag, field)
    };
    leader.map(field).into_iter().collect()
}

/// The tagged field with which a response says where these brokers listen (`NodeEndpoint`); none without brokers.
pub(super) fn endpoint_tags(brokers: &[&BrokerView]) -> Vec<(u32, Vec<u8>)> {
    if brokers.is_empty() {
        return Vec::new();
    }
    let mut field = Vec::new();
    field.put_array_length(brokers.len(), true);
    for broker in brokers {
        field.put_i32(broker.id);
        field.put_string(&broker.host, true);
        field.put_i32(broker.port.into());
        field.put_nullable_string(None, true); // rack
        field.put_no_tags(true);
    }
    vec![(0, field)]
}
