//! ConsumerGroupHeartbeat (key 68), from `ConsumerGroupHeartbeatRequest.json` and `ConsumerGroupHeartbeatResponse.json`.
//! Made by `cargo xtask messages --write` from kafka-clients 4.4.0.

use crate::errors::ErrorCode;
use crate::messages::message;

message! {
    ConsumerGroupHeartbeat = 68, versions 0..=1, flexible 0..;

    Request {
        group_id: String [0..],
        member_id: String [0..],
        member_epoch: i32 [0..],
        instance_id: Option<String> [0..],
        rack_id: Option<String> [0..],
        rebalance_timeout_ms: i32 [0..] = -1,
        subscribed_topic_names: Option<Vec<String>> [0..],
        subscribed_topic_regex: Option<String> [1..],
        server_assignor: Option<String> [0..],
        topic_partitions: Option<Vec<TopicPartitions>> [0..],
    }

    TopicPartitions {
        topic_id: [u8; 16] [0..],
        partitions: Vec<i32> [0..],
    }

    Response {
        throttle_time_ms: i32 [0..],
        error_code: ErrorCode [0..],
        error_message: Option<String> [0..],
        member_id: Option<String> [0..],
        member_epoch: i32 [0..],
        heartbeat_interval_ms: i32 [0..],
        assignment: Option<Assignment> [0..],
    }

    Assignment {
        topic_partitions: Vec<ResponseTopicPartitions> [0..],
    }

    ResponseTopicPartitions {
        topic_id: [u8; 16] [0..],
        partitions: Vec<i32> [0..],
    }
}
