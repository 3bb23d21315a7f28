//! The broker's side of the protocol, on the frames of `kdyno_kafka`: what a client is measured and tested against.
//!
//! [`null_broker`] acknowledges everything and keeps nothing: the cost of a client without Kafka behind it.
//! [`fake_broker`] is a scripted cluster for tests: delays, stalls, errors and leader moves, in simulated time
//! or on real sockets. Both read requests and write responses with `codec`.
//!
//! No measured cluster is ever one of these; only `null-broker`, the benchmarks and the tests use them.

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

mod codec;
pub mod fake_broker;
pub mod null_broker;
