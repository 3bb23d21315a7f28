//! Keys of a system's quotas.

use super::{Section, ValueKind, key, or, section};
use kdyno_model::plan::QuotaEach;

const BYTE_RATE: ValueKind = ValueKind::Scalar("size per second, e.g. `10MiB/s`", "SIZE/s");

/// Quotas of clients.
pub static QUOTAS: Section = section(
    "quotas",
    "Kafka's quotas, set once the brokers are ready. Each broker counts for itself: with three brokers a client may do \
     three times as much.",
    &[
        or(
            "each",
            ValueKind::Choice(QuotaEach::NAMES),
            "client",
            "whom they bind: each `client`, by the default quota of client ids, since every client has an id of its own; or \
             each `user`, by the default quota of users: all clients together, since they are one user",
        ),
        key("producer_byte_rate", BYTE_RATE, "what it may produce to a broker"),
        key("consumer_byte_rate", BYTE_RATE, "what it may fetch from a broker"),
        key(
            "request_percentage",
            ValueKind::Scalar("a number of percent", "NUMBER"),
            "time that its requests may take of a broker's request handlers and network processors, percent of one thread, e.g. \
             `50`",
        ),
    ],
);
