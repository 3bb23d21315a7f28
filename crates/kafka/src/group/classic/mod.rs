//! A member by the classic protocol, as Java's `AbstractCoordinator` and `ConsumerCoordinator`.
//!
//! A rebalance from end to end: a heartbeat is answered that there is one. At the application's next poll offsets are
//! committed, and of eager members all partitions revoked; then the member joins. The member that the answer calls
//! leader assigns (see [`assignors`](super::assignors)); all ask for what they got, and at the next poll after that it
//! is theirs. Cooperative members (KIP-429) keep what they have until it is not in what they got; then they revoke it
//! and join once more.

mod answers;
mod leader;

use super::assignors::{Assignor, PartitionCounts};
use super::offsets::Occasion;
use super::protocol::{PROTOCOL_TYPE, StickyData, Subscription, decode_assignment};
use super::shared::MemberCore;
use super::{GroupRequest, GroupRequestKind, PositionLookup, TopicPartition};
use crate::messages::{m11_join_group, m12_heartbeat, m13_leave_group, m14_sync_group};
use leader::Leading;
use std::collections::BTreeSet;

const NS_PER_MS: u64 = 1_000_000;
/// Generation of a member that has none.
const NO_GENERATION: i32 = -1;
/// By how much Java waits longer for the answer to JoinGroup than the rebalance may take, ns.
const JOIN_LAPSE_NS: u64 = 5_000 * NS_PER_MS;

/// How far a member is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ClassicState {
    /// Not in the group.
    Unjoined,
    /// It joins.
    Preparing,
    /// It has joined and asks for what it got.
    Completing,
    /// It has what it got.
    Stable,
}

/// What is under way of joining.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Joining {
    /// Nothing.
    Not,
    /// JoinGroup is to be sent, or in flight.
    Join,
    /// SyncGroup is to be sent, or in flight.
    Sync,
}

/// The member id and generation that it uses.
#[derive(Debug)]
struct Generation {
    id: i32,
    member_id: String,
    assignor: Option<Assignor>,
    /// Changes with each of them.
    stamp: u32,
}

/// Timers of its heartbeats, ns.
#[derive(Debug, Default)]
struct Heartbeats {
    due_ns: u64,
    session_until_ns: u64,
    failures: u32,
}

/// The membership.
#[derive(Debug)]
pub(super) struct Classic {
    assignors: Vec<Assignor>,
    is_cooperative: bool,
    state: ClassicState,
    joining: Joining,
    generation: Generation,
    heartbeats: Heartbeats,
    /// It is to join, as soon as the application polls, or joins.
    wants_join: bool,
    reason: &'static str,
    join_from_ns: u64,
    /// What it has is to be committed, and revoked where it must be, before it joins.
    needs_prepare: bool,
    /// Until when the commit before that is waited for, ns.
    prepare_until_ns: Option<u64>,
    /// What it got, until the application polls.
    synced: Option<Vec<u8>>,
    /// For the leader: what is to be assigned, and its topics.
    leading: Option<Leading>,
    is_leader: bool,
    /// For the leader: the partitions of topics when it assigned.
    assigned_of: PartitionCounts,
    /// What the sticky assignors remember.
    last_assigned: Option<(Vec<TopicPartition>, i32)>,
    cooperative_generation: i32,
    /// It sends to the coordinator that it leaves: its id, and why.
    leave_wanted: Option<(String, &'static str)>,
}

impl Classic {
    pub(super) fn new(assignors: Vec<Assignor>) -> Self {
        let is_cooperative = assignors.iter().all(|one| *one == Assignor::CooperativeSticky);
        let generation = Generation { id: NO_GENERATION, member_id: String::new(), assignor: None, stamp: 0 };
        Self {
            assignors,
            is_cooperative,
            state: ClassicState::Unjoined,
            joining: Joining::Not,
            generation,
            heartbeats: Heartbeats::default(),
            wants_join: true,
            reason: "",
            join_from_ns: 0,
            needs_prepare: true,
            prepare_until_ns: None,
            synced: None,
            leading: None,
            is_leader: false,
            assigned_of: PartitionCounts::new(),
            last_assigned: None,
            cooperative_generation: NO_GENERATION,
            leave_wanted: None,
        }
    }

    /// Generation and member id to commit with; `None` while it is not in a generation.
    pub(super) fn commit_as(&self) -> Option<(i32, &str)> {
        (self.state == ClassicState::Stable)
            .then_some((self.generation.id, self.generation.member_id.as_str()))
    }

