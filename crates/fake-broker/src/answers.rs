//! The fake cluster's answers to requests other than produce and fetch.

use super::Right;
use super::cluster::FakeCluster;
use super::codec::code;
use super::connection::{ConnId, QueuedResponse};
use super::log::PartitionLog;
use super::requests::ControlRequest;
use kdyno_kafka::errors::ErrorCode;
use kdyno_kafka::messages::{
    EARLIEST_TIMESTAMP, Message as _, m02_list_offsets, m03_metadata, m08_offset_commit, m09_offset_fetch,
    m10_find_coordinator, m18_api_versions, m19_create_topics, m20_delete_topics, m22_init_producer_id,
    m24_add_partitions_to_txn, m26_end_txn, m32_describe_configs, m68_consumer_group_heartbeat,
};
use kdyno_kafka::wire::{Reader, Result, WireError};
use kdyno_kafka_server::codec::fetch::FetchRequest;
use kdyno_kafka_server::codec::responses::{self, respond};
use kdyno_kafka_server::codec::{ApiKind, RequestHead, TOPIC_NAME_BYTES_MAX};

/// Partitions of all topics at most: creation comes from the network.
const PARTITIONS_TOTAL_MAX: usize = 100_000;

impl FakeCluster {
    /// Answers a request, or has it wait.
    ///
    /// # Errors
    /// Its body is not what its header promised.
    pub(super) fn answer_control(&mut self, broker: i32, control: ControlRequest) -> Result<()> {
        let ControlRequest { conn, slot, head, frame, body_at } = control;
        let (body, version) = (&frame[body_at..], head.version);
        let mut bytes = Vec::new();
        let out = &mut bytes;
        match head.api {
            ApiKind::ApiVersions => {
                if !head.unsupported {
                    m18_api_versions::Request::decode(body, version)?;
                }
                respond(out, &head, &self.api_versions(&head));
            }
            ApiKind::Metadata => {
                let request = m03_metadata::Request::decode(body, version)?;
                respond(out, &head, &self.metadata(request, version)?);
            }
            ApiKind::ListOffsets => {
                let request = m02_list_offsets::Request::decode(body, version)?;
                respond(out, &head, &self.list_offsets(broker, request));
            }
            ApiKind::Fetch => {
                let request = FetchRequest::decode(Reader::new(body), version, head.flexible)?;
                self.begin_fetch(conn, slot, head, &request);
                return Ok(());
            }
            ApiKind::CreateTopics => {
                let request = m19_create_topics::Request::decode(body, version)?;
                let create = |topic: &_, check_only| self.create_topic(topic, check_only);
                let mut response = responses::create_topics(request, create);
                for topic in response.topics.iter_mut().filter(|topic| topic.error_code.is_error()) {
                    topic.error_message.clone_from(&self.config.words);
                }
                respond(out, &head, &response);
            }
            ApiKind::DeleteTopics => {
                let request = m20_delete_topics::Request::decode(body, version)?;
                let is_denied = self.denies(Right::DeleteTopics);
                let mut response =
                    responses::delete_topics(request, |name| !is_denied && self.delete_topic(name));
                for topic in response.responses.iter_mut().filter(|_| is_denied) {
                    topic.error_code = ErrorCode(code::TOPIC_AUTHORIZATION_FAILED);
                }
                respond(out, &head, &response);
            }
            ApiKind::DescribeConfigs => {
                let request = m32_describe_configs::Request::decode(body, version)?;
                let mut response = responses::describe_configs(request);
                for result in response.results.iter_mut().filter(|_| self.denies(Right::DescribeConfigs)) {
                    result.error_code = ErrorCode(code::CLUSTER_AUTHORIZATION_FAILED);
                }
                respond(out, &head, &response);
            }
            ApiKind::JoinGroup | ApiKind::SyncGroup | ApiKind::Heartbeat | ApiKind::LeaveGroup => {
                return self.hear_classic(broker, (conn, slot, head), body);
            }
            _ => self.coordinate(broker, &head, body, out)?,
        }
        self.answer(conn, slot, bytes);
        Ok(())
    }

    /// Answers all other requests: those that find a coordinator or are for one.
    fn coordinate(&mut self, broker: i32, head: &RequestHead, body: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let version = head.version;
        match head.api {
            ApiKind::InitProducerId => {
                let request = m22_init_producer_id::Request::decode(body, version)?;
                respond(out, head, &self.init_producer_id(broker, request));
            }
            ApiKind::FindCoordinator => {
                let request = m10_find_coordinator::Request::decode(body, version)?;
                respond(out, head, &self.find_coordinator(&request, version));
            }
            ApiKind::AddPartitionsToTxn => {
                let request = m24_add_partitions_to_txn::Request::decode(body, version)?;
                respond(out, head, &self.add_partitions(broker, &request));
            }
            ApiKind::EndTxn => {
                let request = m26_end_txn::Request::decode(body, version)?;
                respond(out, head, &self.end_txn(broker, version, &request));
            }
            ApiKind::OffsetCommit => {
                let request = m08_offset_commit::Request::decode(body, version)?;
                respond(out, head, &self.commit_offsets(broker, &request));
            }
            ApiKind::OffsetFetch => {
                let request = m09_offset_fetch::Request::decode(body, version)?;
                respond(out, head, &self.committed_offsets(broker, &request));
            }
            ApiKind::ConsumerGroupHeartbeat => {
                let request = m68_consumer_group_heartbeat::Request::decode(body, version)?;
                respond(out, head, &self.hear_member(broker, &request));
            }
            _ => return Err(WireError::Invalid("such requests are served elsewhere")),
        }
        Ok(())
    }

