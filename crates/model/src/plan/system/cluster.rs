//! A cluster of real brokers that kdyno starts: everything that its start needs.

use super::{IgnoredSetting, QuotasPlan};
use crate::plan::{Listeners, ZonesPlan};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A local cluster of real Apache Kafka brokers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClusterPlan {
    /// Where Kafka comes from.
    pub kafka: KafkaSource,
    /// How its metadata is kept.
    pub mode: Mode,
    /// Number of brokers, at least 1.
    pub brokers: u32,
    /// Heap of each broker (`-Xms` = `-Xmx`).
    pub heap_bytes: u64,
    /// Further JVM options of each broker, verbatim.
    pub jvm_options: Vec<String>,
    /// Broker settings in Kafka's names and units.
    pub config: BTreeMap<String, String>,
    /// Settings of the brokers' own file that are not in `config`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub ignored: BTreeMap<String, IgnoredSetting>,
    /// Processors each broker is pinned to, by broker; empty: not pinned. A shorter list repeats.
    #[serde(rename = "cpus")]
    pub pinned_to: Vec<Vec<u32>>,
    /// Processors' worth of time that each broker may use, by a control group of its own; `None`: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_limit: Option<f64>,
    /// Rack of each broker (`broker.rack`); empty: none. A shorter list repeats.
    pub racks: Vec<String>,
    /// Where the brokers' logs lie.
    pub storage: Storage,
    /// How the brokers' own metrics are read.
    #[serde(default, skip_serializing_if = "BrokerMetrics::is_default")]
    pub metrics: BrokerMetrics,
    /// Attributes of MBeans that are read in addition ([`mbean`](crate::mbean)).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mbeans: Vec<String>,
    /// How clients reach it, and its nodes each other.
    #[serde(default, skip_serializing_if = "Listeners::are_plain")]
    pub listeners: Listeners,
    /// What its brokers let clients do at most; `None`: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quotas: Option<QuotasPlan>,
    /// In which zones it is; `None`: in one, and nothing lies between anybody.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zones: Option<ZonesPlan>,
    /// The second of two alike clusters: in a duet whose sides differ in their load alone, side B has one of its own too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_second: bool,
}

/// How the metrics that the brokers of a local cluster keep of themselves are read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BrokerMetrics {
    /// From the Prometheus JMX agent in each of them.
    #[default]
    Jmx,
    /// They are not read, and the brokers run without the agent.
    None,
}

impl BrokerMetrics {
    /// Whether it is the default.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Where Kafka's jars come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KafkaSource {
    /// A released version, by Maven, e.g. `3.7.2`.
    Release(String),
    /// An unpacked distribution (has `libs/`).
    Home(PathBuf),
    /// A built Kafka checkout.
    Source(PathBuf),
}

impl KafkaSource {
    /// The released version, where it is one.
    pub fn release(&self) -> Option<&str> {
        match self {
            Self::Release(version) => Some(version),
            Self::Home(_) | Self::Source(_) => None,
        }
    }
}

/// How the cluster keeps its metadata.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Each broker is a controller too (the first three at most vote).
    KraftCombined,
    /// Controllers of their own.
    KraftControllers {
        /// Number of dedicated controllers.
        controllers: u32,
    },
    /// ZooKeeper, 2.x and 3.x only.
    Zookeeper {
        /// 1 or 3 nodes.
        nodes: u32,
    },
}

impl Mode {
    /// Brokers of a combined cluster that are controllers as well: a majority of three survives one loss, and more
    /// voters make each metadata write wait for more acknowledgements.
    pub const COMBINED_VOTERS_MAX: u32 = 3;

    /// Whether the broker with this id is a controller as well.
    pub fn is_combined(self, id: u32) -> bool {
        self == Self::KraftCombined && id < Self::COMBINED_VOTERS_MAX
    }

    /// Processes that a cluster has in addition to its brokers: controllers of their own, or ZooKeeper's nodes.
    pub fn nodes_without_broker(self) -> u32 {
        match self {
            Self::KraftCombined => 0,
            Self::KraftControllers { controllers } => controllers,
            Self::Zookeeper { nodes } => nodes,
        }
    }
}

/// Where brokers keep their logs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Storage {
    /// The run's folder on disk.
    Disk,
    /// Memory-backed storage; the report says so.
    Memory,
    /// One given folder per drive; each broker uses a sub-folder of every one.
    Dirs(Vec<PathBuf>),
}
