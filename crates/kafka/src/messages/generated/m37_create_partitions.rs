//! CreatePartitions (key 37), from `CreatePartitionsRequest.json` and `CreatePartitionsResponse.json`.
//! Made by `cargo xtask messages --write` from kafka-clients 4.4.0.

use crate::errors::ErrorCode;
use crate::messages::message;

message! {
    CreatePartitions = 37, versions 0..=3, flexible 2..;

    Request {
        topics: Vec<CreatePartitionsTopic> [0..],
        timeout_ms: i32 [0..],
        validate_only: bool [0..],
    }

    CreatePartitionsTopic {
        name: String [0..],
        count: i32 [0..],
        assignments: Option<Vec<CreatePartitionsAssignment>> [0..] = Some(Default::default()),
    }

    CreatePartitionsAssignment {
        broker_ids: Vec<i32> [0..],
    }

    Response {
        throttle_time_ms: i32 [0..],
        results: Vec<CreatePartitionsTopicResult> [0..],
    }

    CreatePartitionsTopicResult {
        name: String [0..],
        error_code: ErrorCode [0..],
        error_message: Option<String> [0..],
    }
}
