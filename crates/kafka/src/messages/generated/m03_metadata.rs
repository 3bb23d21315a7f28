//! Metadata (key 3), from `MetadataRequest.json` and `MetadataResponse.json`.
//! Made by `cargo xtask messages --write` from kafka-clients 4.4.0.

use crate::errors::ErrorCode;
use crate::messages::message;

message! {
    Metadata = 3, versions 4..=13, flexible 9..;

    Request {
        topics: Option<Vec<MetadataRequestTopic>> [0..] null [1..] = Some(Default::default()),
        allow_auto_topic_creation: bool [4..] = true,
        include_cluster_authorized_operations: bool [8..=10],
        include_topic_authorized_operations: bool [8..],
    }

    MetadataRequestTopic {
        topic_id: [u8; 16] [10..],
        name: Option<String> [0..] null [10..] = Some(Default::default()),
    }

    Response {
        throttle_time_ms: i32 [3..],
        brokers: Vec<MetadataResponseBroker> [0..],
        cluster_id: Option<String> [2..],
        controller_id: i32 [1..] = -1,
        topics: Vec<MetadataResponseTopic> [0..],
        cluster_authorized_operations: i32 [8..=10] = -2147483648,
        error_code: ErrorCode [13..],
    }

    MetadataResponseBroker {
        node_id: i32 [0..],
        host: String [0..],
        port: i32 [0..],
        rack: Option<String> [1..],
    }

    MetadataResponseTopic {
        error_code: ErrorCode [0..],
        name: Option<String> [0..] null [12..] = Some(Default::default()),
        topic_id: [u8; 16] [10..],
        is_internal: bool [1..],
        partitions: Vec<MetadataResponsePartition> [0..],
        topic_authorized_operations: i32 [8..] = -2147483648,
    }

    MetadataResponsePartition {
        error_code: ErrorCode [0..],
        partition_index: i32 [0..],
        leader_id: i32 [0..],
        leader_epoch: i32 [7..] = -1,
        replica_nodes: Vec<i32> [0..],
        isr_nodes: Vec<i32> [0..],
        offline_replicas: Vec<i32> [5..],
    }
}
