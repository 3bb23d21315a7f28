//! A consuming client: fetches by assignment; partition p belongs to client p mod clients.
//!
//! It keeps one fetch per leader in flight, as the Java consumer does, and looks at batch headers and checksums
//! only: records are counted, not unpacked.

mod position;

pub use position::ConsumerEvent;

use crate::broker_connections::{BrokerConnections, ConnectionsConfig, RequestKind};
use crate::client::Client;
use crate::connection::{Answered, ConnectionError};
use crate::messages::{
    Api, EARLIEST_TIMESTAMP, LATEST_TIMESTAMP, LeaderHints, m01_fetch, m02_list_offsets, m03_metadata,
};
use crate::wire::WireError;
use position::{Effects, Position, on_fetch, on_offsets};

/// The topic's place among those of the connections: a consumer has one.
const TOPIC: usize = 0;

/// Which offset of a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OffsetAt {
    /// Of the first record.
    Earliest,
    /// After the last record that all in-sync replicas have.
    Latest,
    /// The same, but before the first record of the first transaction that is open: of one that ended until its marker
    /// is there, which its coordinator writes after it has answered.
    LastStable,
}

impl OffsetAt {
    /// The timestamp by which ListOffsets knows it.
    pub fn timestamp(self) -> i64 {
        match self {
            Self::Earliest => EARLIEST_TIMESTAMP,
            Self::Latest | Self::LastStable => LATEST_TIMESTAMP,
        }
    }

    /// Kafka's number for `read_committed`, or for `read_uncommitted`, which ListOffsets is asked with.
    pub fn isolation_level(self) -> i8 {
        i8::from(self == Self::LastStable)
    }
}

/// Settings, with the Java client's names in the docs.
#[derive(Debug, Clone)]
pub struct ConsumerConfig {
    /// The one topic.
    pub topic: String,
    /// Its partitions are this one and every `clients`-th from it on.
    pub first_partition: usize,
    /// Clients that share the topic.
    pub clients: usize,
    /// Where to begin (`auto.offset.reset`).
    pub from: OffsetAt,
    /// `fetch.max.wait.ms`.
    pub fetch_wait_ms: i32,
    /// `fetch.min.bytes`.
    pub fetch_bytes_min: i32,
    /// `fetch.max.bytes`.
    pub fetch_bytes_max: i32,
    /// `max.partition.fetch.bytes`.
    pub partition_bytes_max: i32,
    /// `retry.backoff.ms`, in ns.
    pub retry_backoff_ns: u64,
}

/// A request in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FetchToken {
    /// For the offsets to begin at.
    ListOffsets,
    /// For records.
    Fetch,
}

impl From<FetchToken> for RequestKind<FetchToken> {
    fn from(token: FetchToken) -> Self {
        Self::Client(token)
    }
}

/// What a fetch brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fetched {
    /// When it was read, ns.
    pub received_ns: u64,
    /// Size of the response.
    pub response_bytes: usize,
    /// Record batches in it.
    pub batches: u32,
    /// Records that were not fetched before.
    pub records: u64,
    /// Bytes of the batches.
    pub bytes: u64,
    /// The connection it came over.
    pub connection: usize,
    /// How long the broker throttles the client, ns.
    pub throttled_ns: u64,
}

/// What is known of the requests to one leader.
#[derive(Debug, Clone, Copy, Default)]
struct LeaderState {
    /// A request of ours is in flight.
    is_busy: bool,
    /// When the last request was sent, ns.
    asked_ns: u64,
    /// When the last request was sent to which the answer was empty, ns.
    empty_ns: u64,
}

/// A consuming client.
#[derive(Debug)]
pub struct Consumer {
    config: ConsumerConfig,
    connections: BrokerConnections<FetchToken>,
    positions: Vec<Position>,
    /// By connection.
    leaders: Vec<LeaderState>,
    fetched: Vec<Fetched>,
    events: Vec<(u64, ConsumerEvent)>,
}

impl Consumer {
    /// What brokers must speak.
    pub const NEEDS: &'static [Api] = &[m03_metadata::API, m02_list_offsets::API, m01_fetch::API];

    /// A client that is not connected.
    pub fn new(config: ConsumerConfig, connections: ConnectionsConfig) -> Self {
        Self {
            config,
            connections: BrokerConnections::new(connections),
            positions: Vec::new(),
            leaders: Vec::new(),
            fetched: Vec::new(),
            events: Vec::new(),
        }
    }

