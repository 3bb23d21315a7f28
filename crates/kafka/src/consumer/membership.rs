//! What a consuming client knows as a member of a group.

use super::places;
use crate::group::{GroupEvent, Member, TopicPartition};
use std::sync::Arc;

/// A member, with the names of the topics that it reads.
#[derive(Debug)]
pub(super) struct TopicMember {
    pub member: Member,
    pub topics: Vec<Arc<str>>,
    /// What happened and has not been taken.
    pub events: Vec<(u64, GroupEvent)>,
    /// By topic: how many partitions it has, as the member knows it.
    pub partitions: Vec<usize>,
}

impl TopicMember {
    /// The place of one of its partitions; `None`: of a topic that is not its own.
    pub(super) fn place(&self, one: &TopicPartition) -> Option<i32> {
        place_of(&self.topics, one)
    }
}

/// The place of a partition of one of these topics.
pub(super) fn place_of(topics: &[Arc<str>], one: &TopicPartition) -> Option<i32> {
    places::place(topics.iter().position(|topic| *topic == one.topic)?, one.partition)
}
