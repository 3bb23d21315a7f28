//! OffsetForLeaderEpoch (key 23), from `OffsetForLeaderEpochRequest.json` and `OffsetForLeaderEpochResponse.json`.
//! Made by `cargo xtask messages --write` from kafka-clients 4.4.0.

use crate::errors::ErrorCode;
use crate::messages::message;

message! {
    OffsetForLeaderEpoch = 23, versions 2..=4, flexible 4..;

    Request {
        replica_id: i32 [3..] = -2,
        topics: Vec<OffsetForLeaderTopic> [0..],
    }

    OffsetForLeaderTopic {
        topic: String [0..],
        partitions: Vec<OffsetForLeaderPartition> [0..],
    }

    OffsetForLeaderPartition {
        partition: i32 [0..],
        current_leader_epoch: i32 [2..] = -1,
        leader_epoch: i32 [0..],
    }

    Response {
        throttle_time_ms: i32 [2..],
        topics: Vec<OffsetForLeaderTopicResult> [0..],
    }

    OffsetForLeaderTopicResult {
        topic: String [0..],
        partitions: Vec<EpochEndOffset> [0..],
    }

    EpochEndOffset {
        error_code: ErrorCode [0..],
        partition: i32 [0..],
        leader_epoch: i32 [1..] = -1,
        end_offset: i64 [0..] = -1,
    }
}
