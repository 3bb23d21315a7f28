//! OffsetFetch (key 9), from `OffsetFetchRequest.json` and `OffsetFetchResponse.json`.
//! Made by `cargo xtask messages --write` from kafka-clients 4.4.0.

use crate::errors::ErrorCode;
use crate::messages::message;

message! {
    OffsetFetch = 9, versions 1..=9, flexible 6..;

    Request {
        group_id: String [0..=7],
        topics: Option<Vec<OffsetFetchRequestTopic>> [0..=7] null [2..=7] = Some(Default::default()),
        groups: Vec<OffsetFetchRequestGroup> [8..],
        require_stable: bool [7..],
    }

    OffsetFetchRequestTopic {
        name: String [0..=7],
        partition_indexes: Vec<i32> [0..=7],
    }

    OffsetFetchRequestGroup {
        group_id: String [8..],
        member_id: Option<String> [9..],
        member_epoch: i32 [9..] = -1,
        topics: Option<Vec<OffsetFetchRequestTopics>> [8..] = Some(Default::default()),
    }

    OffsetFetchRequestTopics {
        name: String [8..=9],
        topic_id: [u8; 16] [10..],
        partition_indexes: Vec<i32> [8..],
    }

    Response {
        throttle_time_ms: i32 [3..],
        topics: Vec<OffsetFetchResponseTopic> [0..=7],
        error_code: ErrorCode [2..=7],
        groups: Vec<OffsetFetchResponseGroup> [8..],
    }

    OffsetFetchResponseTopic {
        name: String [0..=7],
        partitions: Vec<OffsetFetchResponsePartition> [0..=7],
    }

    OffsetFetchResponsePartition {
        partition_index: i32 [0..=7],
        committed_offset: i64 [0..=7],
        committed_leader_epoch: i32 [5..=7] = -1,
        metadata: Option<String> [0..=7] = Some(Default::default()),
        error_code: ErrorCode [0..=7],
    }

    OffsetFetchResponseGroup {
        group_id: String [8..],
        topics: Vec<OffsetFetchResponseTopics> [8..],
        error_code: ErrorCode [8..],
    }

    OffsetFetchResponseTopics {
        name: String [8..=9],
        topic_id: [u8; 16] [10..],
        partitions: Vec<OffsetFetchResponsePartitions> [8..],
    }

    OffsetFetchResponsePartitions {
        partition_index: i32 [8..],
        committed_offset: i64 [8..],
        committed_leader_epoch: i32 [8..] = -1,
        metadata: Option<String> [8..] = Some(Default::default()),
        error_code: ErrorCode [8..],
    }
}
