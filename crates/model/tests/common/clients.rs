//! What clients do in tests of every crate: as Kafka 4.1 has it by default, but for what a test is about.
#![allow(dead_code, reason = "each test program uses its part")]

use kdyno_model::plan::{
    Compression, ConsumePlan, IsolationLevel, Partitioner, Payload, ProducePlan, ProducerSettings, Rate,
    ReadDepth, StartOffset,
};

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;

/// Settings of a producer that sends what is there.
pub fn producer() -> ProducerSettings {
    ProducerSettings {
        defaults: "4.1".to_owned(),
        acks: -1,
        batch_bytes: 16_384,
        linger_ns: 0,
        buffer_bytes: 32 << 20,
        request_bytes_max: 1 << 20,
        in_flight_max: 5,
        compression: Compression::None,
        compression_level: None,
        max_block_ns: 60 * SECOND,
        request_timeout_ns: 30 * SECOND,
        delivery_timeout_ns: 120 * SECOND,
        retry_backoff_ns: 100 * MS,
        retry_backoff_max_ns: SECOND,
        transaction_timeout_ns: 60 * SECOND,
        metadata_max_age_ns: 300 * SECOND,
        enable_idempotence: false,
        partitioner: Partitioner::Sticky,
        ignore_keys: false,
        adaptive_partitioning: true,
        availability_timeout_ns: 0,
    }
}

/// Values of 100 bytes, without keys.
pub fn produce(rate: Rate) -> ProducePlan {
    ProducePlan {
        rate,
        value_bytes: 100,
        payload: Payload::Unique,
        records: Default::default(),
        records_max: None,
        synchronous: false,
        transactions: None,
        tool_lines: None,
        client: producer(),
    }
}

/// A consumer of whole topics.
pub fn consume(from: StartOffset) -> ConsumePlan {
    ConsumePlan {
        from,
        fetch_bytes_max: 50 << 20,
        partition_bytes_max: 1 << 20,
        fetch_bytes_min: 1,
        fetch_wait_ns: 500 * MS,
        request_timeout_ns: 30 * SECOND,
        retry_backoff_ns: 100 * MS,
        isolation_level: IsolationLevel::ReadUncommitted,
        rack: String::new(),
        poll_records_max: 500,
        work: None,
        read: ReadDepth::Decode,
        group: None,
        records_max: None,
        idle_ns: None,
    }
}
