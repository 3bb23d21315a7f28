//! Answers to everything but produce requests.

use super::topics::{PARTITIONS_MAX, Topics};
use super::{FetchAnswer, NullBrokerOptions, NullBrokerStats};
use crate::codec::fetch::{FetchOutcome, FetchRequest, FetchResponse};
use crate::codec::responses::{self, BrokerView, Created, PartitionView, TopicView};
use crate::codec::{Api, RequestHead, batch, code, requests};
use kdyno_kafka::wire::{Reader, Result, WireError};

/// Longest response: what one request may make the broker hold. Metadata of 100,000 partitions is 3 MB.
const RESPONSE_BYTES_MAX: usize = 32 << 20;

/// Longest time an empty fetch is held back, whatever the client asks for.
const WAIT_MS_MAX: u32 = 60_000;

/// Id of the only broker.
const BROKER_ID: i32 = 0;

/// Cluster id in metadata.
const CLUSTER_ID: &str = "kdyno-null-broker";

/// `timestamp` that asks for the first offset.
const EARLIEST: i64 = -2;

/// What all connections share.
#[derive(Debug)]
pub(super) struct Broker {
    address: BrokerView,
    pub topics: Topics,
    pub stats: NullBrokerStats,
    fetch: FetchAnswer,
    batch: Vec<u8>,
    next_producer_id: i64,
}

impl Broker {
    /// A broker that tells clients to reach it at `host:port`.
    pub fn new(host: String, port: u16, options: &NullBrokerOptions) -> Self {
        let batch = match options.fetch {
            FetchAnswer::Empty => Vec::new(),
            FetchAnswer::Batch { records, value_bytes } => batch::prebuilt(records, value_bytes),
        };
        Self {
            address: BrokerView { id: BROKER_ID, host, port },
            topics: Topics::new(options.partitions),
            stats: NullBrokerStats::default(),
            fetch: options.fetch,
            batch,
            next_producer_id: 1,
        }
    }
}

/// When an answer may leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answered {
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
    broker: &mut Broker,
    out: &mut Vec<u8>,
) -> Result<Answered> {
    let reader = Reader::new(body);
    let (version, flexible) = (head.version, head.flexible);
    match head.api {
        Api::ApiVersions => {
            if !head.unsupported {
                requests::api_versions(reader, version)?;
            }
            responses::api_versions(out, head);
        }
        Api::Metadata => metadata(head, requests::metadata(reader, version, flexible)?, broker, out)?,
        Api::ListOffsets => list_offsets(head, reader, broker, out)?,
        Api::Fetch => return fetch(head, &FetchRequest::decode(reader, version, flexible)?, broker, out),
        Api::CreateTopics => create_topics(head, reader, broker, out)?,
        Api::DeleteTopics => {
            let names = requests::delete_topics(reader, flexible)?;
            let outcome = |name| match broker.topics.delete(name) {
                true => (name, code::NONE),
                false => (name, code::UNKNOWN_TOPIC_OR_PARTITION),
            };
            let outcomes: Vec<_> = names.into_iter().map(outcome).collect();
            responses::delete_topics(out, head, &outcomes);
        }
        Api::DescribeConfigs => {
            let resources = requests::describe_configs(reader, version, flexible)?;
            responses::describe_configs(out, head, &resources);
        }
        Api::InitProducerId => {
            requests::init_producer_id(reader, version, flexible)?;
            responses::init_producer_id(out, head, broker.next_producer_id);
            broker.next_producer_id += 1;
        }
        Api::Produce => return Err(WireError::Invalid("produce requests are not collected")),
    }
    Ok(Answered::Now)
}

fn metadata(head: &RequestHead, wanted: Option<Vec<&str>>, broker: &Broker, out: &mut Vec<u8>) -> Result<()> {
    let names = wanted.unwrap_or_else(|| broker.topics.names().collect());
    let brokers = std::slice::from_ref(&broker.address);
    let response_start = out.len();
    let start = responses::begin_metadata(out, head, CLUSTER_ID, BROKER_ID, brokers, names.len());
    for name in names {
        let error = match () {
            () if !is_topic_name(name) => code::INVALID_TOPIC,
            () if broker.topics.is_deleted(name) => code::UNKNOWN_TOPIC_OR_PARTITION,
            () => code::NONE,
        };
        let partitions = if error == code::NONE { broker.topics.partitions(name) } else { 0 };
        let view =
            TopicView { name, error, partitions: (0..partitions as i32).map(partition_view).collect() };
        responses::metadata_topic(out, head, &view);
        if out.len() - response_start > RESPONSE_BYTES_MAX {
            return Err(WireError::Invalid("metadata of so many topics is too long for one response"));
        }
    }
    responses::end_metadata(out, head, start);
    Ok(())
}

