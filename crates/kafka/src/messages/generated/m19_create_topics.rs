//! CreateTopics (key 19), from `CreateTopicsRequest.json` and `CreateTopicsResponse.json`.
//! Made by `cargo xtask messages --write` from kafka-clients 4.4.0.

use crate::errors::ErrorCode;
use crate::messages::message;

message! {
    CreateTopics = 19, versions 2..=7, flexible 5..;

    Request {
        topics: Vec<CreatableTopic> [0..],
        timeout_ms: i32 [0..] = 60000,
        validate_only: bool [1..],
    }

    CreatableTopic {
        name: String [0..],
        num_partitions: i32 [0..],
        replication_factor: i16 [0..],
        assignments: Vec<CreatableReplicaAssignment> [0..],
        configs: Vec<CreatableTopicConfig> [0..],
    }

    CreatableReplicaAssignment {
        partition_index: i32 [0..],
        broker_ids: Vec<i32> [0..],
    }

    CreatableTopicConfig {
        name: String [0..],
        value: Option<String> [0..] = Some(Default::default()),
    }

    Response {
        throttle_time_ms: i32 [2..],
        topics: Vec<CreatableTopicResult> [0..],
    }

    CreatableTopicResult {
        name: String [0..],
        topic_id: [u8; 16] [7..],
        error_code: ErrorCode [0..],
        error_message: Option<String> [1..] = Some(Default::default()),
        topic_config_error_code: ErrorCode [5..] tag 0,
        num_partitions: i32 [5..] = -1,
        replication_factor: i16 [5..] = -1,
        configs: Option<Vec<CreatableTopicConfigs>> [5..] = Some(Default::default()),
    }

    CreatableTopicConfigs {
        name: String [5..],
        value: Option<String> [5..] = Some(Default::default()),
        read_only: bool [5..],
        config_source: i8 [5..] = -1,
        is_sensitive: bool [5..],
    }
}
