//! What the connections of a client are made of: settings, keys, states, events.

use crate::connection::{Answered, Connection, Refusal};
use crate::errors::ErrorCode;
use crate::messages::Api;
use crate::security::Security;
use std::fmt;

/// Settings of a client's connections. Times in ns.
#[derive(Debug, Clone)]
pub struct ConnectionsConfig {
    /// `client.id`.
    pub client_id: String,
    /// The topics whose leaders are connected to; at least one.
    pub topics: Vec<String>,
    /// Brokers to ask first.
    pub bootstrap: Vec<(String, u16)>,
    /// What every broker must speak; Metadata is one of them.
    pub needs: &'static [Api],
    /// TLS and login of each connection.
    pub security: Security,
    /// `request.timeout.ms`.
    pub request_timeout_ns: u64,
    /// `retry.backoff.ms`: least time between two requests for metadata.
    pub retry_backoff_ns: u64,
    /// `metadata.max.age.ms`.
    pub metadata_max_age_ns: u64,
    /// Largest response accepted.
    pub frame_bytes_max: usize,
}

/// What a connection to a broker is for. Each purpose has a connection of its own: responses come in the order
/// of their requests, so a fetch that waits at the broker holds up all that is behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Records, of the partitions that the broker leads.
    Leader,
    /// A group or a transaction that the broker coordinates.
    Coordinator,
}

/// Which connection of a client: no two have the same key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectionKey {
    /// To one of the bootstrap addresses, by its place among them. Which broker answers there is not known.
    Bootstrap(usize),
    /// To a broker, by its id.
    Broker(i32, Purpose),
}

impl fmt::Display for ConnectionKey {
    /// Without the address: the names of a user's hosts are not for what is kept.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bootstrap(_) => f.write_str("a bootstrap broker"),
            Self::Broker(id, _) => write!(f, "broker {id}"),
        }
    }
}

/// A request in flight: the connections' own, or the client's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestKind<T> {
    /// Which broker leads what.
    Metadata,
    /// A request of the client.
    Client(T),
}

impl From<crate::producer::Token> for RequestKind<crate::producer::Token> {
    fn from(token: crate::producer::Token) -> Self {
        Self::Client(token)
    }
}

impl<T> Answered<RequestKind<T>> {
    /// The same if it is a request of the client.
    pub(super) fn of_client(self) -> Option<Answered<T>> {
        let Answered { token, version, written_ns, bytes, response_bytes } = self;
        match token {
            RequestKind::Client(token) => {
                Some(Answered { token, version, written_ns, bytes, response_bytes })
            }
            RequestKind::Metadata => None,
        }
    }
}

/// How far a connection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectionState {
    /// Not connected; to be tried from this instant on, ns.
    Down {
        /// When to try, ns.
        retry_ns: u64,
    },
    /// The socket is connecting.
    Connecting {
        /// Since when, ns.
        since_ns: u64,
    },
    /// The socket is connected: session and handshake are under way, or over.
    Open,
    /// The broker was refused, or refused us, for good.
    Refused,
}

/// One connection of a client to a broker.
#[derive(Debug)]
pub(super) struct BrokerConnection<T> {
    pub(super) key: ConnectionKey,
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) state: ConnectionState,
    pub(super) connection: Connection<RequestKind<T>>,
    /// Attempts to connect that failed in a row.
    pub(super) failures: u32,
    /// It was told that the broker cannot be reached: each further attempt that fails is no news.
    pub(super) is_told_unreachable: bool,
    /// Why it is not tried any more.
    pub(super) refusal: Option<Refusal>,
}

impl<T> BrokerConnection<T> {
    pub(super) fn is_bootstrap(&self) -> bool {
        matches!(self.key, ConnectionKey::Bootstrap(_))
    }

    /// Whether it is worth connecting: a bootstrap address is not while there is somebody to ask.
    pub(super) fn is_needed(&self, has_help: bool) -> bool {
        !(self.is_bootstrap() && has_help)
    }
}

/// Something worth a line on a timeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConnectionEvent {
    /// A connection that was open ended.
    Disconnected {
        /// Which.
        key: ConnectionKey,
        /// Why.
        why: String,
    },
    /// A connection cannot be made; told once, until it was open again.
    Unreachable {
        /// Which.
        key: ConnectionKey,
        /// Why.
        why: String,
    },
    /// A connection, or a topic, that is not tried again.
    Refused {
        /// The connection over which that was learnt.
        key: ConnectionKey,
        /// Why.
        refusal: Refusal,
    },
    /// A partition's leader is another now (−1: none).
    LeaderMoved {
        /// Name of the topic.
        topic: String,
        /// Partition.
        partition: i32,
        /// Broker before.
        from: i32,
        /// Broker now.
        to: i32,
    },
    /// The broker answered a request for metadata with an error that may pass.
    MetadataError {
        /// Name of the topic.
        topic: String,
        /// The error.
        error: ErrorCode,
    },
}
