//! Responses to the small requests: what both brokers say in the same way.

use super::{ApiKind, RequestHead, begin_frame, code, end_frame};
use kdyno_kafka::errors::ErrorCode;
use kdyno_kafka::messages::{
    Message, m02_list_offsets, m03_metadata, m10_find_coordinator, m18_api_versions, m19_create_topics,
    m20_delete_topics, m22_init_producer_id, m24_add_partitions_to_txn, m32_describe_configs,
};
use kdyno_kafka::wire::{Result, WireError};

/// Topics and partitions of one metadata response at most, since a request may name a topic many times: about
/// 50 MB of them are held while it is written.
const METADATA_ENTRIES_MAX: usize = 1 << 18;

/// A broker as metadata names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokerView {
    /// Its number.
    pub id: i32,
    /// Where it is reached.
    pub host: String,
    /// And at which port.
    pub port: u16,
}

/// Appends a whole frame.
pub fn respond(out: &mut Vec<u8>, head: &RequestHead, response: &impl Message) {
    let start = begin_frame(out, head);
    response.encode(head.version, out);
    end_frame(out, start);
}

/// Everything of [`ApiKind`] that is spoken in these versions.
pub fn api_versions(head: &RequestHead, versions: fn(ApiKind) -> (i16, i16)) -> m18_api_versions::Response {
    let range = |api: ApiKind| {
        let (min_version, max_version) = versions(api);
        m18_api_versions::ApiVersion { api_key: api.key(), min_version, max_version }
    };
    m18_api_versions::Response {
        error_code: ErrorCode(if head.unsupported { code::UNSUPPORTED_VERSION } else { code::NONE }),
        api_keys: ApiKind::ALL
            .map(range)
            .into_iter()
            .filter(|one| one.min_version <= one.max_version)
            .collect(),
        ..Default::default()
    }
}

/// The requested topics, or all of `names`; `describe` returns a topic's error and partitions.
pub fn metadata<'a>(
    request: m03_metadata::Request,
    version: i16,
    names: impl Iterator<Item = &'a str>,
    describe: impl Fn(&str) -> (i16, Vec<m03_metadata::MetadataResponsePartition>),
) -> Result<Vec<m03_metadata::MetadataResponseTopic>> {
    // Before version 1, which brought null, an empty list requested all.
    let wanted = request.topics.filter(|topics| version > 0 || !topics.is_empty());
    let names: Vec<_> = match wanted {
        Some(topics) => topics.into_iter().map(|topic| topic.name.unwrap_or_default()).collect(),
        None => names.map(str::to_owned).collect(),
    };
    let mut entries = names.len();
    let mut topics = Vec::with_capacity(entries);
    for name in names {
        let (error, partitions) = describe(&name);
        entries += partitions.len();
        if entries > METADATA_ENTRIES_MAX {
            return Err(WireError::Invalid("metadata of so many topics is too long for one response"));
        }
        topics.push(m03_metadata::MetadataResponseTopic {
            error_code: ErrorCode(error),
            name: Some(name),
            partitions,
            ..Default::default()
        });
    }
    Ok(topics)
}

/// A partition of metadata; all of its replicas are in sync.
pub fn metadata_partition(
    partition_index: i32,
    leader_id: i32,
    replicas: Vec<i32>,
) -> m03_metadata::MetadataResponsePartition {
    m03_metadata::MetadataResponsePartition {
        partition_index,
        leader_id,
        leader_epoch: 0,
        isr_nodes: replicas.clone(),
        replica_nodes: replicas,
        ..Default::default()
    }
}

/// Metadata of these brokers.
pub fn cluster<'a>(
    cluster_id: &str,
    controller_id: i32,
    brokers: impl Iterator<Item = &'a BrokerView>,
    topics: Vec<m03_metadata::MetadataResponseTopic>,
) -> m03_metadata::Response {
    let broker = |broker: &BrokerView| m03_metadata::MetadataResponseBroker {
        node_id: broker.id,
        host: broker.host.clone(),
        port: broker.port.into(),
        ..Default::default()
    };
    m03_metadata::Response {
        brokers: brokers.map(broker).collect(),
        cluster_id: Some(cluster_id.to_owned()),
        controller_id,
        topics,
        ..Default::default()
    }
}

/// `find` returns error and offset of a topic's partition at a timestamp: -1 latest, -2 earliest.
pub fn list_offsets(
    request: m02_list_offsets::Request,
    find: impl Fn(&str, i32, i64) -> (i16, i64),
) -> m02_list_offsets::Response {
    let topic = |topic: m02_list_offsets::ListOffsetsTopic| {
        let partition = |wanted: &m02_list_offsets::ListOffsetsPartition| {
            let (error, offset) = find(&topic.name, wanted.partition_index, wanted.timestamp);
            m02_list_offsets::ListOffsetsPartitionResponse {
                partition_index: wanted.partition_index,
                error_code: ErrorCode(error),
                offset,
                ..Default::default()
            }
        };
        let partitions = topic.partitions.iter().map(partition).collect();
        m02_list_offsets::ListOffsetsTopicResponse { name: topic.name, partitions }
    };
    let topics = request.topics.into_iter().map(topic).collect();
    m02_list_offsets::Response { topics, ..Default::default() }
}

