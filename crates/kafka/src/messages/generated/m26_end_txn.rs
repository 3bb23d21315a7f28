//! EndTxn (key 26), from `EndTxnRequest.json` and `EndTxnResponse.json`.
//! Made by `cargo xtask messages --write` from kafka-clients 4.4.0.

use crate::errors::ErrorCode;
use crate::messages::message;

message! {
    EndTxn = 26, versions 0..=5, flexible 3..;

    Request {
        transactional_id: String [0..],
        producer_id: i64 [0..],
        producer_epoch: i16 [0..],
        committed: bool [0..],
    }

    Response {
        throttle_time_ms: i32 [0..],
        error_code: ErrorCode [0..],
        producer_id: i64 [5..] = -1,
        producer_epoch: i16 [5..] = -1,
    }
}
