//! ElectLeaders (key 43), from `ElectLeadersRequest.json` and `ElectLeadersResponse.json`.
//! Made by `cargo xtask messages --write` from kafka-clients 4.4.0.

use crate::errors::ErrorCode;
use crate::messages::message;

message! {
    ElectLeaders = 43, versions 0..=2, flexible 2..;

    Request {
        election_type: i8 [1..],
        topic_partitions: Option<Vec<TopicPartitions>> [0..] = Some(Default::default()),
        timeout_ms: i32 [0..] = 60000,
    }

    TopicPartitions {
        topic: String [0..],
        partitions: Vec<i32> [0..],
    }

    Response {
        throttle_time_ms: i32 [0..],
        error_code: ErrorCode [1..],
        replica_election_results: Vec<ReplicaElectionResult> [0..],
    }

    ReplicaElectionResult {
        topic: String [0..],
        partition_result: Vec<PartitionResult> [0..],
    }

    PartitionResult {
        partition_id: i32 [0..],
        error_code: ErrorCode [0..],
        error_message: Option<String> [0..] = Some(Default::default()),
    }
}
