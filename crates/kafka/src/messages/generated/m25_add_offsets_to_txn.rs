//! AddOffsetsToTxn (key 25), from `AddOffsetsToTxnRequest.json` and `AddOffsetsToTxnResponse.json`.
//! Made by `cargo xtask messages --write` from kafka-clients 4.4.0.

use crate::errors::ErrorCode;
use crate::messages::message;

message! {
    AddOffsetsToTxn = 25, versions 0..=4, flexible 3..;

    Request {
        transactional_id: String [0..],
        producer_id: i64 [0..],
        producer_epoch: i16 [0..],
        group_id: String [0..],
    }

    Response {
        throttle_time_ms: i32 [0..],
        error_code: ErrorCode [0..],
    }
}
