//! DescribeCluster (key 60), from `DescribeClusterRequest.json` and `DescribeClusterResponse.json`.
//! Made by `cargo xtask messages --write` from kafka-clients 4.4.0.

use crate::errors::ErrorCode;
use crate::messages::message;

message! {
    DescribeCluster = 60, versions 0..=2, flexible 0..;

    Request {
        include_cluster_authorized_operations: bool [0..],
        endpoint_type: i8 [1..] = 1,
        include_fenced_brokers: bool [2..],
    }

    Response {
        throttle_time_ms: i32 [0..],
        error_code: ErrorCode [0..],
        error_message: Option<String> [0..],
        endpoint_type: i8 [1..] = 1,
        cluster_id: String [0..],
        controller_id: i32 [0..] = -1,
        brokers: Vec<DescribeClusterBroker> [0..],
        cluster_authorized_operations: i32 [0..] = -2147483648,
    }

    DescribeClusterBroker {
        broker_id: i32 [0..],
        host: String [0..],
        port: i32 [0..],
        rack: Option<String> [0..],
        is_fenced: bool [2..],
    }
}