    /// Whether every leader that can be reached can be fetched from, and it is known where to begin.
    pub fn is_ready(&self) -> bool {
        let is_reached =
            |position: &&Position| self.connections.leader(TOPIC, position.partition as usize).is_some();
        let mut reached = self.positions.iter().filter(is_reached);
        self.connections.is_ready() && reached.all(|position| position.next.is_some())
    }

    /// Takes what was fetched since the last call.
    pub fn take_fetched(&mut self) -> impl Iterator<Item = Fetched> {
        self.fetched.drain(..)
    }

    /// Takes what happened since the last call, each with its instant, ns.
    pub fn take_events(&mut self) -> Vec<(u64, ConsumerEvent)> {
        std::mem::take(&mut self.events)
    }

    /// Asks each leader that is not busy for what is due: offsets, and records if `is_fetching`.
    pub fn poll(&mut self, now_ns: u64, is_fetching: bool) {
        self.leaders.resize(self.connections.count(), LeaderState::default());
        drop(self.connections.take_lost());
        for (connection, leader) in self.leaders.iter_mut().enumerate() {
            if !self.connections.is_up(connection) {
                // What was asked over it is lost, and it may come to lead to another broker.
                *leader = LeaderState::default();
            }
        }
        if self.positions.is_empty() {
            let partitions = self.config.first_partition..self.connections.partition_count(TOPIC);
            let mine = partitions.step_by(self.config.clients.max(1));
            self.positions = mine.map(|partition| Position::new(partition as i32)).collect();
        }
        if self.connections.has_idle() {
            for position in &self.positions {
                self.connections.wake(TOPIC, position.partition as usize);
            }
        }
        for connection in 0..self.leaders.len() {
            if !self.leaders[connection].is_busy && self.connections.can_ask(connection) {
                self.ask(connection, now_ns, is_fetching);
            }
        }
    }

    fn ask(&mut self, connection: usize, now_ns: u64, is_fetching: bool) {
        let connections = &self.connections;
        let (mut unknown, mut known) = (Vec::new(), Vec::new());
        for position in &mut self.positions {
            if position.not_before_ns > now_ns {
                continue;
            }
            position.not_before_ns = 0;
            if connections.leader(TOPIC, position.partition as usize) == Some(connection) {
                match position.next {
                    Some(offset) => known.push((position.partition, offset)),
                    None => unknown.push(position.partition),
                }
            }
        }
        let token = if !unknown.is_empty() {
            FetchToken::ListOffsets
        } else if is_fetching && !known.is_empty() {
            FetchToken::Fetch
        } else {
            return;
        };
        let topic_id = self.connections.topic_id(TOPIC);
        let version_max = if topic_id.is_some() { i16::MAX } else { m01_fetch::BY_NAME_MAX };
        let (config, queues) = (&self.config, self.connections.connection_mut(connection));
        let asked = match token {
            FetchToken::ListOffsets => {
                let timestamp = config.from.timestamp();
                let request = m02_list_offsets::Request::of_topic(&config.topic, &unknown, timestamp);
                queues.ask(token.into(), &request, now_ns)
            }
            FetchToken::Fetch => {
                let request = m01_fetch::Request {
                    wait_ms: config.fetch_wait_ms,
                    bytes_min: config.fetch_bytes_min,
                    bytes_max: config.fetch_bytes_max,
                    partition_bytes_max: config.partition_bytes_max,
                    topic: &config.topic,
                    topic_id: topic_id.unwrap_or_default(),
                    partitions: &known,
                };
                queues.ask_by_hand(token.into(), (m01_fetch::API, version_max), now_ns, |version, out| {
                    m01_fetch::encode(&request, version, out);
                })
            }
        };
        let leader = &mut self.leaders[connection];
        (leader.is_busy, leader.asked_ns) = (asked.is_ok(), now_ns);
    }

    /// When it has something to do by time alone: its connections, or partitions that wait after an error and
    /// whose leader could be asked.
    pub fn next_deadline(&self) -> Option<u64> {
        let is_free = |position: &&Position| {
            let leader = self.connections.leader(TOPIC, position.partition as usize);
            let leader = leader.filter(|leader| self.connections.can_ask(*leader));
            leader.is_some_and(|leader| self.leaders.get(leader).is_none_or(|leader| !leader.is_busy))
        };
        let waiting = self.positions.iter().filter(|position| position.not_before_ns > 0).filter(is_free);
        waiting.map(|position| position.not_before_ns).chain(self.connections.next_deadline()).min()
    }

