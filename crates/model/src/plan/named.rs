//! Settings of kdyno's own clients under the names and in the units of Kafka's.

use super::{ConsumePlan, Partitioner, ProducerSettings};
use crate::units::milliseconds as ms;

impl ProducerSettings {
    /// Each setting that has a value here, in the order in which a properties file is written.
    pub fn named(&self) -> Vec<(&'static str, String)> {
        let acks = if self.acks == -1 { "all".to_owned() } else { self.acks.to_string() };
        let mut found = vec![
            ("acks", acks),
            ("batch.size", self.batch_bytes.to_string()),
            ("linger.ms", ms(self.linger_ns)),
            ("buffer.memory", self.buffer_bytes.to_string()),
            ("max.request.size", self.request_bytes_max.to_string()),
            ("max.in.flight.requests.per.connection", self.in_flight_max.to_string()),
            ("compression.type", self.compression.name().to_owned()),
        ];
        found.extend(self.level().map(|(setting, level)| (setting, level.to_string())));
        found.extend([
            ("max.block.ms", ms(self.max_block_ns)),
            ("request.timeout.ms", ms(self.request_timeout_ns)),
            ("delivery.timeout.ms", ms(self.delivery_timeout_ns)),
            ("retry.backoff.ms", ms(self.retry_backoff_ns)),
            ("retry.backoff.max.ms", ms(self.retry_backoff_max_ns)),
            ("metadata.max.age.ms", ms(self.metadata_max_age_ns)),
            ("enable.idempotence", self.enable_idempotence.to_string()),
        ]);
        // Java's default has no class.
        if self.partitioner == Partitioner::RoundRobin {
            found.push(("partitioner.class", Partitioner::ROUND_ROBIN_CLASS.to_owned()));
        }
        found.extend([
            ("partitioner.adaptive.partitioning.enable", self.adaptive_partitioning.to_string()),
            ("partitioner.availability.timeout.ms", ms(self.availability_timeout_ns)),
            ("partitioner.ignore.keys", self.ignore_keys.to_string()),
        ]);
        found
    }
}

impl Partitioner {
    /// Java's class for one record to each partition in turn.
    pub const ROUND_ROBIN_CLASS: &str = "org.apache.kafka.clients.producer.RoundRobinPartitioner";
    /// Java's class, up to 3.x, for records that stick to a partition whatever their keys.
    pub const UNIFORM_STICKY_CLASS: &str = "org.apache.kafka.clients.producer.UniformStickyPartitioner";
}

impl ConsumePlan {
    /// Each setting that has a value here, those of its group too.
    pub fn named(&self) -> Vec<(&'static str, String)> {
        let mut found = self.fetching();
        found.extend(self.group.iter().flat_map(super::GroupPlan::settings));
        found
    }

    /// What a properties file has, its group's settings apart: no rack where there is none, and how many records a poll
    /// returns only where an application works on them.
    pub fn written(&self) -> Vec<(&'static str, String)> {
        let mut found = self.fetching();
        found.retain(|(_, value)| !value.is_empty());
        found.extend(self.work.map(|_| ("max.poll.records", self.poll_records_max.to_string())));
        found
    }

    fn fetching(&self) -> Vec<(&'static str, String)> {
        vec![
            ("fetch.max.bytes", self.fetch_bytes_max.to_string()),
            ("max.partition.fetch.bytes", self.partition_bytes_max.to_string()),
            ("fetch.min.bytes", self.fetch_bytes_min.to_string()),
            ("fetch.max.wait.ms", ms(self.fetch_wait_ns)),
            ("request.timeout.ms", ms(self.request_timeout_ns)),
            ("retry.backoff.ms", ms(self.retry_backoff_ns)),
            ("isolation.level", self.isolation_level.name().to_owned()),
            ("client.rack", self.rack.clone()),
        ]
    }
}
