//! `kafka-consumer-perf-test` of Kafka 4.2 and later: its flags, its errors, its lines.

mod date_format;
mod flags;
mod parser;
mod rows;

pub use date_format::DateFormat;
pub use flags::{ConsumerOptions, FlagsError, ToolRequest, TopicChoice, read, usage};
pub use rows::{Consumed, IntervalRows, timeout_warning};
