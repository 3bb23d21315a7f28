//! A consuming client: fetches the partitions that are its own.
//!
//! It follows the Java consumer: one fetch in flight per broker, in a session; partitions have their turn one after the
//! other; what comes is read as far as an application would have it, or as far as the settings say.

mod aborted;
mod answers;
mod effects;
mod grouped;
mod membership;
mod needs;
mod places;
mod position;
mod reading;
mod session;
mod sink;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_hostile;
#[cfg(test)]
mod tests_offsets;
#[cfg(test)]
mod tests_reading;
#[cfg(test)]
mod tests_topics;
mod types;

pub use needs::{NEEDS, NEEDS_CLASSIC, NEEDS_CONSUMER};
pub use reading::{FetchDepth, FetchTally};
pub use sink::RecordSink;
pub use types::{ConsumerConfig, ConsumerEvent, FetchIsolation, FetchToken, Fetched, OffsetAt, Partitions};

use crate::broker_connections::{BrokerConnections, ConnectionKey, ConnectionsConfig, Purpose};
use crate::client::Client;
use crate::connection::ConnectionError;
use crate::group::Member;
use crate::messages::m01_fetch::{self, PartitionFetch};
use crate::messages::{LATEST_TIMESTAMP, LeaderHints, m02_list_offsets};
use answers::FetchAnswers;
use effects::Effects;
use membership::TopicMember;
use position::{PartitionPosition, PartitionPositions, Then};
use session::FetchSession;
use std::collections::BTreeSet;

/// What is known of the requests over one connection.
#[derive(Debug, Default)]
struct BrokerState {
    /// Whose connection it is.
    key: Option<ConnectionKey>,
    /// It was up when it was last looked at.
    is_up: bool,
    /// A request of ours is in flight.
    is_busy: bool,
    /// When the last request was sent, ns.
    asked_ns: u64,
    session: FetchSession,
}

/// A consuming client, and what becomes of the records that it fetches.
#[derive(Debug)]
pub struct Consumer<S = ()> {
    config: ConsumerConfig,
    connections: BrokerConnections<FetchToken>,
    positions: PartitionPositions,
    /// It is known which partitions are ours.
    is_assigned: bool,
    /// By connection.
    brokers: Vec<BrokerState>,
    fetched: Vec<Fetched>,
    events: Vec<(u64, ConsumerEvent)>,
    sink: S,
    /// `None`: it is in no group.
    membership: Option<TopicMember>,
}

impl<S: RecordSink> Consumer<S> {
    /// A client that is not connected.
    pub fn new(config: ConsumerConfig, connections: ConnectionsConfig, sink: S) -> Self {
        let mut connections = BrokerConnections::new(connections);
        // Which partitions are ours is known once it is known how many there are.
        (0..connections.topic_count()).for_each(|topic| connections.need_only(topic, BTreeSet::new()));
        Self {
            config,
            connections,
            positions: PartitionPositions::default(),
            is_assigned: false,
            brokers: Vec::new(),
            fetched: Vec::new(),
            events: Vec::new(),
            sink,
            membership: None,
        }
    }

    /// Whether every leader that can be reached can be fetched from, and it is known where to begin.
    pub fn is_ready(&self) -> bool {
        let is_reached =
            |position: &&PartitionPosition| leader(&self.connections, position.partition).is_some();
        let mut reached = self.positions.iter().filter(is_reached);
        self.connections.is_ready() && self.is_settled() && reached.all(|position| position.next.is_some())
    }

    /// Takes what was fetched since the last call.
    pub fn take_fetched(&mut self) -> impl Iterator<Item = Fetched> {
        self.fetched.drain(..)
    }

    /// Takes what happened since the last call, each with its instant, ns.
    pub fn take_events(&mut self) -> Vec<(u64, ConsumerEvent)> {
        std::mem::take(&mut self.events)
    }

