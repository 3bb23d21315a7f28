//! ListOffsets (key 2), from `ListOffsetsRequest.json` and `ListOffsetsResponse.json`.
//! Made by `cargo xtask messages --write` from kafka-clients 4.4.0.

use crate::errors::ErrorCode;
use crate::messages::message;

message! {
    ListOffsets = 2, versions 2..=6, flexible 6..;

    Request {
        replica_id: i32 [0..],
        isolation_level: i8 [2..],
        topics: Vec<ListOffsetsTopic> [0..],
        timeout_ms: i32 [10..],
    }

    ListOffsetsTopic {
        name: String [0..],
        partitions: Vec<ListOffsetsPartition> [0..],
    }

    ListOffsetsPartition {
        partition_index: i32 [0..],
        current_leader_epoch: i32 [4..] = -1,
        timestamp: i64 [0..],
    }

    Response {
        throttle_time_ms: i32 [2..],
        topics: Vec<ListOffsetsTopicResponse> [0..],
    }

    ListOffsetsTopicResponse {
        name: String [0..],
        partitions: Vec<ListOffsetsPartitionResponse> [0..],
    }

    ListOffsetsPartitionResponse {
        partition_index: i32 [0..],
        error_code: ErrorCode [0..],
        timestamp: i64 [1..] = -1,
        offset: i64 [1..] = -1,
        leader_epoch: i32 [4..] = -1,
    }
}
