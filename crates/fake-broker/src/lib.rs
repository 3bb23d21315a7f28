//! A scripted Kafka cluster for tests: bytes and time in, bytes and deadlines out, no clock and no I/O.
//!
//! [`FakeCluster`] really stores what it acknowledges (as counts, or whole batches when asked), serves
//! produce requests through a queue whose completion times follow from Lindley's recursion exactly, and
//! misbehaves by a [`Script`]: stalls, errors, drops, disconnects, leader moves, hostile bytes. The same
//! configuration, calls and instants give the same outputs. [`tcp`] puts one behind real sockets.
//!
//! What is simpler than in a real broker: replicas are names only (everything is in sync at once), markers of
//! transactions are written at once, groups read one topic alone and wait for ever for a member that died, a request
//! that follows another on its connection is worked on before that one is answered (its answer still waits).

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

mod actions;
mod answers;
mod batch;
mod classic;
mod cluster;
mod codec;
mod connection;
mod coordinator;
mod fetch;
mod groups;
mod log;
mod membership;
mod plan;
mod produce;
mod requests;
mod script;
mod server;
mod service;
pub mod tcp;
mod transactions;

#[cfg(test)]
#[path = "../../kafka-server/src/codec/oracle.rs"]
mod oracle;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_script;

pub use cluster::{ClusterOutput, FakeCluster, FakeCounts, RequestTrace};
pub use connection::ConnId;
pub use log::{StoredBatch, StoredPartition};
pub use plan::{Hostile, StoredAnyway};
pub use script::{Script, ScriptStep};
pub use service::{Service, ServicePer, ServiceTime};

use kdyno_kafka_server::codec::ApiKind;
use std::collections::{BTreeMap, BTreeSet};

/// What a user may be without.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Right {
    /// To make topics.
    CreateTopics,
    /// To delete topics.
    DeleteTopics,
    /// To see the settings of brokers and topics.
    DescribeConfigs,
}

/// What a fake cluster starts as.
#[derive(Debug, Clone, PartialEq)]
pub struct FakeConfig {
    /// Brokers; their ids count from 0.
    pub brokers: u32,
    /// Topics, each with the id of every partition's leader.
    pub topics: BTreeMap<String, Vec<i32>>,
    /// All chance in the cluster follows from it.
    pub seed: u64,
    /// How produce requests are served, on each broker by itself.
    pub service: Service,
    /// How long all other requests take, in nanoseconds.
    pub control_delay_ns: u64,
    /// Keeps stored batches, for fetches and for [`FakeCluster::batches`]; otherwise counts only, and
    /// fetches find nothing.
    pub keeps_batches: bool,
    /// Keeps a [`RequestTrace`] of each finished produce request until it is taken.
    pub keeps_traces: bool,
    /// Topics have ids, by which the newest versions name them, and a broker that does not lead a partition says who
    /// does; otherwise the brokers are older.
    pub has_topic_ids: bool,
    /// Level of the feature `transaction.version`; it is 0 where brokers are older than topics' ids.
    pub transaction_version: i16,
    /// How long a coordinator does not take a producer's next transaction after the end of one, in nanoseconds.
    pub marker_delay_ns: u64,
    /// Brokers remember what clients fetch; otherwise each request names everything.
    pub keeps_fetch_sessions: bool,
    /// Where brokers are, as far as they say so: leaders send clients of another rack to a replica there.
    pub racks: BTreeMap<i32, String>,
    /// What clients are refused.
    pub denied: BTreeSet<Right>,
    /// What brokers say of a topic that they do not make, in addition to the error.
    pub words: Option<String>,
}

impl FakeConfig {
    /// So many brokers that answer at once, without topics, seed 0.
    pub fn new(brokers: u32) -> Self {
        Self {
            brokers,
            topics: BTreeMap::new(),
            seed: 0,
            service: Service::Fixed { delay_ns: 0 },
            control_delay_ns: 0,
            keeps_batches: false,
            keeps_traces: false,
            has_topic_ids: true,
            transaction_version: 2,
            marker_delay_ns: 0,
            keeps_fetch_sessions: true,
            racks: BTreeMap::new(),
            denied: BTreeSet::new(),
            words: None,
        }
    }

    /// The versions of each API that the brokers speak.
    pub(crate) fn versions(&self) -> fn(ApiKind) -> (i16, i16) {
        if self.has_topic_ids { codec::versions_by_id } else { ApiKind::versions }
    }

    /// Brokers of before topics had ids.
    #[must_use]
    pub fn without_topic_ids(mut self) -> Self {
        self.has_topic_ids = false;
        self.transaction_version = 0;
        self
    }

    /// Brokers without room for fetch sessions.
    #[must_use]
    pub fn without_fetch_sessions(mut self) -> Self {
        self.keeps_fetch_sessions = false;
        self
    }

    /// Sets where a broker is.
    #[must_use]
    pub fn rack(mut self, broker: i32, rack: &str) -> Self {
        self.racks.insert(broker, rack.to_owned());
        self
    }

    /// Sets the level of the feature `transaction.version`.
    #[must_use]
    pub fn transaction_version(mut self, level: i16) -> Self {
        self.transaction_version = level;
        self
    }

    /// Sets for how long a producer's next transaction has to wait for the one before.
    #[must_use]
    pub fn marker_delay_ns(mut self, marker_delay_ns: u64) -> Self {
        self.marker_delay_ns = marker_delay_ns;
        self
    }

    /// Adds a topic whose partitions are led by the brokers in turn.
    #[must_use]
    pub fn topic(mut self, name: &str, partitions: u32) -> Self {
        let brokers = self.brokers.max(1);
        let leaders = (0..partitions).map(|index| (index % brokers) as i32).collect();
        self.topics.insert(name.to_owned(), leaders);
        self
    }

    /// Refuses clients what needs this right.
    #[must_use]
    pub fn deny(mut self, right: Right) -> Self {
        self.denied.insert(right);
        self
    }

    /// Sets what brokers say of a topic that they do not make.
    #[must_use]
    pub fn words(mut self, words: &str) -> Self {
        self.words = Some(words.to_owned());
        self
    }

    /// Sets the seed.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Sets how produce requests are served.
    #[must_use]
    pub fn service(mut self, service: Service) -> Self {
        self.service = service;
        self
    }

    /// Sets how long other requests take.
    #[must_use]
    pub fn control_delay_ns(mut self, control_delay_ns: u64) -> Self {
        self.control_delay_ns = control_delay_ns;
        self
    }

    /// Keeps stored batches.
    #[must_use]
    pub fn keep_batches(mut self) -> Self {
        self.keeps_batches = true;
        self
    }

    /// Keeps traces of produce requests.
    #[must_use]
    pub fn keep_traces(mut self) -> Self {
        self.keeps_traces = true;
        self
    }
}