    /// Which membership it is, to know an answer to an older one.
    pub(super) fn stamp(&self) -> u32 {
        self.generation.stamp
    }

    fn set_generation(&mut self, id: i32, member_id: String, assignor: Option<Assignor>) {
        let stamp = self.generation.stamp.wrapping_add(1);
        self.generation = Generation { id, member_id, assignor, stamp };
    }

    fn is_reset(&self) -> bool {
        self.generation.id == NO_GENERATION
    }

    fn is_in_group(&self) -> bool {
        matches!(self.state, ClassicState::Completing | ClassicState::Stable)
    }

    fn want_join(&mut self, shared: &mut MemberCore, reason: &'static str, now_ns: u64) {
        self.wants_join = true;
        self.reason = reason;
        shared.begin_rebalance(reason, now_ns);
    }

    /// It is not in the generation any more.
    fn reset(&mut self, shared: &mut MemberCore, reason: &'static str, keeps_id: bool, now_ns: u64) {
        self.state = ClassicState::Unjoined;
        let member_id = if keeps_id { std::mem::take(&mut self.generation.member_id) } else { String::new() };
        self.set_generation(NO_GENERATION, member_id, None);
        self.synced = None;
        self.needs_prepare = true;
        self.want_join(shared, reason, now_ns);
    }
}

/// What the application's poll does.
impl Classic {
    pub(super) fn poll(&mut self, shared: &mut MemberCore, positions: &mut PositionLookup<'_>, now_ns: u64) {
        if let Some(assignment) = self.synced.take() {
            self.complete(shared, &assignment, now_ns);
        }
        if self.is_leader
            && self.state == ClassicState::Stable
            && !self.wants_join
            && self.is_outdated(shared)
        {
            self.want_join(shared, "cached metadata has changed", now_ns);
        }
        let is_free = self.joining == Joining::Not && now_ns >= self.join_from_ns;
        if self.wants_join && is_free && shared.coordinator().is_some() {
            shared.begin_rebalance("joining", now_ns);
            if self.needs_prepare && !self.prepare(shared, positions, now_ns) {
                return;
            }
            self.needs_prepare = false;
            self.state = ClassicState::Preparing;
            self.joining = Joining::Join;
            shared.joined_ns = now_ns;
        }
    }

    /// For the leader: whether topics have other partitions than when it assigned.
    fn is_outdated(&self, shared: &MemberCore) -> bool {
        let mut known =
            self.assigned_of.iter().filter_map(|(topic, count)| Some((shared.topics.get(topic)?, count)));
        known.any(|(topic, count)| topic.partitions != *count)
    }

    /// Commits, then revokes what must be revoked before it joins. Returns whether that is over.
    fn prepare(&mut self, shared: &mut MemberCore, positions: &mut PositionLookup<'_>, now_ns: u64) -> bool {
        let is_first = self.prepare_until_ns.is_none();
        let timeout_ns = shared.config.poll_interval_max_ns;
        let until_ns = *self.prepare_until_ns.get_or_insert(now_ns.saturating_add(timeout_ns));
        if is_first && shared.offsets.is_auto() && !self.is_reset() {
            if !self.is_cooperative {
                let all = shared.assigned.iter().cloned().collect();
                shared.revoking(all, now_ns);
            }
            shared.offsets.want(Occasion::Rebalance, now_ns);
            shared.offsets.poll(&shared.assigned, positions, now_ns);
        }
        if shared.offsets.is_pending(Occasion::Rebalance) {
            if now_ns < until_ns && !self.is_reset() {
                return false;
            }
            shared.offsets.abandon(Occasion::Rebalance);
        }
        self.prepare_until_ns = None;
        self.is_leader = false;
        if self.is_reset() || self.generation.member_id.is_empty() {
            shared.lose_all(now_ns);
        } else if !self.is_cooperative {
            let all = shared.assigned.iter().cloned().collect();
            shared.revoke(all, now_ns);
        }
        true
    }

