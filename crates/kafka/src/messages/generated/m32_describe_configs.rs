//! DescribeConfigs (key 32), from `DescribeConfigsRequest.json` and `DescribeConfigsResponse.json`.
//! Made by `cargo xtask messages --write` from kafka-clients 4.4.0.

use crate::errors::ErrorCode;
use crate::messages::message;

message! {
    DescribeConfigs = 32, versions 1..=4, flexible 4..;

    Request {
        resources: Vec<DescribeConfigsResource> [0..],
        include_synonyms: bool [1..],
        include_documentation: bool [3..],
    }

    DescribeConfigsResource {
        resource_type: i8 [0..],
        resource_name: String [0..],
        configuration_keys: Option<Vec<String>> [0..] = Some(Default::default()),
    }

    Response {
        throttle_time_ms: i32 [0..],
        results: Vec<DescribeConfigsResult> [0..],
    }

    DescribeConfigsResult {
        error_code: ErrorCode [0..],
        error_message: Option<String> [0..] = Some(Default::default()),
        resource_type: i8 [0..],
        resource_name: String [0..],
        configs: Vec<DescribeConfigsResourceResult> [0..],
    }

    DescribeConfigsResourceResult {
        name: String [0..],
        value: Option<String> [0..] = Some(Default::default()),
        read_only: bool [0..],
        config_source: i8 [1..] = -1,
        is_sensitive: bool [0..],
        synonyms: Vec<DescribeConfigsSynonym> [1..],
        config_type: i8 [3..] = -1,
        documentation: Option<String> [3..] = Some(Default::default()),
    }

    DescribeConfigsSynonym {
        name: String [1..],
        value: Option<String> [1..] = Some(Default::default()),
        source: i8 [1..],
    }
}
