//! What links are made of: settings, states, questions, errors, events.

use crate::connection::Connection;
use crate::messages::{VersionError, VersionMap};
use crate::wire::WireError;
use thiserror::Error;

/// Settings of a client's links. Times in ns.
#[derive(Debug, Clone)]
pub struct ConnectionsConfig {
    /// `client.id`.
    pub client_id: String,
    /// The one topic.
    pub topic: String,
    /// Brokers to ask first.
    pub bootstrap: Vec<(String, u16)>,
    /// `request.timeout.ms`.
    pub request_timeout_ns: u64,
    /// `retry.backoff.ms`: least time between two requests for metadata.
    pub retry_backoff_ns: u64,
    /// `metadata.max.age.ms`.
    pub metadata_max_age_ns: u64,
    /// Largest reply accepted.
    pub frame_bytes_max: usize,
}

/// What is asked over a link: the link's own questions, and the user's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestKind<T> {
    /// What the broker speaks.
    ApiVersions {
        /// Version of the request.
        version: i16,
    },
    /// Who leads what.
    Metadata {
        /// Version of the request.
        version: i16,
    },
    /// A request of the user.
    User(T),
}

impl From<crate::producer::Token> for RequestKind<crate::producer::Token> {
    fn from(token: crate::producer::Token) -> Self {
        Self::User(token)
    }
}

/// How far a link is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkState {
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
    /// ApiVersions is asked.
    Handshake,
    /// Usable.
    Up,
}

/// One connection.
#[derive(Debug)]
pub struct Link<T> {
    /// The broker's id; `None`: one of the bootstrap addresses.
    pub broker: Option<i32>,
    /// Host name or address.
    pub host: String,
    /// Port.
    pub port: u16,
    /// How far it is.
    pub state: LinkState,
    /// Its queues.
    pub connection: Connection<RequestKind<T>>,
    /// What the broker speaks; valid when up.
    pub versions: VersionMap,
    pub(super) failures: u32,
    pub(super) is_wanted: bool,
}

/// Why a link must be closed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LinkError {
    /// The peer does not speak the protocol.
    #[error("the reply cannot be read: {0}")]
    Wire(#[from] WireError),
    /// No common version.
    #[error(transparent)]
    Version(#[from] VersionError),
    /// The peer refused the greeting.
    #[error("the broker refused to say what it speaks: {0}")]
    Refused(&'static str),
    /// No answer in time.
    #[error("the broker did not answer within {0} ms")]
    TimedOut(u64),
}

/// What is worth a line on the timeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinkEvent {
    /// A partition's leader is another now (−1: none).
    LeaderMoved {
        /// Partition.
        partition: i32,
        /// Broker before.
        from: i32,
        /// Broker now.
        to: i32,
    },
    /// The broker answered a request for metadata with an error.
    MetadataError {
        /// Kafka's name of it.
        error: &'static str,
    },
}

impl<T> Link<T> {
    /// Whether it is worth connecting: a bootstrap address is not while there is somebody to ask.
    pub(super) fn is_needed(&self, has_help: bool) -> bool {
        self.is_wanted && (self.broker.is_some() || !has_help)
    }
}
