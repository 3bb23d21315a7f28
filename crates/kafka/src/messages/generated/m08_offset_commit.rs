//! OffsetCommit (key 8), from `OffsetCommitRequest.json` and `OffsetCommitResponse.json`.
//! Made by `cargo xtask messages --write` from kafka-clients 4.4.0.

use crate::errors::ErrorCode;
use crate::messages::message;

message! {
    OffsetCommit = 8, versions 2..=9, flexible 8..;

    Request {
        group_id: String [0..],
        generation_id_or_member_epoch: i32 [1..] = -1,
        member_id: String [1..],
        group_instance_id: Option<String> [7..],
        retention_time_ms: i64 [2..=4] = -1,
        topics: Vec<OffsetCommitRequestTopic> [0..],
    }

    OffsetCommitRequestTopic {
        name: String [0..=9],
        topic_id: [u8; 16] [10..],
        partitions: Vec<OffsetCommitRequestPartition> [0..],
    }

    OffsetCommitRequestPartition {
        partition_index: i32 [0..],
        committed_offset: i64 [0..],
        committed_leader_epoch: i32 [6..] = -1,
        committed_metadata: Option<String> [0..] = Some(Default::default()),
    }

    Response {
        throttle_time_ms: i32 [3..],
        topics: Vec<OffsetCommitResponseTopic> [0..],
    }

    OffsetCommitResponseTopic {
        name: String [0..=9],
        topic_id: [u8; 16] [10..],
        partitions: Vec<OffsetCommitResponsePartition> [0..],
    }

    OffsetCommitResponsePartition {
        partition_index: i32 [0..],
        error_code: ErrorCode [0..],
    }
}
