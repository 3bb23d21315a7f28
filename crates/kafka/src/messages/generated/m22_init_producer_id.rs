//! InitProducerId (key 22), from `InitProducerIdRequest.json` and `InitProducerIdResponse.json`.
//! Made by `cargo xtask messages --write` from kafka-clients 4.4.0.

use crate::errors::ErrorCode;
use crate::messages::message;

message! {
    InitProducerId = 22, versions 0..=5, flexible 2..;

    Request {
        transactional_id: Option<String> [0..] = Some(Default::default()),
        transaction_timeout_ms: i32 [0..],
        producer_id: i64 [3..] = -1,
        producer_epoch: i16 [3..] = -1,
        enable2_pc: bool [6..],
        keep_prepared_txn: bool [6..],
    }

    Response {
        throttle_time_ms: i32 [0..],
        error_code: ErrorCode [0..],
        producer_id: i64 [0..] = -1,
        producer_epoch: i16 [0..],
        ongoing_txn_producer_id: i64 [6..] = -1,
        ongoing_txn_producer_epoch: i16 [6..] = -1,
    }
}
