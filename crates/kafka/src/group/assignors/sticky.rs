//! Java's sticky assignment: what members own is kept where balance allows it.
//!
//! Where all members subscribe to the same topics, everybody keeps up to its share and the rest is dealt out in turn;
//! where they do not, see [`general`](super::general).

use super::super::TopicPartition;
use super::claims::Claims;
use super::general::General;
use super::java_order::compare_text;
use super::members::{Assignments, JoinedMember, Owned, PartitionCounts, all_partitions};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A sticky assignment.
pub(super) struct Assigned {
    pub assigned: Assignments,
    /// Partitions that go from one owner to another, with their new one; `None`: it was not noted.
    pub transferred: Option<BTreeMap<TopicPartition, String>>,
}

pub(super) fn assign(counts: &PartitionCounts, members: &[JoinedMember], owned: &[Owned<'_>]) -> Assigned {
    let claims = Claims::settle(counts, members, owned);
    if members.is_empty() {
        return Assigned { assigned: Assignments::new(), transferred: None };
    }
    let (by_member, transferred) = if claims.is_all_equal {
        let mut dealing = Dealing::new(counts, members, claims);
        dealing.keep();
        dealing.deal(counts);
        (dealing.assigned, Some(dealing.transferred))
    } else {
        (General::new(counts, members, owned, claims).assign(), None)
    };
    let name = |at: usize| members[at].member_id.clone();
    let assigned = by_member.into_iter().enumerate().map(|(at, partitions)| (name(at), partitions)).collect();
    let named = |(partition, at)| (partition, name(at));
    Assigned { assigned, transferred: transferred.map(|moves| moves.into_iter().map(named).collect()) }
}

/// An assignment of members with equal subscriptions: each gets the least or the most partitions of an even share.
struct Dealing<'a> {
    members: &'a [JoinedMember],
    claims: Claims,
    least: usize,
    most: usize,
    /// How many members get one more than the least, and how many do so far.
    full_expected: usize,
    full: usize,
    /// Members with less than the least; those with the least that may get one more.
    under: Vec<usize>,
    at_least: VecDeque<usize>,
    assigned: Vec<Vec<TopicPartition>>,
    /// What its owner could not keep.
    given_up: BTreeMap<TopicPartition, usize>,
    transferred: BTreeMap<TopicPartition, usize>,
}

impl<'a> Dealing<'a> {
    fn new(counts: &PartitionCounts, members: &'a [JoinedMember], claims: Claims) -> Self {
        let total: usize = counts.values().map(|count| *count as usize).sum();
        Self {
            least: total / members.len(),
            most: total.div_ceil(members.len()),
            full_expected: total % members.len(),
            full: 0,
            under: Vec::new(),
            at_least: VecDeque::new(),
            assigned: vec![Vec::new(); members.len()],
            given_up: BTreeMap::new(),
            transferred: BTreeMap::new(),
            members,
            claims,
        }
    }

    /// Everybody keeps what it owns, up to its share.
    fn keep(&mut self) {
        for at in self.claims.in_order.clone() {
            let mut owned = std::mem::take(&mut self.claims.owned[at]);
            owned.retain(|partition| !self.claims.disputed.contains(partition));
            owned.sort_by(|a, b| (a.partition, &a.topic).cmp(&(b.partition, &b.topic)));
            let kept = if owned.len() < self.least {
                self.under.push(at);
                owned.len()
            } else if owned.len() >= self.most && self.full < self.full_expected {
                self.full += 1;
                if self.full == self.full_expected {
                    self.at_least.clear();
                }
                self.most
            } else {
                if self.full < self.full_expected {
                    self.at_least.push_back(at);
                }
                self.least
            };
            self.given_up.extend(owned.split_off(kept).into_iter().map(|partition| (partition, at)));
            self.assigned[at] = owned;
        }
        let by_id =
            |a: &usize, b: &usize| compare_text(&self.members[*a].member_id, &self.members[*b].member_id);
        self.under.sort_by(by_id);
        self.at_least.make_contiguous().sort_by(by_id);
    }

    /// Deals out what no member keeps, in turn: first to those with less than the least.
    fn deal(&mut self, counts: &PartitionCounts) {
        let kept: BTreeSet<TopicPartition> = self.assigned.iter().flatten().cloned().collect();
        let mut turn = 0;
        for partition in all_partitions(counts).filter(|partition| !kept.contains(partition)) {
            if turn >= self.under.len() {
                turn = 0;
            }
            let is_under = turn < self.under.len();
            let taker = if is_under { Some(self.under[turn]) } else { self.at_least.pop_front() };
            // The shares add up to all partitions, so there is always one.
            let Some(taker) = taker else { return };
            self.give(partition, taker);
            if is_under {
                turn += 1;
                if self.assigned[taker].len() == self.least {
                    turn -= 1;
                    self.under.remove(turn);
                    self.at_least.push_back(taker);
                }
            }
        }
    }

    fn give(&mut self, partition: TopicPartition, taker: usize) {
        let is_anothers = self.given_up.get(&partition).is_some_and(|owner| *owner != taker);
        if is_anothers || self.claims.disputed.contains(&partition) {
            self.transferred.insert(partition.clone(), taker);
        }
        self.assigned[taker].push(partition);
    }
}
