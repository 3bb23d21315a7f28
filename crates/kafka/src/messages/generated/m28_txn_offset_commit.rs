//! TxnOffsetCommit (key 28), from `TxnOffsetCommitRequest.json` and `TxnOffsetCommitResponse.json`.
//! Made by `cargo xtask messages --write` from kafka-clients 4.4.0.

use crate::errors::ErrorCode;
use crate::messages::message;

message! {
    TxnOffsetCommit = 28, versions 0..=5, flexible 3..;

    Request {
        transactional_id: String [0..],
        group_id: String [0..],
        producer_id: i64 [0..],
        producer_epoch: i16 [0..],
        generation_id_or_member_epoch: i32 [3..] = -1,
        member_id: String [3..],
        group_instance_id: Option<String> [3..],
        topics: Vec<TxnOffsetCommitRequestTopic> [0..],
    }

    TxnOffsetCommitRequestTopic {
        name: String [0..=5],
        topic_id: [u8; 16] [6..],
        partitions: Vec<TxnOffsetCommitRequestPartition> [0..],
    }

    TxnOffsetCommitRequestPartition {
        partition_index: i32 [0..],
        committed_offset: i64 [0..],
        committed_leader_epoch: i32 [2..] = -1,
        committed_metadata: Option<String> [0..] = Some(Default::default()),
    }

    Response {
        throttle_time_ms: i32 [0..],
        topics: Vec<TxnOffsetCommitResponseTopic> [0..],
    }

    TxnOffsetCommitResponseTopic {
        name: String [0..=5],
        topic_id: [u8; 16] [6..],
        partitions: Vec<TxnOffsetCommitResponsePartition> [0..],
    }

    TxnOffsetCommitResponsePartition {
        partition_index: i32 [0..],
        error_code: ErrorCode [0..],
    }
}
