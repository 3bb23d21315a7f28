//! The system under test and its topics.

use super::security::REDACTED;
use super::{Listeners, Security, TlsVersion, ZonesPlan};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;
use strum::{Display, EnumString, IntoStaticStr};

/// The system under test: made for the run, or attached to; or a broker that does nothing, to measure clients alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SystemPlan {
    /// A cluster that kdyno starts and removes.
    Local(ClusterPlan),
    /// An existing cluster, reached by a target file.
    Attached(AttachedPlan),
    /// No Kafka: a broker of kdyno's own that acknowledges everything and keeps nothing. What is measured with it is the
    /// client alone.
    NullBroker(NullBrokerPlan),
}

impl SystemPlan {
    /// A target that declares a price, and that price.
    pub fn priced(&self) -> Option<(&AttachedPlan, &Price)> {
        match self {
            Self::Attached(target) => target.price.as_ref().map(|price| (target, price)),
            Self::Local(_) | Self::NullBroker(_) => None,
        }
    }
}

/// A null broker: one process of this host, started and ended with the run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct NullBrokerPlan {
    /// Versions of TLS that it speaks, each once; empty: it is spoken to in PLAINTEXT.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tls: Vec<TlsVersion>,
    /// Bytes of each value that fetches are answered with, from logs without end; `None`: they are answered with nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fetch_value_bytes: Option<u32>,
    /// The second of two alike, as of [`ClusterPlan`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_second: bool,
}

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
    /// How clients reach it, and its nodes each other.
    #[serde(default, skip_serializing_if = "Listeners::are_plain")]
    pub listeners: Listeners,
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
    /// Whether nobody said otherwise.
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

    /// Processes that a cluster has beside its brokers: controllers of their own, or ZooKeeper's nodes.
    pub fn beside_brokers(self) -> u32 {
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

/// An existing cluster and what may be done to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AttachedPlan {
    /// Target name.
    pub target: String,
    /// `host:port` of the brokers to ask first.
    pub bootstrap: Vec<String>,
    /// The cluster id that must answer; otherwise nothing is sent.
    pub cluster_id: String,
    /// How its brokers are spoken to.
    #[serde(default, skip_serializing_if = "Security::is_plaintext")]
    pub security: Box<Security>,
    /// Prefix of every topic, client id and group of ours.
    pub prefix: String,
    /// Topics of the cluster that stand for the scenario's, by the address of these. They are never made, altered or
    /// deleted.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub topics: BTreeMap<String, String>,
    /// Limits that are enforced.
    pub caps: Caps,
    /// Named permissions, e.g. `rate-max`.
    pub allow: Vec<String>,
    /// What ends the load at once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub abort_if: Vec<AbortIf>,
    /// Facts the target file declares, printed as "declared".
    pub facts: BTreeMap<String, String>,
    /// What the whole cluster costs, as the target file declares it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
    /// Where its brokers' own metrics are read; `None`: nowhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metrics: Option<Box<MetricsPlan>>,
    /// The measured window is to last so long at least, ns: past what burst credits and memory carry. `None`: nobody
    /// said how long that is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sustain_ns: Option<u64>,
}

impl AttachedPlan {
    /// Facts that may say which version of Kafka runs on it, the first one first.
    const VERSION_FACTS: [&str; 2] = ["kafka", "version"];

    /// The version that the target declares.
    pub fn version(&self) -> Option<&str> {
        Self::VERSION_FACTS.iter().find_map(|name| self.facts.get(*name)).map(String::as_str)
    }
}

/// Where the metrics of an attached cluster's brokers are read, and how.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MetricsPlan {
    /// Where.
    pub from: MetricsFrom,
    /// Who asks; `None`: nobody is asked for a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub login: Option<MetricsLogin>,
    /// PEM file with the certificates to trust; `None`: those that the platform trusts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust: Option<PathBuf>,
}

