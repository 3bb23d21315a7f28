//! A member of a group as its consumer sees it: its input, its requests, its reports.

use super::classic::Classic;
use super::kip848::Kip848;
use super::offsets::Occasion;
use super::shared::{KnownTopic, MemberCore};
use super::{
    GroupConfig, GroupError, GroupEvent, GroupProtocol, GroupRequest, GroupRequestKind, Position,
    PositionLookup, TopicPartition,
};
use crate::connection::Connection;
use crate::messages::{
    Api, ApiVersionError, m03_metadata, m08_offset_commit, m09_offset_fetch, m10_find_coordinator,
    m11_join_group, m12_heartbeat, m13_leave_group, m14_sync_group, m68_consumer_group_heartbeat,
};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Kind of coordinator.
const OF_GROUPS: i8 = 0;

/// By which protocol it is a member.
#[derive(Debug)]
pub(super) enum MemberProtocol {
    Classic(Box<Classic>),
    Consumer(Box<Kip848>),
}

/// How far it is with leaving.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Leaving {
    No,
    /// What was read is committed; not waited for longer than until, ns.
    Committing(u64),
    /// The coordinator gets the request; not waited for longer than until, ns.
    Telling(u64),
    Done,
}

/// A member of a consumer group.
#[derive(Debug)]
pub struct Member {
    pub(super) shared: MemberCore,
    pub(super) membership: MemberProtocol,
    leaving: Leaving,
    /// The broker that was asked last as the coordinator.
    pub(super) followed: Option<i32>,
}

/// Its state and its reports.
impl Member {
    /// What brokers must speak in addition to what a consumer needs, for the classic protocol.
    pub const NEEDS_CLASSIC: &'static [Api] = &[
        m08_offset_commit::API,
        m09_offset_fetch::API,
        m10_find_coordinator::API,
        m11_join_group::API,
        m12_heartbeat::API,
        m13_leave_group::API,
        m14_sync_group::API,
    ];
    /// What brokers must speak for the consumer protocol.
    pub const NEEDS_CONSUMER: &'static [Api] = &[
        m08_offset_commit::API,
        m09_offset_fetch::API,
        m10_find_coordinator::API,
        m68_consumer_group_heartbeat::API,
    ];

    /// One that has not joined yet.
    pub fn new(config: GroupConfig) -> Self {
        let protocol = config.protocol.clone();
        let mut shared = MemberCore::new(config);
        let membership = match protocol {
            GroupProtocol::Classic { assignors } => {
                MemberProtocol::Classic(Box::new(Classic::new(assignors)))
            }
            GroupProtocol::Consumer { assignor } => {
                MemberProtocol::Consumer(Box::new(Kip848::new(assignor, &mut shared)))
            }
        };
        Self { shared, membership, leaving: Leaving::No, followed: None }
    }

    /// What it has.
    pub fn assigned(&self) -> &BTreeSet<TopicPartition> {
        &self.shared.assigned
    }

    /// Why it is none any more, for good.
    pub fn failure(&self) -> Option<&GroupError> {
        self.shared.failure.as_ref()
    }

    /// Takes what happened since the last call, each with its instant, ns.
    pub fn take_events(&mut self) -> Vec<(u64, GroupEvent)> {
        self.shared.take_events()
    }

    /// Whether it has what the group has for it, and knows where to begin everywhere.
    pub fn is_settled(&self) -> bool {
        let is_settled = match &self.membership {
            MemberProtocol::Classic(classic) => classic.is_settled(),
            MemberProtocol::Consumer(member) => member.is_settled(),
        };
        is_settled && self.shared.offsets.starts_due_ns().is_none()
    }

    /// Whether it has left, or was never to stay.
    pub fn has_left(&self) -> bool {
        self.leaving == Leaving::Done
    }

    /// A topic's id, all zero where there is none, and how many partitions it has, as metadata reports.
    pub fn set_topic(&mut self, topic: &Arc<str>, id: [u8; 16], partitions: i32) {
        self.shared.topics.insert(Arc::clone(topic), KnownTopic { id, partitions });
    }

    /// Takes whether metadata is to be requested, since topics that it was assigned are not known.
    pub fn take_wants_metadata(&mut self) -> bool {
        match &mut self.membership {
            MemberProtocol::Classic(_) => false,
            MemberProtocol::Consumer(member) => member.take_wants_metadata(),
        }
    }

    fn is_over(&self) -> bool {
        self.shared.failure.is_some() || self.leaving == Leaving::Done
    }

    fn commit_as(&self) -> Option<(i32, &str)> {
        match &self.membership {
            MemberProtocol::Classic(classic) => classic.commit_as(),
            MemberProtocol::Consumer(member) => member.commit_as(),
        }
    }
}

