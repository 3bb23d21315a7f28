//! DeleteGroups (key 42), from `DeleteGroupsRequest.json` and `DeleteGroupsResponse.json`.
//! Made by `cargo xtask messages --write` from kafka-clients 4.4.0.

use crate::errors::ErrorCode;
use crate::messages::message;

message! {
    DeleteGroups = 42, versions 0..=2, flexible 2..;

    Request {
        groups_names: Vec<String> [0..],
    }

    Response {
        throttle_time_ms: i32 [0..],
        results: Vec<DeletableGroupResult> [0..],
    }

    DeletableGroupResult {
        group_id: String [0..],
        error_code: ErrorCode [0..],
        error_message: Option<String> [3..],
    }
}
