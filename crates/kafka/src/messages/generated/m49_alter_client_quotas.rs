//! AlterClientQuotas (key 49), from `AlterClientQuotasRequest.json` and `AlterClientQuotasResponse.json`.
//! Made by `cargo xtask messages --write` from kafka-clients 4.4.0.

use crate::errors::ErrorCode;
use crate::messages::message;

message! {
    AlterClientQuotas = 49, versions 0..=1, flexible 1..;

    Request {
        entries: Vec<EntryData> [0..],
        validate_only: bool [0..],
    }

    EntryData {
        entity: Vec<EntityData> [0..],
        ops: Vec<OpData> [0..],
    }

    EntityData {
        entity_type: String [0..],
        entity_name: Option<String> [0..] = Some(Default::default()),
    }

    OpData {
        key: String [0..],
        value: f64 [0..],
        remove: bool [0..],
    }

    Response {
        throttle_time_ms: i32 [0..],
        entries: Vec<ResponseEntryData> [0..],
    }

    ResponseEntryData {
        error_code: ErrorCode [0..],
        error_message: Option<String> [0..] = Some(Default::default()),
        entity: Vec<ResponseEntityData> [0..],
    }

    ResponseEntityData {
        entity_type: String [0..],
        entity_name: Option<String> [0..] = Some(Default::default()),
    }
}
