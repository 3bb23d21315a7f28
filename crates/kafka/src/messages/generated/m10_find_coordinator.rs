//! FindCoordinator (key 10), from `FindCoordinatorRequest.json` and `FindCoordinatorResponse.json`.
//! Made by `cargo xtask messages --write` from kafka-clients 4.4.0.

use crate::errors::ErrorCode;
use crate::messages::message;

message! {
    FindCoordinator = 10, versions 0..=6, flexible 3..;

    Request {
        key: String [0..=3],
        key_type: i8 [1..],
        coordinator_keys: Vec<String> [4..],
    }

    Response {
        throttle_time_ms: i32 [1..],
        error_code: ErrorCode [0..=3],
        error_message: Option<String> [1..=3] = Some(Default::default()),
        node_id: i32 [0..=3],
        host: String [0..=3],
        port: i32 [0..=3],
        coordinators: Vec<Coordinator> [4..],
    }

    Coordinator {
        key: String [4..],
        node_id: i32 [4..],
        host: String [4..],
        port: i32 [4..],
        error_code: ErrorCode [4..],
        error_message: Option<String> [4..] = Some(Default::default()),
    }
}
