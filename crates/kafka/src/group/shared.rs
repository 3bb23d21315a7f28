//! What a member has in both protocols: settings, its coordinator, topics, what it was assigned, its reports.

use super::offsets::Offsets;
use super::{
    GroupConfig, GroupError, GroupEvent, GroupRequest, GroupRequestKind, Rebalanced, TopicPartition,
};
use crate::errors::ErrorCode;
use rand::SeedableRng;
use rand_pcg::Pcg64;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A topic as metadata reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct KnownTopic {
    /// All zero where brokers report none.
    pub id: [u8; 16],
    pub partitions: i32,
}

/// How long no coordinator is found before that is reported, ns: brokers take a second or two to make the topic of offsets
/// for the first group.
const MISSING_AFTER_NS: u64 = 5_000_000_000;

/// Who coordinates the group.
#[derive(Debug, Default)]
pub(super) struct GroupCoordinator {
    broker: Option<i32>,
    is_asked: bool,
    /// Lookups that failed in a row.
    failures: u32,
    /// When the first of these was refused, ns; `u64::MAX` once that was reported.
    refused_since_ns: Option<u64>,
    not_before_ns: u64,
    /// How often it was lost.
    losses: u32,
}

/// A member, without its protocol.
#[derive(Debug)]
pub(super) struct MemberCore {
    pub config: GroupConfig,
    pub random: Pcg64,
    pub coordinator: GroupCoordinator,
    pub topics: BTreeMap<Arc<str>, KnownTopic>,
    /// What it has.
    pub assigned: BTreeSet<TopicPartition>,
    pub offsets: Offsets,
    pub failure: Option<GroupError>,
    /// Requests in flight, one of a kind.
    in_flight: Vec<GroupRequest>,
    /// Until when the application must have polled, ns; `None` before it did.
    pub poll_until_ns: Option<u64>,
    /// Since when it knows that it has to rebalance, and when it asked to join, ns.
    began_ns: Option<u64>,
    pub joined_ns: u64,
    events: Vec<(u64, GroupEvent)>,
}

impl MemberCore {
    pub(super) fn new(config: GroupConfig) -> Self {
        Self {
            random: Pcg64::seed_from_u64(config.seed),
            coordinator: GroupCoordinator::default(),
            topics: BTreeMap::new(),
            assigned: BTreeSet::new(),
            offsets: Offsets::new(config.auto_commit_ns),
            failure: None,
            in_flight: Vec::new(),
            poll_until_ns: None,
            began_ns: None,
            joined_ns: 0,
            events: Vec::new(),
            config,
        }
    }

    pub(super) fn tell(&mut self, now_ns: u64, event: GroupEvent) {
        self.events.push((now_ns, event));
    }

    pub(super) fn take_events(&mut self) -> Vec<(u64, GroupEvent)> {
        std::mem::take(&mut self.events)
    }

    /// It is refused for good.
    pub(super) fn refused(&mut self, api: &'static str, error: ErrorCode) {
        let hint = match error {
            ErrorCode::FENCED_INSTANCE_ID => "; another member has this group.instance.id",
            ErrorCode::INCONSISTENT_GROUP_PROTOCOL => {
                "; its members have no assignor in common (partition.assignment.strategy) or it is of another protocol"
            }
            ErrorCode::GROUP_AUTHORIZATION_FAILED => {
                "; this user may not read the group (an ACL that allows Read of it)"
            }
            ErrorCode::UNSUPPORTED_VERSION => "; the brokers do not have this group.protocol",
            _ => "",
        };
        let group = self.config.group_id.clone();
        self.failure.get_or_insert(GroupError::Refused { group, api, error, hint });
    }

    pub(super) fn inconsistent(&mut self, what: &'static str) {
        let group = self.config.group_id.clone();
        self.failure.get_or_insert(GroupError::Inconsistent { group, what });
    }
}

