//! A group of the fake cluster by the classic protocol, in which one of the members assigns: answers to joins wait until all
//! members have joined, those to syncs until the leader has said who gets what.

use super::connection::{ConnId, Slot};
use kdyno_kafka::errors::ErrorCode;
use kdyno_kafka::messages::{
    Message, m11_join_group as join, m13_leave_group as leave, m14_sync_group as sync,
};
use kdyno_kafka_server::codec::RequestHead;
use kdyno_kafka_server::codec::responses::respond;
use std::collections::{BTreeMap, BTreeSet};

/// Whose request waits for an answer: its connection, its place there, and its header.
pub(super) type WaitingRequest = (ConnId, Slot, RequestHead);

/// An answer, where it goes.
pub(super) type AddressedResponse = (ConnId, Slot, Vec<u8>);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum GroupState {
    /// Members are still to join.
    Joining,
    /// All have joined, and the leader is to assign.
    Assigning,
    #[default]
    Stable,
}

/// A group; its offsets are kept with those of the other protocol.
#[derive(Debug, Clone, Default)]
pub(super) struct ClassicGroup {
    stage: GroupState,
    generation: i32,
    leader: String,
    members: BTreeMap<String, ClassicMember>,
    /// Ids that were given to members, and how many there have been.
    ids: BTreeSet<String>,
    ids_given: u32,
}

#[derive(Debug, Clone, Default)]
struct ClassicMember {
    protocols: Vec<join::JoinGroupRequestProtocol>,
    joining: Option<WaitingRequest>,
    syncing: Option<WaitingRequest>,
    assignment: Vec<u8>,
}

/// An answer to who waits for it.
pub(super) fn answered((conn, slot, head): WaitingRequest, response: &impl Message) -> AddressedResponse {
    let mut bytes = Vec::new();
    respond(&mut bytes, &head, response);
    (conn, slot, bytes)
}

impl ClassicGroup {
    /// What is wrong with a commit of this member and generation.
    pub(super) fn wrong_commit(&self, member_id: &str, generation: i32) -> ErrorCode {
        match self.wrong(member_id, generation) {
            // Members that are about to join commit first.
            ErrorCode::REBALANCE_IN_PROGRESS => ErrorCode::NONE,
            ErrorCode::NONE if self.stage == GroupState::Assigning => ErrorCode::REBALANCE_IN_PROGRESS,
            other => other,
        }
    }

    /// What is wrong with a request of this member and generation.
    pub(super) fn wrong(&self, member_id: &str, generation: i32) -> ErrorCode {
        match self.members.get(member_id) {
            None => ErrorCode::UNKNOWN_MEMBER_ID,
            Some(_) if generation != self.generation => ErrorCode::ILLEGAL_GENERATION,
            Some(_) if self.stage == GroupState::Joining => ErrorCode::REBALANCE_IN_PROGRESS,
            Some(_) => ErrorCode::NONE,
        }
    }

    /// A member joins, or joins again.
    pub(super) fn join(&mut self, asker: WaitingRequest, request: join::Request) -> Vec<AddressedResponse> {
        let refused = |error_code, member_id| {
            vec![answered(asker, &join::Response { error_code, member_id, ..Default::default() })]
        };
        if request.member_id.is_empty() {
            self.ids_given += 1;
            let id = format!("member-{}", self.ids_given);
            self.ids.insert(id.clone());
            return refused(ErrorCode::MEMBER_ID_REQUIRED, id);
        }
        if !self.ids.contains(&request.member_id) {
            return refused(ErrorCode::UNKNOWN_MEMBER_ID, request.member_id);
        }
        let member = self.members.entry(request.member_id).or_default();
        (member.protocols, member.joining) = (request.protocols, Some(asker));
        self.rebalance()
    }

    /// All members have to join, those too who wait for their share.
    fn rebalance(&mut self) -> Vec<AddressedResponse> {
        self.stage = GroupState::Joining;
        let again = sync::Response { error_code: ErrorCode::REBALANCE_IN_PROGRESS, ..Default::default() };
        let waiting = self.members.values_mut().filter_map(|member| member.syncing.take());
        let mut all: Vec<AddressedResponse> = waiting.map(|asker| answered(asker, &again)).collect();
        all.extend(self.complete());
        all
    }

    /// Once all have joined there is a generation, and one of them is to assign by what it likes best.
    fn complete(&mut self) -> Vec<AddressedResponse> {
        if self.members.is_empty() || self.members.values().any(|member| member.joining.is_none()) {
            return Vec::new();
        }
        (self.stage, self.generation) = (GroupState::Assigning, self.generation + 1);
        if !self.members.contains_key(&self.leader) {
            self.leader = self.members.keys().next().cloned().unwrap_or_default();
        }
        let liked = self.members.get(&self.leader).and_then(|leader| leader.protocols.first());
        let protocol = liked.map(|liked| liked.name.clone()).unwrap_or_default();
        let of_all = self.members.iter().map(|(id, member)| {
            let own = member.protocols.iter().find(|one| one.name == protocol);
            join::JoinGroupResponseMember {
                member_id: id.clone(),
                metadata: own.map(|own| own.metadata.clone()).unwrap_or_default(),
                ..Default::default()
            }
        });
        let of_all: Vec<_> = of_all.collect();
        let (generation_id, leader) = (self.generation, self.leader.clone());
        let answered = self.members.iter_mut().filter_map(|(id, member)| {
            let response = join::Response {
                generation_id,
                protocol_type: Some("consumer".to_owned()),
                protocol_name: Some(protocol.clone()),
                leader: leader.clone(),
                member_id: id.clone(),
                members: if *id == leader { of_all.clone() } else { Vec::new() },
                ..Default::default()
            };
            Some(answered(member.joining.take()?, &response))
        });
        answered.collect()
    }

    /// A member asks for its share; the leader says who gets what.
    pub(super) fn sync(&mut self, asker: WaitingRequest, request: sync::Request) -> Vec<AddressedResponse> {
        let error_code = self.wrong(&request.member_id, request.generation_id);
        if error_code.is_error() {
            return vec![answered(asker, &sync::Response { error_code, ..Default::default() })];
        }
        if request.member_id == self.leader && self.stage == GroupState::Assigning {
            for one in request.assignments {
                if let Some(member) = self.members.get_mut(&one.member_id) {
                    member.assignment = one.assignment;
                }
            }
            self.stage = GroupState::Stable;
        }
        if let Some(member) = self.members.get_mut(&request.member_id) {
            member.syncing = Some(asker);
        }
        if self.stage != GroupState::Stable {
            return Vec::new();
        }
        let answered = self.members.values_mut().filter_map(|member| {
            let assignment = member.assignment.clone();
            Some(answered(member.syncing.take()?, &sync::Response { assignment, ..Default::default() }))
        });
        answered.collect()
    }

    /// Members leave.
    pub(super) fn leave(
        &mut self,
        asker: WaitingRequest,
        request: &leave::Request,
    ) -> Vec<AddressedResponse> {
        let mut members = Vec::new();
        let before = self.members.len();
        for one in &request.members {
            self.members.remove(&one.member_id);
            let was_there = self.ids.remove(&one.member_id);
            let error_code = if was_there { ErrorCode::NONE } else { ErrorCode::UNKNOWN_MEMBER_ID };
            let member_id = one.member_id.clone();
            members.push(leave::MemberResponse { member_id, error_code, ..Default::default() });
        }
        let mut all = vec![answered(asker, &leave::Response { members, ..Default::default() })];
        if self.members.len() < before {
            all.extend(self.rebalance());
        }
        all
    }
}
