//! The system under test and its topics.
//!
//! What a kind of system is and can do is asked of [`System`], to which [`SystemPlan`] dereferences; no other code of this
//! crate matches on the kinds.

mod attached;
mod cluster;
mod ignored;
mod kind;
mod local;
mod null_broker;
mod quotas;
mod strimzi;
mod target;

pub use cluster::{BrokerMetrics, ClusterPlan, KafkaSource, Mode, Storage};
pub use ignored::IgnoredSetting;
pub use kind::{Refusal, System};
pub use null_broker::NullBrokerPlan;
pub use quotas::{QuotaEach, QuotasPlan};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};
pub use strimzi::{StrimziListener, StrimziPlan, StrimziVolume};
pub use target::{
    AbortIf, AttachedPlan, Beyond, Caps, MetricsFrom, MetricsLogin, MetricsPlan, Price, WatchedSign,
};

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
    /// A cluster that Strimzi makes in Kubernetes.
    Strimzi(StrimziPlan),
}

impl Deref for SystemPlan {
    type Target = dyn System;

    fn deref(&self) -> &Self::Target {
        match self {
            Self::Local(cluster) => cluster,
            Self::Attached(target) => target,
            Self::NullBroker(broker) => broker,
            Self::Strimzi(cluster) => cluster,
        }
    }
}

impl DerefMut for SystemPlan {
    fn deref_mut(&mut self) -> &mut Self::Target {
        match self {
            Self::Local(cluster) => cluster,
            Self::Attached(target) => target,
            Self::NullBroker(broker) => broker,
            Self::Strimzi(cluster) => cluster,
        }
    }
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
