//! What the admin client is asked for and tells.

use crate::errors::ErrorCode;

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
    /// Those of them that are in sync.
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
    /// not tell; then it is true.
    pub known: bool,
    /// Where its value comes from.
    pub source: SettingSource,
}

/// Where the value of a setting in force comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingSource {
    /// The default of the broker's version.
    Default,
    /// What the broker was started with, its `server.properties`.
    Static,
    /// Somebody set it while the cluster ran, for one broker, for all of them or for a topic.
    Dynamic,
    /// The broker did not tell, or something that came after this was written.
    Unknown,
}

/// What has settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConfigOf<'a> {
    /// A topic, by name.
    Topic(&'a str),
    /// A broker, by id.
    Broker(i32),
}
