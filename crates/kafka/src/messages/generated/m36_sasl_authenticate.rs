//! SaslAuthenticate (key 36), from `SaslAuthenticateRequest.json` and `SaslAuthenticateResponse.json`.
//! Made by `cargo xtask messages --write` from kafka-clients 4.4.0.

use crate::errors::ErrorCode;
use crate::messages::message;

message! {
    SaslAuthenticate = 36, versions 0..=2, flexible 2..;

    Request {
        auth_bytes: Vec<u8> [0..],
    }

    Response {
        error_code: ErrorCode [0..],
        error_message: Option<String> [0..] = Some(Default::default()),
        auth_bytes: Vec<u8> [0..],
        session_lifetime_ms: i64 [1..],
    }
}
