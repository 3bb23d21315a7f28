//! Speaks Kafka: bytes and time in; bytes and deadlines out.
//!
//! Layers, inside out: [`wire`] reads and writes primitives, [`messages`] the requests and responses built of
//! them, [`records`] the record batches inside those. A [`connection`] carries them to one broker, over a [`session`] where
//! there is one: handshake, pipelined requests; [`security`] is TLS and SASL. [`broker_connections`] are all connections of a
//! client: metadata, leaders, coordinators, reconnecting, refusals. [`producer`] and [`consumer`] decide what to send when, [`group`] which partitions
//! a consumer has; as a
//! [`client`](client::Client) each is moved by code that has sockets. [`admin`] is the one place that does I/O:
//! a small blocking client for set-up, over the same connections.
//!
//! This crate knows nothing of benchmarking and depends on nothing of ours.

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

pub mod admin;
pub mod backoff;
pub mod broker_connections;
pub mod client;
pub mod connection;
pub mod consumer;
#[cfg(test)]
#[path = "../tests/common/counting.rs"]
mod counting;
pub mod errors;
pub mod group;
pub mod messages;
pub mod producer;
pub mod records;
pub mod security;
pub mod session;
pub mod wire;
mod words;
