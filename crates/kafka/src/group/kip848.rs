//! A member by the consumer protocol (KIP-848), as Java's `ConsumerMembershipManager`.
//!
//! Everything goes by one request, ConsumerGroupHeartbeat. The coordinator answers with an epoch and, where it changed, with
//! the member's target assignment. At the application's next poll the member reconciles: it commits, gives up what it no
//! longer has, takes what it has now, and acknowledges that by its next heartbeat. What is new to it and still somebody
//! else's comes with a later target.

use super::offsets::Occasion;
use super::shared::MemberCore;
use super::{GroupRequest, GroupRequestKind, PositionLookup, TopicPartition};
use crate::errors::ErrorCode;
use crate::messages::m68_consumer_group_heartbeat::{self as heartbeat, TopicPartitions};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rand::RngExt;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

const NS_PER_MS: u64 = 1_000_000;
/// Epoch of a member that joins, that leaves, and that leaves and may come back under its instance id.
const JOIN_EPOCH: i32 = 0;
const LEAVE_EPOCH: i32 = -1;
const LEAVE_STATIC_EPOCH: i32 = -2;

/// How far a member is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kip848State {
    /// Its next heartbeat joins, or that one is in flight.
    Joining,
    /// It has another target than what it has.
    Reconciling,
    /// Its next heartbeat says that it has its target.
    Acknowledging,
    /// It has its target.
    Stable,
    /// Its next heartbeat says that it leaves; it joins again when the application polls, or it does not.
    Leaving { comes_back: bool },
    /// The application does not poll.
    Stale,
    /// It has left.
    Left,
}

/// An assignment by topic ids. Its number distinguishes it from an equal earlier one.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Assignment {
    number: u64,
    partitions: BTreeMap<[u8; 16], BTreeSet<i32>>,
}

/// A reconciliation under way.
#[derive(Debug)]
struct Reconciliation {
    to: Assignment,
    revoked: Vec<TopicPartition>,
    assigned: BTreeSet<TopicPartition>,
    until_ns: u64,
}

/// The membership.
#[derive(Debug)]
pub(super) struct Kip848 {
    assignor: Option<String>,
    member_id: String,
    epoch: i32,
    state: Kip848State,
    target: Option<Assignment>,
    current: Option<Assignment>,
    /// Names of topics that are assigned.
    names: BTreeMap<[u8; 16], Arc<str>>,
    reconciliation: Option<Reconciliation>,
    wants_metadata: bool,
    /// What the last heartbeat said, so that the next one says only what changed; `None`: it says everything.
    reported: Option<Option<Assignment>>,
    interval_ns: u64,
    due_ns: u64,
    /// After an error: not before, ns.
    not_before_ns: u64,
    failures: u32,
    /// Changes when it joins again.
    stamp: u32,
}

impl Kip848 {
    /// A member with an id of its own.
    pub(super) fn new(assignor: Option<String>, shared: &mut MemberCore) -> Self {
        // A random UUID, as Java writes it.
        let mut uuid: [u8; 16] = shared.random.random();
        uuid[6] = uuid[6] & 0x0f | 0x40;
        uuid[8] = uuid[8] & 0x3f | 0x80;
        Self {
            assignor,
            member_id: URL_SAFE_NO_PAD.encode(uuid),
            epoch: JOIN_EPOCH,
            state: Kip848State::Joining,
            target: None,
            current: None,
            names: BTreeMap::new(),
            reconciliation: None,
            wants_metadata: false,
            reported: None,
            interval_ns: 0,
            due_ns: 0,
            not_before_ns: 0,
            failures: 0,
            stamp: 0,
        }
    }

    /// Epoch and member id to commit with; `None` while it is not in the group.
    pub(super) fn commit_as(&self) -> Option<(i32, &str)> {
        (self.epoch > 0).then_some((self.epoch, self.member_id.as_str()))
    }

    /// Which membership it is.
    pub(super) fn stamp(&self) -> u32 {
        self.stamp
    }

    /// Takes whether topics with unknown names are to be requested.
    pub(super) fn take_wants_metadata(&mut self) -> bool {
        std::mem::take(&mut self.wants_metadata)
    }

    /// Whether it has what it is to have.
    pub(super) fn is_settled(&self) -> bool {
        self.state == Kip848State::Stable
    }

