//! The requests as this client sends them, and values that Kafka's specifications describe in words.

use super::*;
use std::collections::BTreeMap;

/// Timestamp in ListOffsets that asks for the offset after the last record: the high watermark.
pub const LATEST_TIMESTAMP: i64 = -1;
/// Timestamp in ListOffsets that asks for the offset of the first record.
pub const EARLIEST_TIMESTAMP: i64 = -2;

/// Resource type of a topic.
pub const RESOURCE_TYPE_TOPIC: i8 = 2;
/// Resource type of a broker, whose resource name is its id in digits.
pub const RESOURCE_TYPE_BROKER: i8 = 4;

/// Type, in DescribeConfigs, of a setting that the broker was given and does not know; -1 before version 3.
pub const CONFIG_TYPE_UNKNOWN: i8 = 0;

/// Source, in DescribeConfigs, of a value that was set for a topic.
pub const CONFIG_SOURCE_TOPIC: i8 = 1;
/// A setting that was set for one broker while it ran.
pub const CONFIG_SOURCE_DYNAMIC_BROKER: i8 = 2;
/// A setting that was set for all brokers while they ran.
pub const CONFIG_SOURCE_DYNAMIC_DEFAULT_BROKER: i8 = 3;
/// A setting that the broker was started with.
pub const CONFIG_SOURCE_STATIC_BROKER: i8 = 4;
/// A default.
pub const CONFIG_SOURCE_DEFAULT: i8 = 5;

impl m02_list_offsets::Request {
    /// One offset of each of these partitions, which the addressed broker leads: that of the first record not
    /// older than `timestamp` in ms since 1970, or [`EARLIEST_TIMESTAMP`] or [`LATEST_TIMESTAMP`].
    pub fn of_topic(topic: &str, partitions: &[i32], timestamp: i64) -> Self {
        let partition = |&partition_index: &i32| m02_list_offsets::ListOffsetsPartition {
            partition_index,
            timestamp,
            ..Default::default()
        };
        let partitions = partitions.iter().map(partition).collect();
        let topics = vec![m02_list_offsets::ListOffsetsTopic { name: topic.to_owned(), partitions }];
        Self { replica_id: -1, topics, ..Self::default() }
    }
}

impl m03_metadata::Request {
    /// Topics by name; nothing asks for all of them. None is created by asking.
    pub fn of_topics(names: Option<&[&str]>) -> Self {
        let topic = |&name: &&str| m03_metadata::MetadataRequestTopic {
            name: Some(name.to_owned()),
            ..Default::default()
        };
        let topics = names.map(|names| names.iter().map(topic).collect());
        Self { topics, allow_auto_topic_creation: false, ..Self::default() }
    }
}

impl m18_api_versions::Request {
    /// Asked by this client. A broker refuses names of other characters than letters, digits, `-` and `.`.
    pub fn of_this_client() -> Self {
        Self {
            client_software_name: "kdyno".to_owned(),
            client_software_version: env!("CARGO_PKG_VERSION").to_owned(),
            // Whether it is the intended cluster; every answer about metadata shows it.
            ..Self::default()
        }
    }
}

impl m19_create_topics::Request {
    /// One topic; the brokers choose where its replicas lie. `config` has the settings that differ from the
    /// brokers' defaults; `timeout_ms` is how long the broker may wait for the topic to exist.
    pub fn of_topic(
        name: &str,
        num_partitions: i32,
        replication_factor: i16,
        config: &BTreeMap<String, String>,
        timeout_ms: i32,
    ) -> Self {
        let setting = |(name, value): (&String, &String)| m19_create_topics::CreatableTopicConfig {
            name: name.clone(),
            value: Some(value.clone()),
        };
        let topic = m19_create_topics::CreatableTopic {
            name: name.to_owned(),
            num_partitions,
            replication_factor,
            configs: config.iter().map(setting).collect(),
            ..Default::default()
        };
        Self { topics: vec![topic], timeout_ms, ..Self::default() }
    }
}

impl m20_delete_topics::Request {
    /// Topics by name; `timeout_ms` is how long the broker may wait for them to be gone.
    pub fn of_topics(names: &[&str], timeout_ms: i32) -> Self {
        let topic_names = names.iter().map(|&name| name.to_owned()).collect();
        Self { topic_names, timeout_ms, ..Self::default() }
    }
}

impl m32_describe_configs::Request {
    /// All settings of a topic ([`RESOURCE_TYPE_TOPIC`]) or of a broker ([`RESOURCE_TYPE_BROKER`]).
    pub fn of_resource(resource_type: i8, name: &str) -> Self {
        let resource = m32_describe_configs::DescribeConfigsResource {
            resource_type,
            resource_name: name.to_owned(),
            configuration_keys: None,
        };
        // Among the synonyms is the default of the broker's version.
        Self { resources: vec![resource], include_synonyms: true, ..Self::default() }
    }
}
