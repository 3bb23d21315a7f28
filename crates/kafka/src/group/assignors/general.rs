//! Java's sticky assignment of members that do not all subscribe to the same topics.
//!
//! Members keep what they own; what has no owner goes to the member with least of those that may have it; then
//! partitions move from members with more to members with less for as long as that helps, back to whom had them before
//! where it can be.

use super::super::TopicPartition;
use super::claims::{Claims, NO_GENERATION};
use super::java_order::{PartitionSet, compare_text};
use super::members::{JoinedMember, Owned, PartitionCounts};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A topic, and the members from which and to which partitions of it moved.
type Move = (Arc<str>, usize, usize);

/// An assignment under way. Members are places in the list of members.
pub(super) struct General<'a> {
    counts: &'a PartitionCounts,
    members: &'a [JoinedMember],
    /// Who may have a topic, in no order that matters.
    takers: BTreeMap<Arc<str>, Vec<usize>>,
    current: Vec<Vec<TopicPartition>>,
    owners: BTreeMap<TopicPartition, usize>,
    /// Who had a partition in an older generation, and in which.
    before: BTreeMap<TopicPartition, (usize, i32)>,
    /// Members that take part, by how much they have, then by their ids.
    by_size: BTreeSet<(usize, usize)>,
    /// For each member the place of its id among all ids, and the other way round.
    rank: Vec<usize>,
    ranked: Vec<usize>,
    moved_of: BTreeMap<TopicPartition, (usize, usize)>,
    moved_by: BTreeMap<Move, PartitionSet>,
    /// Somebody owns what it does not subscribe to any more.
    has_revoked: bool,
}

