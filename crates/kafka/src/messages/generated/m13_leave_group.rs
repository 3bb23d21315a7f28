//! LeaveGroup (key 13), from `LeaveGroupRequest.json` and `LeaveGroupResponse.json`.
//! Made by `cargo xtask messages --write` from kafka-clients 4.4.0.

use crate::errors::ErrorCode;
use crate::messages::message;

message! {
    LeaveGroup = 13, versions 0..=5, flexible 4..;

    Request {
        group_id: String [0..],
        member_id: String [0..=2],
        members: Vec<MemberIdentity> [3..],
    }

    MemberIdentity {
        member_id: String [3..],
        group_instance_id: Option<String> [3..],
        reason: Option<String> [5..],
    }

    Response {
        throttle_time_ms: i32 [1..],
        error_code: ErrorCode [0..],
        members: Vec<MemberResponse> [3..],
    }

    MemberResponse {
        member_id: String [3..],
        group_instance_id: Option<String> [3..] = Some(Default::default()),
        error_code: ErrorCode [3..],
    }
}
