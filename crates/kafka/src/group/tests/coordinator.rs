//! A group coordinator as Kafka's, as far as members can see: both protocols, one group, one topic.

use super::wire::{BROKER, SECOND, TOPIC, TOPIC_ID, parse};
use crate::errors::ErrorCode;
use crate::group::GroupRequest;
use crate::messages::{
    Api, Message, m03_metadata, m08_offset_commit, m09_offset_fetch, m10_find_coordinator, m11_join_group,
    m12_heartbeat, m13_leave_group, m14_sync_group, m68_consumer_group_heartbeat as m68,
};
use std::collections::{BTreeMap, BTreeSet};

const APIS: [Api; 9] = [
    m03_metadata::API,
    m08_offset_commit::API,
    m09_offset_fetch::API,
    m10_find_coordinator::API,
    m11_join_group::API,
    m12_heartbeat::API,
    m13_leave_group::API,
    m14_sync_group::API,
    m68::API,
];

/// Member, request and version of an answer.
type Requester = (usize, GroupRequest, i16);

#[derive(Debug, Default)]
pub(super) struct ClassicMember {
    pub instance: Option<String>,
    protocols: Vec<(String, Vec<u8>)>,
    joining: Option<Requester>,
    syncing: Option<Requester>,
    assignment: Vec<u8>,
    session_ns: u64,
    heard_ns: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CoordinatorState {
    Preparing { until_ns: u64 },
    Completing,
    Stable,
}

/// A member by the consumer protocol.
#[derive(Debug, Default)]
struct Kip848Member {
    instance: Option<String>,
    epoch: i32,
    owned: BTreeSet<i32>,
    reported: Option<BTreeSet<i32>>,
    heard_ns: u64,
}

pub(super) struct TestCoordinator {
    pub partitions: i32,
    pub members: BTreeMap<String, ClassicMember>,
    stage: CoordinatorState,
    pub generation: i32,
    leader: String,
    kip848: BTreeMap<String, Kip848Member>,
    pub epoch: i32,
    pub offsets: BTreeMap<i32, i64>,
    answers: Vec<(usize, GroupRequest, i16, Vec<u8>)>,
    made: usize,
    /// What the next requests of these keys are answered instead.
    pub errors: Vec<(i16, ErrorCode)>,
    /// Nothing is answered.
    pub is_silent: bool,
    /// How many requests of each key came.
    pub asked: BTreeMap<i16, usize>,
    pub heartbeats: Vec<m68::Request>,
    /// The broker that coordinates.
    pub node: i32,
}

impl TestCoordinator {
    pub(super) fn new(partitions: i32) -> Self {
        Self {
            partitions,
            members: BTreeMap::new(),
            stage: CoordinatorState::Stable,
            generation: 0,
            leader: String::new(),
            kip848: BTreeMap::new(),
            epoch: 0,
            offsets: BTreeMap::new(),
            answers: Vec::new(),
            made: 0,
            errors: Vec::new(),
            is_silent: false,
            asked: BTreeMap::new(),
            heartbeats: Vec::new(),
            node: BROKER,
        }
    }

    pub(super) fn take_answers(&mut self) -> Vec<(usize, GroupRequest, i16, Vec<u8>)> {
        let answers = std::mem::take(&mut self.answers);
        if self.is_silent { Vec::new() } else { answers }
    }

    /// Nothing more goes to a client over the connection it had.
    pub(super) fn forget(&mut self, client: usize) {
        self.answers.retain(|(to, ..)| *to != client);
        for member in self.members.values_mut() {
            member.joining = member.joining.filter(|(to, ..)| *to != client);
            member.syncing = member.syncing.filter(|(to, ..)| *to != client);
        }
    }

