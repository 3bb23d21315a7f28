//! What the connections of a client are made of: settings, keys, states, events.

use crate::backoff::ExponentialBackoff;
use crate::connection::{AnsweredRequest, Connection, PermanentError};
use crate::errors::ErrorCode;
use crate::messages::Api;
use crate::security::ConnectionSecurity;
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
    pub security: ConnectionSecurity,
    /// `request.timeout.ms`.
    pub request_timeout_ns: u64,
    /// `retry.backoff.ms` to `retry.backoff.max.ms`: between two requests for metadata.
    pub retry_backoff: ExponentialBackoff,
    /// `reconnect.backoff.ms` to `reconnect.backoff.max.ms`.
    pub reconnect_backoff: ExponentialBackoff,
    /// `socket.connection.setup.timeout.ms` to `socket.connection.setup.timeout.max.ms`. The first is also how
    /// long a client waits for leaders that cannot be reached before it is ready without them.
    pub setup_timeout: ExponentialBackoff,
    /// `connections.max.idle.ms`.
    pub idle_ns: u64,
    /// `metadata.max.age.ms`.
    pub metadata_max_age_ns: u64,
    /// Largest response accepted.
    pub frame_bytes_max: usize,
    /// Seed of the pauses' lengths, and of the bootstrap address that is tried first: no two clients should share it.
    pub seed: u64,
}

impl ConnectionsConfig {
    /// `connections.max.idle.ms` of the Java client, ns: nine minutes, one less than the brokers'.
    pub const IDLE_NS: u64 = 540_000_000_000;
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
pub enum RequestOwner<T> {
    /// Which broker leads what.
    Metadata,
    /// A request of the client.
    Client(T),
}

impl From<crate::producer::ProducerToken> for RequestOwner<crate::producer::ProducerToken> {
    fn from(token: crate::producer::ProducerToken) -> Self {
        Self::Client(token)
    }
}

impl<T> AnsweredRequest<RequestOwner<T>> {
    /// How long it may take if it is a request of the client.
    pub(super) fn of_client(self) -> Option<AnsweredRequest<T>> {
        let AnsweredRequest { token, version, written_ns, bytes, response_bytes } = self;
        match token {
            RequestOwner::Client(token) => {
                Some(AnsweredRequest { token, version, written_ns, bytes, response_bytes })
            }
            RequestOwner::Metadata => None,
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
    /// The host is looked up, or the socket is connecting.
    Connecting {
        /// Since when, ns.
        since_ns: u64,
        /// Until when it is waited for, ns.
        until_ns: u64,
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
    pub(super) connection: Connection<RequestOwner<T>>,
    /// Somebody has a use for it: its broker is there, and leads a partition of ours or coordinates.
    pub(super) is_wanted: bool,
    /// It was closed because nothing was sent over it; it is made again when something is to be.
    pub(super) is_idle: bool,
    /// Why it is to be closed: the client starts again at the bootstrap addresses.
    pub(super) left_why: Option<&'static str>,
    /// It was up before, so that each end has taken what the other shows.
    pub(super) has_been_up: bool,
    /// What the session agreed upon was reported, if there is one.
    pub(super) has_reported_session: bool,
    /// How often in a row it ended since it was up.
    pub(super) failures: u32,
    /// Attempts in a row whose socket was not connected.
    pub(super) setup_failures: u32,
    /// The broker throttles the client: nothing is sent before this instant, ns.
    pub(super) muted_until_ns: Option<u64>,
    /// Why the broker cannot be reached, which was reported: each further attempt that fails is no news.
    pub(super) unreachable: Option<String>,
    /// Why it is not tried any more.
    pub(super) refusal: Option<PermanentError>,
}

impl<T> BrokerConnection<T> {
    /// One that is to be made at once.
    pub(super) fn new(
        key: ConnectionKey,
        (host, port): (String, u16),
        connection: Connection<RequestOwner<T>>,
    ) -> Self {
        Self {
            key,
            host,
            port,
            state: ConnectionState::Down { retry_ns: 0 },
            connection,
            is_wanted: true,
            is_idle: false,
            left_why: None,
            has_been_up: false,
            has_reported_session: false,
            failures: 0,
            setup_failures: 0,
            muted_until_ns: None,
            unreachable: None,
            refusal: None,
        }
    }

    pub(super) fn is_bootstrap(&self) -> bool {
        matches!(self.key, ConnectionKey::Bootstrap(_))
    }

    /// Whether it is worth connecting: a bootstrap address is not while there is somebody to ask.
    pub(super) fn is_needed(&self, has_help: bool) -> bool {
        if self.is_bootstrap() { !has_help } else { self.is_wanted && !self.is_idle }
    }

    pub(super) fn is_due(&self, now_ns: u64) -> bool {
        matches!(self.state, ConnectionState::Down { retry_ns } if retry_ns <= now_ns)
    }

    /// Whether its place can be given to another connection.
    pub(super) fn is_free(&self) -> bool {
        let is_closed = matches!(self.state, ConnectionState::Down { .. } | ConnectionState::Refused);
        // What was written and is not answered may still have to be reported.
        is_closed && !self.is_wanted && !self.is_bootstrap() && self.connection.in_flight() == 0
    }

    /// Whether it is open and nothing is under way.
    pub(super) fn is_unused(&self) -> bool {
        self.connection.is_up() && self.connection.in_flight() == 0
    }

    /// Whether requests can be sent over it now.
    pub(super) fn can_ask(&self) -> bool {
        self.connection.is_up() && self.muted_until_ns.is_none()
    }

    /// When its patience ends.
    pub(super) fn gives_up_ns(&self, timeout_ns: u64) -> Option<u64> {
        match self.state {
            ConnectionState::Down { .. } | ConnectionState::Refused => None,
            // At once.
            _ if self.left_why.is_some() => Some(0),
            ConnectionState::Connecting { until_ns, .. } => Some(until_ns),
            ConnectionState::Open => self.connection.oldest_sent_ns().map(|sent_ns| sent_ns + timeout_ns),
        }
    }

    /// When something is due by time alone.
    pub(super) fn next_ns(&self, has_help: bool, config: &ConnectionsConfig) -> Option<u64> {
        let due_ns = match self.state {
            ConnectionState::Down { retry_ns } => self.is_needed(has_help).then_some(retry_ns),
            _ => self.gives_up_ns(config.request_timeout_ns),
        };
        let idle_ns = self.is_unused().then(|| self.connection.active_ns() + config.idle_ns);
        due_ns.into_iter().chain(idle_ns).chain(self.muted_until_ns).min()
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
    /// A connection is up, with a session that was agreed upon so.
    Secured {
        /// Which.
        key: ConnectionKey,
        /// Version and cipher suite.
        agreed: String,
    },
    /// A connection cannot be made; reported once, until it was open again.
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
        refusal: PermanentError,
    },
    /// A partition's leader is another now (−1: none). Where both are −1 it has none when the load begins.
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
    /// The broker answered a request for metadata with an error that may pass; reported when it is another one than
    /// before.
    MetadataError {
        /// Name of the topic.
        topic: String,
        /// The error.
        error: ErrorCode,
    },
    /// After an error the broker described the topic.
    MetadataRecovered {
        /// Name of the topic.
        topic: String,
    },
    /// The topic was deleted, and another one has its name now.
    TopicRecreated {
        /// Name of the topic.
        topic: String,
    },
}