    /// Asks each broker that is not busy for what is due: offsets, and records if `is_fetching`.
    pub fn poll(&mut self, now_ns: u64, is_fetching: bool) {
        self.lose_requests(now_ns);
        self.look_at_connections();
        self.look_at_replicas(now_ns);
        if self.connections.has_idle() {
            for position in self.positions.iter() {
                let (topic, partition) = places::split(position.partition);
                self.connections.wake(topic, partition);
            }
        }
        for connection in 0..self.brokers.len() {
            if !self.brokers[connection].is_busy && self.connections.can_ask(connection) {
                self.ask(connection, now_ns, is_fetching);
            }
        }
    }

    /// What its records come to.
    pub fn sink(&self) -> &S {
        &self.sink
    }

    /// The same, to change it.
    pub fn sink_mut(&mut self) -> &mut S {
        &mut self.sink
    }

    /// One more partition is its own, from this offset on; `None`: from where the settings say. It goes by its place, as to
    /// the [sink](RecordSink).
    pub fn add(&mut self, partition: i32, offset: Option<i64>) {
        self.is_assigned = true;
        let mut position = PartitionPosition::new(partition);
        position.next = offset;
        self.positions.add(position);
        self.need_own(places::split(partition).0);
    }

    /// A partition is its own no longer. What comes of it yet is not taken.
    pub fn remove(&mut self, partition: i32) {
        self.positions.remove(partition);
        self.need_own(places::split(partition).0);
    }

    /// A [held](ConsumerConfig::holds_fetched) partition is fetched again, from where it was left.
    pub fn release(&mut self, partition: i32) {
        if let Some(position) = self.positions.find_mut(partition) {
            position.is_held = false;
        }
    }

    /// Takes over the partitions that are ours, once it is known how many there are.
    fn assign(&mut self) {
        let Partitions::Share { first, clients } = self.config.partitions else { return };
        let topics = 0..self.connections.topic_count();
        let count = |topic: usize| self.connections.partition_count(topic);
        if self.is_assigned || topics.clone().any(|topic| count(topic) == 0) {
            return;
        }
        self.is_assigned = true;
        let of_topic = |topic: usize| {
            (0..count(topic))
                .filter_map(move |partition| places::place(topic, i32::try_from(partition).ok()?))
        };
        let mine = topics.clone().flat_map(of_topic).skip(first).step_by(clients.max(1));
        self.positions = PartitionPositions::of(mine);
        topics.for_each(|topic| self.need_own(topic));
    }

    /// Leaders of other partitions of a topic are not connected to.
    fn need_own(&mut self, topic: usize) {
        let places = self.positions.iter().map(|position| places::split(position.partition));
        let own = places.filter(|(of, _)| *of == topic).map(|(_, partition)| partition);
        self.connections.need_only(topic, own.collect());
    }

    /// What was asked over a connection that is gone is lost, and its number may come to be another's.
    fn look_at_connections(&mut self) {
        self.brokers.resize_with(self.connections.count(), BrokerState::default);
        for (connection, broker) in self.brokers.iter_mut().enumerate() {
            let (key, is_up) = (self.connections.key(connection), self.connections.is_up(connection));
            if broker.key != Some(key) {
                *broker = BrokerState { key: Some(key), ..BrokerState::default() };
            }
            if broker.is_up && !is_up {
                let mut session = std::mem::take(&mut broker.session);
                session.lost();
                for ask in session.asked() {
                    if let Some(position) = self.positions.find_mut(ask.partition) {
                        (position.preferred, position.is_listing) = (None, false);
                    }
                }
                *broker = BrokerState { key: Some(key), session, ..BrokerState::default() };
            }
            broker.is_up = is_up;
        }
    }

