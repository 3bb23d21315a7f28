//! Replies as an independent implementation, the `kafka-protocol` crate, builds and encodes them.

#![allow(dead_code)] // every test crate uses a part of it

use bytes::BytesMut;
use kafka_protocol::messages as theirs;
use kafka_protocol::messages::{BrokerId, TopicName};
use kafka_protocol::protocol::{Encodable, StrBytes};
use proptest::prelude::*;

/// Raw material of a reply: whatever its fields need is taken from here.
#[derive(Debug, Clone)]
pub struct Material {
    pub names: Vec<String>,
    pub text: Option<String>,
    pub ids: Vec<i32>,
    pub error: i16,
    pub number: i32,
    pub long: i64,
    pub flag: bool,
}

pub fn material() -> impl Strategy<Value = Material> {
    let name = "[a-zA-Z0-9._-]{0,20}|\\PC{0,9}";
    (
        proptest::collection::vec(name, 0..5),
        proptest::option::of(name),
        proptest::collection::vec(any::<i32>(), 0..6),
        (any::<i16>(), any::<i32>(), any::<i64>(), any::<bool>()),
    )
        .prop_map(|(names, text, ids, (error, number, long, flag))| Material {
            names,
            text,
            ids,
            error,
            number,
            long,
            flag,
        })
}

pub fn text(text: &str) -> StrBytes {
    StrBytes::from_string(text.to_owned())
}

pub fn topic_name(name: &str) -> TopicName {
    TopicName(text(name))
}

pub fn encoded(message: &impl Encodable, version: i16) -> Vec<u8> {
    let mut out = BytesMut::new();
    message.encode(&mut out, version).expect("a message fit for the version");
    out.to_vec()
}

impl Material {
    fn nodes(&self) -> Vec<BrokerId> {
        self.ids.iter().map(|id| BrokerId(*id)).collect()
    }

    fn optional_text(&self) -> Option<StrBytes> {
        self.text.as_deref().map(text)
    }

    pub fn metadata(&self, version: i16) -> Vec<u8> {
        use theirs::metadata_response as reply;
        let brokers = self.names.iter().map(|name| {
            reply::MetadataResponseBroker::default()
                .with_node_id(BrokerId(self.number))
                .with_host(text(name))
                .with_port(self.number)
                .with_rack(self.optional_text())
        });
        let partitions = self.ids.iter().map(|id| {
            reply::MetadataResponsePartition::default()
                .with_error_code(self.error)
                .with_partition_index(*id)
                .with_leader_id(BrokerId(self.number))
                .with_leader_epoch(if version >= 7 { self.number } else { -1 })
                .with_replica_nodes(self.nodes())
                .with_isr_nodes(self.nodes())
                .with_offline_replicas(if version >= 5 { self.nodes() } else { Vec::new() })
        });
        let topics = self.names.iter().map(|name| {
            reply::MetadataResponseTopic::default()
                .with_error_code(self.error)
                .with_name(Some(topic_name(name)))
                .with_is_internal(self.flag)
                .with_partitions(partitions.clone().collect())
        });
        let message = theirs::MetadataResponse::default()
            .with_throttle_time_ms(self.number)
            .with_brokers(brokers.collect())
            .with_cluster_id(self.optional_text())
            .with_controller_id(BrokerId(self.number))
            .with_topics(topics.collect());
        encoded(&message, version)
    }

    pub fn produce(&self, version: i16) -> Vec<u8> {
        use theirs::produce_response as reply;
        let errors = self.ids.iter().map(|id| {
            reply::BatchIndexAndErrorMessage::default()
                .with_batch_index(*id)
                .with_batch_index_error_message(self.optional_text())
        });
        let partitions = self.ids.iter().map(|id| {
            let partition = reply::PartitionProduceResponse::default()
                .with_index(*id)
                .with_error_code(self.error)
                .with_base_offset(self.long)
                .with_log_append_time_ms(self.long)
                .with_log_start_offset(if version >= 5 { self.long } else { -1 });
            if version < 8 {
                return partition;
            }
            let partition = partition
                .with_record_errors(errors.clone().collect())
                .with_error_message(self.optional_text());
            if version < 10 {
                return partition;
            }
            partition.with_current_leader(
                reply::LeaderIdAndEpoch::default()
                    .with_leader_id(BrokerId(self.number))
                    .with_leader_epoch(self.number),
            )
        });
        let endpoints = self.names.iter().map(|name| {
            reply::NodeEndpoint::default()
                .with_node_id(BrokerId(self.number))
                .with_host(text(name))
                .with_port(self.number)
                .with_rack(self.optional_text())
        });
        let topics = self.names.iter().map(|name| {
            reply::TopicProduceResponse::default()
                .with_name(topic_name(name))
                .with_partition_responses(partitions.clone().collect())
        });
        let message = theirs::ProduceResponse::default()
            .with_responses(topics.collect())
            .with_throttle_time_ms(self.number)
            .with_node_endpoints(if version >= 10 { endpoints.collect() } else { Vec::new() });
        encoded(&message, version)
    }

    /// Each partition's records are the bytes of `text`, which a reply's reader does not look into.
    pub fn fetch(&self, version: i16) -> Vec<u8> {
        use theirs::fetch_response as reply;
        let aborted = self.ids.iter().map(|id| {
            reply::AbortedTransaction::default()
                .with_producer_id(i64::from(*id).into())
                .with_first_offset(self.long)
        });
        let partitions = self.ids.iter().map(|id| {
            reply::PartitionData::default()
                .with_partition_index(*id)
                .with_error_code(self.error)
                .with_high_watermark(self.long)
                .with_last_stable_offset(self.long)
                .with_log_start_offset(if version >= 5 { self.long } else { -1 })
                .with_aborted_transactions(self.flag.then(|| aborted.clone().collect()))
                .with_preferred_read_replica(BrokerId(if version >= 11 { self.number } else { -1 }))
                .with_records(self.text.clone().map(Into::into))
                .with_current_leader(match version {
                    12.. => reply::LeaderIdAndEpoch::default()
                        .with_leader_id(BrokerId(self.number))
                        .with_leader_epoch(self.number),
                    _ => reply::LeaderIdAndEpoch::default(),
                })
        });
        let endpoints = self.names.iter().map(|name| {
            reply::NodeEndpoint::default()
                .with_node_id(BrokerId(self.number))
                .with_host(text(name))
                .with_port(self.number)
                .with_rack(self.optional_text())
        });
        let topics = self.names.iter().map(|name| {
            reply::FetchableTopicResponse::default()
                .with_topic(topic_name(name))
                .with_partitions(partitions.clone().collect())
        });
        let message = theirs::FetchResponse::default()
            .with_throttle_time_ms(self.number)
            .with_error_code(if version >= 7 { self.error } else { 0 })
            .with_session_id(if version >= 7 { self.number } else { 0 })
            .with_responses(topics.collect())
            .with_node_endpoints(if version >= 16 { endpoints.collect() } else { Vec::new() });
        encoded(&message, version)
    }
}
