//! DescribeUserScramCredentials (key 50), from `DescribeUserScramCredentialsRequest.json` and `DescribeUserScramCredentialsResponse.json`.
//! Made by `cargo xtask messages --write` from kafka-clients 4.4.0.

use crate::errors::ErrorCode;
use crate::messages::message;

message! {
    DescribeUserScramCredentials = 50, versions 0..=0, flexible 0..;

    Request {
        users: Option<Vec<UserName>> [0..] = Some(Default::default()),
    }

    UserName {
        name: String [0..],
    }

    Response {
        throttle_time_ms: i32 [0..],
        error_code: ErrorCode [0..],
        error_message: Option<String> [0..] = Some(Default::default()),
        results: Vec<DescribeUserScramCredentialsResult> [0..],
    }

    DescribeUserScramCredentialsResult {
        user: String [0..],
        error_code: ErrorCode [0..],
        error_message: Option<String> [0..] = Some(Default::default()),
        credential_infos: Vec<CredentialInfo> [0..],
    }

    CredentialInfo {
        mechanism: i8 [0..],
        iterations: i32 [0..],
    }
}
