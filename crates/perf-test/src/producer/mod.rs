//! `kafka-producer-perf-test`.
