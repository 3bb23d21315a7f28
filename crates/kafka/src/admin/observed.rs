//! What brokers report of logs and groups while a load goes on: how large the logs are and how far they reach, and how
//! far groups of consumers have committed.
//!
//! Partitions and groups without a report are left out, since the next look is not far; what a user may not see is
//! reported as such.

use super::{Admin, AdminError, Result, TopicInfo, checked_text};
use crate::errors::ErrorCode;
use crate::messages::{Api, m02_list_offsets, m09_offset_fetch, m16_list_groups, m35_describe_log_dirs};
use crate::words;
use std::collections::BTreeMap;

/// First version of OffsetFetch that asks for many groups at once.
const MANY_GROUPS_FROM: i16 = 8;

/// A partition of a topic.
pub type PartitionKey = (String, i32);

/// What a group has committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Committed {
    /// The group.
    pub group: String,
    /// Why its offsets are missing, or those of some partitions: an error that is none, the first one.
    pub error: ErrorCode,
    /// The offset of the next record to be read, of each partition for which it has committed one.
    pub offsets: BTreeMap<PartitionKey, i64>,
}

impl Admin {
    /// Bytes of the logs that a broker keeps, by topic, over all of its log directories, including replicas that are
    /// being moved to another directory. `None`: it names no directory, which is how brokers before Kafka 3.0 say that
    /// this user may not ask.
    ///
    /// # Errors
    /// The broker refuses (it asks for Describe on the cluster), a log directory is offline, or there is no answer in time.
    pub fn log_bytes(&mut self, broker: i32) -> Result<Option<BTreeMap<String, u64>>> {
        let api = &m35_describe_log_dirs::API;
        self.retry(|admin, deadline| {
            let broker = admin.broker(Some(broker), deadline)?;
            let reply = broker.call(&m35_describe_log_dirs::Request { topics: None }, deadline)?;
            broker.check(api, "", reply.error_code, None)?;
            let mut bytes: BTreeMap<String, u64> = BTreeMap::new();
            for dir in &reply.results {
                broker.check(api, " of a log directory", dir.error_code, None)?;
                for topic in &dir.topics {
                    let sizes =
                        topic.partitions.iter().map(|one| u64::try_from(one.partition_size).unwrap_or(0));
                    let sum = bytes.entry(topic.name.clone()).or_default();
                    *sum = sizes.fold(*sum, u64::saturating_add);
                }
            }
            Ok((!reply.results.is_empty()).then_some(bytes))
        })
    }

    /// The groups that a broker coordinates and that this user may see, by name.
    ///
    /// # Errors
    /// The broker refuses, or there is no answer in time.
    pub fn groups(&mut self, broker: i32) -> Result<Vec<String>> {
        self.retry(|admin, deadline| {
            let broker = admin.broker(Some(broker), deadline)?;
            let reply = broker.call(&m16_list_groups::Request::default(), deadline)?;
            broker.check(&m16_list_groups::API, "", reply.error_code, None)?;
            Ok(reply.groups.into_iter().map(|group| group.group_id).collect())
        })
    }

    /// What groups have committed for all partitions of these topics, or of all topics that this user may describe, as their
    /// coordinator reports: in one request, from Kafka 3.0 on.
    ///
    /// # Errors
    /// There is no answer in time. A group without a report is in its answer.
    pub fn committed(
        &mut self,
        coordinator: i32,
        groups: &[String],
        topics: Option<&[TopicInfo]>,
    ) -> Result<Vec<Committed>> {
        groups.iter().try_for_each(|group| checked_text("group", group))?;
        self.retry(|admin, deadline| {
            let broker = admin.broker(Some(coordinator), deadline)?;
            let is_together = broker.speaks_from(&m09_offset_fetch::API, MANY_GROUPS_FROM)?;
            let at_once = if is_together { groups.len().max(1) } else { 1 };
            let mut found = Vec::new();
            for groups in groups.chunks(at_once) {
                let reply = broker.call(&offsets_of(groups, topics), deadline)?;
                found.extend(reported(groups, reply));
            }
            Ok(found)
        })
    }

    /// The ends of the logs of all partitions that have a leader, as the leaders report: the offset after the last
    /// record that readers may see. One request for each leader.
    ///
    /// # Errors
    /// A leader does not answer in time.
    pub fn log_ends(&mut self, topics: &[TopicInfo]) -> Result<BTreeMap<PartitionKey, i64>> {
        let mut by_leader: BTreeMap<i32, BTreeMap<&str, Vec<i32>>> = BTreeMap::new();
        for topic in topics {
            for partition in topic.partitions.iter().filter(|partition| partition.leader >= 0) {
                let of_leader = by_leader.entry(partition.leader).or_default();
                of_leader.entry(&topic.name).or_default().push(partition.id);
            }
        }
        let mut ends = BTreeMap::new();
        for (leader, topics) in by_leader {
            let at = super::OffsetAt::Latest;
            let of_topic = |(name, partitions): (&&str, &Vec<i32>)| {
                m02_list_offsets::Request::of_topic(name, partitions, at.timestamp()).topics
            };
            let topics = topics.iter().flat_map(of_topic).collect();
            let request = m02_list_offsets::Request {
                replica_id: -1,
                isolation_level: at.isolation_level(),
                topics,
                ..Default::default()
            };
            let reply =
                self.retry(|admin, deadline| admin.broker(Some(leader), deadline)?.call(&request, deadline))?;
            for topic in reply.topics {
                let is_reported = |one: &&m02_list_offsets::ListOffsetsPartitionResponse| {
                    one.error_code == ErrorCode::NONE && one.offset >= 0
                };
                let reported = topic.partitions.iter().filter(is_reported);
                ends.extend(reported.map(|one| ((topic.name.clone(), one.partition_index), one.offset)));
            }
        }
        Ok(ends)
    }
}

