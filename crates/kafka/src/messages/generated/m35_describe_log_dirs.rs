//! DescribeLogDirs (key 35), from `DescribeLogDirsRequest.json` and `DescribeLogDirsResponse.json`.
//! Made by `cargo xtask messages --write` from kafka-clients 4.4.0.

use crate::errors::ErrorCode;
use crate::messages::message;

message! {
    DescribeLogDirs = 35, versions 1..=4, flexible 2..;

    Request {
        topics: Option<Vec<DescribableLogDirTopic>> [0..] = Some(Default::default()),
    }

    DescribableLogDirTopic {
        topic: String [0..],
        partitions: Vec<i32> [0..],
    }

    Response {
        throttle_time_ms: i32 [0..],
        error_code: ErrorCode [3..],
        results: Vec<DescribeLogDirsResult> [0..],
    }

    DescribeLogDirsResult {
        error_code: ErrorCode [0..],
        log_dir: String [0..],
        topics: Vec<DescribeLogDirsTopic> [0..],
        total_bytes: i64 [4..] = -1,
        usable_bytes: i64 [4..] = -1,
        is_cordoned: bool [5..],
    }

    DescribeLogDirsTopic {
        name: String [0..],
        partitions: Vec<DescribeLogDirsPartition> [0..],
    }

    DescribeLogDirsPartition {
        partition_index: i32 [0..],
        partition_size: i64 [0..],
        offset_lag: i64 [0..],
        is_future_key: bool [0..],
    }
}