    /// Whether it is done with leaving.
    pub(super) fn has_left(&self, shared: &MemberCore) -> bool {
        self.state == Kip848State::Left && !shared.is_asked(GroupRequestKind::ConsumerHeartbeat)
    }

    fn join(&mut self, why: &str, shared: &mut MemberCore, now_ns: u64) {
        self.epoch = JOIN_EPOCH;
        self.stamp = self.stamp.wrapping_add(1);
        self.state = Kip848State::Joining;
        (self.target, self.current, self.reported) = (None, None, None);
        self.names.clear();
        self.abort(shared);
        (self.not_before_ns, self.failures) = (0, 0);
        shared.begin_rebalance(why, now_ns);
    }

    fn abort(&mut self, shared: &mut MemberCore) {
        if self.reconciliation.take().is_some() {
            shared.offsets.abandon(Occasion::Rebalance);
        }
    }

    fn leave_epoch(shared: &MemberCore) -> i32 {
        if shared.config.instance_id.is_some() { LEAVE_STATIC_EPOCH } else { LEAVE_EPOCH }
    }

    /// Says with its next heartbeat that it leaves.
    fn begin_to_leave(&mut self, comes_back: bool, shared: &mut MemberCore) {
        self.epoch = Self::leave_epoch(shared);
        self.abort(shared);
        self.current = None;
        self.state = Kip848State::Leaving { comes_back };
        // No answer to an earlier question is waited for.
        shared.forget(GroupRequestKind::ConsumerHeartbeat);
    }

    /// Leaves for good.
    pub(super) fn leave(&mut self, shared: &mut MemberCore) {
        match self.state {
            Kip848State::Stale | Kip848State::Left => self.state = Kip848State::Left,
            _ if shared.coordinator().is_none() => self.state = Kip848State::Left,
            _ => self.begin_to_leave(false, shared),
        }
    }
}

/// What the application's poll does.
impl Kip848 {
    pub(super) fn poll(&mut self, shared: &mut MemberCore, positions: &mut PositionLookup<'_>, now_ns: u64) {
        match self.state {
            Kip848State::Stale => self.join("the application polls again", shared, now_ns),
            Kip848State::Joining => shared.begin_rebalance("joining", now_ns),
            _ => {}
        }
        if self.state == Kip848State::Reconciling && self.reconciliation.is_none() {
            self.begin(shared, positions, now_ns);
        }
        let is_waiting =
            |one: &Reconciliation| shared.offsets.is_pending(Occasion::Rebalance) && now_ns < one.until_ns;
        if self.reconciliation.as_ref().is_some_and(|one| !is_waiting(one)) {
            self.finish(shared, now_ns);
        }
    }

    /// Begins to reconcile, as far as names of topics are known.
    fn begin(&mut self, shared: &mut MemberCore, positions: &mut PositionLookup<'_>, now_ns: u64) {
        let Some(target) = self.target.clone().filter(|target| self.current.as_ref() != Some(target)) else {
            return;
        };
        for (topic, known) in &shared.topics {
            if target.partitions.contains_key(&known.id) {
                self.names.insert(known.id, Arc::clone(topic));
            }
        }
        let mut to = target;
        let all = to.partitions.len();
        to.partitions.retain(|id, _| self.names.contains_key(id));
        self.wants_metadata |= to.partitions.len() < all;
        if self.current.as_ref().is_some_and(|current| current.partitions == to.partitions) {
            // What is new is not known by name yet; the rest is as it was.
            self.current = Some(to);
            self.state = Kip848State::Acknowledging;
            shared.end_rebalance(self.epoch, now_ns);
            return;
        }
        let named = |(id, partitions): (&[u8; 16], &BTreeSet<i32>)| {
            let topic = Arc::clone(&self.names[id]);
            let of_topic =
                move |partition: &i32| TopicPartition { topic: Arc::clone(&topic), partition: *partition };
            partitions.iter().map(of_topic).collect::<Vec<_>>()
        };
        let assigned: BTreeSet<TopicPartition> = to.partitions.iter().flat_map(named).collect();
        let revoked: Vec<TopicPartition> = shared.assigned.difference(&assigned).cloned().collect();
        shared.revoking(revoked.clone(), now_ns);
        if shared.offsets.is_auto() {
            shared.offsets.want(Occasion::Rebalance, now_ns);
            shared.offsets.poll(&shared.assigned, positions, now_ns);
        }
        shared.joined_ns = now_ns;
        let until_ns = now_ns.saturating_add(shared.config.poll_interval_max_ns);
        self.reconciliation = Some(Reconciliation { to, revoked, assigned, until_ns });
    }

