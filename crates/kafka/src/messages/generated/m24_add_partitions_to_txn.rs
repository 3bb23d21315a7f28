//! AddPartitionsToTxn (key 24), from `AddPartitionsToTxnRequest.json` and `AddPartitionsToTxnResponse.json`.
//! Made by `cargo xtask messages --write` from kafka-clients 4.4.0.

use crate::errors::ErrorCode;
use crate::messages::message;

message! {
    AddPartitionsToTxn = 24, versions 0..=5, flexible 3..;

    Request {
        transactions: Vec<AddPartitionsToTxnTransaction> [4..],
        v3_and_below_transactional_id: String [0..=3],
        v3_and_below_producer_id: i64 [0..=3],
        v3_and_below_producer_epoch: i16 [0..=3],
        v3_and_below_topics: Vec<AddPartitionsToTxnTopic> [0..=3],
    }

    AddPartitionsToTxnTransaction {
        transactional_id: String [4..],
        producer_id: i64 [4..],
        producer_epoch: i16 [4..],
        verify_only: bool [4..],
        topics: Vec<AddPartitionsToTxnTopic> [4..],
    }

    AddPartitionsToTxnTopic {
        name: String [0..],
        partitions: Vec<i32> [0..],
    }

    Response {
        throttle_time_ms: i32 [0..],
        error_code: ErrorCode [4..],
        results_by_transaction: Vec<AddPartitionsToTxnResult> [4..],
        results_by_topic_v3_and_below: Vec<AddPartitionsToTxnTopicResult> [0..=3],
    }

    AddPartitionsToTxnResult {
        transactional_id: String [4..],
        topic_results: Vec<AddPartitionsToTxnTopicResult> [4..],
    }

    AddPartitionsToTxnTopicResult {
        name: String [0..],
        results_by_partition: Vec<AddPartitionsToTxnPartitionResult> [0..],
    }

    AddPartitionsToTxnPartitionResult {
        partition_index: i32 [0..],
        partition_error_code: ErrorCode [0..],
    }
}
