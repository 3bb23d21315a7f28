//! DeleteTopics (key 20), from `DeleteTopicsRequest.json` and `DeleteTopicsResponse.json`.
//! Made by `cargo xtask messages --write` from kafka-clients 4.4.0.

use crate::errors::ErrorCode;
use crate::messages::message;

message! {
    DeleteTopics = 20, versions 1..=5, flexible 4..;

    Request {
        topics: Vec<DeleteTopicState> [6..],
        topic_names: Vec<String> [0..=5],
        timeout_ms: i32 [0..],
    }

    DeleteTopicState {
        name: Option<String> [6..],
        topic_id: [u8; 16] [6..],
    }

    Response {
        throttle_time_ms: i32 [1..],
        responses: Vec<DeletableTopicResult> [0..],
    }

    DeletableTopicResult {
        name: Option<String> [0..] null [6..] = Some(Default::default()),
        topic_id: [u8; 16] [6..],
        error_code: ErrorCode [0..],
        error_message: Option<String> [5..],
    }
}
