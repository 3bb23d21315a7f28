//! When connections are made, and when they end.

use super::{
    BrokerConnection, BrokerConnections, ConnectionEvent, ConnectionKey, ConnectionState, Purpose,
    RequestOwner,
};
use crate::connection::{ConnectionError, PermanentError};
use std::collections::BTreeSet;

/// What the caller does, and what it reports.
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
            self.config.security.sessions.as_ref().map(|sessions| sessions.open(&opened.host)).transpose()?;
        opened.state = ConnectionState::Open;
        opened.connection.open(session, self.config.security.login.clone(), now_ns);
        Ok(())
    }

    /// A connection is gone, or could not be made. What was asked over it and not answered is lost.
    pub fn on_closed(&mut self, connection: usize, now_ns: u64, error: ConnectionError) {
        let backoff = self.config.reconnect_backoff;
        let closed = &mut self.connections[connection];
        let key = closed.key;
        let was_open = closed.state == ConnectionState::Open;
        let was_up = closed.connection.is_up();
        closed.left_why = None;
        closed.has_reported_session = false;
        if was_up {
            closed.failures = 0;
        }
        let pause_ns = backoff.after(closed.failures, &mut self.random);
        closed.state = ConnectionState::Down { retry_ns: now_ns + pause_ns };
        closed.failures = closed.failures.saturating_add(1);
        closed.setup_failures = if was_open { 0 } else { closed.setup_failures.saturating_add(1) };
        let mut is_metadata_lost = false;
        for request in closed.connection.close() {
            match request {
                RequestOwner::Client(token) => self.lost.push((connection, token)),
                RequestOwner::Metadata => is_metadata_lost = true,
            }
        }
        // What was good once may be so again: certificates and tokens are renewed, a directory of users comes back. A
        // login is good for the whole cluster, a certificate for one broker. Once the load is under way nothing of the
        // kind ends a connection for good, as in Java.
        let is_lasting = |refusal: &PermanentError| match refusal {
            PermanentError::Login(_) => !self.has_been_up && !self.has_begun,
            PermanentError::Session(_) | PermanentError::Handshake { .. } => {
                !closed.has_been_up && !self.has_begun
            }
            PermanentError::Version(_)
            | PermanentError::OtherCluster { .. }
            | PermanentError::Topic { .. } => true,
        };
        let event = match error {
            ConnectionError::Refused(refusal) if is_lasting(&refusal) => {
                closed.state = ConnectionState::Refused;
                closed.refusal = Some(refusal.clone());
                Some(ConnectionEvent::Refused { key, refusal })
            }
            ConnectionError::Refused(refusal) => {
                let why = refusal.to_string();
                let was_reported = closed.unreachable.replace(why.clone()).is_some();
                match was_up {
                    true => Some(ConnectionEvent::Disconnected { key, why }),
                    false => (!was_reported).then_some(ConnectionEvent::Unreachable { key, why }),
                }
            }
            ConnectionError::Left(_) if !was_open => None,
            error if was_open => {
                closed.unreachable = None;
                Some(ConnectionEvent::Disconnected { key, why: error.to_string() })
            }
            error => {
                let why = error.to_string();
                let was_reported = closed.unreachable.replace(why.clone()).is_some();
                (!was_reported).then_some(ConnectionEvent::Unreachable { key, why })
            }
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

    /// A connection that is of no use: to a bootstrap address while every leader can be reached and there is one, to a broker that
    /// has left the cluster or coordinates no more, or one over which nothing went for `connections.max.idle.ms`. It
    /// then counts as closed, and the caller closes its socket.
    pub fn take_surplus(&mut self, now_ns: u64) -> Option<usize> {
        let idle_ns = self.config.idle_ns;
        let is_surplus = |connection: &BrokerConnection<T>| {
            let is_left = match connection.key {
                ConnectionKey::Broker(_, Purpose::Coordinator) if !connection.is_wanted => true,
                ConnectionKey::Broker(id, _) => self.metadata.address(id).is_none(),
                ConnectionKey::Bootstrap(_) => false,
            };
            is_left || connection.connection.active_ns() + idle_ns <= now_ns
        };
        let mut unused = self.connections.iter().filter(|connection| connection.is_unused());
        let is_any_surplus = unused.any(|connection| connection.is_bootstrap() || is_surplus(connection));
        if !is_any_surplus {
            return None;
        }
        let mut brokers = self.connections.iter().filter(|connection| !connection.is_bootstrap());
        let is_replaced = self.is_ready() && brokers.any(|connection| connection.connection.is_up());
        let surplus = self.connections.iter().position(|connection| {
            connection.is_unused() && (connection.is_bootstrap() && is_replaced || is_surplus(connection))
        })?;
        let closed = &mut self.connections[surplus];
        closed.state = ConnectionState::Down { retry_ns: now_ns };
        closed.left_why = None;
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

    /// Whether nothing is done for a connection until it is needed: it was closed because nothing was sent over it or
    /// it was no longer needed, or its broker is refused.
    pub fn is_at_rest(&self, connection: usize) -> bool {
        let connection = &self.connections[connection];
        connection.is_idle || !connection.is_wanted || connection.state == ConnectionState::Refused
    }

    /// Something is to be sent over a connection: it is made again if it was closed because nothing was.
    pub fn wake_connection(&mut self, connection: usize) {
        self.connections[connection].is_idle = false;
    }

    /// The broker has reported that it throttles the client for so long, and leaves it to the client to wait: nothing
    /// is sent meanwhile, and what is in flight may take so much longer
    /// ([KIP-219](https://cwiki.apache.org/confluence/display/KAFKA/KIP-219+-+Improve+quota+communication)).
    pub fn throttle(&mut self, connection: usize, throttled_ns: u64, now_ns: u64) {
        if throttled_ns > 0 {
            let throttled = &mut self.connections[connection];
            throttled.muted_until_ns =
                throttled.muted_until_ns.max(Some(now_ns.saturating_add(throttled_ns)));
            throttled.connection.hold_back(throttled_ns);
        }
    }

    /// The broker may take so long to answer what is in flight, ns, where that is longer than the usual.
    pub fn wait_longer(&mut self, connection: usize, timeout_ns: u64) {
        let longer_ns = timeout_ns.saturating_sub(self.config.request_timeout_ns);
        self.connections[connection].connection.hold_back(longer_ns);
    }

    /// The load begins: what cannot be reached since before is reported once more, since it concerns the load now, and
    /// a broker that refuses us from now on is tried again.
    pub fn begin(&mut self, now_ns: u64) {
        self.has_begun = true;
        for connection in &self.connections {
            let is_missed =
                connection.is_wanted && !connection.is_bootstrap() && !connection.connection.is_up();
            if let Some(why) = connection.unreachable.clone().filter(|_| is_missed) {
                let key = connection.key;
                self.events.push((now_ns, ConnectionEvent::Unreachable { key, why }));
            }
        }
        let leaders: BTreeSet<i32> = self.leaders().map(|leader| leader.broker).collect();
        for broker in leaders.into_iter().filter(|id| *id >= 0) {
            if self.metadata.address(broker).is_none() {
                self.on_moved(broker, now_ns);
            }
        }
        for topic in &self.metadata.topics {
            for (partition, leader) in topic.needed().filter(|(_, leader)| leader.broker < 0) {
                let (from, to, topic) = (leader.broker, leader.broker, topic.name.clone());
                let partition = partition as i32;
                self.events.push((now_ns, ConnectionEvent::LeaderMoved { topic, partition, from, to }));
            }
        }
    }

    /// A connection that has waited too long for a response, or for its socket, or that the client leaves to start
    /// again at the bootstrap addresses; it must be closed.
    pub fn to_close(&self, now_ns: u64) -> Option<(usize, ConnectionError)> {
        let timeout_ns = self.config.request_timeout_ns;
        let is_late = |at: &usize| {
            self.connections[*at].gives_up_ns(timeout_ns).is_some_and(|gives_up_ns| gives_up_ns <= now_ns)
        };
        let late = (0..self.connections.len()).find(is_late)?;
        let error = match (self.connections[late].left_why, self.connections[late].state) {
            (Some(why), _) => ConnectionError::Left(why),
            (None, ConnectionState::Connecting { since_ns, until_ns }) => {
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