    pub(super) fn take(&mut self, client: usize, request: GroupRequest, bytes: &[u8], now_ns: u64) {
        let api = |key: i16| APIS.into_iter().find(|api| api.key == key).expect("a known request");
        let (key, version, body) = parse(bytes, |key, version| api(key).is_flexible(version));
        *self.asked.entry(key).or_default() += 1;
        let asker = (client, request, version);
        let place = self.errors.iter().position(|(of, _)| *of == key);
        let error = place.map_or(ErrorCode::NONE, |place| self.errors.remove(place).1);
        match key {
            3 => self.metadata(asker),
            8 => self.commit(asker, &read(&body, version), error, now_ns),
            9 => self.fetch(asker, &read(&body, version), error),
            10 => self.find(asker, error),
            11 => self.join(asker, read(&body, version), error, now_ns),
            12 => self.heartbeat(asker, &read(&body, version), error, now_ns),
            13 => self.leave(asker, &read(&body, version), now_ns),
            14 => self.sync(asker, read(&body, version), error),
            _ => self.consumer_heartbeat(asker, read(&body, version), error, now_ns),
        }
    }

    fn answer(&mut self, (client, request, version): Requester, answer: &impl Message) {
        let mut body = Vec::new();
        answer.encode(version, &mut body);
        self.answers.push((client, request, version, body));
    }

    fn find(&mut self, asker: Requester, error_code: ErrorCode) {
        let found =
            m10_find_coordinator::Coordinator { node_id: self.node, error_code, ..Default::default() };
        let answer = m10_find_coordinator::Response { coordinators: vec![found], ..Default::default() };
        self.answer(asker, &answer);
    }

    fn metadata(&mut self, asker: Requester) {
        let partition = |partition_index| m03_metadata::MetadataResponsePartition {
            partition_index,
            ..Default::default()
        };
        let topic = |name: &str, count| m03_metadata::MetadataResponseTopic {
            name: Some(name.to_owned()),
            partitions: (0..count).map(partition).collect(),
            ..Default::default()
        };
        let topics = vec![topic(TOPIC, self.partitions), topic("other", 2)];
        self.answer(asker, &m03_metadata::Response { topics, ..Default::default() });
    }
}

fn read<M: Message>(body: &[u8], version: i16) -> M {
    M::decode(body, version).expect("a request")
}

/// Offsets.
impl TestCoordinator {
    fn commit(
        &mut self,
        asker: Requester,
        request: &m08_offset_commit::Request,
        error: ErrorCode,
        now_ns: u64,
    ) {
        let epoch = request.generation_id_or_member_epoch;
        let error = match (self.members.get_mut(&request.member_id), self.kip848.get(&request.member_id)) {
            _ if error.is_error() => error,
            (Some(_), _) if epoch != self.generation => ErrorCode::ILLEGAL_GENERATION,
            (Some(_), _) if self.stage == CoordinatorState::Completing => ErrorCode::REBALANCE_IN_PROGRESS,
            (Some(member), _) => {
                member.heard_ns = now_ns;
                ErrorCode::NONE
            }
            (_, Some(member)) if epoch != member.epoch => ErrorCode::STALE_MEMBER_EPOCH,
            (_, Some(_)) => ErrorCode::NONE,
            (None, None) => ErrorCode::UNKNOWN_MEMBER_ID,
        };
        let mut topics = Vec::new();
        for topic in &request.topics {
            let mut partitions = Vec::new();
            for one in &topic.partitions {
                if !error.is_error() {
                    self.offsets.insert(one.partition_index, one.committed_offset);
                }
                partitions.push(m08_offset_commit::OffsetCommitResponsePartition {
                    partition_index: one.partition_index,
                    error_code: error,
                });
            }
            let name = topic.name.clone();
            topics.push(m08_offset_commit::OffsetCommitResponseTopic {
                name,
                partitions,
                ..Default::default()
            });
        }
        self.answer(asker, &m08_offset_commit::Response { topics, ..Default::default() });
    }

