//! Speaks Kafka: bytes and time in; bytes and deadlines out.
//!
//! Layers, inside out: [`wire`] reads and writes primitives, [`messages`] the requests and replies built of
//! them, [`records`] the record batches inside those, [`connection`] pipelines them over one connection,
//! [`producer`] and [`consumer`] decide what to send when. [`admin`] is the one place that does I/O: a
//! small blocking client for set-up.
//!
//! This crate knows nothing of benchmarking and depends on nothing of ours.

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

pub mod admin;
pub mod broker_connections;
pub mod connection;
pub mod errors;
pub mod messages;
pub mod producer;
pub mod records;
pub mod wire;
