//! Requests to and answers of the admin client.

use crate::errors::ErrorCode;
use crate::messages::{self, m03_metadata, m18_api_versions, m32_describe_configs};

/// A cluster as one of its brokers knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterInfo {
    /// Id of the cluster.
    pub cluster_id: Option<String>,
    /// The controller; with KRaft any living broker; -1 when there is none.
    pub controller_id: i32,
    /// Living brokers by id.
    pub brokers: Vec<BrokerInfo>,
}

/// A broker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokerInfo {
    /// Node id.
    pub id: i32,
    /// Host as advertised.
    pub host: String,
    /// Port as advertised.
    pub port: i32,
    /// Rack, if it was given one.
    pub rack: Option<String>,
}

/// A topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicInfo {
    /// Name.
    pub name: String,
    /// Why it cannot be described: `UNKNOWN_TOPIC_OR_PARTITION` when it does not exist.
    pub error: ErrorCode,
    /// Whether it is one of Kafka's own.
    pub internal: bool,
    /// Its partitions by number.
    pub partitions: Vec<PartitionInfo>,
}

/// A partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionInfo {
    /// Number within the topic.
    pub id: i32,
    /// Broker that leads it; -1 when none does.
    pub leader: i32,
    /// Brokers that keep a copy; the first is the preferred leader.
    pub replicas: Vec<i32>,
    /// The replicas that are in sync.
    pub isr: Vec<i32>,
    /// What is wrong with it, as far as the asked broker knows.
    pub error: ErrorCode,
}

/// A setting in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingInfo {
    /// Its value; nothing when it has none, is secret, or is not known.
    pub value: Option<String>,
    /// False when the broker was given it and does not know it, as a misspelt one. Brokers before Kafka 2.6 do
    /// not report it; then it is true.
    pub known: bool,
    /// Where its value comes from.
    pub source: SettingSource,
    /// The default of the broker's version; nothing when it has none or does not report it.
    pub default: Option<String>,
}

/// Where the value of a setting in force comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingSource {
    /// The default of the broker's version.
    Default,
    /// What the broker was started with, its `server.properties`.
    Static,
    /// Somebody set it for one topic.
    DynamicTopic,
    /// Somebody set it while the cluster ran, for one broker.
    DynamicBroker,
    /// Somebody set it while the cluster ran, for all brokers.
    DynamicDefaultBroker,
    /// The broker did not report it, or something that came after this was written.
    Unknown,
}

/// A feature of a broker (KIP-584), such as `metadata.version`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeatureInfo {
    /// Name.
    pub name: String,
    /// The highest level that the broker's software speaks; `None`: it does not know the feature.
    pub supported_max: Option<i16>,
    /// The level that the whole cluster works with; `None`: none was finalized.
    pub finalized: Option<i16>,
}

/// What has settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConfigOf<'a> {
    /// A topic, by name.
    Topic(&'a str),
    /// A broker, by id.
    Broker(i32),
}

pub(super) fn cluster_info(reply: m03_metadata::Response) -> ClusterInfo {
    let broker = |b: m03_metadata::MetadataResponseBroker| BrokerInfo {
        id: b.node_id,
        host: b.host,
        port: b.port,
        rack: b.rack,
    };
    let mut brokers: Vec<_> = reply.brokers.into_iter().map(broker).collect();
    brokers.sort_by_key(|broker| broker.id);
    ClusterInfo { cluster_id: reply.cluster_id, controller_id: reply.controller_id, brokers }
}

pub(super) fn topic_info(topic: m03_metadata::MetadataResponseTopic) -> TopicInfo {
    let partition = |p: m03_metadata::MetadataResponsePartition| PartitionInfo {
        id: p.partition_index,
        leader: p.leader_id,
        replicas: p.replica_nodes,
        isr: p.isr_nodes,
        error: p.error_code,
    };
    let mut partitions: Vec<_> = topic.partitions.into_iter().map(partition).collect();
    partitions.sort_by_key(|partition| partition.id);
    let name = topic.name.unwrap_or_default();
    TopicInfo { name, error: topic.error_code, internal: topic.is_internal, partitions }
}

/// The features that a broker reports with its versions, by name; brokers before Kafka 2.7 report none.
pub(super) fn features(reply: &m18_api_versions::Response) -> Vec<FeatureInfo> {
    let supported = reply.supported_features.iter().map(|of| (&of.name, Some(of.max_version), None));
    let finalized = reply.finalized_features.iter().map(|of| (&of.name, None, Some(of.max_version_level)));
    let mut found: Vec<FeatureInfo> = Vec::new();
    for (name, supported_max, finalized) in supported.chain(finalized) {
        match found.iter_mut().find(|feature| feature.name == *name) {
            Some(feature) => {
                feature.supported_max = feature.supported_max.or(supported_max);
                feature.finalized = feature.finalized.or(finalized);
            }
            None => found.push(FeatureInfo { name: name.clone(), supported_max, finalized }),
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

pub(super) fn setting_info(
    setting: m32_describe_configs::DescribeConfigsResourceResult,
) -> (String, SettingInfo) {
    let known = setting.config_type != messages::CONFIG_TYPE_UNKNOWN;
    let source = match setting.config_source {
        messages::CONFIG_SOURCE_TOPIC => SettingSource::DynamicTopic,
        messages::CONFIG_SOURCE_DYNAMIC_BROKER => SettingSource::DynamicBroker,
        messages::CONFIG_SOURCE_DYNAMIC_DEFAULT_BROKER => SettingSource::DynamicDefaultBroker,
        messages::CONFIG_SOURCE_STATIC_BROKER => SettingSource::Static,
        messages::CONFIG_SOURCE_DEFAULT => SettingSource::Default,
        _ => SettingSource::Unknown,
    };
    let default = setting.synonyms.into_iter().find(|of| of.source == messages::CONFIG_SOURCE_DEFAULT);
    let default = default.and_then(|of| of.value);
    (setting.name, SettingInfo { value: setting.value, known, source, default })
}
