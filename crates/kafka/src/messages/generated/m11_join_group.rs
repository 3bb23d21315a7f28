//! JoinGroup (key 11), from `JoinGroupRequest.json` and `JoinGroupResponse.json`.
//! Made by `cargo xtask messages --write` from kafka-clients 4.4.0.

use crate::errors::ErrorCode;
use crate::messages::message;

message! {
    JoinGroup = 11, versions 0..=9, flexible 6..;

    Request {
        group_id: String [0..],
        session_timeout_ms: i32 [0..],
        rebalance_timeout_ms: i32 [1..] = -1,
        member_id: String [0..],
        group_instance_id: Option<String> [5..],
        protocol_type: String [0..],
        protocols: Vec<JoinGroupRequestProtocol> [0..],
        reason: Option<String> [8..],
    }

    JoinGroupRequestProtocol {
        name: String [0..],
        metadata: Vec<u8> [0..],
    }

    Response {
        throttle_time_ms: i32 [2..],
        error_code: ErrorCode [0..],
        generation_id: i32 [0..] = -1,
        protocol_type: Option<String> [7..],
        protocol_name: Option<String> [0..] null [7..] = Some(Default::default()),
        leader: String [0..],
        skip_assignment: bool [9..],
        member_id: String [0..],
        members: Vec<JoinGroupResponseMember> [0..],
    }

    JoinGroupResponseMember {
        member_id: String [0..],
        group_instance_id: Option<String> [5..],
        metadata: Vec<u8> [0..],
    }
}
