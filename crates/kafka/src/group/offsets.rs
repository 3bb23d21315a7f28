//! Committed offsets of a member: which to fetch when partitions are assigned, which to commit when.
//!
//! One commit is in flight at a time. What its user wants to commit meanwhile waits, the newest offset of each
//! partition; Java would send each as a request of its own.

use super::{Position, PositionLookup, TopicPartition};
use crate::backoff::ExponentialBackoff;
use rand_pcg::Pcg64;
use std::collections::{BTreeMap, BTreeSet};

/// Why offsets are committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Occasion {
    /// `auto.commit.interval.ms`.
    Interval,
    /// Partitions may be taken away.
    Rebalance,
    /// It leaves.
    Leaving,
    /// Its user says so.
    User,
}

impl Occasion {
    /// Whether somebody waits for the outcome, so that it is tried until there is one.
    fn is_awaited(self) -> bool {
        self != Self::Interval
    }
}

/// A commit that is to be sent or is in flight.
#[derive(Debug, Clone)]
pub(super) struct Commit {
    pub positions: Vec<(TopicPartition, Position)>,
    pub occasion: Occasion,
    wanted_ns: u64,
}

/// A commit that came to an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CommitOutcome {
    pub partitions: usize,
    pub took_ns: u64,
    pub is_over: bool,
}

/// Offsets of a member.
#[derive(Debug)]
pub(super) struct Offsets {
    interval_ns: Option<u64>,
    /// When the next commit by interval is due, ns.
    interval_due_ns: u64,
    /// What is wanted in addition to an interval's commit: its positions are looked up when it is sent.
    wanted: Option<(Occasion, u64)>,
    /// What the user wants committed.
    users: BTreeMap<TopicPartition, Position>,
    users_wanted_ns: u64,
    current: Option<Commit>,
    is_sent: bool,
    not_before_ns: u64,
    failures: u32,
    /// Partitions with an unknown position.
    starts: BTreeSet<TopicPartition>,
    starts_asked: Vec<TopicPartition>,
    starts_from_ns: u64,
    starts_failures: u32,
}

/// Where to begin.
impl Offsets {
    pub(super) fn new(interval_ns: Option<u64>) -> Self {
        Self {
            interval_ns,
            interval_due_ns: u64::MAX,
            wanted: None,
            users: BTreeMap::new(),
            users_wanted_ns: 0,
            current: None,
            is_sent: false,
            not_before_ns: 0,
            failures: 0,
            starts: BTreeSet::new(),
            starts_asked: Vec::new(),
            starts_from_ns: 0,
            starts_failures: 0,
        }
    }

    pub(super) fn want_starts(&mut self, added: &[TopicPartition]) {
        self.starts.extend(added.iter().cloned());
    }

    /// A partition is the member's no longer.
    pub(super) fn forget(&mut self, partition: &TopicPartition) {
        self.starts.remove(partition);
        self.starts_asked.retain(|asked| asked != partition);
        self.users.remove(partition);
        if let Some(commit) = &mut self.current {
            commit.positions.retain(|(own, _)| own != partition);
            if commit.positions.is_empty() && !self.is_sent {
                self.current = None;
            }
        }
    }

    /// When offsets are to be fetched, ns.
    pub(super) fn starts_due_ns(&self) -> Option<u64> {
        (!self.starts.is_empty()).then_some(self.starts_from_ns)
    }

    /// What is to be requested.
    pub(super) fn ask_starts(&mut self) -> &[TopicPartition] {
        self.starts_asked = self.starts.iter().cloned().collect();
        &self.starts_asked
    }

    /// An offset of a partition that was requested; not of one that was given up meanwhile.
    pub(super) fn take_start(&mut self, topic: &str, partition: i32) -> Option<TopicPartition> {
        let is_it = |asked: &TopicPartition| asked.partition == partition && *asked.topic == *topic;
        let place = self.starts_asked.iter().position(is_it)?;
        self.starts.take(&self.starts_asked.swap_remove(place))
    }

    /// They were answered, or not: what is left is requested again after a pause.
    pub(super) fn starts_answered(&mut self, now_ns: u64, backoff: ExponentialBackoff, random: &mut Pcg64) {
        self.starts_asked.clear();
        if self.starts.is_empty() {
            self.starts_failures = 0;
            self.starts_from_ns = 0;
        } else {
            self.starts_from_ns = now_ns + backoff.after(self.starts_failures, random);
            self.starts_failures = self.starts_failures.saturating_add(1);
        }
    }
}

/// Commits.
impl Offsets {
    /// Whether offsets are committed without the user's doing.
    pub(super) fn is_auto(&self) -> bool {
        self.interval_ns.is_some()
    }

    /// An interval begins.
    pub(super) fn restart_interval(&mut self, now_ns: u64) {
        self.interval_due_ns = self.interval_ns.map_or(u64::MAX, |interval| now_ns.saturating_add(interval));
    }