/// What its consumer does.
impl Member {
    /// Its application asks for records: partitions change hands, and it is alive for `max.poll.interval.ms`.
    pub fn poll(&mut self, positions: &mut PositionLookup<'_>, now_ns: u64) {
        if self.is_over() {
            return;
        }
        let shared = &mut self.shared;
        shared.poll_until_ns = Some(now_ns.saturating_add(shared.config.poll_interval_max_ns));
        if self.leaving == Leaving::No {
            match &mut self.membership {
                MemberProtocol::Classic(classic) => classic.poll(shared, positions, now_ns),
                MemberProtocol::Consumer(member) => member.poll(shared, positions, now_ns),
            }
        }
        if self.commit_as().is_some() {
            self.shared.offsets.poll(&self.shared.assigned, positions, now_ns);
        }
        self.go_on_leaving(now_ns);
    }

    /// Commits offsets: soon, and until it is done or cannot be.
    pub fn commit(&mut self, positions: impl IntoIterator<Item = (TopicPartition, Position)>, now_ns: u64) {
        self.shared.offsets.commit(positions, now_ns);
    }

    /// Leaves: commits what was read where it commits by itself, gives up what it has, and informs the coordinator. It
    /// is to be polled until it [has](Self::has_left).
    pub fn leave(&mut self, positions: &mut PositionLookup<'_>, now_ns: u64) {
        if self.leaving != Leaving::No {
            return;
        }
        let until_ns = now_ns.saturating_add(self.shared.config.leave_timeout_ns);
        self.leaving = Leaving::Committing(until_ns);
        let all: Vec<TopicPartition> = self.shared.assigned.iter().cloned().collect();
        self.shared.revoking(all, now_ns);
        if self.shared.offsets.is_auto() && self.commit_as().is_some() && !self.is_over() {
            self.shared.offsets.want(Occasion::Leaving, now_ns);
            self.shared.offsets.poll(&self.shared.assigned, positions, now_ns);
        }
        self.go_on_leaving(now_ns);
    }

    fn go_on_leaving(&mut self, now_ns: u64) {
        if let Leaving::Committing(until_ns) = self.leaving {
            let offsets = &self.shared.offsets;
            let is_pending = offsets.is_pending(Occasion::Leaving) || offsets.is_users_pending();
            if is_pending && now_ns < until_ns && self.commit_as().is_some() && self.shared.failure.is_none()
            {
                return;
            }
            self.leaving =
                Leaving::Telling(until_ns.max(now_ns.saturating_add(self.shared.config.leave_timeout_ns)));
            self.release(now_ns);
        }
        if let Leaving::Telling(until_ns) = self.leaving {
            let is_reported = match &self.membership {
                MemberProtocol::Classic(classic) => {
                    classic.has_left() && !self.shared.is_asked(GroupRequestKind::Leave)
                }
                MemberProtocol::Consumer(member) => member.has_left(&self.shared),
            };
            if is_reported || now_ns >= until_ns || self.shared.failure.is_some() {
                self.leaving = Leaving::Done;
                self.shared.tell(now_ns, GroupEvent::Left);
            }
        }
    }

    /// Gives up what it has, and begins to inform the coordinator.
    fn release(&mut self, now_ns: u64) {
        if self.commit_as().is_some() {
            let all = self.shared.assigned.iter().cloned().collect();
            self.shared.revoke(all, now_ns);
        } else {
            self.shared.lose_all(now_ns);
        }
        match &mut self.membership {
            MemberProtocol::Classic(classic) => {
                classic.leave(&mut self.shared, "the consumer is being closed", now_ns);
            }
            MemberProtocol::Consumer(member) => member.leave(&mut self.shared),
        }
    }
}

/// What is to be asked.
impl Member {
    /// The broker that coordinates, if it is known.
    pub fn coordinator(&self) -> Option<i32> {
        self.shared.coordinator()
    }

    /// The coordinator is to be looked for; any broker can be asked.
    pub fn look_up(&mut self, now_ns: u64) -> Option<GroupRequest> {
        let is_due = !self.is_over() && self.shared.lookup_ns().is_some_and(|at| at <= now_ns);
        is_due.then(|| self.shared.look_up())
    }

