//! Input and output of a consuming client.

use super::reading::{FetchDepth, FetchTally};
use crate::broker_connections::RequestOwner;
use crate::group::GroupRequest;
use crate::messages::{EARLIEST_TIMESTAMP, LATEST_TIMESTAMP};

/// Which offset of a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OffsetAt {
    /// Offset of the first record.
    Earliest,
    /// After the last record that all in-sync replicas have.
    Latest,
    /// The same, but before the first record of the first transaction that is open: of one that ended until its marker
    /// is there, which its coordinator writes after it has answered.
    LastStable,
}

impl OffsetAt {
    /// The timestamp by which ListOffsets knows it.
    pub fn timestamp(self) -> i64 {
        match self {
            Self::Earliest => EARLIEST_TIMESTAMP,
            Self::Latest | Self::LastStable => LATEST_TIMESTAMP,
        }
    }

    /// Kafka's number for `read_committed`, or for `read_uncommitted`, which ListOffsets is asked with.
    pub fn isolation_level(self) -> i8 {
        i8::from(self == Self::LastStable)
    }
}

/// `isolation.level`: which records are fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FetchIsolation {
    /// All that all in-sync replicas have.
    ReadUncommitted,
    /// Only transactions that were committed, and nothing behind the first that is open.
    ReadCommitted,
}

/// Which partitions of its topics a client fetches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Partitions {
    /// The one of this number, and every `clients`-th from it on, counted through all topics.
    Share {
        /// The first.
        first: usize,
        /// Clients that share the topics.
        clients: usize,
    },
    /// The partitions that it is [given](super::Consumer::add).
    Told,
}

/// Settings, with the Java client's names in the docs.
#[derive(Debug, Clone)]
pub struct ConsumerConfig {
    /// Its topics, at least one.
    pub topics: Vec<String>,
    /// Which of its partitions are fetched.
    pub partitions: Partitions,
    /// Where to begin (`auto.offset.reset`).
    pub from: OffsetAt,
    /// `fetch.max.wait.ms`.
    pub fetch_wait_ms: i32,
    /// `fetch.min.bytes`.
    pub fetch_bytes_min: i32,
    /// `fetch.max.bytes`.
    pub fetch_bytes_max: i32,
    /// `max.partition.fetch.bytes`.
    pub partition_bytes_max: i32,
    /// `retry.backoff.ms`, in ns.
    pub retry_backoff_ns: u64,
    /// `isolation.level`.
    pub isolation: FetchIsolation,
    /// How far what was fetched is read.
    pub reading: FetchDepth,
    /// A partition with anything fetched is held until it is [released](super::Consumer::release): its application
    /// takes one record after the other, and fetches no more of it before it has them all.
    pub holds_fetched: bool,
    /// `client.rack`; empty: not sent.
    pub rack: String,
    /// `metadata.max.age.ms`, in ns: for so long a replica is read from that a leader has named.
    pub metadata_max_age_ns: u64,
}

/// A request in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FetchToken {
    /// For the offsets to begin at.
    ListOffsets,
    /// For where the logs end of partitions that are held.
    LogEnds,
    /// For records.
    Fetch,
    /// As a member of a group.
    Group(GroupRequest),
}

impl From<FetchToken> for RequestOwner<FetchToken> {
    fn from(token: FetchToken) -> Self {
        Self::Client(token)
    }
}

/// What a fetch brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fetched {
    /// When it was read, ns.
    pub received_ns: u64,
    /// Size of the response.
    pub response_bytes: usize,
    /// What was in it.
    pub tally: FetchTally,
    /// The connection it came over.
    pub connection: usize,
    /// How long the broker throttles the client, ns.
    pub throttled_ns: u64,
}

impl ConsumerConfig {
    /// Which of its topics an answer names; who reads one topic alone need not ask.
    pub(super) fn topic_of(&self, name: &str) -> Option<usize> {
        if self.topics.len() == 1 { Some(0) } else { self.topics.iter().position(|own| own == name) }
    }
}

impl FetchIsolation {
    /// As requests have it.
    pub(super) fn number(self) -> i8 {
        i8::from(self == Self::ReadCommitted)
    }
}

/// Something worth a line on a timeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConsumerEvent {
    /// A partition could not be fetched from, or what was fetched is damaged.
    FetchError(String),
    /// Records were gone before they were fetched, or an offset was not there.
    RecordsSkipped(String),
}