    /// What it got becomes its own.
    fn complete(&mut self, shared: &mut MemberCore, assignment: &[u8], now_ns: u64) {
        self.needs_prepare = true;
        let Ok(assigned) = decode_assignment(assignment) else {
            return shared.inconsistent("what the leader assigned to this member cannot be read");
        };
        if assigned.iter().any(|partition| !shared.config.topics.contains(&partition.topic)) {
            return self.want_join(
                shared,
                "received assignment does not match the current subscription",
                now_ns,
            );
        }
        match self.generation.assignor {
            Some(Assignor::Sticky) => self.last_assigned = Some((assigned.clone(), self.generation.id)),
            Some(Assignor::CooperativeSticky) => self.cooperative_generation = self.generation.id,
            _ => {}
        }
        let assigned: BTreeSet<TopicPartition> = assigned.into_iter().collect();
        let revoked: Vec<TopicPartition> = shared.assigned.difference(&assigned).cloned().collect();
        let must_join_again = !revoked.is_empty();
        shared.revoke(revoked, now_ns);
        shared.assign(assigned, self.generation.id, self.is_leader, now_ns);
        if must_join_again {
            self.want_join(shared, "need to revoke partitions and re-join", now_ns);
        }
    }
}

/// What happens without the application, and what is to be asked.
impl Classic {
    pub(super) fn next_request(&mut self, shared: &mut MemberCore, now_ns: u64) -> Option<GroupRequest> {
        let stamp = self.generation.stamp;
        if self.leave_wanted.is_some() {
            return shared.request(GroupRequestKind::Leave, stamp);
        }
        let missing = self.leading.as_ref().filter(|leading| !leading.missing(shared).is_empty());
        let asked = match (self.joining, missing) {
            (Joining::Not, _) => None,
            (Joining::Join, _) => shared.request(GroupRequestKind::Join, stamp),
            (Joining::Sync, None) => shared.request(GroupRequestKind::Sync, stamp),
            (Joining::Sync, Some(leading)) if leading.ask_from_ns <= now_ns => {
                shared.request(GroupRequestKind::Metadata, stamp)
            }
            (Joining::Sync, Some(_)) => None,
        };
        asked.or_else(|| self.heartbeat(shared, now_ns))
    }

    fn heartbeat(&mut self, shared: &mut MemberCore, now_ns: u64) -> Option<GroupRequest> {
        if !self.is_in_group() || now_ns < self.heartbeats.due_ns {
            return None;
        }
        let request = shared.request(GroupRequestKind::Heartbeat, self.generation.stamp)?;
        self.heartbeats.due_ns = now_ns + shared.config.heartbeat_interval_ns;
        Some(request)
    }

    /// Timers: a session without an answer, an application that does not poll.
    pub(super) fn on_time(&mut self, shared: &mut MemberCore, now_ns: u64) {
        if !self.is_in_group() {
            return;
        }
        if shared.coordinator().is_some() && now_ns >= self.heartbeats.session_until_ns {
            let why = "session timed out without an answer to a heartbeat";
            self.lose_coordinator(shared, why, now_ns);
        } else if shared.poll_until_ns.is_some_and(|until_ns| until_ns <= now_ns) {
            self.leave(shared, "consumer poll timeout has expired", now_ns);
            shared.poll_until_ns = None;
        }
    }

    /// Leaves: without a word if it has an instance id, so that it may come back.
    pub(super) fn leave(&mut self, shared: &mut MemberCore, reason: &'static str, now_ns: u64) {
        let is_reported = shared.config.instance_id.is_none()
            && shared.coordinator().is_some()
            && self.state != ClassicState::Unjoined
            && !self.generation.member_id.is_empty();
        self.leave_wanted = is_reported.then(|| (self.generation.member_id.clone(), reason));
        shared.forget(GroupRequestKind::Join);
        shared.forget(GroupRequestKind::Sync);
        self.joining = Joining::Not;
        self.leading = None;
        self.reset(shared, reason, false, now_ns);
    }

    /// Whether it is done with leaving.
    pub(super) fn has_left(&self) -> bool {
        self.leave_wanted.is_none()
    }

    /// Whether it is in a generation that is not being rebalanced.
    pub(super) fn is_settled(&self) -> bool {
        self.state == ClassicState::Stable && self.synced.is_none()
    }

