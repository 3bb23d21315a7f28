//! `kafka-producer-perf-test` of Kafka 4.2 and later: its flags as argparse4j reads them, and the lines that it prints.

mod argparse;
mod delimiter;
mod lines;
mod nearest;
mod options;
mod windows;

pub use delimiter::literal;
pub use lines::{
    LineTotals, QuantileLatencies, STEADY_STATE, deprecated, progress, reading, records_read, total, warmup,
};
pub use options::{ProducerOptions, RecordContent, StartRefusal, help, read};
pub use windows::{WindowSecond, Windows};

/// Its name in usage and errors.
pub const PROGRAM: &str = "kafka-producer-perf-test";
