//! What members say they own, settled by generation.

use super::super::TopicPartition;
use super::java_order::sort_as_map;
use super::members::{JoinedMember, Owned, PartitionCounts};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The generation of a member that names none.
pub(super) const NO_GENERATION: i32 = -1;

/// What members own, after claims were settled. Members are places in `members`.
pub(super) struct Claims {
    /// Members in the order of Java's map.
    pub in_order: Vec<usize>,
    /// What each owns.
    pub owned: Vec<Vec<TopicPartition>>,
    /// What two of one generation claim.
    pub disputed: BTreeSet<TopicPartition>,
    /// The newest generation that anybody names.
    pub generation_max: i32,
    /// All subscribe to the same topics.
    pub is_all_equal: bool,
}

impl Claims {
    /// Settles claims by generation: the newer one has it, two of the same have it both not.
    pub(super) fn settle(counts: &PartitionCounts, members: &[JoinedMember], owned: &[Owned<'_>]) -> Self {
        let mut in_order: Vec<usize> = (0..members.len()).collect();
        sort_as_map(&mut in_order, |at: &usize| members[*at].member_id.as_str());
        let mut claims = Self {
            in_order,
            owned: vec![Vec::new(); members.len()],
            disputed: BTreeSet::new(),
            generation_max: NO_GENERATION,
            is_all_equal: true,
        };
        let mut topics: BTreeSet<&Arc<str>> = BTreeSet::new();
        let mut owners: BTreeMap<&TopicPartition, usize> = BTreeMap::new();
        for at in claims.in_order.clone() {
            let subscribed = &members[at].subscription.topics;
            if topics.is_empty() {
                topics.extend(subscribed);
            } else if subscribed.len() != topics.len() || !subscribed.iter().all(|one| topics.contains(one)) {
                claims.is_all_equal = false;
            }
            let generation = owned[at].generation.unwrap_or(NO_GENERATION);
            claims.generation_max = claims.generation_max.max(generation);
            for partition in owned[at].partitions {
                // Java looks at the topic only; a partition that is gone would upset its sums.
                let count = counts.get(&partition.topic).copied().unwrap_or(0);
                if !(0..count).contains(&partition.partition) {
                    continue;
                }
                let Some(other) = owners.get(partition).copied() else {
                    claims.owned[at].push(partition.clone());
                    owners.insert(partition, at);
                    continue;
                };
                // As in Java the other's generation is that of its subscription, not of its user data.
                let others = members[other].subscription.generation().unwrap_or(NO_GENERATION);
                if generation < others {
                    continue;
                }
                claims.owned[other].retain(|own| own != partition);
                if generation > others {
                    claims.owned[at].push(partition.clone());
                } else {
                    claims.disputed.insert(partition.clone());
                }
                owners.insert(partition, at);
            }
        }
        claims
    }
}