    /// What is to be asked of the coordinator now; it then counts as in flight, and is to be [sent](Self::send).
    pub fn next_request(&mut self, now_ns: u64) -> Option<GroupRequest> {
        if self.is_over() {
            return None;
        }
        let shared = &mut self.shared;
        let (asked, stamp) = match &mut self.membership {
            MemberProtocol::Classic(classic) => {
                classic.on_time(shared, now_ns);
                (classic.next_request(shared, now_ns), classic.stamp())
            }
            MemberProtocol::Consumer(member) => {
                member.on_time(shared, now_ns);
                (member.next_request(shared, now_ns), member.stamp())
            }
        };
        if asked.is_some() || shared.coordinator().is_none() {
            return asked;
        }
        let is_member = self.commit_as().is_some();
        let shared = &mut self.shared;
        let is_due = |due: Option<u64>| due.is_some_and(|due_ns| due_ns <= now_ns);
        if is_member && is_due(shared.offsets.send_due_ns()) {
            return shared.request(GroupRequestKind::Commit, stamp);
        }
        if is_member && is_due(shared.offsets.starts_due_ns()) {
            return shared.request(GroupRequestKind::FetchOffsets, stamp);
        }
        None
    }

    /// Time has passed without a coordinator to ask: a session may have ended, or the application does not poll.
    pub fn on_time(&mut self, now_ns: u64) {
        if self.is_over() {
            return;
        }
        match &mut self.membership {
            MemberProtocol::Classic(classic) => classic.on_time(&mut self.shared, now_ns),
            MemberProtocol::Consumer(member) => member.on_time(&mut self.shared, now_ns),
        }
        if self.leaving != Leaving::No {
            self.go_on_leaving(now_ns);
        }
    }

    /// When something is due by time alone, ns. `is_polling`: also what the application's next poll would do; `can_ask`: also
    /// what is to be asked of the coordinator; `can_look_up`: also to look for it.
    pub fn deadline(&self, is_polling: bool, can_ask: bool, can_look_up: bool) -> Option<u64> {
        if self.is_over() {
            return None;
        }
        let shared = &self.shared;
        // One that leaves is polled for its last commit alone.
        let is_staying = is_polling && self.leaving == Leaving::No;
        let membership = match &self.membership {
            MemberProtocol::Classic(classic) => classic.deadline(shared, is_staying, can_ask),
            MemberProtocol::Consumer(member) => member.deadline(shared, is_staying, can_ask),
        };
        let is_member = self.commit_as().is_some();
        let may_ask = |kind| can_ask && is_member && !shared.is_asked(kind);
        let starts = shared.offsets.starts_due_ns().filter(|_| may_ask(GroupRequestKind::FetchOffsets));
        let send = shared.offsets.send_due_ns().filter(|_| may_ask(GroupRequestKind::Commit));
        let commit = shared.offsets.poll_due_ns().filter(|_| is_polling && is_member);
        let lookup = shared.lookup_ns().filter(|_| can_look_up);
        let leaving = match self.leaving {
            Leaving::Committing(until_ns) | Leaving::Telling(until_ns) => Some(until_ns),
            Leaving::No | Leaving::Done => None,
        };
        [membership, starts, send, commit, lookup, leaving].into_iter().flatten().min()
    }

    /// How long the answer to a request may take, if that is longer than others', ns: the coordinator answers to JoinGroup when
    /// all members have joined, and to nothing else on that connection before.
    pub fn timeout_ns(&self, request: GroupRequest) -> Option<u64> {
        (request.kind == GroupRequestKind::Join).then(|| Classic::join_timeout_ns(&self.shared))
    }

