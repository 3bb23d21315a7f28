//! CreateAcls (key 30), from `CreateAclsRequest.json` and `CreateAclsResponse.json`.
//! Made by `cargo xtask messages --write` from kafka-clients 4.4.0.

use crate::errors::ErrorCode;
use crate::messages::message;

message! {
    CreateAcls = 30, versions 1..=3, flexible 2..;

    Request {
        creations: Vec<AclCreation> [0..],
    }

    AclCreation {
        resource_type: i8 [0..],
        resource_name: String [0..],
        resource_pattern_type: i8 [1..] = 3,
        principal: String [0..],
        host: String [0..],
        operation: i8 [0..],
        permission_type: i8 [0..],
    }

    Response {
        throttle_time_ms: i32 [0..],
        results: Vec<AclCreationResult> [0..],
    }

    AclCreationResult {
        error_code: ErrorCode [0..],
        error_message: Option<String> [0..] = Some(Default::default()),
    }
}
