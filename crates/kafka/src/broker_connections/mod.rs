//! The connections of one client to the brokers of its topics: leaders, coordinators, reconnecting. No sockets:
//! the caller opens and closes what this asks for, and tells what happened.
//!
//! The first connection that is up is asked for the topics' metadata; then every broker that leads a partition
//! gets a connection. A lost connection, an error that says so, or age asks for the metadata again. What no
//! further attempt can cure is a [`Refusal`]: it is kept, and not tried again.

mod metadata;
mod refresh;
mod types;

pub use types::{ConnectionEvent, ConnectionKey, ConnectionState, ConnectionsConfig, Purpose, RequestKind};

use crate::connection::{Answered, Connection, ConnectionError, Refusal};
use crate::messages::{Request as _, m03_metadata};
use crate::wire::WireError;
use metadata::Metadata;
use std::sync::Arc;
use types::BrokerConnection;

/// First pause before connecting again; doubles up to [`RECONNECT_NS_MAX`] (`reconnect.backoff.ms`).
const RECONNECT_NS_MIN: u64 = 50_000_000;
/// `reconnect.backoff.max.ms`.
const RECONNECT_NS_MAX: u64 = 1_000_000_000;

/// The connections of one client, numbered from 0 in the order in which they were first wanted.
#[derive(Debug)]
pub struct BrokerConnections<T> {
    config: ConnectionsConfig,
    client_id: Arc<str>,
    connections: Vec<BrokerConnection<T>>,
    metadata: Metadata,
    /// The client's requests whose connection was lost, each with that connection.
    lost: Vec<(usize, T)>,
    events: Vec<(u64, ConnectionEvent)>,
    /// A topic that the cluster does not describe to us.
    topic_refusal: Option<Refusal>,
}

/// What there is, and what it is good for.
impl<T> BrokerConnections<T> {
    /// Connections that know only the bootstrap addresses.
    pub fn new(config: ConnectionsConfig) -> Self {
        let mut connections = Self {
            client_id: config.client_id.as_str().into(),
            connections: Vec::new(),
            metadata: Metadata::new(&config.topics),
            lost: Vec::new(),
            events: Vec::new(),
            topic_refusal: None,
            config,
        };
        for (place, (host, port)) in connections.config.bootstrap.clone().into_iter().enumerate() {
            connections.add(ConnectionKey::Bootstrap(place), host, port);
        }
        connections
    }

    fn add(&mut self, key: ConnectionKey, host: String, port: u16) -> usize {
        let (needs, frame_bytes_max) = (self.config.needs, self.config.frame_bytes_max);
        self.connections.push(BrokerConnection {
            key,
            host,
            port,
            state: ConnectionState::Down { retry_ns: 0 },
            connection: Connection::new(Arc::clone(&self.client_id), needs, frame_bytes_max),
            failures: 0,
            is_told_unreachable: false,
            refusal: None,
        });
        self.connections.len() - 1
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.connections.len()
    }

    /// Which one it is.
    pub fn key(&self, connection: usize) -> ConnectionKey {
        self.connections[connection].key
    }

    /// Where it leads: host and port.
    pub fn address(&self, connection: usize) -> (&str, u16) {
        let connection = &self.connections[connection];
        (&connection.host, connection.port)
    }

    /// How far it is.
    pub fn state(&self, connection: usize) -> ConnectionState {
        self.connections[connection].state
    }

    /// Its queues, to move its bytes.
    pub fn connection_mut(&mut self, connection: usize) -> &mut Connection<RequestKind<T>> {
        &mut self.connections[connection].connection
    }

    /// Whether requests can be sent over it.
    pub fn is_up(&self, connection: usize) -> bool {
        self.connections[connection].connection.is_up()
    }

    /// Requests in flight on it.
    pub fn in_flight(&self, connection: usize) -> usize {
        self.connections[connection].connection.in_flight()
    }

    /// The connection of a broker for a purpose; it is wanted from now on. `None` while metadata names no such
    /// broker.
    pub fn wanted(&mut self, broker: i32, purpose: Purpose) -> Option<usize> {
        let key = ConnectionKey::Broker(broker, purpose);
        if let Some(known) = self.connections.iter().position(|connection| connection.key == key) {
            return Some(known);
        }
        let (host, port) = self.metadata.address(broker)?;
        let (host, port) = (host.to_owned(), port);
        Some(self.add(key, host, port))
    }