    /// Replicas that leaders have named are connected to, and left when they cannot be reached, when another leader leads,
    /// or when it is time to ask that one again.
    fn look_at_replicas(&mut self, now_ns: u64) {
        let (mut replicas, connections) = (BTreeSet::new(), &mut self.connections);
        for position in self.positions.iter_mut() {
            let Some(preferred) = &mut position.preferred else { continue };
            let (topic, partition) = places::split(position.partition);
            let leader = connections.leader_and_epoch(topic, partition);
            let connection = connections.known(preferred.broker, Purpose::Leader);
            let failures = connection.map_or(0, |connection| connections.failures(connection));
            let then = *preferred.then.get_or_insert(Then { leader, failures });
            let is_tried = failures < u32::MAX && failures <= then.failures;
            let is_there = connections.has_broker(preferred.broker) && is_tried;
            if is_there && then.leader == leader && preferred.until_ns > now_ns {
                replicas.insert(preferred.broker);
                continue;
            }
            position.preferred = None;
            if !is_there {
                // The leader may name it again at once.
                position.not_before_ns = now_ns.saturating_add(self.config.retry_backoff_ns);
                connections.want_metadata();
            }
        }
        self.connections.read_also_from(replicas);
    }

    /// The connection over which a partition is fetched, if it is up.
    fn source(&self, position: &PartitionPosition) -> Option<usize> {
        match position.preferred {
            Some(preferred) => {
                let connection = self.connections.known(preferred.broker, Purpose::Leader);
                connection.filter(|connection| self.connections.is_up(*connection))
            }
            None => leader(&self.connections, position.partition),
        }
    }

    fn ask(&mut self, connection: usize, now_ns: u64, is_fetching: bool) {
        let (mut unknown, mut known, mut held) = (Vec::new(), Vec::new(), Vec::new());
        self.positions.iter_mut().for_each(|position| position.end_pause(now_ns));
        for position in self.positions.iter().filter(|position| position.not_before_ns == 0) {
            let (topic, partition) = places::split(position.partition);
            let (_, leader_epoch) = self.connections.leader_and_epoch(topic, partition);
            match position.next {
                Some(offset) if position.is_fetched() && self.source(position) == Some(connection) => {
                    known.push(PartitionFetch {
                        topic: 0,
                        partition: position.partition,
                        leader_epoch,
                        offset,
                    });
                }
                next if self.connections.leader(topic, partition) == Some(connection) => {
                    let is_due = position.end_due_ns().is_some_and(|due_ns| due_ns <= now_ns);
                    let wanted =
                        if next.is_none() { Some(&mut unknown) } else { is_due.then_some(&mut held) };
                    wanted.into_iter().for_each(|wanted| wanted.push((position.partition, leader_epoch)));
                }
                _ => {}
            }
        }
        let is_asked = if !unknown.is_empty() {
            unknown
                .iter()
                .for_each(|(partition, _)| self.positions.at(*partition, |at| at.is_listing = true));
            self.ask_offsets(
                connection,
                now_ns,
                &unknown,
                (FetchToken::ListOffsets, self.config.from.timestamp()),
            )
        } else if !held.is_empty() {
            // Requested again only then, whatever the answer is.
            held.iter()
                .for_each(|(partition, _)| self.positions.at(*partition, |at| at.end_reported_ns = now_ns));
            self.ask_offsets(connection, now_ns, &held, (FetchToken::LogEnds, LATEST_TIMESTAMP))
        } else if is_fetching && !known.is_empty() {
            self.ask_records(connection, now_ns, &known)
        } else {
            return;
        };
        let broker = &mut self.brokers[connection];
        (broker.is_busy, broker.asked_ns) = (is_asked, now_ns);
    }

    /// Asks for the offsets at a timestamp at these places, by ascending place, each with its leader's epoch.
    fn ask_offsets(
        &mut self,
        connection: usize,
        now_ns: u64,
        partitions: &[(i32, i32)],
        (token, timestamp): (FetchToken, i64),
    ) -> bool {
        let of = |&(place, current_leader_epoch): &(i32, i32)| m02_list_offsets::ListOffsetsPartition {
            partition_index: places::split(place).1 as i32,
            current_leader_epoch,
            timestamp,
        };
        let topic_of = |place: i32| places::split(place).0;
        let topic = |places: &[(i32, i32)]| m02_list_offsets::ListOffsetsTopic {
            name: self.config.topics[topic_of(places[0].0)].clone(),
            partitions: places.iter().map(of).collect(),
        };
        let by_topic = partitions.chunk_by(|(a, _), (b, _)| topic_of(*a) == topic_of(*b));
        let request = m02_list_offsets::Request {
            replica_id: -1,
            isolation_level: self.config.isolation.number(),
            topics: by_topic.map(topic).collect(),
            ..Default::default()
        };
        let queues = self.connections.connection_mut(connection);
        queues.ask(token.into(), &request, now_ns).is_ok()
    }

