//! One trial's share of work: from a task to timed operations and interval samples.
//!
//! Read in the order of a record's life: [`schedule`] says when it is intended, [`client`] takes it,
//! [`records`], [`payload`] and [`trailer`] say what it carries, [`connections_io`] moves its bytes, [`recorder`] counts it, [`worker`] hands
//! the samples on. [`produce`] and [`consume`] are the two kinds of [`stream`], [`java`] the same two with Kafka's Java client; [`event_loop`] turns them
//! over the sockets of [`net`], whose names `lookup` resolves on other threads, and [`wakeups`] say which of their clients a turn is for.
//!
//! Invariant: no clusters, no store, no tokio: plain threads, `mio` and a tick.

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

mod announced;
pub mod client;
pub mod connecting;
mod connections_io;
pub mod consume;
pub mod event_loop;
pub mod framing;
pub mod groups;
pub mod histo;
pub mod java;
mod lookup;
pub mod net;
pub mod payload;
pub mod produce;
mod rate_profile;
mod record_source;
pub mod record_times;
pub mod recorder;
pub mod records;
pub mod schedule;
pub mod stream;
pub mod token_bucket;
pub mod trailer;
pub mod wakeups;
pub mod worker;
