//! Answers to everything but produce requests.

use super::options::{FetchAnswer, NullBrokerOptions, NullBrokerStats};
use super::topics::{HostedTopics, PARTITIONS_MAX};
use crate::codec::fetch::{FetchOutcome, FetchRequest, FetchResponse};
use crate::codec::responses::{self, BrokerView, respond};
use crate::codec::{ApiKind, RequestHead, TOPIC_NAME_BYTES_MAX, batch, code};
use kdyno_kafka::messages::{
    EARLIEST_TIMESTAMP, Message as _, m02_list_offsets, m03_metadata, m10_find_coordinator, m18_api_versions,
    m19_create_topics, m20_delete_topics, m22_init_producer_id, m24_add_partitions_to_txn, m26_end_txn,
    m32_describe_configs,
};
use kdyno_kafka::wire::{Reader, Result, WireError};

/// Longest fetch response: what one request may make the broker hold.
const RESPONSE_BYTES_MAX: usize = 32 << 20;

/// Longest time an empty fetch is held back, whatever the client asks for.
const WAIT_MS_MAX: u32 = 60_000;

/// Id of the only broker.
const BROKER_ID: i32 = 0;

/// Cluster id in metadata.
const CLUSTER_ID: &str = "kdyno-null-broker";

/// What all connections share.
#[derive(Debug)]
pub(super) struct SharedState {
    address: BrokerView,
    pub topics: HostedTopics,
    pub stats: NullBrokerStats,
    fetch: FetchAnswer,
    batch: Vec<u8>,
    next_producer_id: i64,
}

impl SharedState {
    /// A broker that clients reach at `host:port`.
    pub fn new(host: String, port: u16, options: &NullBrokerOptions) -> Self {
        let batch = match options.fetch {
            FetchAnswer::Empty => Vec::new(),
            FetchAnswer::Batch { records, value_bytes } => batch::prebuilt(records, value_bytes),
        };
        Self {
            address: BrokerView { id: BROKER_ID, host, port },
            topics: HostedTopics::new(options.partitions),
            stats: NullBrokerStats::default(),
            fetch: options.fetch,
            batch,
            next_producer_id: 1,
        }
    }
}

/// When an answer may leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AnswerTime {
    Now,
    AfterMs(u32),
}

/// Appends the answer to a request's `body` to `out`.
///
/// # Errors
/// The body is not what the header promised, or its answer would be longer than allowed.
pub(super) fn answer(
    head: &RequestHead,
    body: &[u8],
    broker: &mut SharedState,
    out: &mut Vec<u8>,
) -> Result<AnswerTime> {
    let version = head.version;
    match head.api {
        ApiKind::ApiVersions => {
            if !head.unsupported {
                m18_api_versions::Request::decode(body, version)?;
            }
            respond(out, head, &responses::api_versions(head, ApiKind::versions));
        }
        ApiKind::Metadata => {
            let request = m03_metadata::Request::decode(body, version)?;
            let topics = responses::metadata(request, version, broker.topics.names(), |name| {
                describe(&broker.topics, name)
            })?;
            let brokers = std::iter::once(&broker.address);
            respond(out, head, &responses::cluster(CLUSTER_ID, BROKER_ID, brokers, topics));
        }
        ApiKind::ListOffsets => {
            let request = m02_list_offsets::Request::decode(body, version)?;
            let find = |name: &str, index, timestamp| match broker.topics.next_offset(name, index) {
                Some(_) if timestamp == EARLIEST_TIMESTAMP => (code::NONE, 0),
                Some(latest) => (code::NONE, latest),
                None => (code::UNKNOWN_TOPIC_OR_PARTITION, -1),
            };
            respond(out, head, &responses::list_offsets(request, find));
        }
        ApiKind::Fetch => {
            let request = FetchRequest::decode(Reader::new(body), version, head.flexible)?;
            return fetch(head, &request, broker, out);
        }
        ApiKind::CreateTopics => {
            let request = m19_create_topics::Request::decode(body, version)?;
            let create = |topic: &_, check_only| create_topic(&mut broker.topics, topic, check_only);
            respond(out, head, &responses::create_topics(request, create));
        }
        ApiKind::DeleteTopics => {
            let request = m20_delete_topics::Request::decode(body, version)?;
            let delete = |name: &str| broker.topics.delete(name);
            respond(out, head, &responses::delete_topics(request, delete));
        }
        ApiKind::DescribeConfigs => {
            let request = m32_describe_configs::Request::decode(body, version)?;
            respond(out, head, &responses::describe_configs(request));
        }
        ApiKind::InitProducerId
        | ApiKind::FindCoordinator
        | ApiKind::AddPartitionsToTxn
        | ApiKind::EndTxn => {
            return coordinate(head, body, broker, out);
        }
        ApiKind::Produce => return Err(WireError::Invalid("produce requests are not collected")),
        ApiKind::OffsetCommit
        | ApiKind::OffsetFetch
        | ApiKind::JoinGroup
        | ApiKind::Heartbeat
        | ApiKind::LeaveGroup
        | ApiKind::SyncGroup
        | ApiKind::ConsumerGroupHeartbeat => {
            return Err(WireError::Invalid("a null broker keeps no groups"));
        }
    }
    Ok(AnswerTime::Now)
}