impl<'a> General<'a> {
    pub(super) fn new(
        counts: &'a PartitionCounts,
        members: &'a [JoinedMember],
        owned: &[Owned<'_>],
        claims: Claims,
    ) -> Self {
        let takers = |topic: &Arc<str>| {
            let takers = claims.in_order.iter().copied().filter(|at| members[*at].is_subscribed(topic));
            (Arc::clone(topic), takers.collect())
        };
        let mut ranked: Vec<usize> = (0..members.len()).collect();
        ranked.sort_by(|a, b| compare_text(&members[*a].member_id, &members[*b].member_id));
        let mut rank = vec![0; members.len()];
        ranked.iter().enumerate().for_each(|(place, at)| rank[*at] = place);
        let mut general = Self {
            counts,
            members,
            takers: counts.keys().map(takers).collect(),
            before: had_before(&claims, owned),
            current: claims.owned,
            owners: BTreeMap::new(),
            by_size: BTreeSet::new(),
            rank,
            ranked,
            moved_of: BTreeMap::new(),
            moved_by: BTreeMap::new(),
            has_revoked: false,
        };
        for (at, partitions) in general.current.iter_mut().enumerate() {
            let had = partitions.len();
            partitions.retain(|partition| members[at].is_subscribed(&partition.topic));
            general.has_revoked |= partitions.len() < had;
            general.owners.extend(partitions.iter().map(|partition| (partition.clone(), at)));
        }
        general
    }

    /// What each member gets.
    pub(super) fn assign(mut self) -> Vec<Vec<TopicPartition>> {
        let (mut all, mut unassigned) = (self.all_by_takers(), Vec::new());
        unassigned.extend(all.iter().filter(|partition| !self.owners.contains_key(partition)).cloned());
        self.by_size = (0..self.members.len()).map(|at| (self.current[at].len(), self.rank[at])).collect();
        let is_first = self.current.iter().all(Vec::is_empty);
        for partition in &unassigned {
            let mut takers = self.by_size.iter().map(|(_, rank)| self.ranked[*rank]);
            if let Some(taker) = takers.find(|at| self.members[*at].is_subscribed(&partition.topic)) {
                self.put(partition.clone(), taker);
            }
        }
        // What only one member may have stays where it is, and so do members that have nothing else.
        let is_movable = |partition: &TopicPartition| self.takers[&partition.topic].len() >= 2;
        all.retain(is_movable);
        unassigned.retain(is_movable);
        for at in 0..self.members.len() {
            if self.current[at].len() >= self.size_max(at) && !self.current[at].iter().any(is_movable) {
                self.by_size.remove(&(self.current[at].len(), self.rank[at]));
            }
        }
        let (current, owners) = (self.current.clone(), self.owners.clone());
        if !self.has_revoked {
            self.reassign(&unassigned);
        }
        let has_moved = self.reassign(&all);
        if !is_first && has_moved && self.imbalance(&self.current) >= self.imbalance(&current) {
            (self.current, self.owners) = (current, owners);
        }
        self.current
    }

    /// All partitions, of topics with few takers first.
    fn all_by_takers(&self) -> Vec<TopicPartition> {
        let mut topics: Vec<&Arc<str>> = self.counts.keys().collect();
        topics.sort_by_key(|topic| self.takers[*topic].len());
        let of_topic = |topic: &Arc<str>| {
            let topic = Arc::clone(topic);
            let count = self.counts[&topic];
            (0..count).map(move |partition| TopicPartition { topic: Arc::clone(&topic), partition })
        };
        topics.into_iter().flat_map(of_topic).collect()
    }

    fn has_place(&self, at: usize) -> bool {
        self.by_size.contains(&(self.current[at].len(), self.rank[at]))
    }

    fn put(&mut self, partition: TopicPartition, taker: usize) {
        self.by_size.remove(&(self.current[taker].len(), self.rank[taker]));
        self.owners.insert(partition.clone(), taker);
        self.current[taker].push(partition);
        self.by_size.insert((self.current[taker].len(), self.rank[taker]));
    }

    /// How much a member could have.
    fn size_max(&self, at: usize) -> usize {
        let own = self.counts.iter().filter(|(topic, _)| self.members[at].is_subscribed(topic));
        own.map(|(_, count)| *count as usize).sum()
    }

    /// Whether no partition can move to a member that has two less than its owner.
    fn is_balanced(&self) -> bool {
        let (Some((least, _)), Some((most, _))) = (self.by_size.first(), self.by_size.last()) else {
            return true;
        };
        if least + 1 >= *most {
            return true;
        }
        let size_of_owner = |partition: &TopicPartition| {
            self.owners.get(partition).map_or(0, |owner| self.current[*owner].len())
        };
        // For each topic, how much the owner with the most has.
        let mut largest: BTreeMap<&Arc<str>, usize> = BTreeMap::new();
        for partition in self.owners.keys() {
            let most = largest.entry(&partition.topic).or_default();
            *most = (*most).max(size_of_owner(partition));
        }
        self.by_size.iter().all(|(size, rank)| {
            let member = &self.members[self.ranked[*rank]];
            let mut own = largest.iter().filter(|(topic, _)| member.is_subscribed(topic));
            own.all(|(_, most)| size + 1 >= *most)
        })
    }

    /// Moves partitions for as long as that helps. Returns whether any was moved.
    fn reassign(&mut self, movable: &[TopicPartition]) -> bool {
        let mut has_moved = false;
        // A pass leaves little to the next one. Java has no bound; what members claim may be anything.
        for _ in 0..=movable.len() {
            let mut is_modified = false;
            for partition in movable {
                if self.is_balanced() {
                    break;
                }
                let Some(owner) = self.owners.get(partition).copied() else { continue };
                let size = self.current[owner].len();
                let before = self.before.get(partition).map(|(member, _)| *member);
                // Java does not ask whether it still subscribes; one that does not would refuse what it gets.
                let before = before.filter(|member| {
                    self.members[*member].is_subscribed(&partition.topic) && self.has_place(*member)
                });
                let taker = match before.filter(|member| size > self.current[*member].len() + 1) {
                    Some(member) => Some(member),
                    None => {
                        let mut takers = self.takers[&partition.topic].iter();
                        let is_better = takers.any(|taker| size > self.current[*taker].len() + 1);
                        is_better.then(|| self.smallest_taker(&partition.topic)).flatten()
                    }
                };
                if let Some(taker) = taker {
                    let moved = self.to_be_moved(partition, owner, taker);
                    self.shift(moved, taker);
                    is_modified = true;
                }
            }
            has_moved |= is_modified;
            if !is_modified {
                break;
            }
        }
        has_moved
    }

    fn smallest_taker(&self, topic: &str) -> Option<usize> {
        let mut members = self.by_size.iter().map(|(_, rank)| self.ranked[*rank]);
        members.find(|at| self.members[*at].is_subscribed(topic))
    }

    /// Instead of a partition one that went the other way before, so that no two of a topic change places.
    fn to_be_moved(&self, partition: &TopicPartition, owner: usize, taker: usize) -> TopicPartition {
        let first_owner = self.moved_of.get(partition).map_or(owner, |(from, _)| *from);
        let back = self.moved_by.get(&(Arc::clone(&partition.topic), taker, first_owner));
        back.and_then(PartitionSet::first).unwrap_or(partition).clone()
    }

    fn shift(&mut self, partition: TopicPartition, taker: usize) {
        let Some(owner) = self.owners.get(&partition).copied() else { return };
        self.by_size.remove(&(self.current[owner].len(), self.rank[owner]));
        self.note_move(&partition, owner, taker);
        self.current[owner].retain(|own| *own != partition);
        self.by_size.insert((self.current[owner].len(), self.rank[owner]));
        self.put(partition, taker);
    }

    fn note_move(&mut self, partition: &TopicPartition, from: usize, to: usize) {
        let mut first = from;
        if let Some((before, last)) = self.moved_of.remove(partition) {
            let key = (Arc::clone(&partition.topic), before, last);
            if let Some(moved) = self.moved_by.get_mut(&key) {
                moved.remove(partition);
                if moved.is_empty() {
                    self.moved_by.remove(&key);
                }
            }
            if before == to {
                return;
            }
            first = before;
        }
        self.moved_of.insert(partition.clone(), (first, to));
        let key = (Arc::clone(&partition.topic), first, to);
        self.moved_by.entry(key).or_default().insert(partition.clone());
    }

    /// Sum of the differences between any two members that take part.
    fn imbalance(&self, current: &[Vec<TopicPartition>]) -> usize {
        let takes_part = |at: &usize| self.has_place(*at);
        let sizes: Vec<usize> = (0..current.len()).filter(takes_part).map(|at| current[at].len()).collect();
        let pairs = |(place, size): (usize, &usize)| {
            sizes[place + 1..].iter().map(|other| size.abs_diff(*other)).sum::<usize>()
        };
        sizes.iter().enumerate().map(pairs).sum()
    }
}

/// What members of older generations owned.
fn had_before(claims: &Claims, owned: &[Owned<'_>]) -> BTreeMap<TopicPartition, (usize, i32)> {
    let mut before: BTreeMap<TopicPartition, (usize, i32)> = BTreeMap::new();
    for at in claims.in_order.iter().copied() {
        let generation = owned[at].generation.unwrap_or(NO_GENERATION);
        if generation >= claims.generation_max {
            continue;
        }
        for partition in owned[at].partitions {
            let latest = before.entry(partition.clone()).or_insert((at, generation));
            if generation > latest.1 {
                *latest = (at, generation);
            }
        }
    }
    before
}