    fn finish(&mut self, shared: &mut MemberCore, now_ns: u64) {
        shared.offsets.abandon(Occasion::Rebalance);
        let Some(Reconciliation { to, revoked, assigned, .. }) = self.reconciliation.take() else { return };
        shared.revoke(revoked, now_ns);
        shared.assign(assigned, self.epoch, false, now_ns);
        self.names.retain(|id, _| to.partitions.contains_key(id));
        self.current = Some(to);
        self.state = Kip848State::Acknowledging;
    }
}

/// Heartbeats.
impl Kip848 {
    /// Timers: an application that does not poll.
    pub(super) fn on_time(&mut self, shared: &mut MemberCore, now_ns: u64) {
        let is_in_group = self.epoch > 0;
        if is_in_group && shared.poll_until_ns.is_some_and(|until_ns| until_ns <= now_ns) {
            shared.poll_until_ns = None;
            if shared.coordinator().is_some() {
                self.begin_to_leave(true, shared);
            } else {
                self.state = Kip848State::Stale;
            }
            shared.begin_rebalance("consumer poll timeout has expired", now_ns);
            shared.lose_all(now_ns);
        }
    }

    /// When its next heartbeat is due, ns; `None`: there is none.
    fn heartbeat_ns(&self, shared: &MemberCore) -> Option<u64> {
        if shared.coordinator().is_none() || shared.is_asked(GroupRequestKind::ConsumerHeartbeat) {
            return None;
        }
        match self.state {
            Kip848State::Stale | Kip848State::Left => None,
            Kip848State::Leaving { .. } => Some(0),
            // Java does not pause after an error while it joins; that would be a tight loop at a coordinator that loads.
            Kip848State::Joining | Kip848State::Acknowledging => Some(self.not_before_ns),
            Kip848State::Reconciling | Kip848State::Stable => Some(self.due_ns.max(self.not_before_ns)),
        }
    }

    pub(super) fn next_request(&mut self, shared: &mut MemberCore, now_ns: u64) -> Option<GroupRequest> {
        self.heartbeat_ns(shared).filter(|due_ns| *due_ns <= now_ns)?;
        shared.request(GroupRequestKind::ConsumerHeartbeat, self.stamp)
    }

    /// When something is due by time alone, ns; `is_polling`: also what the application's polls do, `can_ask`: also what is
    /// to be asked.
    pub(super) fn deadline(&self, shared: &MemberCore, is_polling: bool, can_ask: bool) -> Option<u64> {
        let poll_until_ns = shared.poll_until_ns.filter(|_| self.epoch > 0);
        let reconciles_ns = match (&self.reconciliation, self.state) {
            (Some(one), _) if shared.offsets.is_pending(Occasion::Rebalance) => Some(one.until_ns),
            (Some(_), _) => Some(0),
            (None, Kip848State::Stale) => Some(0),
            _ => None,
        };
        let heartbeat_ns = self.heartbeat_ns(shared).filter(|_| can_ask);
        [poll_until_ns, heartbeat_ns, reconciles_ns.filter(|_| is_polling)].into_iter().flatten().min()
    }

    /// A heartbeat, which then counts as sent.
    pub(super) fn request(&mut self, shared: &MemberCore, now_ns: u64) -> heartbeat::Request {
        let is_joining = self.state == Kip848State::Joining;
        let says_all = is_joining || self.reported.is_none();
        let is_leaving = matches!(self.state, Kip848State::Leaving { .. });
        let has_news = self.reported.as_ref().is_none_or(|reported| *reported != self.current);
        let owned = || {
            let current = self.current.iter().flat_map(|current| &current.partitions);
            let of_topic = |(id, partitions): (&[u8; 16], &BTreeSet<i32>)| TopicPartitions {
                topic_id: *id,
                partitions: partitions.iter().copied().collect(),
            };
            current.map(of_topic).collect()
        };
        let topics = || shared.config.topics.iter().map(|topic| topic.to_string()).collect();
        let timeout_ms = i32::try_from(shared.config.poll_interval_max_ns / NS_PER_MS).unwrap_or(i32::MAX);
        let says_all = says_all && !is_leaving;
        let request = heartbeat::Request {
            group_id: shared.config.group_id.clone(),
            member_id: self.member_id.clone(),
            member_epoch: self.epoch,
            instance_id: shared.config.instance_id.clone(),
            rack_id: None,
            rebalance_timeout_ms: if says_all { timeout_ms } else { -1 },
            subscribed_topic_names: says_all.then(topics),
            subscribed_topic_regex: None,
            server_assignor: self.assignor.clone().filter(|_| says_all),
            topic_partitions: (says_all || has_news && !is_leaving).then(owned),
        };
        self.reported = Some(self.current.clone());
        self.due_ns = now_ns + self.interval_ns;
        self.state = match self.state {
            Kip848State::Acknowledging if self.current == self.target => Kip848State::Stable,
            Kip848State::Acknowledging => Kip848State::Reconciling,
            Kip848State::Leaving { comes_back: true } => Kip848State::Stale,
            Kip848State::Leaving { comes_back: false } => Kip848State::Left,
            state => state,
        };
        request
    }