    fn fetch(&mut self, asker: Requester, request: &m09_offset_fetch::Request, error_code: ErrorCode) {
        let group = &request.groups[0];
        let partition = |index: &i32| m09_offset_fetch::OffsetFetchResponsePartitions {
            partition_index: *index,
            committed_offset: self.offsets.get(index).copied().unwrap_or(-1),
            ..Default::default()
        };
        let topic = |topic: &m09_offset_fetch::OffsetFetchRequestTopics| {
            m09_offset_fetch::OffsetFetchResponseTopics {
                name: topic.name.clone(),
                partitions: topic.partition_indexes.iter().map(partition).collect(),
                ..Default::default()
            }
        };
        let topics = group.topics.iter().flatten().map(topic).collect();
        let group_id = group.group_id.clone();
        let group = m09_offset_fetch::OffsetFetchResponseGroup { group_id, topics, error_code };
        self.answer(asker, &m09_offset_fetch::Response { groups: vec![group], ..Default::default() });
    }
}

/// The classic protocol.
impl TestCoordinator {
    fn join(&mut self, asker: Requester, request: m11_join_group::Request, error: ErrorCode, now_ns: u64) {
        let refuse = |error_code, member_id: String| m11_join_group::Response {
            error_code,
            member_id,
            ..Default::default()
        };
        if error.is_error() {
            return self.answer(asker, &refuse(error, request.member_id));
        }
        let mut member_id = request.member_id;
        if let Some(instance) = &request.group_instance_id {
            let known = self.members.iter().find(|(_, one)| one.instance.as_ref() == Some(instance));
            match known.map(|(id, _)| id.clone()) {
                Some(known) if member_id.is_empty() => drop(self.members.remove(&known)),
                Some(known) if known != member_id => {
                    return self.answer(asker, &refuse(ErrorCode::FENCED_INSTANCE_ID, member_id));
                }
                _ => {}
            }
        }
        if member_id.is_empty() {
            self.made += 1;
            member_id = format!("m{}", self.made);
            if request.group_instance_id.is_none() {
                return self.answer(asker, &refuse(ErrorCode::MEMBER_ID_REQUIRED, member_id));
            }
        }
        let is_new = !self.members.contains_key(&member_id);
        if is_new && !member_id[1..].parse().is_ok_and(|made: usize| made <= self.made) {
            return self.answer(asker, &refuse(ErrorCode::UNKNOWN_MEMBER_ID, member_id));
        }
        let protocols = request.protocols.into_iter().map(|one| (one.name, one.metadata)).collect();
        let member = self.members.entry(member_id).or_default();
        member.instance = request.group_instance_id;
        member.protocols = protocols;
        member.joining = Some(asker);
        member.session_ns = request.session_timeout_ms as u64 * 1_000_000;
        member.heard_ns = now_ns;
        self.rebalance(now_ns);
    }

    fn rebalance(&mut self, now_ns: u64) {
        if !matches!(self.stage, CoordinatorState::Preparing { .. }) {
            let again =
                |asker, error_code| (asker, m14_sync_group::Response { error_code, ..Default::default() });
            let syncing = self.members.values_mut().filter_map(|member| member.syncing.take());
            let reported: Vec<_> =
                syncing.map(|asker| again(asker, ErrorCode::REBALANCE_IN_PROGRESS)).collect();
            reported.iter().for_each(|(asker, answer)| self.answer(*asker, answer));
            self.stage = CoordinatorState::Preparing { until_ns: now_ns + 60 * SECOND };
        }
        self.complete_join(now_ns);
    }

