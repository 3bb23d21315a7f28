//! The broker's side of the protocol, on the frames of `kdyno_kafka`.
//!
//! [`null_broker`] acknowledges everything and keeps nothing: the cost of a client without Kafka behind it. [`codec`] reads
//! requests and writes responses, for the null broker and for the scripted broker of the tests (`kdyno-fake-broker`).
//!
//! No measured cluster is ever one of these; only `null-broker`, the benchmarks and the tests use them.

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

pub mod codec;
pub mod null_broker;
