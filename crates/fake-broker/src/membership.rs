//! A group of the fake cluster: who is in it, and who has which partitions, by the consumer protocol (KIP-848).

use super::classic::ClassicGroup;
use kdyno_kafka::errors::ErrorCode;
use kdyno_kafka::messages::m68_consumer_group_heartbeat as heartbeat;
use std::collections::{BTreeMap, BTreeSet};

/// How often members are to be heard. Real brokers are slower (5 s); a test has many of them in a second.
const HEARTBEAT_INTERVAL_MS: i32 = 100;

/// A group.
#[derive(Debug, Clone, Default)]
pub(super) struct ConsumerGroup {
    /// Number of the next assignment: it counts the changes of its members.
    epoch: i32,
    /// The one topic that its members read.
    pub(super) topic: String,
    pub(super) members: BTreeMap<String, GroupMember>,
    /// Next offset by topic and partition.
    pub(super) offsets: BTreeMap<(String, i32), i64>,
    /// Its members, where they are by the classic protocol.
    pub(super) classic: ClassicGroup,
}

/// A member of a group.
#[derive(Debug, Clone, Default)]
pub(super) struct GroupMember {
    pub(super) epoch: i32,
    /// What it says that it has.
    owned: BTreeSet<i32>,
    /// What the latest answer gave it.
    reported: BTreeSet<i32>,
}

impl ConsumerGroup {
    /// A member says that it is there, and what it has.
    pub(super) fn hear(&mut self, request: &heartbeat::Request) -> Result<(), ErrorCode> {
        let id = &request.member_id;
        if request.member_epoch < 0 {
            self.epoch += i32::from(self.members.remove(id).is_some());
            return Ok(());
        }
        if request.member_epoch == 0 {
            let is_new = self.members.insert(id.clone(), GroupMember::default()).is_none();
            self.epoch += i32::from(is_new);
        }
        let member = self.members.get_mut(id).ok_or(ErrorCode::UNKNOWN_MEMBER_ID)?;
        if let Some(owned) = &request.topic_partitions {
            member.owned = owned.iter().flat_map(|topic| topic.partitions.iter().copied()).collect();
        }
        Ok(())
    }

    /// The answer to a member: from what it is to have, that which no other member still has.
    pub(super) fn answer(
        &mut self,
        request: &heartbeat::Request,
        partitions: i32,
        topic_id: [u8; 16],
    ) -> heartbeat::Response {
        let mut response = heartbeat::Response {
            member_epoch: request.member_epoch,
            heartbeat_interval_ms: HEARTBEAT_INTERVAL_MS,
            ..Default::default()
        };
        let target = self.target(&request.member_id, partitions);
        let others = self.members.iter().filter(|(id, _)| **id != request.member_id);
        let taken: BTreeSet<i32> =
            others.flat_map(|(_, other)| other.owned.union(&other.reported)).copied().collect();
        // One that leaves is no member any more.
        let Some(member) = self.members.get_mut(&request.member_id) else { return response };
        if member.owned.is_subset(&target) {
            member.epoch = self.epoch;
        }
        response.member_epoch = member.epoch;
        let now: BTreeSet<i32> = target.difference(&taken).copied().collect();
        if member.reported != now || request.member_epoch == 0 {
            let partitions: Vec<i32> = now.iter().copied().collect();
            let of_topic = heartbeat::ResponseTopicPartitions { topic_id, partitions };
            let topic_partitions = if now.is_empty() { Vec::new() } else { vec![of_topic] };
            response.assignment = Some(heartbeat::Assignment { topic_partitions });
            member.reported = now;
        }
        response
    }

    /// A member's share: of n members each nth partition.
    fn target(&self, member_id: &str, partitions: i32) -> BTreeSet<i32> {
        let place = self.members.keys().position(|id| id == member_id).unwrap_or(0);
        (place as i32..partitions).step_by(self.members.len().max(1)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(group: &mut ConsumerGroup, member: &str, epoch: i32, owned: &[i32]) -> (i32, Option<Vec<i32>>) {
        let owned = heartbeat::TopicPartitions { topic_id: [1; 16], partitions: owned.to_vec() };
        let request = heartbeat::Request {
            member_id: member.to_owned(),
            member_epoch: epoch,
            topic_partitions: Some(vec![owned]),
            ..Default::default()
        };
        group.hear(&request).expect("a member");
        let response = group.answer(&request, 4, [1; 16]);
        let reported = response.assignment.map(|all| {
            all.topic_partitions.into_iter().flat_map(|topic| topic.partitions).collect::<Vec<i32>>()
        });
        (response.member_epoch, reported)
    }

    /// A member is given what is another's only once that one has said that it gave it up.
    #[test]
    fn a_partition_is_never_two_members() {
        let mut group = ConsumerGroup::default();
        assert_eq!(heard(&mut group, "a", 0, &[]), (1, Some(vec![0, 1, 2, 3])));
        assert_eq!(heard(&mut group, "b", 0, &[]), (2, Some(vec![])));
        assert_eq!(heard(&mut group, "a", 1, &[0, 1, 2, 3]), (1, Some(vec![0, 2])), "it has to give some up");
        assert_eq!(heard(&mut group, "b", 2, &[]), (2, None));
        assert_eq!(heard(&mut group, "a", 1, &[0, 2]), (2, None));
        assert_eq!(heard(&mut group, "b", 2, &[]), (2, Some(vec![1, 3])));
        heard(&mut group, "a", -1, &[]);
        assert_eq!(heard(&mut group, "b", 2, &[1, 3]), (3, Some(vec![0, 1, 2, 3])));
    }
}
