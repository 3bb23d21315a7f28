//! ListGroups (key 16), from `ListGroupsRequest.json` and `ListGroupsResponse.json`.
//! Made by `cargo xtask messages --write` from kafka-clients 4.4.0.

use crate::errors::ErrorCode;
use crate::messages::message;

message! {
    ListGroups = 16, versions 0..=5, flexible 3..;

    Request {
        states_filter: Vec<String> [4..],
        types_filter: Vec<String> [5..],
    }

    Response {
        throttle_time_ms: i32 [1..],
        error_code: ErrorCode [0..],
        groups: Vec<ListedGroup> [0..],
    }

    ListedGroup {
        group_id: String [0..],
        protocol_type: String [0..],
        group_state: String [4..],
        group_type: String [5..],
    }
}
