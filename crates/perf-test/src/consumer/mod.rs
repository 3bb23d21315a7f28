//! `kafka-consumer-perf-test`.