    /// When something is due by time alone, ns; `is_polling`: also what the application's polls do, `can_ask`: also what is
    /// to be asked.
    pub(super) fn deadline(&self, shared: &MemberCore, is_polling: bool, can_ask: bool) -> Option<u64> {
        let in_group = self.is_in_group();
        let poll_until_ns = shared.poll_until_ns.filter(|_| in_group);
        let has_coordinator = shared.coordinator().is_some();
        let session_ns = (in_group && has_coordinator).then_some(self.heartbeats.session_until_ns);
        let beats = in_group && can_ask && !shared.is_asked(GroupRequestKind::Heartbeat);
        let heartbeat_ns = beats.then_some(self.heartbeats.due_ns);
        let missing = self.leading.as_ref().filter(|leading| !leading.missing(shared).is_empty());
        let asks = can_ask && !shared.is_asked(GroupRequestKind::Metadata);
        let metadata_ns = missing.filter(|_| asks).map(|leading| leading.ask_from_ns);
        let joins = has_coordinator && self.wants_join && self.joining == Joining::Not;
        let join_ns = (is_polling && joins).then_some(match self.prepare_until_ns {
            Some(until_ns) if shared.offsets.is_pending(Occasion::Rebalance) => until_ns,
            _ => self.join_from_ns,
        });
        let synced_ns = (is_polling && self.synced.is_some()).then_some(0);
        let due = [poll_until_ns, session_ns, heartbeat_ns, metadata_ns, join_ns, synced_ns];
        due.into_iter().flatten().min()
    }
}

/// Requests.
impl Classic {
    pub(super) fn join_request(&self, shared: &MemberCore) -> m11_join_group::Request {
        let (generation_id, topics) = (self.generation.id, shared.config.topics.clone());
        let protocol = |assignor: &Assignor| {
            let user_data = match assignor {
                Assignor::Sticky => self.last_assigned.as_ref().map(|(own, at)| StickyData::encode(own, *at)),
                Assignor::CooperativeSticky => Some(self.cooperative_generation.to_be_bytes().to_vec()),
                Assignor::Range | Assignor::RoundRobin => None,
            };
            let owned = shared.assigned.iter().cloned().collect();
            let subscription =
                Subscription { topics: topics.clone(), user_data, owned, generation_id, rack: None };
            let (name, metadata) = (assignor.name().to_owned(), subscription.encode());
            m11_join_group::JoinGroupRequestProtocol { name, metadata }
        };
        m11_join_group::Request {
            group_id: shared.config.group_id.clone(),
            session_timeout_ms: millis(shared.config.session_timeout_ns),
            rebalance_timeout_ms: millis(shared.config.poll_interval_max_ns),
            member_id: self.generation.member_id.clone(),
            group_instance_id: shared.config.instance_id.clone(),
            protocol_type: PROTOCOL_TYPE.to_owned(),
            protocols: self.assignors.iter().map(protocol).collect(),
            reason: Some(self.reason.to_owned()),
        }
    }

    /// How long its answer may take, ns.
    pub(super) fn join_timeout_ns(shared: &MemberCore) -> u64 {
        shared.config.poll_interval_max_ns.saturating_add(JOIN_LAPSE_NS)
    }

    pub(super) fn sync_request(&mut self, shared: &MemberCore) -> m14_sync_group::Request {
        let leading = self.leading.take();
        let assignments = leading.map(|leading| {
            self.assigned_of = leading.counts(shared);
            leading.assign(&self.assigned_of)
        });
        m14_sync_group::Request {
            group_id: shared.config.group_id.clone(),
            generation_id: self.generation.id,
            member_id: self.generation.member_id.clone(),
            group_instance_id: shared.config.instance_id.clone(),
            protocol_type: Some(PROTOCOL_TYPE.to_owned()),
            protocol_name: self.generation.assignor.map(|assignor| assignor.name().to_owned()),
            assignments: assignments.unwrap_or_default(),
        }
    }

    pub(super) fn heartbeat_request(&self, shared: &MemberCore) -> m12_heartbeat::Request {
        m12_heartbeat::Request {
            group_id: shared.config.group_id.clone(),
            generation_id: self.generation.id,
            member_id: self.generation.member_id.clone(),
            group_instance_id: shared.config.instance_id.clone(),
        }
    }

    pub(super) fn leave_request(&mut self, shared: &MemberCore) -> m13_leave_group::Request {
        let (member_id, reason) = self.leave_wanted.take().unwrap_or_default();
        let member = m13_leave_group::MemberIdentity {
            member_id: member_id.clone(),
            group_instance_id: None,
            reason: Some(reason.to_owned()),
        };
        let group_id = shared.config.group_id.clone();
        m13_leave_group::Request { group_id, member_id, members: vec![member] }
    }
}

fn millis(ns: u64) -> i32 {
    i32::try_from(ns / NS_PER_MS).unwrap_or(i32::MAX)
}
