//! The fake cluster's answers to requests other than produce and fetch.

use super::cluster::{ConnId, Control, FakeCluster};
use super::connection::Answer;
use super::log::PartitionLog;
use crate::codec::fetch::FetchRequest;
use crate::codec::responses::{self, BrokerView, Created, PartitionView, TopicView};
use crate::codec::{Api, RequestHead, code, requests};
use kdyno_kafka::wire::{Reader, Result, WireError};

/// Cluster id in metadata.
const CLUSTER_ID: &str = "kdyno-fake-cluster";

/// Partitions of all topics at most: creation comes from the network.
const PARTITIONS_TOTAL_MAX: usize = 100_000;

/// Longest metadata response.
const METADATA_BYTES_MAX: usize = 32 << 20;

/// `timestamp` that asks for the first offset.
const EARLIEST: i64 = -2;

impl FakeCluster {
    /// Answers a request, or has it wait.
    ///
    /// # Errors
    /// Its body is not what its header promised.
    pub(super) fn answer_control(&mut self, broker: i32, control: Control) -> Result<()> {
        let Control { conn, slot, head, frame, body_at } = control;
        let reader = Reader::new(&frame[body_at..]);
        let (version, flexible) = (head.version, head.flexible);
        let mut bytes = Vec::new();
        match head.api {
            Api::ApiVersions => {
                if !head.unsupported {
                    requests::api_versions(reader, version)?;
                }
                responses::api_versions(&mut bytes, &head);
            }
            Api::Metadata => {
                self.metadata(&head, requests::metadata(reader, version, flexible)?, &mut bytes)?
            }
            Api::ListOffsets => {
                let wanted = requests::list_offsets(reader, version, flexible)?;
                self.list_offsets(&head, broker, wanted, &mut bytes);
            }
            Api::Fetch => {
                let request = FetchRequest::decode(reader, version, flexible)?;
                self.begin_fetch(conn, slot, head, &request);
                return Ok(());
            }
            Api::CreateTopics => {
                let (wanted, check_only) = requests::create_topics(reader, flexible)?;
                let created: Vec<_> =
                    wanted.iter().map(|topic| self.create_topic(topic, check_only)).collect();
                responses::create_topics(&mut bytes, &head, &created);
            }
            Api::DeleteTopics => {
                let names = requests::delete_topics(reader, flexible)?;
                let outcome = |name| match self.topics.remove(name) {
                    Some(_) => (name, code::NONE),
                    None => (name, code::UNKNOWN_TOPIC_OR_PARTITION),
                };
                let outcomes: Vec<_> = names.into_iter().map(outcome).collect();
                responses::delete_topics(&mut bytes, &head, &outcomes);
            }
            Api::DescribeConfigs => {
                let resources = requests::describe_configs(reader, version, flexible)?;
                responses::describe_configs(&mut bytes, &head, &resources);
            }
            Api::InitProducerId => {
                requests::init_producer_id(reader, version, flexible)?;
                responses::init_producer_id(&mut bytes, &head, self.next_producer_id);
                self.next_producer_id += 1;
            }
            Api::Produce => return Err(WireError::Invalid("produce requests are served elsewhere")),
        }
        self.answer(conn, slot, bytes);
        Ok(())
    }

    pub(super) fn answer(&mut self, conn: ConnId, slot: u64, bytes: Vec<u8>) {
        self.send(conn, slot, Answer { bytes, ..Answer::default() });
    }

    fn metadata(&self, head: &RequestHead, wanted: Option<Vec<&str>>, out: &mut Vec<u8>) -> Result<()> {
        let names = wanted.unwrap_or_else(|| self.topics.keys().map(String::as_str).collect());
        let brokers: Vec<BrokerView> = self.brokers.values().map(|broker| broker.view.clone()).collect();
        let controller = self.brokers.keys().next().copied().unwrap_or(-1);
        let start = responses::begin_metadata(out, head, CLUSTER_ID, controller, &brokers, names.len());
        for name in names {
            let logs = self.topics.get(name);
            let view = TopicView {
                name,
                error: if logs.is_some() { code::NONE } else { code::UNKNOWN_TOPIC_OR_PARTITION },
                partitions: logs.into_iter().flatten().zip(0..).map(partition_view).collect(),
            };
            responses::metadata_topic(out, head, &view);
            if out.len() > METADATA_BYTES_MAX {
                return Err(WireError::Invalid("metadata of so many topics is too long for one response"));
            }
        }
        responses::end_metadata(out, head, start);
        Ok(())
    }

    fn list_offsets(
        &self,
        head: &RequestHead,
        broker: i32,
        wanted: requests::OffsetsWanted<'_>,
        out: &mut Vec<u8>,
    ) {
        let mut found = Vec::with_capacity(wanted.len());
        for (name, partitions) in wanted {
            let offset = |(index, timestamp)| match self.partition(name, index) {
                None => (index, code::UNKNOWN_TOPIC_OR_PARTITION, -1),
                Some(log) if log.leader != Some(broker) => (index, code::NOT_LEADER_OR_FOLLOWER, -1),
                Some(_) if timestamp == EARLIEST => (index, code::NONE, 0),
                Some(log) => (index, code::NONE, log.end_offset()),
            };
            found.push((name, partitions.into_iter().map(offset).collect()));
        }
        responses::list_offsets(out, head, &found);
    }

    /// Leads the partitions by the brokers in turn.
    fn create_topic<'a>(&mut self, topic: &requests::NewTopic<'a>, check_only: bool) -> Created<'a> {
        let partitions = match topic.partitions {
            -1 => i32::try_from(topic.assigned.max(1)).unwrap_or(0),
            given => given,
        };
        let replicas = if topic.replicas == -1 { 1 } else { topic.replicas };
        let brokers = self.broker_ids();
        let room = PARTITIONS_TOTAL_MAX - self.topics.values().map(Vec::len).sum::<usize>();
        let error = if topic.name.is_empty() {
            code::INVALID_TOPIC
        } else if partitions < 1 || partitions as usize > room {
            code::INVALID_PARTITIONS
        } else if replicas < 1 || replicas as usize > brokers.len() {
            code::INVALID_REPLICATION_FACTOR
        } else if self.topics.contains_key(topic.name) {
            code::TOPIC_ALREADY_EXISTS
        } else {
            code::NONE
        };
        if error == code::NONE && !check_only {
            let leaders = brokers.iter().cycle().take(partitions as usize);
            let logs = leaders.map(|leader| self.new_partition(*leader, replicas as usize)).collect();
            self.topics.insert(topic.name.to_owned(), logs);
        }
        Created { name: topic.name, error, partitions, replicas }
    }
}

fn partition_view((log, index): (&PartitionLog, i32)) -> PartitionView {
    PartitionView {
        index,
        error: if log.leader.is_some() { code::NONE } else { code::LEADER_NOT_AVAILABLE },
        leader: log.leader.unwrap_or(-1),
        leader_epoch: log.leader_epoch,
        replicas: log.replicas.clone(),
    }
}
