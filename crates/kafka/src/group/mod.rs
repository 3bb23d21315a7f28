//! Members of consumer groups: who gets which partitions, and where reading goes on. No sockets, no clock: time and
//! answers in, requests and deadlines out.
//!
//! A [`Member`] is one consumer's. It finds the group's coordinator, joins, and reports what it was assigned; it is
//! [polled](Member::poll) when its application asks for records, which is when partitions change hands, and lives by
//! [`next_request`](Member::next_request) in between, as the Java consumer does by its heartbeat thread. Two protocols:
//! [`classic`], in which members join and one of them [assigns](assignors), and [`kip848`], in which the coordinator
//! does. Their differences end here: the same events come of both.

mod answers;
pub mod assignors;
mod classic;
mod kip848;
mod link;
mod member;
mod offsets;
pub mod protocol;
mod shared;
#[cfg(test)]
mod tests;

pub use assignors::Assignor;
pub use member::Member;

use crate::backoff::ExponentialBackoff;
use crate::errors::ErrorCode;
use std::fmt;
use std::sync::Arc;
use thiserror::Error;

/// A partition of a topic. Those of one topic share its name's memory.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TopicPartition {
    /// Name of the topic.
    pub topic: Arc<str>,
    /// Partition.
    pub partition: i32,
}

impl TopicPartition {
    /// By its name.
    pub fn new(topic: &str, partition: i32) -> Self {
        Self { topic: topic.into(), partition }
    }
}

impl fmt::Display for TopicPartition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.topic, self.partition)
    }
}

/// Where reading goes on in a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// The next offset to read.
    pub offset: i64,
    /// Leader epoch of the record before it; −1: not known.
    pub leader_epoch: i32,
}

/// Says how far a partition was read; `None`: nothing is known of it yet.
pub type PositionLookup<'a> = dyn FnMut(&TopicPartition) -> Option<Position> + 'a;

/// How members get partitions (`group.protocol`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GroupProtocol {
    /// Members agree on an assignor and one of them assigns.
    Classic {
        /// `partition.assignment.strategy`: the one that is liked best comes first.
        assignors: Vec<Assignor>,
    },
    /// The coordinator assigns (KIP-848).
    Consumer {
        /// `group.remote.assignor`; `None`: the brokers' first.
        assignor: Option<String>,
    },
}

/// Settings of a member, with the Java consumer's names in the docs. Times in ns.
#[derive(Debug, Clone)]
pub struct GroupConfig {
    /// `group.id`.
    pub group_id: String,
    /// `group.instance.id`: a member that keeps its partitions while it is away for less than its session.
    pub instance_id: Option<String>,
    /// Topics it subscribes to.
    pub topics: Vec<Arc<str>>,
    /// `group.protocol`.
    pub protocol: GroupProtocol,
    /// `session.timeout.ms`, of the classic protocol.
    pub session_timeout_ns: u64,
    /// `heartbeat.interval.ms`, of the classic protocol.
    pub heartbeat_interval_ns: u64,
    /// `max.poll.interval.ms`, which is also the timeout of a rebalance.
    pub poll_interval_max_ns: u64,
    /// `auto.commit.interval.ms`; `None`: `enable.auto.commit=false`.
    pub auto_commit_ns: Option<u64>,
    /// `retry.backoff.ms` to `retry.backoff.max.ms`.
    pub retry_backoff: ExponentialBackoff,
    /// How long its last commit is tried when it leaves.
    pub leave_timeout_ns: u64,
    /// Seed of the pauses' lengths, and of its id in the consumer protocol: no two members should share it.
    pub seed: u64,
}

/// Something to ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupRequestKind {
    /// Who coordinates; any broker knows.
    FindCoordinator,
    /// How many partitions topics have that other members subscribe to.
    Metadata,
    /// To become part of the next generation.
    Join,
    /// For what the leader assigned.
    Sync,
    /// To be kept, and to hear of rebalances.
    Heartbeat,
    /// The timeout of the consumer protocol, and everything else of it.
    ConsumerHeartbeat,
    /// To be part of it no longer.
    Leave,
    /// For committed offsets.
    FetchOffsets,
    /// To keep offsets.
    Commit,
}

/// A request of a member, in flight or to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupRequest {
    /// What is asked.
    pub kind: GroupRequestKind,
    /// How often the coordinator was lost before: answers of one that was lost are dropped.
    link: u32,
    /// Which membership it speaks for.
    membership: u32,
}

/// What happened to a member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GroupEvent {
    /// Its coordinator is this broker.
    Coordinator(i32),
    /// It looks for its coordinator again, with the reason.
    CoordinatorLost(String),
    /// Brokers have answered its look-ups with this error, the newest, for 5 s.
    CoordinatorMissing(ErrorCode),
    /// It has to rebalance, with the reason.
    Rebalancing(String),
    /// These are about to be taken away: nothing more of them is handed over, and what was is committed.
    Revoking(Vec<TopicPartition>),
    /// These were given up in good order.
    Revoked(Vec<TopicPartition>),
    /// These were lost: the group may have given them to others already, and they cannot be committed.
    Lost(Vec<TopicPartition>),
    /// A rebalance is over. What the member had and did not lose it keeps.
    Assigned(Rebalanced),
    /// Where to begin in partitions that were assigned; without a position nothing was ever committed
    /// (`auto.offset.reset`).
    Start(Vec<(TopicPartition, Option<Position>)>),
    /// So many offsets were committed.
    Committed {
        /// Number of partitions.
        partitions: usize,
        /// Since it was wanted, ns.
        took_ns: u64,
    },
    /// Offsets were not committed.
    CommitFailed(ErrorCode),
    /// It has left, as wished.
    Left,
}

/// A rebalance that is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rebalanced {
    /// When the member came to know that it had to rebalance, ns.
    pub began_ns: u64,
    /// When it asked to join, or began to reconcile, ns: what Java's `rebalance-latency` counts from.
    pub joined_ns: u64,
    /// Generation, or epoch.
    pub generation: i32,
    /// Whether it assigned for all.
    pub is_leader: bool,
    /// What it did not have before.
    pub added: Vec<TopicPartition>,
    /// How much it has now.
    pub assigned: usize,
}

/// Why a member is none any more, for good.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum GroupError {
    /// The coordinator refuses it.
    #[error("group {group}: {api} failed: {error}{hint}")]
    Refused {
        /// Which group.
        group: String,
        /// What was asked.
        api: &'static str,
        /// The coordinator's answer.
        error: ErrorCode,
        /// What to do about it, with what precedes it.
        hint: &'static str,
    },
    /// What other members or the coordinator said makes no sense.
    #[error("group {group}: {what}")]
    Inconsistent {
        /// Which group.
        group: String,
        /// What was wrong.
        what: &'static str,
    },
}
