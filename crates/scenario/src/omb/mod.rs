//! Files of the OpenMessaging Benchmark as a scenario: a driver of Kafka's client and a workload, or a result. Pure: texts in, a
//! text and notes out. Every key of drivers and workloads is honoured, or a note names it and says what becomes of it.
//!
//! Defaults and units are those of OMB (commit 8559989); keys of Redpanda's fork are known.

mod driver;
mod keys;
mod published;
mod scenario;
mod workload;

pub use driver::OmbDriver;
pub use published::{RESULT_BYTES_MAX, published};
pub use scenario::{DELIMITER, OmbChoices, OmbScenario, scenario};
pub use workload::OmbWorkload;

#[cfg(test)]
mod tests;