/// The answers for requests of producers with an id, and of their transactions.
fn coordinate(
    head: &RequestHead,
    body: &[u8],
    broker: &mut SharedState,
    out: &mut Vec<u8>,
) -> Result<AnswerTime> {
    let version = head.version;
    match head.api {
        ApiKind::InitProducerId => {
            m22_init_producer_id::Request::decode(body, version)?;
            respond(out, head, &responses::init_producer_id(broker.next_producer_id));
            broker.next_producer_id += 1;
        }
        ApiKind::FindCoordinator => {
            let request = m10_find_coordinator::Request::decode(body, version)?;
            let response = responses::find_coordinator(&request, version, &broker.address, code::NONE);
            respond(out, head, &response);
        }
        ApiKind::AddPartitionsToTxn => {
            let request = m24_add_partitions_to_txn::Request::decode(body, version)?;
            respond(out, head, &responses::add_partitions(&request.v3_and_below_topics, code::NONE));
        }
        ApiKind::EndTxn => {
            m26_end_txn::Request::decode(body, version)?;
            respond(out, head, &m26_end_txn::Response::default());
        }
        _ => return Err(WireError::Invalid("no request of a producer's coordinator")),
    }
    Ok(AnswerTime::Now)
}

fn describe(topics: &HostedTopics, name: &str) -> (i16, Vec<m03_metadata::MetadataResponsePartition>) {
    if !is_topic_name(name) {
        return (code::INVALID_TOPIC, Vec::new());
    }
    if topics.is_deleted(name) {
        return (code::UNKNOWN_TOPIC_OR_PARTITION, Vec::new());
    }
    let partition = |index| responses::metadata_partition(index, BROKER_ID, vec![BROKER_ID]);
    (code::NONE, (0..topics.partitions(name) as i32).map(partition).collect())
}

/// Kafka's rule for the names of topics.
fn is_topic_name(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    let is_short = (1..=TOPIC_NAME_BYTES_MAX).contains(&name.len());
    is_short && name != "." && name != ".." && name.bytes().all(allowed)
}

fn create_topic(
    topics: &mut HostedTopics,
    topic: &m19_create_topics::CreatableTopic,
    check_only: bool,
) -> (i16, i32, i16) {
    let name = topic.name.as_str();
    let partitions = match topic.num_partitions {
        -1 if !topic.assignments.is_empty() => i32::try_from(topic.assignments.len()).unwrap_or(0),
        -1 => topics.partitions(name) as i32,
        given => given,
    };
    let error = if !is_topic_name(name) {
        code::INVALID_TOPIC
    } else if !(1..=PARTITIONS_MAX as i32).contains(&partitions) {
        code::INVALID_PARTITIONS
    } else if !matches!(topic.replication_factor, -1 | 1) {
        code::INVALID_REPLICATION_FACTOR
    } else if topics.id(name).is_some() {
        code::TOPIC_ALREADY_EXISTS
    } else if !check_only && topics.create(name, partitions as u32).is_none() {
        code::POLICY_VIOLATION
    } else {
        code::NONE
    };
    (error, partitions, 1)
}

/// Answers with the prebuilt batch for every partition, as far as the asked size allows: the first one
/// always, as brokers do, so that a client makes progress.
fn fetch(
    head: &RequestHead,
    request: &FetchRequest<'_>,
    broker: &mut SharedState,
    out: &mut Vec<u8>,
) -> Result<AnswerTime> {
    let limit = usize::try_from(request.bytes_max).unwrap_or(0).min(RESPONSE_BYTES_MAX);
    let count = match broker.fetch {
        FetchAnswer::Empty => 0,
        FetchAnswer::Batch { records, .. } => records,
    };
    let mut sent_bytes = 0;
    let response = FetchResponse::begin(out, head, request.topics.len(), 0, (code::NONE, 0));
    for (topic, partitions) in &request.topics {
        response.topic(out, *topic, partitions.len());
        let known = broker.topics.partitions(topic.name) as i32;
        for partition in partitions {
            let error = match (0..known).contains(&partition.index) {
                false => code::UNKNOWN_TOPIC_OR_PARTITION,
                true if partition.offset < 0 => code::OFFSET_OUT_OF_RANGE,
                true => code::NONE,
            };
            let fits = sent_bytes == 0 || sent_bytes + broker.batch.len() <= limit;
            let filled = error == code::NONE && count > 0 && fits;
            let end = partition.offset.saturating_add(i64::from(count));
            let mut outcome = FetchOutcome::of(partition.index, end);
            if error != code::NONE {
                outcome = FetchOutcome::failed(partition.index, error);
            }
            outcome.records_bytes = if filled { broker.batch.len() } else { 0 };
            response.partition(out, &outcome);
            if filled {
                batch::put_at_offset(out, &broker.batch, partition.offset);
                sent_bytes += broker.batch.len();
                broker.stats.fetched_records += u64::from(count);
            }
            response.end_partition(out, &[]);
        }
        response.end_topic(out);
    }
    response.end(out, &[]);
    let wait_ms = u32::try_from(request.max_wait_ms).unwrap_or(0).min(WAIT_MS_MAX);
    Ok(if sent_bytes == 0 && wait_ms > 0 { AnswerTime::AfterMs(wait_ms) } else { AnswerTime::Now })
}
