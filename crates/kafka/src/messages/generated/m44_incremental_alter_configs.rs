//! IncrementalAlterConfigs (key 44), from `IncrementalAlterConfigsRequest.json` and `IncrementalAlterConfigsResponse.json`.
//! Made by `cargo xtask messages --write` from kafka-clients 4.4.0.

use crate::errors::ErrorCode;
use crate::messages::message;

message! {
    IncrementalAlterConfigs = 44, versions 0..=1, flexible 1..;

    Request {
        resources: Vec<AlterConfigsResource> [0..],
        validate_only: bool [0..],
    }

    AlterConfigsResource {
        resource_type: i8 [0..],
        resource_name: String [0..],
        configs: Vec<AlterableConfig> [0..],
    }

    AlterableConfig {
        name: String [0..],
        config_operation: i8 [0..],
        value: Option<String> [0..] = Some(Default::default()),
    }

    Response {
        throttle_time_ms: i32 [0..],
        responses: Vec<AlterConfigsResourceResponse> [0..],
    }

    AlterConfigsResourceResponse {
        error_code: ErrorCode [0..],
        error_message: Option<String> [0..] = Some(Default::default()),
        resource_type: i8 [0..],
        resource_name: String [0..],
    }
}