    /// Asks for the records of these partitions, by ascending place; the one served longest ago comes first.
    fn ask_records(&mut self, connection: usize, now_ns: u64, wanted: &[PartitionFetch]) -> bool {
        let topics = 0..self.connections.topic_count();
        let topic_ids: Vec<[u8; 16]> =
            topics.map(|topic| self.connections.topic_id(topic).unwrap_or_default()).collect();
        let mut step = self.brokers[connection].session.next(wanted, &topic_ids);
        let positions = &mut self.positions;
        let turn =
            |ask: &PartitionFetch| positions.find_mut(ask.partition).map_or(0, |position| position.turn);
        step.partitions.sort_by_cached_key(turn);
        for ask in &mut step.partitions {
            let (topic, partition) = places::split(ask.partition);
            (ask.topic, ask.partition) = (topic, partition as i32);
        }
        let left = step.forgotten.iter().map(|place| places::split(*place));
        let forgotten: Vec<(usize, i32)> = left.map(|(topic, partition)| (topic, partition as i32)).collect();
        let config = &self.config;
        let request = m01_fetch::Request {
            wait_ms: config.fetch_wait_ms,
            bytes_min: config.fetch_bytes_min,
            bytes_max: config.fetch_bytes_max,
            partition_bytes_max: config.partition_bytes_max,
            isolation_level: config.isolation.number(),
            session: step.session,
            topics: &config.topics,
            topic_ids: &topic_ids,
            partitions: &step.partitions,
            forgotten: &forgotten,
            rack: &config.rack,
        };
        let are_known = !topic_ids.contains(&[0; 16]);
        let version_max = if are_known { i16::MAX } else { m01_fetch::BY_NAME_MAX };
        let queues = self.connections.connection_mut(connection);
        let asked = queues.ask_by_hand(
            FetchToken::Fetch.into(),
            (m01_fetch::API, version_max),
            now_ns,
            |version, out| m01_fetch::encode(&request, version, out),
        );
        asked.is_ok()
    }

    /// When it has something to do by time alone: its connections, or partitions that wait after an error and
    /// whose broker could be asked.
    pub fn next_deadline(&self) -> Option<u64> {
        let is_free = |connection: Option<usize>| {
            let connection = connection.filter(|connection| self.connections.can_ask(*connection));
            connection
                .is_some_and(|connection| self.brokers.get(connection).is_none_or(|broker| !broker.is_busy))
        };
        let due_ns = |position: &PartitionPosition| {
            if position.not_before_ns > 0 {
                return is_free(self.source(position)).then_some(position.not_before_ns);
            }
            // The leader alone is asked where the log ends.
            let due_ns = position.end_due_ns()?;
            is_free(leader(&self.connections, position.partition)).then_some(due_ns)
        };
        self.positions.iter().filter_map(due_ns).chain(self.connections.next_deadline()).min()
    }

    /// Records that its partitions' leaders had and that have not been fetched, as of their latest answers; `None` until
    /// each has given one.
    pub fn lag_records(&self) -> Option<u64> {
        // With more clients than partitions some have none; before the metadata, and in a rebalance, that is unknown.
        let is_known = self.member().map_or(self.is_assigned, Member::is_settled);
        self.positions.iter().map(PartitionPosition::lag_records).sum::<Option<u64>>().filter(|_| is_known)
    }