    /// Records that its partitions' leaders had and that have not been fetched, as of their latest answers; `None` until
    /// each has given one.
    pub fn lag_records(&self) -> Option<u64> {
        // Of more clients than partitions some have none; before the metadata nobody knows.
        let is_known = !self.positions.is_empty() || self.connections.partition_count(TOPIC) > 0;
        self.positions.iter().map(Position::lag_records).sum::<Option<u64>>().filter(|_| is_known)
    }

    /// Whether everything there was at `end_ns` has been fetched: each leader was asked after it and had
    /// nothing within `fetch.max.wait.ms`.
    pub fn is_caught_up(&self, end_ns: u64) -> bool {
        self.positions.iter().all(|position| {
            let leader = self.connections.leader(TOPIC, position.partition as usize);
            let leader = leader.and_then(|leader| self.leaders.get(leader));
            let is_asked = position.next.is_some() && position.not_before_ns == 0;
            is_asked && leader.is_some_and(|leader| leader.empty_ns >= end_ns)
        })
    }
}

impl Client for Consumer {
    type Token = FetchToken;

    fn connections(&self) -> &BrokerConnections<FetchToken> {
        &self.connections
    }

    fn connections_mut(&mut self) -> &mut BrokerConnections<FetchToken> {
        &mut self.connections
    }

    fn receive(&mut self, connection: usize, now_ns: u64) -> Result<(), ConnectionError> {
        let Self { config, connections, positions, leaders, fetched, events } = self;
        let retry_ns = now_ns + config.retry_backoff_ns;
        let (mut is_metadata_old, mut held_back_ns) = (false, 0);
        let (mut hints, mut is_told_offsets) = (LeaderHints::default(), false);
        leaders.resize(connections.count(), LeaderState::default());
        let leader = &mut leaders[connection];
        let result = connections.receive(connection, now_ns, |request, body| {
            leader.is_busy = false;
            let mut effects = Effects::default();
            let taken = take_in(positions, &request, body, retry_ns, &mut effects);
            is_metadata_old |= effects.is_metadata_old;
            events.extend(effects.events.drain(..).map(|event| (now_ns, event)));
            taken?;
            is_told_offsets |= request.token == FetchToken::ListOffsets;
            if request.token == FetchToken::Fetch {
                if effects.is_metadata_old {
                    hints.extend(m01_fetch::leader_hints(body, request.version)?);
                }
                if request.version >= m01_fetch::THROTTLED_BY_CLIENT_FROM {
                    held_back_ns = held_back_ns.max(effects.throttled_ns);
                }
                if effects.is_empty() {
                    leader.empty_ns = leader.asked_ns;
                }
                let Effects { batches, records, bytes, throttled_ns, .. } = effects;
                fetched.push(Fetched {
                    received_ns: now_ns,
                    response_bytes: request.response_bytes,
                    batches,
                    records,
                    bytes,
                    connection,
                    throttled_ns,
                });
            }
            Ok(())
        });
        if is_told_offsets {
            let is_its =
                |one: &&mut Position| connections.leader(TOPIC, one.partition as usize) == Some(connection);
            // What the answer left out is not asked for again at once.
            positions.iter_mut().filter(is_its).for_each(|position| position.wait_for_offset(retry_ns));
        }
        if is_metadata_old {
            connections.want_metadata();
        }
        connections.throttle(connection, held_back_ns, now_ns);
        for partition in connections.take_hints(TOPIC, hints, now_ns) {
            let moved = positions.iter_mut().filter(|position| position.partition as usize == partition);
            // It was told whom to ask instead.
            moved.for_each(|position| position.not_before_ns = 0);
        }
        result
    }
}

/// Takes in a response.
fn take_in(
    positions: &mut [Position],
    request: &Answered<FetchToken>,
    body: &[u8],
    retry_ns: u64,
    effects: &mut Effects,
) -> Result<(), WireError> {
    match request.token {
        FetchToken::ListOffsets => on_offsets(positions, request.version, body, retry_ns, effects),
        FetchToken::Fetch => on_fetch(positions, request.version, body, retry_ns, effects),
    }
}

#[cfg(test)]
mod tests;
