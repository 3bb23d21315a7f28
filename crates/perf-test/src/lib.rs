//! Kafka's own performance tools as they are typed and as they print: flags, properties and lines of
//! `kafka-producer-perf-test` and `kafka-consumer-perf-test`. What runs behind them is kdyno's.

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

pub mod consumer;
mod driver;
pub mod java_format;
pub mod producer;
pub mod properties;

pub use driver::DriverChoice;