    /// Whether everything there was at `end_ns` has been fetched: for each partition a broker was asked after it and had
    /// nothing within `fetch.max.wait.ms`.
    pub fn is_caught_up(&self, end_ns: u64) -> bool {
        self.is_settled()
            && self.positions.iter().all(|position| {
                let is_fetched = position.not_before_ns == 0 && position.is_fetched();
                let Some(next) = position.next.filter(|_| is_fetched) else { return false };
                // The marker of a transaction comes after its end was answered.
                let is_open =
                    self.config.isolation == FetchIsolation::ReadCommitted && next < position.high_watermark;
                !is_open && position.empty_ns >= end_ns
            })
    }
}

/// The connection to the leader of a place, if it is up.
fn leader(connections: &BrokerConnections<FetchToken>, place: i32) -> Option<usize> {
    let (topic, partition) = places::split(place);
    connections.leader(topic, partition)
}

impl<S: RecordSink> Client for Consumer<S> {
    type Token = FetchToken;

    fn connections(&self) -> &BrokerConnections<FetchToken> {
        &self.connections
    }

    fn connections_mut(&mut self) -> &mut BrokerConnections<FetchToken> {
        &mut self.connections
    }

    fn receive(&mut self, connection: usize, now_ns: u64) -> Result<(), ConnectionError> {
        self.look_at_connections();
        let Self { config, connections, positions, brokers, fetched, events, sink, membership, .. } = self;
        let (mut is_metadata_old, mut held_back_ns) = (false, 0);
        let (mut hints, mut has_offsets) = (LeaderHints::default(), false);
        let broker = &mut brokers[connection];
        let result = connections.receive(connection, now_ns, |request, body| {
            if let FetchToken::Group(group) = request.token {
                let answer = (request.version, body);
                return match membership {
                    Some(membership) => membership.member.on_answer(group, answer, now_ns),
                    None => Ok(()),
                };
            }
            broker.is_busy = false;
            let mut effects = Effects::default();
            let (session, effects_out) = (&mut broker.session, &mut effects);
            let answer = FetchAnswers { config, positions, session, now_ns, effects: effects_out, sink };
            let is_fetch = request.token == FetchToken::Fetch;
            let taken = match request.token {
                FetchToken::ListOffsets => answer.on_offsets(request.version, body),
                FetchToken::LogEnds => answer.on_log_ends(request.version, body),
                FetchToken::Fetch | FetchToken::Group(_) => answer.on_fetch(request.version, body),
            };
            is_metadata_old |= effects.is_metadata_old;
            if is_fetch && taken.is_ok() && effects.is_empty() {
                for ask in broker.session.asked() {
                    let position = positions.find_mut(ask.partition);
                    if let Some(position) = position.filter(|position| position.next == Some(ask.offset)) {
                        position.empty_ns = broker.asked_ns;
                    }
                }
            }
            events.extend(effects.events.drain(..).map(|event| (now_ns, event)));
            hints.extend(std::mem::take(&mut effects.hints));
            has_offsets |= request.token == FetchToken::ListOffsets;
            if is_fetch {
                if request.version >= m01_fetch::THROTTLED_BY_CLIENT_FROM {
                    held_back_ns = held_back_ns.max(effects.throttled_ns);
                }
                // Also of a reply whose rest is not believed: what was read counts.
                fetched.push(effects.fetched(connection, now_ns, request.response_bytes));
            }
            taken
        });
        if has_offsets {
            let retry_ns = now_ns.saturating_add(config.retry_backoff_ns);
            let is_left_out = |one: &&mut PartitionPosition| {
                one.is_listing && leader(connections, one.partition) == Some(connection)
            };
            // It is not requested again at once.
            for position in positions.iter_mut().filter(is_left_out) {
                (position.is_listing, position.not_before_ns) = (false, retry_ns);
            }
        }
        if is_metadata_old {
            connections.want_metadata();
        }
        connections.throttle(connection, held_back_ns, now_ns);
        for (topic, partition) in connections.take_hints(hints, now_ns) {
            // The answer says which broker to ask instead.
            let place = i32::try_from(partition).ok().and_then(|partition| places::place(topic, partition));
            if let Some(position) = place.and_then(|place| positions.find_mut(place)) {
                position.not_before_ns = 0;
            }
        }
        self.assign();
        self.take_events_of_member();
        result
    }
}