    /// Sends a request over a connection.
    ///
    /// # Errors
    /// When the broker does not speak it.
    pub fn send<T>(
        &mut self,
        request: GroupRequest,
        token: T,
        connection: &mut Connection<T>,
        now_ns: u64,
    ) -> Result<(), ApiVersionError> {
        let shared = &mut self.shared;
        match (request.kind, &mut self.membership) {
            (GroupRequestKind::FindCoordinator, _) => {
                let key = shared.config.group_id.clone();
                let coordinator_keys = vec![key.clone()];
                let request = m10_find_coordinator::Request { key, key_type: OF_GROUPS, coordinator_keys };
                connection.ask(token, &request, now_ns)
            }
            (GroupRequestKind::Commit, _) => self.send_commit(token, connection, now_ns),
            (GroupRequestKind::FetchOffsets, _) => self.send_fetch(token, connection, now_ns),
            (GroupRequestKind::Metadata, MemberProtocol::Classic(classic)) => {
                let topics = classic.missing_topics(shared);
                let topics: Vec<&str> = topics.iter().map(String::as_str).collect();
                connection.ask(token, &m03_metadata::Request::of_topics(Some(&topics)), now_ns)
            }
            (GroupRequestKind::Join, MemberProtocol::Classic(classic)) => {
                connection.ask(token, &classic.join_request(shared), now_ns)
            }
            (GroupRequestKind::Sync, MemberProtocol::Classic(classic)) => {
                connection.ask(token, &classic.sync_request(shared), now_ns)
            }
            (GroupRequestKind::Heartbeat, MemberProtocol::Classic(classic)) => {
                connection.ask(token, &classic.heartbeat_request(shared), now_ns)
            }
            (GroupRequestKind::Leave, MemberProtocol::Classic(classic)) => {
                connection.ask(token, &classic.leave_request(shared), now_ns)
            }
            (GroupRequestKind::ConsumerHeartbeat, MemberProtocol::Consumer(member)) => {
                connection.ask(token, &member.request(shared, now_ns), now_ns)
            }
            // Neither protocol makes requests of the other one.
            _ => Ok(()),
        }
    }

    fn send_commit<T>(
        &mut self,
        token: T,
        connection: &mut Connection<T>,
        now_ns: u64,
    ) -> Result<(), ApiVersionError> {
        let (generation, member_id) = self.commit_as().unwrap_or((-1, ""));
        let member_id = member_id.to_owned();
        let Some(commit) = self.shared.offsets.send() else { return Ok(()) };
        let partition = |(partition, position): &(TopicPartition, Position)| {
            m08_offset_commit::OffsetCommitRequestPartition {
                partition_index: partition.partition,
                committed_offset: position.offset,
                committed_leader_epoch: position.leader_epoch,
                ..Default::default()
            }
        };
        let by_topic = commit.positions.chunk_by(|(a, _), (b, _)| a.topic == b.topic);
        let topic = |positions: &[(TopicPartition, Position)]| m08_offset_commit::OffsetCommitRequestTopic {
            name: positions[0].0.topic.to_string(),
            partitions: positions.iter().map(partition).collect(),
            ..Default::default()
        };
        let request = m08_offset_commit::Request {
            topics: by_topic.map(topic).collect(),
            group_id: self.shared.config.group_id.clone(),
            generation_id_or_member_epoch: generation,
            member_id,
            group_instance_id: self.shared.config.instance_id.clone(),
            ..Default::default()
        };
        connection.ask(token, &request, now_ns)
    }

    fn send_fetch<T>(
        &mut self,
        token: T,
        connection: &mut Connection<T>,
        now_ns: u64,
    ) -> Result<(), ApiVersionError> {
        let is_consumer = matches!(self.membership, MemberProtocol::Consumer(_));
        let member = self.commit_as().filter(|_| is_consumer);
        let member = member.map(|(epoch, member_id)| (epoch, member_id.to_owned()));
        let group_id = self.shared.config.group_id.clone();
        let asked = self.shared.offsets.ask_starts();
        let by_topic = || asked.chunk_by(|a, b| a.topic == b.topic);
        let indexes = |partitions: &[TopicPartition]| partitions.iter().map(|one| one.partition).collect();
        let old = |partitions: &[TopicPartition]| m09_offset_fetch::OffsetFetchRequestTopic {
            name: partitions[0].topic.to_string(),
            partition_indexes: indexes(partitions),
        };
        let new = |partitions: &[TopicPartition]| m09_offset_fetch::OffsetFetchRequestTopics {
            name: partitions[0].topic.to_string(),
            partition_indexes: indexes(partitions),
            ..Default::default()
        };
        let group = m09_offset_fetch::OffsetFetchRequestGroup {
            group_id: group_id.clone(),
            member_id: member.as_ref().map(|(_, member_id)| member_id.clone()),
            member_epoch: member.as_ref().map_or(-1, |(epoch, _)| *epoch),
            topics: Some(by_topic().map(new).collect()),
        };
        let topics = Some(by_topic().map(old).collect());
        let request =
            m09_offset_fetch::Request { group_id, topics, groups: vec![group], require_stable: true };
        connection.ask(token, &request, now_ns)
    }
}