    /// Everything that was read is to be committed.
    pub(super) fn want(&mut self, occasion: Occasion, now_ns: u64) {
        self.wanted = Some((occasion, now_ns));
        (self.not_before_ns, self.failures) = (0, 0);
    }

    /// Whether somebody still waits for such a commit.
    pub(super) fn is_pending(&self, occasion: Occasion) -> bool {
        let is_current = self.current.as_ref().is_some_and(|commit| commit.occasion == occasion);
        is_current || self.wanted.is_some_and(|(wanted, _)| wanted == occasion)
    }

    /// Such a commit is no longer waited for.
    pub(super) fn abandon(&mut self, occasion: Occasion) {
        self.wanted = self.wanted.filter(|(wanted, _)| *wanted != occasion);
        match self.current.take_if(|commit| commit.occasion == occasion) {
            // What becomes of it is reported, and it is not tried again.
            Some(commit) if self.is_sent => {
                self.current = Some(Commit { occasion: Occasion::Interval, ..commit });
            }
            _ => {}
        }
    }

    /// Its user wants these committed.
    pub(super) fn commit(
        &mut self,
        positions: impl IntoIterator<Item = (TopicPartition, Position)>,
        now_ns: u64,
    ) {
        if self.users.is_empty() {
            self.users_wanted_ns = now_ns;
        }
        self.users.extend(positions);
    }

    /// Whether the user waits for a commit.
    pub(super) fn is_users_pending(&self) -> bool {
        !self.users.is_empty() || self.is_pending(Occasion::User)
    }

    /// Decides what is committed next, if nothing is: `positions` says how far each partition was read.
    pub(super) fn poll(
        &mut self,
        assigned: &BTreeSet<TopicPartition>,
        positions: &mut PositionLookup<'_>,
        now_ns: u64,
    ) {
        if self.current.is_some() {
            return;
        }
        if let Some((occasion, wanted_ns)) = self.wanted.take() {
            return self.begin(assigned, positions, occasion, wanted_ns);
        }
        if !self.users.is_empty() {
            let positions = std::mem::take(&mut self.users).into_iter().collect();
            let wanted_ns = self.users_wanted_ns;
            self.current = Some(Commit { positions, occasion: Occasion::User, wanted_ns });
            return;
        }
        if self.interval_due_ns <= now_ns {
            self.restart_interval(now_ns);
            self.begin(assigned, positions, Occasion::Interval, now_ns);
        }
    }

    fn begin(
        &mut self,
        assigned: &BTreeSet<TopicPartition>,
        positions: &mut PositionLookup<'_>,
        occasion: Occasion,
        wanted_ns: u64,
    ) {
        let read = assigned.iter().filter_map(|partition| Some((partition.clone(), positions(partition)?)));
        let positions: Vec<_> = read.filter(|(_, position)| position.offset >= 0).collect();
        // Nothing was read, so there is nothing to commit.
        self.current = (!positions.is_empty()).then_some(Commit { positions, occasion, wanted_ns });
    }

    /// When a commit is to be sent, ns.
    pub(super) fn send_due_ns(&self) -> Option<u64> {
        self.current.as_ref().filter(|_| !self.is_sent).map(|_| self.not_before_ns)
    }

    /// When the application's next poll would commit, ns.
    pub(super) fn poll_due_ns(&self) -> Option<u64> {
        let is_free = self.current.is_none();
        let now = (is_free && (self.wanted.is_some() || !self.users.is_empty())).then_some(0);
        let interval = (is_free && self.interval_due_ns < u64::MAX).then_some(self.interval_due_ns);
        now.or(interval)
    }

    pub(super) fn send(&mut self) -> Option<&Commit> {
        self.is_sent = self.current.is_some();
        self.current.as_ref()
    }

    /// The commit came to an end, or is tried again after a pause where it may help and somebody waits for it. A commit by
    /// interval is not, as in Java: the next one, soon after, has newer offsets.
    pub(super) fn answered(
        &mut self,
        may_help: bool,
        is_done: bool,
        now_ns: u64,
        (backoff, random): (ExponentialBackoff, &mut Pcg64),
    ) -> Option<CommitOutcome> {
        self.is_sent = false;
        let commit = self.current.take()?;
        let is_again = !is_done && may_help && !commit.positions.is_empty();
        let outcome = CommitOutcome {
            partitions: commit.positions.len(),
            took_ns: now_ns.saturating_sub(commit.wanted_ns),
            is_over: !is_again || !commit.occasion.is_awaited(),
        };
        if is_again && commit.occasion.is_awaited() {
            self.not_before_ns = now_ns + backoff.after(self.failures, random);
            self.failures = self.failures.saturating_add(1);
            self.current = Some(commit);
            return Some(outcome);
        }
        (self.not_before_ns, self.failures) = (0, 0);
        if is_again {
            self.interval_due_ns = self.interval_due_ns.min(now_ns.saturating_add(backoff.first_ns));
        }
        Some(outcome)
    }
}