/// `create` makes a topic, or only checks it, and returns its error, partitions and replicas.
pub fn create_topics(
    request: m19_create_topics::Request,
    mut create: impl FnMut(&m19_create_topics::CreatableTopic, bool) -> (i16, i32, i16),
) -> m19_create_topics::Response {
    let topic = |topic: m19_create_topics::CreatableTopic| {
        let (error, partitions, replicas) = create(&topic, request.validate_only);
        let is_made = error == code::NONE;
        m19_create_topics::CreatableTopicResult {
            name: topic.name,
            error_code: ErrorCode(error),
            error_message: None,
            num_partitions: if is_made { partitions } else { -1 },
            replication_factor: if is_made { replicas } else { -1 },
            ..Default::default()
        }
    };
    let topics = request.topics.into_iter().map(topic).collect();
    m19_create_topics::Response { topics, ..Default::default() }
}

/// `delete` says whether there was such a topic.
pub fn delete_topics(
    request: m20_delete_topics::Request,
    mut delete: impl FnMut(&str) -> bool,
) -> m20_delete_topics::Response {
    let topic = |name: String| {
        let error = if delete(&name) { code::NONE } else { code::UNKNOWN_TOPIC_OR_PARTITION };
        m20_delete_topics::DeletableTopicResult {
            name: Some(name),
            error_code: ErrorCode(error),
            ..Default::default()
        }
    };
    let responses = request.topic_names.into_iter().map(topic).collect();
    m20_delete_topics::Response { responses, ..Default::default() }
}

/// Every resource exists and has no settings of its own.
pub fn describe_configs(request: m32_describe_configs::Request) -> m32_describe_configs::Response {
    let result = |resource: m32_describe_configs::DescribeConfigsResource| {
        m32_describe_configs::DescribeConfigsResult {
            error_message: None,
            resource_type: resource.resource_type,
            resource_name: resource.resource_name,
            ..Default::default()
        }
    };
    let results = request.resources.into_iter().map(result).collect();
    m32_describe_configs::Response { results, ..Default::default() }
}

/// The broker that coordinates, or an error, for each key.
pub fn find_coordinator(
    request: &m10_find_coordinator::Request,
    version: i16,
    broker: &BrokerView,
    error: i16,
) -> m10_find_coordinator::Response {
    let (node_id, host, port) = (broker.id, broker.host.clone(), i32::from(broker.port));
    let error_code = ErrorCode(error);
    if version <= FIND_ONE_MAX {
        return m10_find_coordinator::Response { error_code, node_id, host, port, ..Default::default() };
    }
    let coordinator = |key: &String| m10_find_coordinator::Coordinator {
        key: key.clone(),
        node_id,
        host: host.clone(),
        port,
        error_code,
        ..Default::default()
    };
    let coordinators = request.coordinator_keys.iter().take(COORDINATORS_MAX).map(coordinator).collect();
    m10_find_coordinator::Response { coordinators, ..Default::default() }
}

/// Coordinators of one response at most: a request may name many keys.
const COORDINATORS_MAX: usize = 1 << 12;

/// The last version of FindCoordinator that asks for one alone.
const FIND_ONE_MAX: i16 = 3;

/// One outcome for all partitions.
pub fn add_partitions(
    topics: &[m24_add_partitions_to_txn::AddPartitionsToTxnTopic],
    error: i16,
) -> m24_add_partitions_to_txn::Response {
    let partition = |&partition_index: &i32| m24_add_partitions_to_txn::AddPartitionsToTxnPartitionResult {
        partition_index,
        partition_error_code: ErrorCode(error),
    };
    let topic = |topic: &m24_add_partitions_to_txn::AddPartitionsToTxnTopic| {
        m24_add_partitions_to_txn::AddPartitionsToTxnTopicResult {
            name: topic.name.clone(),
            results_by_partition: topic.partitions.iter().map(partition).collect(),
        }
    };
    let results_by_topic_v3_and_below = topics.iter().map(topic).collect();
    m24_add_partitions_to_txn::Response { results_by_topic_v3_and_below, ..Default::default() }
}

/// A producer id of its own for everyone who asks.
pub fn init_producer_id(producer_id: i64) -> m22_init_producer_id::Response {
    m22_init_producer_id::Response { producer_id, producer_epoch: 0, ..Default::default() }
}
