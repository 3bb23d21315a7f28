//! An existing cluster as its target file describes it: how it is reached, what may be done to it, what it costs.

use crate::plan::Security;
use crate::plan::security::REDACTED;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;
use strum::{Display, EnumString, IntoStaticStr};

/// An existing cluster and what may be done to it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
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
    /// Topics of the cluster that take the place of the scenario's, by the address of these. They are never made,
    /// altered or deleted.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub topics: BTreeMap<String, String>,
    /// Consumer groups of the cluster whose lag is read, over all topics that they read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
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
    /// The measured window is to last so long at least, ns: past what burst credits and memory sustain. `None`: that
    /// duration is not stated.
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
    /// The name that must be typed; `None`: no name is needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub login: Option<MetricsLogin>,
    /// PEM file with the certificates to trust; `None`: those that the platform trusts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust: Option<PathBuf>,
    /// Attributes of MBeans that are read in addition ([`mbean`](crate::mbean)), over JMX alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mbeans: Vec<String>,
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
    /// In the Prometheus text format at this URL of each broker; [`MetricsFrom::HOST`] is replaced by the broker's
    /// host.
    PerBroker(String),
    /// From the query API of the Prometheus server at this URL.
    Prometheus(String),
    /// Over JMX, RMI and no more, at this `host:port` of each broker, with the same for the host.
    Jmx(String),
}

impl MetricsFrom {
    /// Replaced by the host in the URL of each broker.
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
    pub of: WatchedSign,
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
pub enum WatchedSign {
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
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
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
