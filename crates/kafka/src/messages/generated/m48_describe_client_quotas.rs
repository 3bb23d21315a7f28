//! DescribeClientQuotas (key 48), from `DescribeClientQuotasRequest.json` and `DescribeClientQuotasResponse.json`.
//! Made by `cargo xtask messages --write` from kafka-clients 4.4.0.

use crate::errors::ErrorCode;
use crate::messages::message;

message! {
    DescribeClientQuotas = 48, versions 0..=1, flexible 1..;

    Request {
        components: Vec<ComponentData> [0..],
        strict: bool [0..],
    }

    ComponentData {
        entity_type: String [0..],
        match_type: i8 [0..],
        r#match: Option<String> [0..] = Some(Default::default()),
    }

    Response {
        throttle_time_ms: i32 [0..],
        error_code: ErrorCode [0..],
        error_message: Option<String> [0..] = Some(Default::default()),
        entries: Option<Vec<EntryData>> [0..] = Some(Default::default()),
    }

    EntryData {
        entity: Vec<EntityData> [0..],
        values: Vec<ValueData> [0..],
    }

    EntityData {
        entity_type: String [0..],
        entity_name: Option<String> [0..] = Some(Default::default()),
    }

    ValueData {
        key: String [0..],
        value: f64 [0..],
    }
}