    /// The versions, and the level of the feature `transaction.version`, unless 0.
    fn api_versions(&self, head: &RequestHead) -> m18_api_versions::Response {
        let level = |level| m18_api_versions::FinalizedFeatureKey {
            name: "transaction.version".to_owned(),
            max_version_level: level,
            min_version_level: level,
        };
        let level = Some(self.config.transaction_version).filter(|level| *level > 0).map(level);
        m18_api_versions::Response {
            finalized_features: level.into_iter().collect(),
            ..responses::api_versions(head, self.config.versions())
        }
    }

    fn list_offsets(
        &mut self,
        broker: i32,
        request: m02_list_offsets::Request,
    ) -> m02_list_offsets::Response {
        let is_committed = request.isolation_level == 1;
        let find =
            |name: &str, index, timestamp| self.find_offset(broker, (name, index), timestamp, is_committed);
        responses::list_offsets(request, find)
    }

    pub(super) fn answer(&mut self, conn: ConnId, slot: u64, bytes: Vec<u8>) {
        self.send(conn, slot, QueuedResponse { bytes, ..QueuedResponse::default() });
    }

    fn metadata(&self, request: m03_metadata::Request, version: i16) -> Result<m03_metadata::Response> {
        let partition = |(log, index): (&PartitionLog, i32)| {
            let error = if log.leader.is_some() { code::NONE } else { code::LEADER_NOT_AVAILABLE };
            m03_metadata::MetadataResponsePartition {
                error_code: ErrorCode(error),
                leader_epoch: log.leader_epoch,
                ..responses::metadata_partition(index, log.leader.unwrap_or(-1), log.replicas.clone())
            }
        };
        let describe = |name: &str| match self.topics.get(name) {
            Some(logs) => (code::NONE, logs.iter().zip(0..).map(partition).collect()),
            None => (code::UNKNOWN_TOPIC_OR_PARTITION, Vec::new()),
        };
        let names = self.topics.keys().map(String::as_str);
        let mut topics = responses::metadata(request, version, names, describe)?;
        for topic in topics.iter_mut().filter(|topic| !topic.error_code.is_error()) {
            topic.topic_id = self.topic_id(topic.name.as_deref().unwrap_or_default());
        }
        let brokers = self.brokers.values().map(|broker| &broker.view);
        let controller = self.brokers.keys().next().copied().unwrap_or(-1);
        Ok(responses::cluster(&self.cluster_id, controller, brokers, topics))
    }

    /// Error and offset of a partition, as one broker reports it.
    fn find_offset(
        &self,
        broker: i32,
        (name, index): (&str, i32),
        timestamp: i64,
        is_committed: bool,
    ) -> (i16, i64) {
        match self.partition(name, index) {
            None => (code::UNKNOWN_TOPIC_OR_PARTITION, -1),
            Some(log) if log.leader != Some(broker) => (code::NOT_LEADER_OR_FOLLOWER, -1),
            Some(log) if timestamp == EARLIEST_TIMESTAMP => (code::NONE, log.log_start),
            Some(log) if is_committed => (code::NONE, log.last_stable_offset()),
            Some(log) => (code::NONE, log.end_offset()),
        }
    }

    fn denies(&self, right: Right) -> bool {
        self.config.denied.contains(&right)
    }

    /// Leads the partitions by the brokers in turn.
    fn create_topic(
        &mut self,
        topic: &m19_create_topics::CreatableTopic,
        check_only: bool,
    ) -> (i16, i32, i16) {
        let partitions = match topic.num_partitions {
            -1 => i32::try_from(topic.assignments.len().max(1)).unwrap_or(0),
            given => given,
        };
        let replicas = if topic.replication_factor == -1 { 1 } else { topic.replication_factor };
        let brokers = self.broker_ids();
        let room = PARTITIONS_TOTAL_MAX - self.topics.values().map(Vec::len).sum::<usize>();
        let error = if self.denies(Right::CreateTopics) {
            code::TOPIC_AUTHORIZATION_FAILED
        } else if !(1..=TOPIC_NAME_BYTES_MAX).contains(&topic.name.len()) {
            code::INVALID_TOPIC
        } else if partitions < 1 || partitions as usize > room {
            code::INVALID_PARTITIONS
        } else if replicas < 1 || replicas as usize > brokers.len() {
            code::INVALID_REPLICATION_FACTOR
        } else if self.topics.contains_key(&topic.name) {
            code::TOPIC_ALREADY_EXISTS
        } else {
            code::NONE
        };
        if error == code::NONE && !check_only {
            let leaders = brokers.iter().cycle().take(partitions as usize);
            let logs = leaders.map(|leader| self.new_partition(*leader, replicas as usize)).collect();
            self.topics.insert(topic.name.clone(), logs);
        }
        (error, partitions, replicas)
    }
}
