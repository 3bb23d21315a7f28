//! AlterUserScramCredentials (key 51), from `AlterUserScramCredentialsRequest.json` and `AlterUserScramCredentialsResponse.json`.
//! Made by `cargo xtask messages --write` from kafka-clients 4.4.0.

use crate::errors::ErrorCode;
use crate::messages::message;

message! {
    AlterUserScramCredentials = 51, versions 0..=0, flexible 0..;

    Request {
        deletions: Vec<ScramCredentialDeletion> [0..],
        upsertions: Vec<ScramCredentialUpsertion> [0..],
    }

    ScramCredentialDeletion {
        name: String [0..],
        mechanism: i8 [0..],
    }

    ScramCredentialUpsertion {
        name: String [0..],
        mechanism: i8 [0..],
        iterations: i32 [0..],
        salt: Vec<u8> [0..],
        salted_password: Vec<u8> [0..],
    }

    Response {
        throttle_time_ms: i32 [0..],
        results: Vec<AlterUserScramCredentialsResult> [0..],
    }

    AlterUserScramCredentialsResult {
        user: String [0..],
        error_code: ErrorCode [0..],
        error_message: Option<String> [0..] = Some(Default::default()),
    }
}