impl MetricsPlan {
    /// Takes out addresses, names of users and paths.
    pub fn redact(&mut self) {
        let (MetricsFrom::PerBroker(url) | MetricsFrom::Prometheus(url) | MetricsFrom::Jmx(url)) =
            &mut self.from;
        REDACTED.clone_into(url);
        if let Some(MetricsLogin::Basic { username, .. }) = &mut self.login {
            REDACTED.clone_into(username);
        }
        if let Some(path) = &mut self.trust {
            *path = REDACTED.into();
        }
    }
}

/// Where metrics are read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MetricsFrom {
    /// In the Prometheus text format at this URL of each broker; [`MetricsFrom::HOST`] stands for the broker's host.
    PerBroker(String),
    /// From the query API of the Prometheus server at this URL.
    Prometheus(String),
    /// Over JMX, RMI and no more, at this `host:port` of each broker, with the same for the host.
    Jmx(String),
}

impl MetricsFrom {
    /// Stands in the URL of each broker for its host.
    pub const HOST: &'static str = "{host}";

    /// The URL, or host and port.
    pub fn url(&self) -> &str {
        match self {
            Self::PerBroker(url) | Self::Prometheus(url) | Self::Jmx(url) => url,
        }
    }
}

/// Who asks for metrics. Secrets are named, never here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MetricsLogin {
    /// HTTP's basic authentication; of JMX its user and password.
    Basic {
        /// The user's name.
        username: String,
        /// Name of the secret that is the password.
        password: String,
    },
    /// A bearer token.
    Bearer {
        /// Name of the secret that is the token.
        token: String,
    },
}

impl MetricsLogin {
    /// Name of the secret that it needs.
    pub fn secret(&self) -> &str {
        match self {
            Self::Basic { password, .. } => password,
            Self::Bearer { token } => token,
        }
    }
}

/// What a cluster costs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Price {
    /// Price of an hour.
    pub per_hour: f64,
    /// Its currency: three capital letters.
    pub currency: String,
}

/// A state of an attached cluster at which the load on it ends at once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AbortIf {
    /// What is watched.
    pub of: Watched,
    /// On which side of the limit the load ends.
    pub beyond: Beyond,
    /// The limit: brokers, partitions, or records/s.
    pub limit: f64,
    /// For how long without a break it must have been so, ns; 0: at once.
    pub for_ns: u64,
    /// As typed, e.g. `under_replicated > 0 for 10s`.
    pub text: String,
}

/// What of an attached cluster is watched while it is under load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Display, EnumString, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Watched {
    /// Brokers that were there when the run began and are gone.
    OfflineBrokers,
    /// Partitions without a leader, those of other topics included.
    OfflinePartitions,
    /// Partitions with fewer replicas in sync than they have, those of other topics included.
    UnderReplicated,
    /// Records/s appended to all topics that are not the run's own.
    RateOfOthers,
}

/// A side of a limit, the limit itself not included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Beyond {
    /// More than the limit.
    Above,
    /// Less than the limit.
    Below,
}

/// Limits on what an attached cluster is given.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Caps {
    /// Bytes of keys, values and headers per second that may be produced.
    pub produce_bytes_per_s: Option<u64>,
    /// Connections at once.
    pub connections: Option<u32>,
    /// Partitions made.
    pub partitions: Option<u32>,
    /// Bytes written in all, replicas included.
    pub disk_bytes: Option<u64>,
    /// Time a run may take.
    pub time_ns: Option<u64>,
}

/// A topic to make.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TopicPlan {
    /// Number of partitions, at least 1.
    pub partitions: u32,
    /// Replication factor, at least 1.
    pub replicas: u32,
    /// Topic settings in Kafka's names and units.
    pub config: BTreeMap<String, String>,
}

impl TopicPlan {
    /// How the number of partitions is called among the settings of a topic in force.
    pub const PARTITIONS: &str = "partitions";
    /// How the number of replicas is called there.
    pub const REPLICATION_FACTOR: &str = "replication.factor";
}