    /// Partitions of the topic with this place in the settings, 0 until metadata came.
    pub fn partition_count(&self, topic: usize) -> usize {
        self.metadata.leaders(topic).len()
    }

    /// The connection to a partition's leader, if it is up.
    pub fn leader(&self, topic: usize, partition: usize) -> Option<usize> {
        let connection = self.metadata.leaders(topic).get(partition)?.connection?;
        self.is_up(connection).then_some(connection)
    }

    /// The connection to a partition's leader, up or not; `None`: no leader is known.
    pub fn known_leader(&self, topic: usize, partition: usize) -> Option<usize> {
        self.metadata.leaders(topic).get(partition)?.connection
    }

    /// A connection's queues, and which partitions of a topic its broker leads.
    pub fn connection_and_leads(
        &mut self,
        connection: usize,
        topic: usize,
    ) -> (&mut Connection<RequestKind<T>>, impl Fn(usize) -> bool) {
        let leaders = self.metadata.leaders(topic);
        let leads = move |partition: usize| {
            leaders.get(partition).is_some_and(|leader| leader.connection == Some(connection))
        };
        (&mut self.connections[connection].connection, leads)
    }

    /// Whether every partition of every topic has a leader to which a connection is up.
    pub fn is_ready(&self) -> bool {
        (0..self.config.topics.len()).all(|topic| {
            let count = self.partition_count(topic);
            count > 0 && (0..count).all(|partition| self.leader(topic, partition).is_some())
        })
    }

    /// Why this client will never be ready: a topic or a broker that it needs refuses it, or each bootstrap
    /// address does.
    pub fn refusal(&self) -> Option<&Refusal> {
        let mut brokers = self.connections.iter().filter(|connection| !connection.is_bootstrap());
        let is_refused_everywhere = self.connections.iter().all(|connection| connection.refusal.is_some());
        let anywhere = self.connections.first().filter(|_| is_refused_everywhere);
        let refusing = brokers.find_map(|connection| connection.refusal.as_ref());
        let refusal = self.topic_refusal.as_ref().or(refusing);
        refusal.or_else(|| anywhere.and_then(|connection| connection.refusal.as_ref()))
    }

    /// Asks for the leaders again, soon.
    pub fn want_metadata(&mut self) {
        self.metadata.is_wanted = true;
    }

    /// Takes what happened since the last call, each with its instant, ns.
    pub fn take_events(&mut self) -> Vec<(u64, ConnectionEvent)> {
        std::mem::take(&mut self.events)
    }

    /// Takes the client's requests whose connection was lost since the last call, each with that connection.
    pub fn take_lost(&mut self) -> Vec<(usize, T)> {
        std::mem::take(&mut self.lost)
    }
}

/// What the caller does, and what it tells.
impl<T> BrokerConnections<T> {
    /// Whether there is somebody to ask, or soon will be: a broker that is up, or one bootstrap address at
    /// least half way. So a client has one connection more than there are brokers, and that only at first.
    fn has_help(&self) -> bool {
        self.connections.iter().any(|connection| match connection.state {
            ConnectionState::Down { .. } | ConnectionState::Refused => false,
            _ => connection.is_bootstrap() || connection.connection.is_up(),
        })
    }

    /// A connection to make now, which then counts as connecting.
    pub fn to_connect(&mut self, now_ns: u64) -> Option<usize> {
        let has_help = self.has_help();
        let found = self.connections.iter().position(|connection| {
            let is_due = matches!(connection.state, ConnectionState::Down { retry_ns } if retry_ns <= now_ns);
            is_due && connection.is_needed(has_help)
        })?;
        self.connections[found].state = ConnectionState::Connecting { since_ns: now_ns };
        Some(found)
    }

    /// The socket of a connection is connected: begins its session and its handshake.
    ///
    /// # Errors
    /// When there can be no session with its host; the connection must then be closed.
    pub fn on_connected(&mut self, connection: usize, now_ns: u64) -> Result<(), ConnectionError> {
        let opened = &mut self.connections[connection];
        let session =
            self.config.sessions.as_ref().map(|sessions| sessions.open(&opened.host)).transpose()?;
        opened.state = ConnectionState::Open;
        opened.connection.open(session, now_ns);
        Ok(())
    }

