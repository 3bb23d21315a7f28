//! SyncGroup (key 14), from `SyncGroupRequest.json` and `SyncGroupResponse.json`.
//! Made by `cargo xtask messages --write` from kafka-clients 4.4.0.

use crate::errors::ErrorCode;
use crate::messages::message;

message! {
    SyncGroup = 14, versions 0..=5, flexible 4..;

    Request {
        group_id: String [0..],
        generation_id: i32 [0..],
        member_id: String [0..],
        group_instance_id: Option<String> [3..],
        protocol_type: Option<String> [5..],
        protocol_name: Option<String> [5..],
        assignments: Vec<SyncGroupRequestAssignment> [0..],
    }

    SyncGroupRequestAssignment {
        member_id: String [0..],
        assignment: Vec<u8> [0..],
    }

    Response {
        throttle_time_ms: i32 [1..],
        error_code: ErrorCode [0..],
        protocol_type: Option<String> [5..],
        protocol_name: Option<String> [5..],
        assignment: Vec<u8> [0..],
    }
}
