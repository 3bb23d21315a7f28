//! What clients do where nothing is typed, by Kafka's version.

use super::MIB;
use kdyno_model::plan::{
    Compression, ConsumePlan, IsolationLevel, Partitioner, ProducerSettings, ReadDepth, StartOffset,
};
use kdyno_model::version::Version;

const fn ms(n: u64) -> u64 {
    n * 1_000_000
}

/// A producer's settings when nothing is typed.
pub fn producer_defaults(version: &Version) -> ProducerSettings {
    ProducerSettings {
        defaults: version.of_defaults(),
        acks: if version.at_least(3, 0) { -1 } else { 1 },
        batch_bytes: 16_384,
        // KIP-1030 raised the default with 4.0.
        linger_ns: if version.at_least(4, 0) { ms(5) } else { 0 },
        buffer_bytes: 32 * MIB,
        request_bytes_max: 1 << 20,
        in_flight_max: 5,
        compression: Compression::None,
        compression_level: None,
        max_block_ns: ms(60_000),
        request_timeout_ns: ms(30_000),
        delivery_timeout_ns: ms(120_000),
        retry_backoff_ns: ms(100),
        // Since 3.7 (KIP-580) the pause grows.
        retry_backoff_max_ns: if version.at_least(3, 7) { ms(1_000) } else { ms(100) },
        transaction_timeout_ns: ms(60_000),
        metadata_max_age_ns: ms(300_000),
        enable_idempotence: version.has_idempotence_by_default(),
        partitioner: Partitioner::Sticky,
        ignore_keys: false,
        // Since 3.3 (KIP-794).
        adaptive_partitioning: version.at_least(3, 3),
        availability_timeout_ns: 0,
    }
}

/// A consumer's settings when nothing is typed, without a group; the same in every supported version.
pub fn consumer_defaults(from: StartOffset, read: ReadDepth) -> ConsumePlan {
    ConsumePlan {
        from,
        read,
        isolation_level: IsolationLevel::ReadUncommitted,
        rack: String::new(),
        poll_records_max: 500,
        work: None,
        fetch_bytes_max: 50 << 20,
        partition_bytes_max: 1 << 20,
        fetch_bytes_min: 1,
        fetch_wait_ns: ms(500),
        request_timeout_ns: ms(30_000),
        retry_backoff_ns: ms(100),
        group: None,
        records_max: None,
        idle_ns: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_follow_the_version() {
        let settings = |text: &str| producer_defaults(&Version::of_client(text).unwrap());
        assert_eq!((settings("2.8").acks, settings("3.0").acks), (1, -1));
        assert_eq!((settings("3.9").linger_ns, settings("4.0").linger_ns), (0, 5_000_000));
        let pause_ms = |text: &str| settings(text).retry_backoff_max_ns / 1_000_000;
        assert_eq!((pause_ms("3.6"), pause_ms("3.7")), (100, 1_000));
        let is_idempotent = |text: &str| settings(text).enable_idempotence;
        assert_eq!((is_idempotent("2.8"), is_idempotent("3.0")), (false, true));
        assert_eq!((is_idempotent("3.1.0"), is_idempotent("3.1.1")), (false, true));
        let is_adaptive = |text: &str| settings(text).adaptive_partitioning;
        assert_eq!((is_adaptive("3.2"), is_adaptive("3.3")), (false, true));
    }
}
