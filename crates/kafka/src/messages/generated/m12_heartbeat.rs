//! Heartbeat (key 12), from `HeartbeatRequest.json` and `HeartbeatResponse.json`.
//! Made by `cargo xtask messages --write` from kafka-clients 4.4.0.

use crate::errors::ErrorCode;
use crate::messages::message;

message! {
    Heartbeat = 12, versions 0..=4, flexible 4..;

    Request {
        group_id: String [0..],
        generation_id: i32 [0..],
        member_id: String [0..],
        group_instance_id: Option<String> [3..],
    }

    Response {
        throttle_time_ms: i32 [1..],
        error_code: ErrorCode [0..],
    }
}
