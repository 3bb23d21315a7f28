//! ApiVersions (key 18), from `ApiVersionsRequest.json` and `ApiVersionsResponse.json`.
//! Made by `cargo xtask messages --write` from kafka-clients 4.4.0.

use crate::errors::ErrorCode;
use crate::messages::message;

message! {
    ApiVersions = 18, versions 0..=3, flexible 3.., response by crate::messages::read_api_versions;

    Request {
        client_software_name: String [3..],
        client_software_version: String [3..],
        cluster_id: Option<String> [5..],
        node_id: i32 [5..] = -1,
    }

    Response {
        error_code: ErrorCode [0..],
        api_keys: Vec<ApiVersion> [0..],
        throttle_time_ms: i32 [1..],
        supported_features: Vec<SupportedFeatureKey> [3..] tag 0,
        finalized_features_epoch: i64 [3..] tag 1 = -1,
        finalized_features: Vec<FinalizedFeatureKey> [3..] tag 2,
        zk_migration_ready: bool [3..] tag 3,
    }

    ApiVersion {
        api_key: i16 [0..],
        min_version: i16 [0..],
        max_version: i16 [0..],
    }

    SupportedFeatureKey {
        name: String [3..],
        min_version: i16 [3..],
        max_version: i16 [3..],
    }

    FinalizedFeatureKey {
        name: String [3..],
        max_version_level: i16 [3..],
        min_version_level: i16 [3..],
    }
}