    /// When all have joined, or those who have not are left out.
    fn complete_join(&mut self, now_ns: u64) {
        let CoordinatorState::Preparing { until_ns } = self.stage else { return };
        if now_ns >= until_ns {
            self.members.retain(|_, member| member.joining.is_some());
        }
        if self.members.is_empty() || self.members.values().any(|member| member.joining.is_none()) {
            return;
        }
        self.generation += 1;
        self.stage = CoordinatorState::Completing;
        if !self.members.contains_key(&self.leader) {
            self.leader = self.members.keys().next().cloned().unwrap_or_default();
        }
        let protocol = self.members[&self.leader].protocols[0].0.clone();
        let metadata = |member: &ClassicMember| {
            member.protocols.iter().find(|(name, _)| *name == protocol).expect("in common").1.clone()
        };
        let member = |(id, member): (&String, &ClassicMember)| m11_join_group::JoinGroupResponseMember {
            member_id: id.clone(),
            group_instance_id: member.instance.clone(),
            metadata: metadata(member),
        };
        let all: Vec<_> = self.members.iter().map(member).collect();
        let mut reported = Vec::new();
        for (id, member) in &mut self.members {
            member.heard_ns = now_ns;
            let answer = m11_join_group::Response {
                generation_id: self.generation,
                protocol_type: Some("consumer".to_owned()),
                protocol_name: Some(protocol.clone()),
                leader: self.leader.clone(),
                member_id: id.clone(),
                members: if *id == self.leader { all.clone() } else { Vec::new() },
                ..Default::default()
            };
            reported.extend(member.joining.take().map(|asker| (asker, answer)));
        }
        reported.iter().for_each(|(asker, answer)| self.answer(*asker, answer));
    }

    /// What is wrong with a request of this member and generation.
    fn check(&self, member_id: &str, generation: i32, instance: Option<&String>) -> ErrorCode {
        let holder = |instance| self.members.iter().find(|(_, one)| one.instance.as_ref() == Some(instance));
        match (self.members.get(member_id), instance.and_then(holder)) {
            (_, Some((holder, _))) if holder != member_id => ErrorCode::FENCED_INSTANCE_ID,
            (None, _) => ErrorCode::UNKNOWN_MEMBER_ID,
            (Some(_), _) if generation != self.generation => ErrorCode::ILLEGAL_GENERATION,
            _ => ErrorCode::NONE,
        }
    }

    fn sync(&mut self, asker: Requester, request: m14_sync_group::Request, error: ErrorCode) {
        let wrong = self.check(&request.member_id, request.generation_id, request.group_instance_id.as_ref());
        let error_code = match self.stage {
            _ if error.is_error() => error,
            _ if wrong.is_error() => wrong,
            CoordinatorState::Preparing { .. } => ErrorCode::REBALANCE_IN_PROGRESS,
            _ => ErrorCode::NONE,
        };
        if error_code.is_error() {
            return self.answer(asker, &m14_sync_group::Response { error_code, ..Default::default() });
        }
        if let Some(member) = self.members.get_mut(&request.member_id) {
            member.syncing = Some(asker);
        }
        if request.member_id == self.leader && self.stage == CoordinatorState::Completing {
            for one in request.assignments {
                self.members.get_mut(&one.member_id).expect("a member").assignment = one.assignment;
            }
            self.stage = CoordinatorState::Stable;
        }
        if self.stage == CoordinatorState::Stable {
            let synced = self.members.values_mut();
            let synced = synced.filter_map(|one| Some((one.syncing.take()?, one.assignment.clone())));
            let answer = |assignment| m14_sync_group::Response { assignment, ..Default::default() };
            let reported: Vec<_> = synced.map(|(asker, bytes)| (asker, answer(bytes))).collect();
            reported.iter().for_each(|(asker, answer)| self.answer(*asker, answer));
        }
    }

    fn heartbeat(
        &mut self,
        asker: Requester,
        request: &m12_heartbeat::Request,
        error: ErrorCode,
        now_ns: u64,
    ) {
        let wrong = self.check(&request.member_id, request.generation_id, request.group_instance_id.as_ref());
        let error_code = match self.stage {
            _ if error.is_error() => error,
            _ if wrong.is_error() => wrong,
            CoordinatorState::Preparing { .. } => ErrorCode::REBALANCE_IN_PROGRESS,
            _ => ErrorCode::NONE,
        };
        if let Some(member) = self.members.get_mut(&request.member_id) {
            member.heard_ns = now_ns;
        }
        self.answer(asker, &m12_heartbeat::Response { error_code, ..Default::default() });
    }

