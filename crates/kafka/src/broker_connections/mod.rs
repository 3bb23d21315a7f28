//! The connections of one client to the brokers of its topics: leaders, coordinators, reconnecting. No sockets:
//! the caller opens and closes what this requests, and reports what happened.
//!
//! The first connection that is up is asked for the topics' metadata; then every broker that leads a partition
//! gets a connection. A lost connection, an error that says so, or age requests the metadata again. Pauses grow
//! with attempts that fail and differ between clients. What no further attempt can cure is a [`PermanentError`]: it is
//! kept, and not tried again. A login that fails after one was good is no such thing, nor a certificate of a broker that
//! was connected to before, nor either of them once the load has begun: that is tried again as if the broker could not be
//! reached.

mod dial;
mod hints;
mod metadata;
mod refresh;
mod types;

pub use types::{ConnectionEvent, ConnectionKey, ConnectionState, ConnectionsConfig, Purpose, RequestOwner};

use crate::connection::{AnsweredRequest, Connection, ConnectionError, PermanentError};
use crate::messages::{Request as _, m03_metadata};
use crate::wire::WireError;
use metadata::{Leader, Metadata};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use types::BrokerConnection;

/// The connections of one client, numbered from 0. The number of one that is no longer needed is given to another.
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
    topic_refusal: Option<PermanentError>,
    /// Draws the lengths of pauses.
    random: Pcg64,
    /// The bootstrap address that is tried next.
    next_bootstrap: usize,
    /// Until when leaders that cannot be reached are waited for, ns; `None` before metadata came.
    patience_ns: Option<u64>,
    is_patient: bool,
    /// Whether any connection was up, so that brokers have taken our login.
    has_been_up: bool,
    /// Whether the load has begun.
    has_begun: bool,
    /// Brokers that are wanted for records though they lead nothing of ours.
    replicas: BTreeSet<i32>,
}

/// What there is, and what it is good for.
impl<T> BrokerConnections<T> {
    /// Connections that know only the bootstrap addresses: one drawn at random is tried first.
    pub fn new(config: ConnectionsConfig) -> Self {
        let mut random = Pcg64::seed_from_u64(config.seed);
        let mut connections = Self {
            client_id: config.client_id.as_str().into(),
            connections: Vec::new(),
            metadata: Metadata::new(&config.topics),
            lost: Vec::new(),
            events: Vec::new(),
            topic_refusal: None,
            next_bootstrap: random.random_range(0..config.bootstrap.len().max(1)),
            random,
            patience_ns: None,
            is_patient: true,
            has_been_up: false,
            has_begun: false,
            replicas: BTreeSet::new(),
            config,
        };
        for (place, address) in connections.config.bootstrap.clone().into_iter().enumerate() {
            connections.add(ConnectionKey::Bootstrap(place), address);
        }
        connections
    }