    pub(super) fn on_answer(&mut self, shared: &mut MemberCore, response: heartbeat::Response, now_ns: u64) {
        if matches!(self.state, Kip848State::Leaving { .. } | Kip848State::Stale | Kip848State::Left) {
            return;
        }
        let error = response.error_code;
        if error.is_error() {
            return self.on_error(shared, error, now_ns);
        }
        self.failures = 0;
        self.not_before_ns = 0;
        self.interval_ns = u64::try_from(response.heartbeat_interval_ms).unwrap_or(0) * NS_PER_MS;
        self.due_ns = now_ns + self.interval_ns;
        if response.member_epoch < 0 {
            return;
        }
        self.epoch = response.member_epoch;
        if let Some(reported) = response.assignment {
            let of_topic = |one: heartbeat::ResponseTopicPartitions| {
                (one.topic_id, one.partitions.into_iter().collect::<BTreeSet<i32>>())
            };
            self.on_target(shared, reported.topic_partitions.into_iter().map(of_topic).collect(), now_ns);
        }
    }

    fn on_target(
        &mut self,
        shared: &mut MemberCore,
        partitions: BTreeMap<[u8; 16], BTreeSet<i32>>,
        now_ns: u64,
    ) {
        if self.target.as_ref().is_none_or(|target| target.partitions != partitions) {
            let number = self.target.as_ref().map_or(0, |target| target.number + 1);
            self.target = Some(Assignment { number, partitions });
        }
        if self.current != self.target {
            self.state = Kip848State::Reconciling;
            shared.begin_rebalance("a new target assignment", now_ns);
        } else if matches!(self.state, Kip848State::Reconciling | Kip848State::Joining) {
            self.state = Kip848State::Stable;
        }
    }

    fn on_error(&mut self, shared: &mut MemberCore, error: ErrorCode, now_ns: u64) {
        self.reported = None;
        match error {
            ErrorCode::NOT_COORDINATOR | ErrorCode::COORDINATOR_NOT_AVAILABLE => {
                self.lose_coordinator(shared, error.name(), now_ns);
            }
            ErrorCode::FENCED_MEMBER_EPOCH | ErrorCode::UNKNOWN_MEMBER_ID => {
                self.join(error.name(), shared, now_ns);
                shared.lose_all(now_ns);
            }
            // It recovers when it is allowed to.
            ErrorCode::COORDINATOR_LOAD_IN_PROGRESS | ErrorCode::TOPIC_AUTHORIZATION_FAILED => {
                self.pause(shared, now_ns);
            }
            error => shared.refused("ConsumerGroupHeartbeat", error),
        }
    }

    fn pause(&mut self, shared: &mut MemberCore, now_ns: u64) {
        self.not_before_ns = now_ns + shared.config.retry_backoff.after(self.failures, &mut shared.random);
        self.failures = self.failures.saturating_add(1);
    }

    /// The coordinator is to be looked for again. The heartbeat that it missed goes to the next one at once.
    pub(super) fn lose_coordinator(&mut self, shared: &mut MemberCore, why: &str, now_ns: u64) {
        let lost = shared.lose_coordinator(why, now_ns);
        shared.offsets_lost(&lost, now_ns);
        if matches!(self.state, Kip848State::Leaving { comes_back: false }) {
            self.state = Kip848State::Left;
        }
        self.reported = None;
        self.due_ns = now_ns;
        self.not_before_ns = 0;
    }
}
