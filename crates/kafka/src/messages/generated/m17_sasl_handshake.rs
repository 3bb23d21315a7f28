//! SaslHandshake (key 17), from `SaslHandshakeRequest.json` and `SaslHandshakeResponse.json`.
//! Made by `cargo xtask messages --write` from kafka-clients 4.4.0.

use crate::errors::ErrorCode;
use crate::messages::message;

message! {
    SaslHandshake = 17, versions 0..=1, flexible 32767..;

    Request {
        mechanism: String [0..],
    }

    Response {
        error_code: ErrorCode [0..],
        mechanisms: Vec<String> [0..],
    }
}