impl super::AdminConnection {
    /// Whether both ends speak an API in a version from this one on.
    fn speaks_from(&self, api: &Api, version: i16) -> Result<bool> {
        let spoken = self.version(api);
        let spoken =
            spoken.map_err(|source| AdminError::Version { address: self.address.to_string(), source })?;
        Ok(spoken >= version)
    }
}

/// The request in both of its forms; the older one is of the first group alone.
fn offsets_of(groups: &[String], topics: Option<&[TopicInfo]>) -> m09_offset_fetch::Request {
    let ids = |topic: &TopicInfo| topic.partitions.iter().map(|partition| partition.id).collect::<Vec<_>>();
    let old = |topic: &TopicInfo| m09_offset_fetch::OffsetFetchRequestTopic {
        name: topic.name.clone(),
        partition_indexes: ids(topic),
    };
    let new = |topic: &TopicInfo| m09_offset_fetch::OffsetFetchRequestTopics {
        name: topic.name.clone(),
        partition_indexes: ids(topic),
        ..Default::default()
    };
    let group = |group: &String| m09_offset_fetch::OffsetFetchRequestGroup {
        group_id: group.clone(),
        member_id: None,
        member_epoch: -1,
        topics: topics.map(|topics| topics.iter().map(new).collect()),
    };
    m09_offset_fetch::Request {
        group_id: groups.first().cloned().unwrap_or_default(),
        topics: topics.map(|topics| topics.iter().map(old).collect()),
        groups: groups.iter().map(group).collect(),
        require_stable: false,
    }
}

/// The answer in either form.
fn reported(asked: &[String], reply: m09_offset_fetch::Response) -> Vec<Committed> {
    let mut found: Vec<Committed> = Vec::new();
    for group in reply.groups {
        let mut one = Committed { group: group.group_id, error: group.error_code, offsets: BTreeMap::new() };
        for topic in &group.topics {
            let partitions = topic.partitions.iter();
            partitions.for_each(|reported| {
                one.take(
                    (&topic.name, reported.partition_index),
                    reported.committed_offset,
                    reported.error_code,
                );
            });
        }
        found.push(one);
    }
    if let ([only], true) = (asked, found.is_empty()) {
        let mut one = Committed { group: only.clone(), error: reply.error_code, offsets: BTreeMap::new() };
        for topic in &reply.topics {
            let partitions = topic.partitions.iter();
            partitions.for_each(|reported| {
                one.take(
                    (&topic.name, reported.partition_index),
                    reported.committed_offset,
                    reported.error_code,
                );
            });
        }
        found.push(one);
    }
    found
}

impl Committed {
    /// An offset below 0 means that there is none.
    fn take(&mut self, (topic, partition): (&str, i32), offset: i64, error: ErrorCode) {
        if error != ErrorCode::NONE {
            if self.error == ErrorCode::NONE {
                self.error = error;
            }
        } else if offset >= 0 {
            self.offsets.insert((topic.to_owned(), partition), offset);
        }
    }

    /// The group's name, short and on one line.
    pub fn printable_group(&self) -> String {
        words::of_broker(&self.group)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use m09_offset_fetch::{
        OffsetFetchResponseGroup, OffsetFetchResponsePartition, OffsetFetchResponsePartitions,
        OffsetFetchResponseTopic, OffsetFetchResponseTopics,
    };

    const DENIED: ErrorCode = ErrorCode::GROUP_AUTHORIZATION_FAILED;

    #[test]
    fn offsets_are_read_in_either_form_without_uncommitted_ones() {
        let new = |partition_index, committed_offset, error_code| OffsetFetchResponsePartitions {
            partition_index,
            committed_offset,
            error_code,
            ..Default::default()
        };
        let topics = vec![OffsetFetchResponseTopics {
            name: "t".to_owned(),
            partitions: vec![new(0, 5, ErrorCode::NONE), new(1, -1, ErrorCode::NONE), new(2, 9, DENIED)],
            ..Default::default()
        }];
        let group = |name: &str, error_code, topics| OffsetFetchResponseGroup {
            group_id: name.to_owned(),
            topics,
            error_code,
        };
        let groups = vec![group("a", ErrorCode::NONE, topics), group("b", DENIED, Vec::new())];
        let reply = m09_offset_fetch::Response { groups, ..Default::default() };
        let asked = ["a".to_owned(), "b".to_owned()];
        let one = |group: &str, error, offsets: &[(i32, i64)]| Committed {
            group: group.to_owned(),
            error,
            offsets: offsets.iter().map(|(id, offset)| (("t".to_owned(), *id), *offset)).collect(),
        };
        assert_eq!(reported(&asked, reply), [one("a", DENIED, &[(0, 5)]), one("b", DENIED, &[])]);
        let old =
            OffsetFetchResponsePartition { partition_index: 3, committed_offset: 7, ..Default::default() };
        let topics = vec![OffsetFetchResponseTopic { name: "t".to_owned(), partitions: vec![old] }];
        let reply = m09_offset_fetch::Response { topics, ..Default::default() };
        assert_eq!(reported(&asked[..1], reply), [one("a", ErrorCode::NONE, &[(3, 7)])]);
        assert_eq!(reported(&asked, m09_offset_fetch::Response::default()), [], "of which group?");
    }
}