    /// A connection is gone, or could not be made. What was asked over it and not answered is lost.
    pub fn on_closed(&mut self, connection: usize, now_ns: u64, error: ConnectionError) {
        let closed = &mut self.connections[connection];
        let key = closed.key;
        let was_open = matches!(closed.state, ConnectionState::Open);
        closed.failures = if closed.connection.is_up() { 0 } else { closed.failures + 1 };
        let pause_ns = (RECONNECT_NS_MIN << closed.failures.min(10)).min(RECONNECT_NS_MAX);
        closed.state = ConnectionState::Down { retry_ns: now_ns + pause_ns };
        let was_told = std::mem::replace(&mut closed.is_told_unreachable, !was_open);
        for request in closed.connection.close() {
            match request {
                RequestKind::Client(token) => self.lost.push((connection, token)),
                RequestKind::Metadata => self.metadata.is_asked = false,
            }
        }
        self.metadata.is_wanted = true;
        let event = match error {
            ConnectionError::Refused(refusal) => {
                closed.state = ConnectionState::Refused;
                closed.refusal = Some(refusal.clone());
                ConnectionEvent::Refused { key, refusal }
            }
            error if was_open => ConnectionEvent::Disconnected { key, why: error.to_string() },
            _ if was_told => return,
            error => ConnectionEvent::Unreachable { key, why: error.to_string() },
        };
        self.events.push((now_ns, event));
    }

    /// A bootstrap connection that is no longer needed, since every leader can be reached; it then counts as
    /// closed, and the caller closes its socket.
    pub fn take_surplus(&mut self) -> Option<usize> {
        let is_idle = |connection: &BrokerConnection<T>| {
            let queues = &connection.connection;
            connection.is_bootstrap() && queues.is_up() && queues.in_flight() == 0
        };
        let surplus = self.connections.iter().position(is_idle).filter(|_| self.is_ready())?;
        self.connections[surplus].state = ConnectionState::Down { retry_ns: 0 };
        // Nothing is in flight, so nothing is lost.
        drop(self.connections[surplus].connection.close());
        Some(surplus)
    }

    /// Takes the connection's first request in flight if it is written and no response will come.
    pub fn take_unanswered(&mut self, connection: usize) -> Option<Answered<T>> {
        self.connections[connection].connection.take_unanswered()?.of_client()
    }

    /// Takes in all complete responses that were read at `now_ns`; `each` gets the client's,
    /// as bodies.
    ///
    /// # Errors
    /// When the connection must be closed.
    pub fn receive(
        &mut self,
        connection: usize,
        now_ns: u64,
        mut each: impl FnMut(Answered<T>, &[u8]) -> Result<(), WireError>,
    ) -> Result<(), ConnectionError> {
        let mut metadata = None;
        let result = self.connections[connection].connection.receive(now_ns, |answered, body| {
            let version = answered.version;
            match answered.of_client() {
                Some(answered) => each(answered, body),
                None => {
                    metadata = Some(m03_metadata::Request::decode_response(body, version)?);
                    Ok(())
                }
            }
        });
        if let Some(response) = metadata {
            self.on_metadata(connection, response, now_ns);
        }
        result
    }

    /// A connection that has waited too long for a response, or for its socket; it must be closed.
    pub fn timed_out(&self, now_ns: u64) -> Option<(usize, ConnectionError)> {
        let late = self.connections.iter().position(|connection| {
            connection.gives_up_ns(self.config.request_timeout_ns).is_some_and(|at| at <= now_ns)
        })?;
        Some((late, ConnectionError::TimedOut(self.config.request_timeout_ns / 1_000_000)))
    }

    /// When something is due by time alone: connecting, asking, giving up.
    pub fn next_deadline(&self) -> Option<u64> {
        let has_help = self.has_help();
        let connections = self.connections.iter().filter_map(|connection| match connection.state {
            ConnectionState::Down { retry_ns } => connection.is_needed(has_help).then_some(retry_ns),
            _ => connection.gives_up_ns(self.config.request_timeout_ns),
        });
        let is_any_up = self.connections.iter().any(|connection| connection.connection.is_up());
        let metadata = self.metadata.next_ns(is_any_up, self.config.metadata_max_age_ns);
        connections.chain(metadata).min()
    }
}

impl<T> BrokerConnection<T> {
    /// When its patience ends.
    fn gives_up_ns(&self, timeout_ns: u64) -> Option<u64> {
        let since_ns = match self.state {
            ConnectionState::Down { .. } | ConnectionState::Refused => None,
            ConnectionState::Connecting { since_ns } => Some(since_ns),
            ConnectionState::Open => self.connection.oldest_sent_ns(),
        };
        since_ns.map(|since_ns| since_ns + timeout_ns)
    }
}

#[cfg(test)]
mod tests;
