//! When connections are made, and when they end.

use super::{BrokerConnection, BrokerConnections, ConnectionEvent, ConnectionKey, ConnectionState, RequestKind};
use crate::connection::ConnectionError;

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

    /// A connection to make now, which then counts as connecting. Bootstrap addresses have their turn one after
    /// the other.
    pub fn to_connect(&mut self, now_ns: u64) -> Option<usize> {
        let has_help = self.has_help();
        let bootstraps = self.config.bootstrap.len();
        let in_turn = (0..bootstraps).map(|step| (self.next_bootstrap + step) % bootstraps);
        let found = in_turn.chain(bootstraps..self.connections.len()).find(|&at| {
            let connection = &self.connections[at];
            connection.is_due(now_ns) && connection.is_needed(has_help)
        })?;
        if found < bootstraps {
            self.next_bootstrap = found + 1;
        }
        let connection = &mut self.connections[found];
        let patience_ns = self.config.setup_timeout.after(connection.setup_failures, &mut self.random);
        let until_ns = now_ns.saturating_add(patience_ns);
        connection.state = ConnectionState::Connecting { since_ns: now_ns, until_ns };
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
        let backoff = self.config.reconnect_backoff;
        let closed = &mut self.connections[connection];
        let key = closed.key;
        let was_open = closed.state == ConnectionState::Open;
        let was_up = closed.connection.is_up();
        if was_up {
            closed.failures = 0;
        }
        let pause_ns = backoff.after(closed.failures, &mut self.random);
        closed.state = ConnectionState::Down { retry_ns: now_ns + pause_ns };
        closed.failures = closed.failures.saturating_add(1);
        closed.setup_failures = if was_open { 0 } else { closed.setup_failures.saturating_add(1) };
        let was_told = std::mem::replace(&mut closed.is_told_unreachable, !was_open);
        let mut is_metadata_lost = false;
        for request in closed.connection.close() {
            match request {
                RequestKind::Client(token) => self.lost.push((connection, token)),
                RequestKind::Metadata => is_metadata_lost = true,
            }
        }
        let event = match error {
            ConnectionError::Refused(refusal) => {
                closed.state = ConnectionState::Refused;
                closed.refusal = Some(refusal.clone());
                Some(ConnectionEvent::Refused { key, refusal })
            }
            error if was_open => Some(ConnectionEvent::Disconnected { key, why: error.to_string() }),
            _ if was_told => None,
            error => Some(ConnectionEvent::Unreachable { key, why: error.to_string() }),
        };
        self.events.extend(event.map(|event| (now_ns, event)));
        self.metadata.is_wanted = true;
        if is_metadata_lost {
            self.metadata.failed(now_ns, self.config.retry_backoff, &mut self.random);
        }
        if was_up && !self.has_help() {
            self.pause_bootstrap(now_ns);
        }
    }

    /// The last broker is lost, and maybe for many clients at this instant: they do not come to the bootstrap
    /// addresses all at once.
    fn pause_bootstrap(&mut self, now_ns: u64) {
        let pause_ns = self.config.reconnect_backoff.after(0, &mut self.random);
        for bootstrap in self.connections.iter_mut().filter(|connection| connection.is_bootstrap()) {
            if let ConnectionState::Down { retry_ns } = &mut bootstrap.state {
                *retry_ns = (*retry_ns).max(now_ns + pause_ns);
            }
        }
    }

    /// A connection that is of no use: to a bootstrap address while every leader can be reached, to a broker that
    /// has left the cluster, or one over which nothing went for `connections.max.idle.ms`. It then counts as
    /// closed, and the caller closes its socket.
    pub fn take_surplus(&mut self, now_ns: u64) -> Option<usize> {
        let idle_ns = self.config.idle_ns;
        let is_surplus = |connection: &BrokerConnection<T>| {
            let has_left = match connection.key {
                ConnectionKey::Broker(id, _) => self.metadata.address(id).is_none(),
                ConnectionKey::Bootstrap(_) => false,
            };
            has_left || connection.connection.active_ns() + idle_ns <= now_ns
        };
        let mut unused = self.connections.iter().filter(|connection| connection.is_unused());
        let is_any_surplus = unused.any(|connection| connection.is_bootstrap() || is_surplus(connection));
        if !is_any_surplus {
            return None;
        }
        let is_ready = self.is_ready();
        let surplus = self.connections.iter().position(|connection| {
            connection.is_unused() && (connection.is_bootstrap() && is_ready || is_surplus(connection))
        })?;
        let closed = &mut self.connections[surplus];
        closed.state = ConnectionState::Down { retry_ns: now_ns };
        closed.is_idle = closed.is_wanted && !closed.is_bootstrap();
        // Nothing is in flight, so nothing is lost.
        drop(closed.connection.close());
        Some(surplus)
    }

    /// Whether a connection was closed because nothing was sent over it.
    pub fn has_idle(&self) -> bool {
        self.connections.iter().any(|connection| connection.is_idle)
    }

    /// Something is to be sent to a partition's leader: its connection is made again if it was closed because
    /// nothing was.
    pub fn wake(&mut self, topic: usize, partition: usize) {
        let leader = self.metadata.leaders(topic).get(partition);
        if let Some(connection) = leader.and_then(|leader| leader.connection) {
            self.connections[connection].is_idle = false;
        }
    }

    /// The broker has told that it throttles the client for so long, and leaves it to the client to wait: nothing
    /// is sent meanwhile, and what is in flight may take so much longer
    /// ([KIP-219](https://cwiki.apache.org/confluence/display/KAFKA/KIP-219+-+Improve+quota+communication)).
    pub fn throttle(&mut self, connection: usize, throttled_ns: u64, now_ns: u64) {
        if throttled_ns > 0 {
            let throttled = &mut self.connections[connection];
            throttled.muted_until_ns = throttled.muted_until_ns.max(Some(now_ns.saturating_add(throttled_ns)));
            throttled.connection.hold_back(throttled_ns);
        }
    }

    /// A connection that has waited too long for a response, or for its socket; it must be closed.
    pub fn timed_out(&self, now_ns: u64) -> Option<(usize, ConnectionError)> {
        let timeout_ns = self.config.request_timeout_ns;
        let is_late = |at: &usize| {
            self.connections[*at].gives_up_ns(timeout_ns).is_some_and(|gives_up_ns| gives_up_ns <= now_ns)
        };
        let late = (0..self.connections.len()).find(is_late)?;
        let error = match self.connections[late].state {
            ConnectionState::Connecting { since_ns, until_ns } => {
                ConnectionError::NotConnected((until_ns - since_ns) / 1_000_000)
            }
            _ => ConnectionError::TimedOut(timeout_ns / 1_000_000),
        };
        Some((late, error))
    }

    /// When something is due by time alone: connecting, asking, giving up.
    pub fn next_deadline(&self) -> Option<u64> {
        let has_help = self.has_help();
        let connections = self.connections.iter();
        let connections = connections.filter_map(|connection| connection.next_ns(has_help, &self.config));
        let is_anybody_there = self.connections.iter().any(BrokerConnection::can_ask);
        let metadata = self.metadata.next_ns(is_anybody_there, self.config.metadata_max_age_ns);
        let patience = self.patience_ns.filter(|_| self.is_patient);
        connections.chain(metadata).chain(patience).min()
    }
}
