//! The null broker: the cheapest honest Kafka endpoint, to measure what a client costs and can do when
//! nothing is behind it.
//!
//! Honest: every byte crosses a real socket, every request is framed, every partition is answered with the
//! offset its records' counts add up to. Cheapest: one thread, no storage; record bytes are dropped, mostly
//! inside the kernel and uncopied. It is one broker that leads every partition; every requested topic exists.
//!
//! It is a process that anybody on the host can connect to: what is no request closes its connection and is
//! counted, and nothing is allocated because a length field says so.

mod answer;
mod connection;
mod event_loop;
mod options;
mod outbox;
mod session;
mod tls;
mod topics;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_transactions;

pub use options::{FetchAnswer, NullBrokerOptions, NullBrokerStats};
pub use tls::NullBrokerTls;

use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Serves `listener` on the calling thread until `stop` is set, which is looked at every 50 ms or oftener.
///
/// # Errors
/// The options make no sense, or the listener or the event loop failed. Errors of single connections are
/// counted in the result instead.
pub fn serve(
    listener: TcpListener,
    options: NullBrokerOptions,
    stop: Arc<AtomicBool>,
) -> io::Result<NullBrokerStats> {
    options.check()?;
    event_loop::run(listener, &options, None, &stop)
}

/// As [`serve`], in TLS.
///
/// # Errors
/// As [`serve`].
pub fn serve_tls(
    listener: TcpListener,
    options: NullBrokerOptions,
    tls: NullBrokerTls,
    stop: Arc<AtomicBool>,
) -> io::Result<NullBrokerStats> {
    options.check()?;
    event_loop::run(listener, &options, Some(tls), &stop)
}