fn partition_view(index: i32) -> PartitionView {
    PartitionView { index, error: code::NONE, leader: BROKER_ID, leader_epoch: 0, replicas: vec![BROKER_ID] }
}

/// Kafka's rule for the names of topics.
fn is_topic_name(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    !name.is_empty() && name != "." && name != ".." && name.bytes().all(allowed)
}

fn list_offsets(head: &RequestHead, reader: Reader<'_>, broker: &Broker, out: &mut Vec<u8>) -> Result<()> {
    let wanted = requests::list_offsets(reader, head.version, head.flexible)?;
    let mut found = Vec::with_capacity(wanted.len());
    for (name, partitions) in wanted {
        let offset = |(index, timestamp)| match broker.topics.next_offset(name, index) {
            Some(_) if timestamp == EARLIEST => (index, code::NONE, 0),
            Some(latest) => (index, code::NONE, latest),
            None => (index, code::UNKNOWN_TOPIC_OR_PARTITION, -1),
        };
        found.push((name, partitions.into_iter().map(offset).collect()));
    }
    responses::list_offsets(out, head, &found);
    Ok(())
}

fn create_topics(
    head: &RequestHead,
    reader: Reader<'_>,
    broker: &mut Broker,
    out: &mut Vec<u8>,
) -> Result<()> {
    let (wanted, check_only) = requests::create_topics(reader, head.flexible)?;
    let mut created = Vec::with_capacity(wanted.len());
    for topic in wanted {
        let partitions = match topic.partitions {
            -1 if topic.assigned > 0 => i32::try_from(topic.assigned).unwrap_or(0),
            -1 => broker.topics.partitions(topic.name) as i32,
            given => given,
        };
        let error = if !is_topic_name(topic.name) {
            code::INVALID_TOPIC
        } else if !(1..=PARTITIONS_MAX as i32).contains(&partitions) {
            code::INVALID_PARTITIONS
        } else if !matches!(topic.replicas, -1 | 1) {
            code::INVALID_REPLICATION_FACTOR
        } else if broker.topics.id(topic.name).is_some() {
            code::TOPIC_ALREADY_EXISTS
        } else if !check_only && broker.topics.create(topic.name, partitions as u32).is_none() {
            code::POLICY_VIOLATION
        } else {
            code::NONE
        };
        created.push(Created { name: topic.name, error, partitions, replicas: 1 });
    }
    responses::create_topics(out, head, &created);
    Ok(())
}

/// Answers with the prebuilt batch for every partition, as far as the asked size allows: the first one
/// always, as brokers do, so that a client makes progress.
fn fetch(
    head: &RequestHead,
    request: &FetchRequest<'_>,
    broker: &mut Broker,
    out: &mut Vec<u8>,
) -> Result<Answered> {
    let limit = usize::try_from(request.bytes_max).unwrap_or(0).min(RESPONSE_BYTES_MAX);
    let count = match broker.fetch {
        FetchAnswer::Empty => 0,
        FetchAnswer::Batch { records, .. } => records,
    };
    let mut sent_bytes = 0;
    let response = FetchResponse::begin(out, head, request.topics.len());
    for (name, partitions) in &request.topics {
        response.topic(out, name, partitions.len());
        let known = broker.topics.partitions(name) as i32;
        for partition in partitions {
            let error = match (0..known).contains(&partition.index) {
                false => code::UNKNOWN_TOPIC_OR_PARTITION,
                true if partition.offset < 0 => code::OFFSET_OUT_OF_RANGE,
                true => code::NONE,
            };
            let fits = sent_bytes == 0 || sent_bytes + broker.batch.len() <= limit;
            let filled = error == code::NONE && count > 0 && fits;
            let end = partition.offset.saturating_add(i64::from(count));
            response.partition(
                out,
                &FetchOutcome {
                    index: partition.index,
                    error,
                    high_watermark: if error == code::NONE { end } else { -1 },
                    records_bytes: if filled { broker.batch.len() } else { 0 },
                },
            );
            if filled {
                batch::put_at_offset(out, &broker.batch, partition.offset);
                sent_bytes += broker.batch.len();
                broker.stats.fetched_records += u64::from(count);
            }
            response.end_partition(out);
        }
        response.end_topic(out);
    }
    response.end(out);
    let wait_ms = u32::try_from(request.max_wait_ms).unwrap_or(0).min(WAIT_MS_MAX);
    Ok(if sent_bytes == 0 && wait_ms > 0 { Answered::AfterMs(wait_ms) } else { Answered::Now })
}