/// Requests.
impl MemberCore {
    /// A request of this kind, unless one is in flight; it then counts as in flight.
    pub(super) fn request(&mut self, kind: GroupRequestKind, membership: u32) -> Option<GroupRequest> {
        let is_free = !self.is_asked(kind);
        let request = GroupRequest { kind, link: self.coordinator.losses, membership };
        is_free.then(|| self.in_flight.push(request));
        is_free.then_some(request)
    }

    pub(super) fn is_asked(&self, kind: GroupRequestKind) -> bool {
        self.in_flight.iter().any(|request| request.kind == kind)
    }

    /// Whether anybody waits for its answer.
    pub(super) fn is_awaited(&self, request: GroupRequest) -> bool {
        self.in_flight.contains(&request)
    }

    /// It is answered.
    pub(super) fn settle(&mut self, request: GroupRequest) {
        self.in_flight.retain(|one| *one != request);
    }

    /// The answer of this kind is no longer waited for.
    pub(super) fn forget(&mut self, kind: GroupRequestKind) {
        self.in_flight.retain(|request| request.kind != kind);
    }
}

/// The coordinator.
impl MemberCore {
    pub(super) fn coordinator(&self) -> Option<i32> {
        self.coordinator.broker
    }

    /// When it is to be looked for, ns.
    pub(super) fn lookup_ns(&self) -> Option<u64> {
        let is_due = self.coordinator.broker.is_none() && !self.coordinator.is_asked;
        is_due.then_some(self.coordinator.not_before_ns)
    }

    pub(super) fn look_up(&mut self) -> GroupRequest {
        self.coordinator.is_asked = true;
        GroupRequest { kind: GroupRequestKind::FindCoordinator, link: self.coordinator.losses, membership: 0 }
    }

    pub(super) fn looked_up(&mut self, found: Result<i32, ErrorCode>, now_ns: u64) {
        self.coordinator.is_asked = false;
        match found {
            Ok(broker) => {
                self.coordinator.broker = Some(broker);
                self.coordinator.failures = 0;
                self.coordinator.refused_since_ns = None;
                self.tell(now_ns, GroupEvent::Coordinator(broker));
            }
            Err(error) if error.is_retriable() => {
                let since_ns = *self.coordinator.refused_since_ns.get_or_insert(now_ns);
                if now_ns.saturating_sub(since_ns) >= MISSING_AFTER_NS {
                    self.coordinator.refused_since_ns = Some(u64::MAX);
                    self.tell(now_ns, GroupEvent::CoordinatorMissing(error));
                }
                self.lookup_failed(now_ns);
            }
            Err(error) => self.refused("FindCoordinator", error),
        }
    }

    pub(super) fn lookup_failed(&mut self, now_ns: u64) {
        self.coordinator.is_asked = false;
        let pause_ns = self.config.retry_backoff.after(self.coordinator.failures, &mut self.random);
        self.coordinator.failures = self.coordinator.failures.saturating_add(1);
        self.coordinator.not_before_ns = now_ns + pause_ns;
    }

    /// The coordinator is another one, or cannot be reached. Open requests to it are dropped; returns the kinds of
    /// those.
    pub(super) fn lose_coordinator(&mut self, why: &str, now_ns: u64) -> Vec<GroupRequestKind> {
        if self.coordinator.broker.take().is_none() {
            return Vec::new();
        }
        self.coordinator.losses = self.coordinator.losses.wrapping_add(1);
        self.tell(now_ns, GroupEvent::CoordinatorLost(why.to_owned()));
        std::mem::take(&mut self.in_flight).into_iter().map(|request| request.kind).collect()
    }

    /// The coordinator could not be reached although it was found: it is looked for again after a pause.
    pub(super) fn pause_lookup(&mut self, now_ns: u64) {
        let pause_ns = self.config.retry_backoff.after(self.coordinator.failures, &mut self.random);
        self.coordinator.failures = self.coordinator.failures.saturating_add(1);
        self.coordinator.not_before_ns = now_ns + pause_ns;
    }
}

/// Offsets.
impl MemberCore {
    /// Offsets to begin at were reported, or not: what is left is requested again.
    pub(super) fn starts_answered(&mut self, now_ns: u64) {
        self.offsets.starts_answered(now_ns, self.config.retry_backoff, &mut self.random);
    }