    fn add(&mut self, key: ConnectionKey, address: (String, u16)) -> usize {
        let (needs, frame_bytes_max) = (self.config.needs, self.config.frame_bytes_max);
        let queues = Connection::new(Arc::clone(&self.client_id), needs, frame_bytes_max);
        let added = BrokerConnection::new(key, address, queues);
        match self.connections.iter().position(BrokerConnection::is_free) {
            Some(free) => {
                self.connections[free] = added;
                free
            }
            None => {
                self.connections.push(added);
                self.connections.len() - 1
            }
        }
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
    pub fn connection_mut(&mut self, connection: usize) -> &mut Connection<RequestOwner<T>> {
        &mut self.connections[connection].connection
    }

    /// Whether it is connected and its handshake is over.
    pub fn is_up(&self, connection: usize) -> bool {
        self.connections[connection].connection.is_up()
    }

    /// Whether requests can be sent over it now: it is up, and its broker does not throttle the client.
    pub fn can_ask(&self, connection: usize) -> bool {
        self.connections[connection].can_ask()
    }

    /// Requests in flight on it.
    pub fn in_flight(&self, connection: usize) -> usize {
        self.connections[connection].connection.in_flight()
    }

    /// The connection of a broker for a purpose; it is wanted from now on. `None` while metadata names no such
    /// broker, or names an address that is none.
    pub fn wanted(&mut self, broker: i32, purpose: Purpose) -> Option<usize> {
        let (host, port) = self.metadata.address(broker)?;
        let key = ConnectionKey::Broker(broker, purpose);
        if let Some(known) = self.known(broker, purpose) {
            self.connections[known].is_wanted = true;
            return Some(known);
        }
        let address = (host.to_owned(), port);
        Some(self.add(key, address))
    }

    /// The connection of a broker for a purpose, if there is one.
    pub fn known(&self, broker: i32, purpose: Purpose) -> Option<usize> {
        let key = ConnectionKey::Broker(broker, purpose);
        self.connections.iter().position(|connection| connection.key == key)
    }

    /// The connection of a broker is no longer needed for a purpose.
    pub fn unwanted(&mut self, broker: i32, purpose: Purpose) {
        if let Some(known) = self.known(broker, purpose) {
            self.connections[known].is_wanted = false;
        }
    }

    /// The client needs these partitions of a topic alone: other leaders are not connected to, nor waited for.
    pub fn need_only(&mut self, topic: usize, partitions: BTreeSet<usize>) {
        if let Some(topic) = self.metadata.topics.get_mut(topic) {
            topic.only = Some(partitions);
            self.relink();
        }
    }

    /// Records are read from these brokers too, though they may lead nothing of ours.
    pub fn read_also_from(&mut self, brokers: BTreeSet<i32>) {
        if self.replicas != brokers {
            self.replicas = brokers;
            self.relink();
        }
    }

    /// Whether metadata names such a broker, and where it listens.
    pub fn has_broker(&self, broker: i32) -> bool {
        self.metadata.address(broker).is_some()
    }

    /// How often in a row a connection ended since it was up; the most there is when it is not tried any more.
    pub fn failures(&self, connection: usize) -> u32 {
        let connection = &self.connections[connection];
        if connection.state == ConnectionState::Refused { u32::MAX } else { connection.failures }
    }

    /// The leaders of all partitions that the client needs.
    fn leaders(&self) -> impl Iterator<Item = &Leader> {
        self.metadata.topics.iter().flat_map(metadata::TopicLeaders::needed).map(|(_, leader)| leader)
    }

    /// Notes which connection leads to each leader, and which connections are no longer needed.
    fn relink(&mut self) {
        let leaders = self.leaders().map(|leader| leader.broker).filter(|id| *id >= 0);
        let leaders: BTreeSet<i32> = leaders.chain(self.replicas.iter().copied()).collect();
        for connection in &mut self.connections {
            if let ConnectionKey::Broker(id, purpose) = connection.key {
                let is_used = match purpose {
                    Purpose::Leader => leaders.contains(&id),
                    Purpose::Coordinator => connection.is_wanted,
                };
                connection.is_wanted = is_used && self.metadata.address(id).is_some();
                connection.is_idle &= connection.is_wanted;
            }
        }
        let link = |id: &i32| Some((*id, self.wanted(*id, Purpose::Leader)?));
        let links: BTreeMap<i32, usize> = leaders.iter().filter_map(link).collect();
        for leader in self.metadata.topics.iter_mut().flat_map(|topic| &mut topic.leaders) {
            leader.connection = links.get(&leader.broker).copied();
        }
    }

    /// How many topics the client has.
    pub fn topic_count(&self) -> usize {
        self.metadata.topics.len()
    }

    /// Partitions of the topic with this place in the settings, 0 until metadata came.
    pub fn partition_count(&self, topic: usize) -> usize {
        self.metadata.leaders(topic).len()
    }

    /// The id of a topic, where the brokers report it.
    pub fn topic_id(&self, topic: usize) -> Option<[u8; 16]> {
        self.metadata.topics.get(topic).map(|topic| topic.id).filter(|id| *id != [0; 16])
    }

    /// The connection to a partition's leader, if it is up.
    pub fn leader(&self, topic: usize, partition: usize) -> Option<usize> {
        let connection = self.metadata.leaders(topic).get(partition)?.connection?;
        self.is_up(connection).then_some(connection)
    }

    /// A partition's leader and the election since which it leads; −1: not known.
    pub fn leader_and_epoch(&self, topic: usize, partition: usize) -> (i32, i32) {
        let leader = self.metadata.leaders(topic).get(partition).unwrap_or(&Leader::NONE);
        (leader.broker, leader.epoch)
    }

    /// The connection to a partition's leader, up or not; `None`: no leader is known.
    pub fn known_leader(&self, topic: usize, partition: usize) -> Option<usize> {
        self.metadata.leaders(topic).get(partition)?.connection
    }

    /// A connection's queues, and whether its broker leads a topic's partition.
    pub fn connection_and_leads(
        &mut self,
        connection: usize,
    ) -> (&mut Connection<RequestOwner<T>>, impl Fn(usize, usize) -> bool) {
        let metadata = &self.metadata;
        let leads = move |topic: usize, partition: usize| {
            metadata.leaders(topic).get(partition).is_some_and(|leader| leader.connection == Some(connection))
        };
        (&mut self.connections[connection].connection, leads)
    }

    /// Whether every partition of every topic, as far as the client needs it, has a leader to which a connection is up.
    /// Leaders that cannot be reached are waited for as long as a socket may take to connect; from then on one partition
    /// of each topic is enough.
    pub fn is_ready(&self) -> bool {
        self.metadata.topics.iter().all(|topic| {
            let is_up = |leader: &Leader| leader.connection.is_some_and(|at| self.is_up(at));
            let is_left_out = |leader: &Leader| !self.is_patient && self.cannot_be_reached(leader);
            let needs_none = topic.only.as_ref().is_some_and(BTreeSet::is_empty) && !topic.leaders.is_empty();
            let mut needed = topic.needed().map(|(_, leader)| leader);
            let is_any_up = needs_none || topic.needed().any(|(_, leader)| is_up(leader));
            is_any_up && needed.all(|leader| is_up(leader) || is_left_out(leader))
        })
    }

    /// Whether a partition has no leader at present, or one to which no connection could be made. One that
    /// refuses us is no such leader: that is for the user to cure.
    fn cannot_be_reached(&self, leader: &Leader) -> bool {
        let Some(connection) = leader.connection.map(|at| &self.connections[at]) else { return true };
        let is_failing = connection.failures > 0 && connection.state != ConnectionState::Refused;
        is_failing || connection.is_idle
    }

    /// Why this client will never be ready: a topic or a broker that it needs refuses it, or each bootstrap
    /// address does.
    pub fn refusal(&self) -> Option<&PermanentError> {
        let mut wanted = self.connections.iter().filter(|one| !one.is_bootstrap() && one.is_wanted);
        let is_refused_everywhere = self.connections.iter().all(|connection| connection.refusal.is_some());
        let anywhere = self.connections.first().filter(|_| is_refused_everywhere);
        let refusing = wanted.find_map(|connection| connection.refusal.as_ref());
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

/// Responses.
impl<T> BrokerConnections<T> {
    /// Takes the connection's first request in flight if it is written and no response will come.
    pub fn take_unanswered(&mut self, connection: usize) -> Option<AnsweredRequest<T>> {
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
        mut each: impl FnMut(AnsweredRequest<T>, &[u8]) -> Result<(), WireError>,
    ) -> Result<(), ConnectionError> {
        let mut metadata = None;
        let result = self.connections[connection].connection.receive(now_ns, |answered, body| {
            let version = answered.version;
            match answered.of_client() {
                Some(answered) => each(answered, body),
                None => {
                    let response = m03_metadata::Request::decode_response(body, version);
                    let read = response.as_ref().map(|_| ()).map_err(WireError::clone);
                    metadata = Some((version, response));
                    read
                }
            }
        });
        let is_up = self.is_up(connection);
        self.connections[connection].has_been_up |= is_up;
        self.has_been_up |= is_up;
        if is_up && !std::mem::replace(&mut self.connections[connection].has_reported_session, true) {
            let agreed = self.connections[connection].connection.agreed();
            let key = self.connections[connection].key;
            self.events.extend(agreed.map(|agreed| (now_ns, ConnectionEvent::Secured { key, agreed })));
        }
        match metadata {
            Some((version, Ok(response))) => {
                result.and(self.on_metadata(connection, version, response, now_ns))
            }
            Some((_, Err(_))) => {
                self.metadata.failed(now_ns, self.config.retry_backoff, &mut self.random);
                result
            }
            None => result,
        }
    }
}

#[cfg(test)]
mod tests;
