//! DescribeAcls (key 29), from `DescribeAclsRequest.json` and `DescribeAclsResponse.json`.
//! Made by `cargo xtask messages --write` from kafka-clients 4.4.0.

use crate::errors::ErrorCode;
use crate::messages::message;

message! {
    DescribeAcls = 29, versions 1..=3, flexible 2..;

    Request {
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
        error_code: ErrorCode [0..],
        error_message: Option<String> [0..] = Some(Default::default()),
        resources: Vec<DescribeAclsResource> [0..],
    }

    DescribeAclsResource {
        resource_type: i8 [0..],
        resource_name: String [0..],
        pattern_type: i8 [1..] = 3,
        acls: Vec<AclDescription> [0..],
    }

    AclDescription {
        principal: String [0..],
        host: String [0..],
        operation: i8 [0..],
        permission_type: i8 [0..],
    }
}
