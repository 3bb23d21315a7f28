//! Consumer groups in the fake cluster: the broker that coordinates transactions coordinates groups too. What a group knows is
//! in a log, so that it moves with its coordinator.

use super::classic::{WaitingRequest, answered};
use super::cluster::FakeCluster;
use super::codec::code;
use kdyno_kafka::errors::ErrorCode;
use kdyno_kafka::messages::{
    Message as _, m08_offset_commit as commit, m09_offset_fetch as fetch, m11_join_group as join_group,
    m12_heartbeat as classic_heartbeat, m13_leave_group as leave_group, m14_sync_group as sync_group,
    m68_consumer_group_heartbeat as heartbeat,
};
use kdyno_kafka::wire::{Result, WireError};
use kdyno_kafka_server::codec::ApiKind;
use std::collections::BTreeMap;

impl FakeCluster {
    /// A request of a member that joins, leaves or stays; the answer says what it is to have.
    pub(super) fn hear_member(&mut self, broker: i32, request: &heartbeat::Request) -> heartbeat::Response {
        let refused = |error_code| heartbeat::Response { error_code, ..Default::default() };
        if let Err(error) = self.not_coordinating(broker) {
            return refused(ErrorCode(error));
        }
        let mut group = self.coordinator.groups.remove(&request.group_id).unwrap_or_default();
        if let Some(name) = request.subscribed_topic_names.iter().flatten().next() {
            group.topic.clone_from(name);
        }
        let partitions = self.topics.get(&group.topic).map_or(0, Vec::len) as i32;
        let topic_id = self.topic_id(&group.topic);
        let response = match group.hear(request) {
            Ok(()) => group.answer(request, partitions, topic_id),
            Err(error) => refused(error),
        };
        self.coordinator.groups.insert(request.group_id.clone(), group);
        response
    }

    /// A member commits how far it has read.
    pub(super) fn commit_offsets(&mut self, broker: i32, request: &commit::Request) -> commit::Response {
        let coordination = self.not_coordinating(broker);
        let group = self.coordinator.groups.entry(request.group_id.clone()).or_default();
        let error_code = match (coordination, group.members.get(&request.member_id)) {
            (Err(error), _) => ErrorCode(error),
            (Ok(()), None) => {
                group.classic.wrong_commit(&request.member_id, request.generation_id_or_member_epoch)
            }
            (Ok(()), Some(member)) if member.epoch != request.generation_id_or_member_epoch => {
                ErrorCode::STALE_MEMBER_EPOCH
            }
            (Ok(()), Some(_)) => ErrorCode(code::NONE),
        };
        let mut topics = Vec::new();
        for topic in &request.topics {
            let mut partitions = Vec::new();
            for one in &topic.partitions {
                if !error_code.is_error() {
                    group.offsets.insert((topic.name.clone(), one.partition_index), one.committed_offset);
                }
                let partition_index = one.partition_index;
                partitions.push(commit::OffsetCommitResponsePartition { partition_index, error_code });
            }
            let name = topic.name.clone();
            topics.push(commit::OffsetCommitResponseTopic { name, partitions, ..Default::default() });
        }
        commit::Response { topics, ..Default::default() }
    }

    /// How far groups have read, as committed; −1 where nothing was.
    pub(super) fn committed_offsets(&self, broker: i32, request: &fetch::Request) -> fetch::Response {
        let error_code = ErrorCode(self.not_coordinating(broker).err().unwrap_or(code::NONE));
        let none = BTreeMap::new();
        let group = |wanted: &fetch::OffsetFetchRequestGroup| {
            let known = self.coordinator.groups.get(&wanted.group_id);
            let offsets = known.map_or(&none, |group| &group.offsets);
            let topic = |topic: &fetch::OffsetFetchRequestTopics| {
                let partition = |index: &i32| fetch::OffsetFetchResponsePartitions {
                    partition_index: *index,
                    committed_offset: offsets.get(&(topic.name.clone(), *index)).copied().unwrap_or(-1),
                    ..Default::default()
                };
                fetch::OffsetFetchResponseTopics {
                    name: topic.name.clone(),
                    partitions: topic.partition_indexes.iter().map(partition).collect(),
                    ..Default::default()
                }
            };
            let topics = match error_code.is_error() {
                true => Vec::new(),
                false => wanted.topics.iter().flatten().map(topic).collect(),
            };
            fetch::OffsetFetchResponseGroup { group_id: wanted.group_id.clone(), topics, error_code }
        };
        let groups = request.groups.iter().map(group).collect();
        fetch::Response { groups, ..Default::default() }
    }

    /// Takes a request of a member by the classic protocol, and answers it and others as far as answers are due.
    ///
    /// # Errors
    /// The body is not what its header promised.
    pub(super) fn hear_classic(&mut self, broker: i32, asker: WaitingRequest, body: &[u8]) -> Result<()> {
        let (.., head) = asker;
        let refused = self.not_coordinating(broker).err().map(ErrorCode);
        let groups = &mut self.coordinator.groups;
        let answered = match head.api {
            ApiKind::JoinGroup => {
                let request = join_group::Request::decode(body, head.version)?;
                match refused {
                    Some(error_code) => {
                        vec![answered(asker, &join_group::Response { error_code, ..Default::default() })]
                    }
                    None => groups.entry(request.group_id.clone()).or_default().classic.join(asker, request),
                }
            }
            ApiKind::SyncGroup => {
                let request = sync_group::Request::decode(body, head.version)?;
                match refused {
                    Some(error_code) => {
                        vec![answered(asker, &sync_group::Response { error_code, ..Default::default() })]
                    }
                    None => groups.entry(request.group_id.clone()).or_default().classic.sync(asker, request),
                }
            }
            ApiKind::Heartbeat => {
                let request = classic_heartbeat::Request::decode(body, head.version)?;
                let group = &groups.entry(request.group_id).or_default().classic;
                let known = || group.wrong(&request.member_id, request.generation_id);
                let error_code = refused.unwrap_or_else(known);
                vec![answered(asker, &classic_heartbeat::Response { error_code, ..Default::default() })]
            }
            ApiKind::LeaveGroup => {
                let request = leave_group::Request::decode(body, head.version)?;
                match refused {
                    Some(error_code) => {
                        vec![answered(asker, &leave_group::Response { error_code, ..Default::default() })]
                    }
                    None => {
                        groups.entry(request.group_id.clone()).or_default().classic.leave(asker, &request)
                    }
                }
            }
            _ => return Err(WireError::Invalid("such requests are served elsewhere")),
        };
        for (conn, slot, bytes) in answered {
            self.answer(conn, slot, bytes);
        }
        Ok(())
    }
}
