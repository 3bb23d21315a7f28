//! Keys of topics.

use super::{COUNT, Section, ValueKind, key, needed, or, section};

/// A topic.
pub static TOPIC: Section = section(
    "topic",
    "A topic, made before each trial.",
    &[
        or(
            "count",
            COUNT,
            "1",
            "number of topics that are alike: those of `orders: {count: 100}` are `orders-001` to `orders-100`. A load item on \
             `orders` does the same with each of them",
        ),
        needed("partitions", COUNT, "number of partitions, of each topic"),
        or("replicas", COUNT, "1", "replication factor"),
        key("config", ValueKind::Settings("Kafka topic settings"), "topic settings under Kafka's own names"),
    ],
);
