//! What the leader of a generation does: it reads what all members said, sees to it that it knows their topics, and assigns.

use crate::errors::ErrorCode;
use crate::group::assignors::{Assignor, JoinedMember, PartitionCounts, assign};
use crate::group::protocol::{Subscription, encode_assignment};
use crate::group::shared::MemberCore;
use crate::messages::{m03_metadata, m11_join_group, m14_sync_group};
use crate::wire;
use std::collections::BTreeSet;
use std::sync::Arc;

/// An assignment that is to be made.
#[derive(Debug)]
pub(super) struct Leading {
    assignor: Assignor,
    members: Vec<JoinedMember>,
    /// The coordinator keeps the assignment of before: its leader came back under its instance id.
    skips: bool,
    /// Partitions of topics that only other members subscribe to; 0: there is no such topic.
    reported: PartitionCounts,
    /// When metadata is to be requested, ns.
    pub(super) ask_from_ns: u64,
    pub(super) failures: u32,
}

impl Leading {
    /// Reads what the members said.
    ///
    /// # Errors
    /// When one of them said something that cannot be read.
    pub(super) fn new(assignor: Assignor, joined: m11_join_group::Response) -> wire::Result<Self> {
        let member = |member: m11_join_group::JoinGroupResponseMember| {
            let subscription = Subscription::decode(&member.metadata)?;
            let (member_id, instance_id) = (member.member_id, member.group_instance_id);
            Ok(JoinedMember { member_id, instance_id, subscription })
        };
        let members = joined.members.into_iter().map(member).collect::<wire::Result<_>>()?;
        let skips = joined.skip_assignment;
        Ok(Self { assignor, members, skips, reported: PartitionCounts::new(), ask_from_ns: 0, failures: 0 })
    }

    /// Topics with an unknown number of partitions.
    pub(super) fn missing(&self, shared: &MemberCore) -> BTreeSet<Arc<str>> {
        let all = self.members.iter().flat_map(|member| &member.subscription.topics);
        let is_missing =
            |topic: &&Arc<str>| !shared.topics.contains_key(*topic) && !self.reported.contains_key(*topic);
        all.filter(is_missing).cloned().collect()
    }

    /// Metadata of topics came. Returns whether all were in it; another answer may have the others.
    pub(super) fn take(&mut self, shared: &MemberCore, response: &m03_metadata::Response) -> bool {
        for topic in self.missing(shared) {
            let found = response.topics.iter().find(|found| found.name.as_deref() == Some(&topic));
            let error = found.map_or(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, |found| found.error_code);
            let count = found.map_or(0, |found| found.partitions.len() as i32);
            match error {
                // As in Java: a topic that is not there is left out.
                ErrorCode::UNKNOWN_TOPIC_OR_PARTITION => drop(self.reported.insert(topic, 0)),
                error if error.is_retriable() => {}
                error if error.is_error() => drop(self.reported.insert(topic, 0)),
                _ => drop(self.reported.insert(topic, count)),
            }
        }
        self.missing(shared).is_empty()
    }

    /// Partitions of the group's topics.
    pub(super) fn counts(&self, shared: &MemberCore) -> PartitionCounts {
        let all = self.members.iter().flat_map(|member| &member.subscription.topics);
        let count = |topic: &Arc<str>| {
            let own = shared.topics.get(topic).map(|known| known.partitions);
            own.or_else(|| self.reported.get(topic).copied()).unwrap_or(0)
        };
        all.map(|topic| (Arc::clone(topic), count(topic))).collect()
    }

    /// Assigns.
    pub(super) fn assign(self, counts: &PartitionCounts) -> Vec<m14_sync_group::SyncGroupRequestAssignment> {
        if self.skips {
            return Vec::new();
        }
        let assigned = assign(self.assignor, counts, &self.members);
        let encode = |(member_id, partitions): (String, Vec<_>)| {
            let assignment = encode_assignment(&partitions);
            m14_sync_group::SyncGroupRequestAssignment { member_id, assignment }
        };
        assigned.into_iter().map(encode).collect()
    }
}
