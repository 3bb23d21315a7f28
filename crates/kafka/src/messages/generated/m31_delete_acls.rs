//! DeleteAcls (key 31), from `DeleteAclsRequest.json` and `DeleteAclsResponse.json`.
//! Made by `cargo xtask messages --write` from kafka-clients 4.4.0.

use crate::errors::ErrorCode;
use crate::messages::message;

message! {
    DeleteAcls = 31, versions 1..=3, flexible 2..;

    Request {
        filters: Vec<DeleteAclsFilter> [0..],
    }

    DeleteAclsFilter {
        resource_type_filter: i8 [0..],
        resource_name_filter: Option<String> [0..] = Some(Default::default()),
        pattern_type_filter: i8 [1..] = 3,
        principal_filter: Option<String> [0..] = Some(Default::default()),
        host_filter: Option<String> [0..] = Some(Default::default()),
        operation: i8 [0..],
        permission_type: i8 [0..],
    }

    Response {
        throttle_time_ms: i32 [0..],
        filter_results: Vec<DeleteAclsFilterResult> [0..],
    }

    DeleteAclsFilterResult {
        error_code: ErrorCode [0..],
        error_message: Option<String> [0..] = Some(Default::default()),
        matching_acls: Vec<DeleteAclsMatchingAcl> [0..],
    }

    DeleteAclsMatchingAcl {
        error_code: ErrorCode [0..],
        error_message: Option<String> [0..] = Some(Default::default()),
        resource_type: i8 [0..],
        resource_name: String [0..],
        pattern_type: i8 [1..] = 3,
        principal: String [0..],
        host: String [0..],
        operation: i8 [0..],
        permission_type: i8 [0..],
    }
}