    fn leave(&mut self, asker: Requester, request: &m13_leave_group::Request, now_ns: u64) {
        for member in &request.members {
            self.members.remove(&member.member_id);
        }
        self.answer(asker, &m13_leave_group::Response::default());
        self.rebalance(now_ns);
    }

    /// Sessions end.
    pub(super) fn on_time(&mut self, now_ns: u64) {
        let before = self.members.len();
        self.members.retain(|_, one| one.joining.is_some() || one.heard_ns + one.session_ns > now_ns);
        if self.members.len() < before {
            self.rebalance(now_ns);
        }
        self.complete_join(now_ns);
        let before = self.kip848.len();
        self.kip848.retain(|_, one| one.heard_ns + 45 * SECOND > now_ns);
        self.epoch += i32::from(self.kip848.len() < before);
    }
}

/// The consumer protocol.
impl TestCoordinator {
    /// A member's share: of n members each nth partition.
    fn target(&self, member_id: &str) -> BTreeSet<i32> {
        let place = self.kip848.keys().position(|id| id == member_id).unwrap_or(0);
        (place as i32..self.partitions).step_by(self.kip848.len().max(1)).collect()
    }

    fn consumer_heartbeat(&mut self, asker: Requester, request: m68::Request, error: ErrorCode, now_ns: u64) {
        let error = self.enter(&request, error, now_ns);
        self.heartbeats.push(request.clone());
        let mut answer = m68::Response {
            error_code: error,
            member_epoch: request.member_epoch,
            heartbeat_interval_ms: 3_000,
            ..Default::default()
        };
        let target = self.target(&request.member_id);
        let others: BTreeSet<i32> = self
            .kip848
            .iter()
            .filter(|(id, _)| **id != request.member_id)
            .flat_map(|(_, one)| {
                one.owned.union(one.reported.as_ref().unwrap_or(&one.owned)).copied().collect::<Vec<_>>()
            })
            .collect();
        if let Some(member) = self.kip848.get_mut(&request.member_id).filter(|_| !error.is_error()) {
            if member.owned.is_subset(&target) {
                member.epoch = self.epoch;
            }
            answer.member_epoch = member.epoch;
            let now: BTreeSet<i32> = target.difference(&others).copied().collect();
            if member.reported.as_ref() != Some(&now) || request.member_epoch == 0 {
                let partitions = now.iter().copied().collect();
                let topic = m68::ResponseTopicPartitions { topic_id: TOPIC_ID, partitions };
                let topic_partitions = if now.is_empty() { Vec::new() } else { vec![topic] };
                answer.assignment = Some(m68::Assignment { topic_partitions });
                member.reported = Some(now);
            }
        }
        self.answer(asker, &answer);
    }

    fn enter(&mut self, request: &m68::Request, error: ErrorCode, now_ns: u64) -> ErrorCode {
        if error.is_error() {
            return error;
        }
        if request.member_epoch < 0 {
            self.epoch += i32::from(self.kip848.remove(&request.member_id).is_some());
            return ErrorCode::NONE;
        }
        if request.member_epoch == 0 {
            let instance = request.instance_id.clone();
            let is_new = !self.kip848.contains_key(&request.member_id);
            let mut others = self.kip848.iter().filter(|(id, _)| **id != request.member_id);
            if instance.is_some() && others.any(|(_, one)| one.instance == instance) {
                return ErrorCode(111); // UNRELEASED_INSTANCE_ID
            }
            let member = Kip848Member { instance, ..Default::default() };
            self.kip848.insert(request.member_id.clone(), member);
            self.epoch += i32::from(is_new);
        }
        let Some(member) = self.kip848.get_mut(&request.member_id) else {
            return ErrorCode::UNKNOWN_MEMBER_ID;
        };
        member.heard_ns = now_ns;
        if let Some(owned) = &request.topic_partitions {
            member.owned = owned.iter().flat_map(|topic| topic.partitions.iter().copied()).collect();
        }
        ErrorCode::NONE
    }

    /// A member is not known any more.
    pub(super) fn expel(&mut self) {
        self.epoch += 1;
        self.kip848.clear();
    }
}
