//! Frames as they go over the wire: primitives, requests and responses, compared with an independent implementation.

#[path = "../common/mod.rs"]
mod common;
mod messages;
mod produce_fetch;
mod wire;
