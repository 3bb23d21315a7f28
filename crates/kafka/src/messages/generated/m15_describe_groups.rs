//! DescribeGroups (key 15), from `DescribeGroupsRequest.json` and `DescribeGroupsResponse.json`.
//! Made by `cargo xtask messages --write` from kafka-clients 4.4.0.

use crate::errors::ErrorCode;
use crate::messages::message;

message! {
    DescribeGroups = 15, versions 0..=6, flexible 5..;

    Request {
        groups: Vec<String> [0..],
        include_authorized_operations: bool [3..],
    }

    Response {
        throttle_time_ms: i32 [1..],
        groups: Vec<DescribedGroup> [0..],
    }

    DescribedGroup {
        error_code: ErrorCode [0..],
        error_message: Option<String> [6..],
        group_id: String [0..],
        group_state: String [0..],
        protocol_type: String [0..],
        protocol_data: String [0..],
        members: Vec<DescribedGroupMember> [0..],
        authorized_operations: i32 [3..] = -2147483648,
    }

    DescribedGroupMember {
        member_id: String [0..],
        group_instance_id: Option<String> [4..],
        client_id: String [0..],
        client_host: String [0..],
        member_metadata: Vec<u8> [0..],
        member_assignment: Vec<u8> [0..],
    }
}