    /// The coordinator kept the offsets.
    pub(super) fn committed(&mut self, now_ns: u64) {
        let random = (self.config.retry_backoff, &mut self.random);
        if let Some(outcome) = self.offsets.answered(false, true, now_ns, random) {
            let (partitions, took_ns) = (outcome.partitions, outcome.took_ns);
            self.tell(now_ns, GroupEvent::Committed { partitions, took_ns });
        }
    }

    /// It did not; another attempt may help, or not.
    pub(super) fn commit_failed(&mut self, error: ErrorCode, may_help: bool, now_ns: u64) {
        let random = (self.config.retry_backoff, &mut self.random);
        let outcome = self.offsets.answered(may_help, false, now_ns, random);
        if outcome.is_some_and(|outcome| outcome.is_over) {
            self.tell(now_ns, GroupEvent::CommitFailed(error));
        }
    }

    /// What the coordinator was asked is lost with it.
    pub(super) fn offsets_lost(&mut self, lost: &[GroupRequestKind], now_ns: u64) {
        if lost.contains(&GroupRequestKind::FetchOffsets) {
            self.starts_answered(now_ns);
        }
        if lost.contains(&GroupRequestKind::Commit) {
            self.commit_failed(ErrorCode::NETWORK_EXCEPTION, true, now_ns);
        }
    }
}

/// What it has.
impl MemberCore {
    /// It has to rebalance; reported once until it has.
    pub(super) fn begin_rebalance(&mut self, why: &str, now_ns: u64) {
        if self.began_ns.is_none() {
            self.began_ns = Some(now_ns);
            self.tell(now_ns, GroupEvent::Rebalancing(why.to_owned()));
        }
    }

    /// It has what it had, if it had to rebalance: what was to change changed back.
    pub(super) fn end_rebalance(&mut self, generation: i32, now_ns: u64) {
        if let Some(began_ns) = self.began_ns {
            self.joined_ns = began_ns;
            self.assign(self.assigned.clone(), generation, false, now_ns);
        }
    }

    /// Stops what is about to be taken away.
    pub(super) fn revoking(&mut self, partitions: Vec<TopicPartition>, now_ns: u64) {
        if !partitions.is_empty() {
            self.tell(now_ns, GroupEvent::Revoking(partitions));
        }
    }

    /// Gives some up.
    pub(super) fn revoke(&mut self, partitions: Vec<TopicPartition>, now_ns: u64) {
        if !partitions.is_empty() {
            partitions.iter().for_each(|partition| self.drop_partition(partition));
            self.tell(now_ns, GroupEvent::Revoked(partitions));
        }
    }

    /// Everything it had is lost.
    pub(super) fn lose_all(&mut self, now_ns: u64) {
        let lost: Vec<TopicPartition> = self.assigned.iter().cloned().collect();
        if !lost.is_empty() {
            lost.iter().for_each(|partition| self.drop_partition(partition));
            self.tell(now_ns, GroupEvent::Lost(lost));
        }
    }

    fn drop_partition(&mut self, partition: &TopicPartition) {
        self.assigned.remove(partition);
        self.offsets.forget(partition);
    }

    /// A rebalance is over: these are its partitions now.
    pub(super) fn assign(
        &mut self,
        to: BTreeSet<TopicPartition>,
        generation: i32,
        is_leader: bool,
        now_ns: u64,
    ) {
        let added: Vec<TopicPartition> = to.difference(&self.assigned).cloned().collect();
        self.assigned = to;
        self.offsets.want_starts(&added);
        self.offsets.restart_interval(now_ns);
        let began_ns = self.began_ns.take().unwrap_or(self.joined_ns);
        let (joined_ns, assigned) = (self.joined_ns, self.assigned.len());
        let rebalanced = Rebalanced { began_ns, joined_ns, generation, is_leader, added, assigned };
        self.tell(now_ns, GroupEvent::Assigned(rebalanced));
    }
}
