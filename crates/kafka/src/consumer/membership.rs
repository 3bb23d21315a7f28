//! What a consuming client knows as a member of a group.

use super::places;
use crate::group::{GroupEvent, Member, TopicPartition};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A member, with the names of the topics that it reads.
#[derive(Debug)]
pub(super) struct TopicMember {
    pub member: Member,
    pub topics: Vec<Arc<str>>,
    /// Where each of them is: a commit looks up every partition.
    pub numbers: BTreeMap<Arc<str>, usize>,
    /// What happened and has not been taken.
    pub events: Vec<(u64, GroupEvent)>,
    /// By topic: how many partitions it has, as the member knows it.
    pub partitions: Vec<usize>,
}

impl TopicMember {
    /// The place of one of its partitions; `None`: of a topic that is not its own.
    pub(super) fn place(&self, one: &TopicPartition) -> Option<i32> {
        place_of(&self.numbers, one)
    }
}

/// The place of a partition of one of these topics.
pub(super) fn place_of(numbers: &BTreeMap<Arc<str>, usize>, one: &TopicPartition) -> Option<i32> {
    places::place(*numbers.get(&one.topic)?, one.partition)
}
