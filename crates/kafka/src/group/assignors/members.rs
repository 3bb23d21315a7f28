//! What assignors are given and what they give.

use super::super::TopicPartition;
use super::super::protocol::Subscription;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Partitions of each topic that there is.
pub type PartitionCounts = BTreeMap<Arc<str>, i32>;

/// What each member gets, sorted.
pub type Assignments = BTreeMap<String, Vec<TopicPartition>>;

/// A member as the leader sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JoinedMember {
    /// What the coordinator calls it.
    pub member_id: String,
    /// `group.instance.id`.
    pub instance_id: Option<String>,
    /// What it said when it joined.
    pub subscription: Subscription,
}

impl JoinedMember {
    pub(super) fn is_subscribed(&self, topic: &str) -> bool {
        self.subscription.topics.iter().any(|own| **own == *topic)
    }
}

/// What a sticky assignor reads of a member.
pub(super) struct Owned<'a> {
    pub partitions: &'a [TopicPartition],
    pub generation: Option<i32>,
}

/// All partitions, sorted.
pub(super) fn all_partitions(counts: &PartitionCounts) -> impl Iterator<Item = TopicPartition> {
    let of_topic = |(topic, count): (&Arc<str>, &i32)| {
        let topic = Arc::clone(topic);
        (0..*count).map(move |partition| TopicPartition { topic: Arc::clone(&topic), partition })
    };
    counts.iter().flat_map(of_topic)
}
