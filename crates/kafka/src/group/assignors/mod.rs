//! Which member of a classic group gets which partition: Java's four assignors, equal to the partition.
//!
//! The leader of a group, one of its members, runs one of these over what all members said when they joined. Racks
//! are not looked at: members that name one are assigned as if they had not.

mod claims;
mod general;
mod java_order;
mod members;
mod sticky;
#[cfg(test)]
mod tests;

pub use members::{Assignments, JoinedMember, PartitionCounts};

use super::TopicPartition;
use super::protocol::StickyData;
use members::{Owned, all_partitions};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A way to assign partitions (`partition.assignment.strategy`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Assignor {
    /// Each member gets a range of partitions of each topic.
    Range,
    /// All partitions in turn.
    RoundRobin,
    /// Balanced, with as few moves as can be. Members give up everything before they join.
    Sticky,
    /// The same, and members keep what does not move while they rebalance (KIP-429).
    CooperativeSticky,
}

impl Assignor {
    /// All there are.
    pub const ALL: [Self; 4] = [Self::Range, Self::RoundRobin, Self::Sticky, Self::CooperativeSticky];

    /// Java's name of it, which members of a group agree on.
    pub fn name(self) -> &'static str {
        match self {
            Self::Range => "range",
            Self::RoundRobin => "roundrobin",
            Self::Sticky => "sticky",
            Self::CooperativeSticky => "cooperative-sticky",
        }
    }

    /// The one with this name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|assignor| assignor.name() == name)
    }
}

/// Assigns the partitions of the topics to which any member subscribes. `members` are in the order in which the
/// coordinator named them.
pub fn assign(assignor: Assignor, counts: &PartitionCounts, members: &[JoinedMember]) -> Assignments {
    let subscribed: BTreeSet<&Arc<str>> = members.iter().flat_map(|one| &one.subscription.topics).collect();
    let is_there = |(topic, count): &(&Arc<str>, &i32)| **count > 0 && subscribed.contains(topic);
    let counts: PartitionCounts =
        counts.iter().filter(is_there).map(|(topic, count)| (Arc::clone(topic), *count)).collect();
    let mut assigned = match assignor {
        Assignor::Range => range(&counts, members),
        Assignor::RoundRobin => round_robin(&counts, members),
        Assignor::Sticky => {
            let data: Vec<StickyData> =
                members.iter().map(|one| StickyData::read(one.subscription.user_data.as_deref())).collect();
            let owned: Vec<Owned<'_>> = data
                .iter()
                .map(|data| Owned { partitions: &data.partitions, generation: data.generation })
                .collect();
            sticky::assign(&counts, members, &owned).assigned
        }
        Assignor::CooperativeSticky => cooperative(&counts, members),
    };
    assigned.values_mut().for_each(|partitions| partitions.sort_unstable());
    assigned
}

/// The order of members for all but the sticky assignors: those with an instance id first, by that.
fn in_order(members: &[JoinedMember]) -> Vec<&JoinedMember> {
    let mut sorted: Vec<&JoinedMember> = members.iter().collect();
    sorted.sort_by(|a, b| match (&a.instance_id, &b.instance_id) {
        (Some(a), Some(b)) => java_order::compare_text(a, b),
        (Some(_), None) => std::cmp::Ordering::Less,
        (None, Some(_)) => std::cmp::Ordering::Greater,
        (None, None) => java_order::compare_text(&a.member_id, &b.member_id),
    });
    sorted
}

/// Everybody, with nothing.
fn nothing(members: &[JoinedMember]) -> Assignments {
    members.iter().map(|member| (member.member_id.clone(), Vec::new())).collect()
}

fn give(assigned: &mut Assignments, member: &JoinedMember, partition: TopicPartition) {
    if let Some(partitions) = assigned.get_mut(&member.member_id) {
        partitions.push(partition);
    }
}

fn range(counts: &PartitionCounts, members: &[JoinedMember]) -> Assignments {
    let (mut assigned, in_order) = (nothing(members), in_order(members));
    for (topic, count) in counts {
        let takers: Vec<_> = in_order.iter().filter(|member| member.is_subscribed(topic)).collect();
        let (each, extra) = (*count as usize / takers.len(), *count as usize % takers.len());
        let mut next = 0;
        for (place, member) in takers.into_iter().enumerate() {
            for _ in 0..each + usize::from(place < extra) {
                give(&mut assigned, member, TopicPartition { topic: Arc::clone(topic), partition: next });
                next += 1;
            }
        }
    }
    assigned
}

fn round_robin(counts: &PartitionCounts, members: &[JoinedMember]) -> Assignments {
    let (mut assigned, in_order) = (nothing(members), in_order(members));
    let mut turn = in_order.iter().cycle().peekable();
    for partition in all_partitions(counts) {
        // Somebody subscribes to each topic that is left.
        while turn.next_if(|member| !member.is_subscribed(&partition.topic)).is_some() {}
        if let Some(member) = turn.next() {
            give(&mut assigned, member, partition);
        }
    }
    assigned
}

/// A sticky assignment without what is still another member's: that one gives it up first, and the rebalance that
/// follows hands it over.
fn cooperative(counts: &PartitionCounts, members: &[JoinedMember]) -> Assignments {
    let owned: Vec<Owned<'_>> = members
        .iter()
        .map(|JoinedMember { subscription, .. }| {
            let generation = subscription.generation();
            let in_user_data = || cooperative_generation(subscription.user_data.as_deref());
            Owned { partitions: &subscription.owned, generation: generation.or_else(in_user_data) }
        })
        .collect();
    let sticky::Assigned { mut assigned, transferred } = sticky::assign(counts, members, &owned);
    let transferred = transferred.unwrap_or_else(|| moved(members, &assigned));
    for (partition, member) in transferred {
        if let Some(partitions) = assigned.get_mut(&member) {
            partitions.retain(|own| *own != partition);
        }
    }
    assigned
}

/// The generation that members of before `ConsumerProtocol` 2 put into their user data.
fn cooperative_generation(user_data: Option<&[u8]>) -> Option<i32> {
    let first = |data: &[u8]| data.first_chunk().map(|bytes| i32::from_be_bytes(*bytes));
    user_data.map(|data| first(data).unwrap_or(-1))
}

/// Partitions that one member owns and another one gets.
fn moved(members: &[JoinedMember], assigned: &Assignments) -> BTreeMap<TopicPartition, String> {
    let (mut added, mut revoked) = (BTreeMap::new(), BTreeSet::new());
    for member in members {
        let Some(partitions) = assigned.get(&member.member_id) else { continue };
        let owned: BTreeSet<&TopicPartition> = member.subscription.owned.iter().collect();
        let kept: BTreeSet<&TopicPartition> = partitions.iter().collect();
        revoked.extend(owned.difference(&kept).copied());
        added.extend(kept.difference(&owned).map(|new| ((*new).clone(), member.member_id.clone())));
    }
    added.retain(|partition, _| revoked.contains(partition));
    added
}
