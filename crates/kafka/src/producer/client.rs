//! A producing client: a [`Producer`] and the connections to the leaders of its topics.

use super::places::Places;
use super::sender::Over;
use super::{
    Bodies, FollowUp, Producer, ProducerConfig, ProducerToken, RecordData, RecordShape, TransactionRequest,
};
use crate::broker_connections::{BrokerConnections, ConnectionState, ConnectionsConfig, Purpose};
use crate::client::Client;
use crate::connection::ConnectionError;
use crate::messages::m01_fetch::TopicName;
use crate::messages::{
    Api, LeaderHints, m00_produce, m03_metadata, m10_find_coordinator, m22_init_producer_id,
    m24_add_partitions_to_txn, m26_end_txn,
};

/// Least time between two looks for batches past `delivery.timeout.ms`, ns.
const EXPIRE_NS: u64 = 100_000_000;

/// A request that is over: answered, or with acks=0 written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FinishedRequest {
    /// When, ns.
    pub at_ns: u64,
    /// Record batches it had.
    pub batches: u32,
    /// Its size, length prefix included.
    pub bytes: usize,
    /// The connection it went over.
    pub connection: usize,
    /// How long the broker throttles the client, ns.
    pub throttled_ns: u64,
    /// Batches of it that were split, since they were too large for the broker.
    pub split: u32,
    /// For how long it was in flight, from its beginning on, ns.
    pub in_flight_ns: u64,
}

/// A producing client. Before [`Self::prepare`] it only connects.
#[derive(Debug)]
pub struct ProducerClient<M> {
    connections: BrokerConnections<ProducerToken>,
    producer: Option<Producer<M>>,
    /// The producer's partitions.
    places: Places,
    /// The topics' ids as they are now; all zero where one is not known.
    topic_ids: Vec<[u8; 16]>,
    finished: Vec<FinishedRequest>,
    /// The broker that was asked last as the coordinator of transactions.
    coordinator: Option<i32>,
    /// Last look for batches past `delivery.timeout.ms`, ns.
    expired_ns: u64,
    /// The connection behind the one that records were sent over last.
    next_connection: usize,
}

impl<M: RecordData> ProducerClient<M> {
    /// What brokers must speak.
    pub const NEEDS: &'static [Api] = &[m03_metadata::API, m00_produce::API];

    /// What they must also speak for an idempotent producer.
    pub const NEEDS_IDEMPOTENT: &'static [Api] =
        &[m03_metadata::API, m00_produce::API, m22_init_producer_id::API];

    /// What they must also speak for a transactional producer.
    pub const NEEDS_TRANSACTIONAL: &'static [Api] = &[
        m03_metadata::API,
        m00_produce::API,
        m22_init_producer_id::API,
        m10_find_coordinator::API,
        m24_add_partitions_to_txn::API,
        m26_end_txn::API,
    ];

    /// A client that is not connected.
    pub fn new(config: ConnectionsConfig) -> Self {
        let connections = BrokerConnections::new(config);
        Self {
            connections,
            producer: None,
            places: Places::of(&[1]),
            topic_ids: Vec::new(),
            finished: Vec::new(),
            coordinator: None,
            expired_ns: 0,
            next_connection: 0,
        }
    }

    /// Makes it ready to take records, for so many partitions of each topic.
    pub fn prepare(&mut self, config: ProducerConfig, shape: RecordShape, partitions: &[usize]) {
        self.places = Places::of(partitions);
        self.producer = Some(Producer::new(config, shape, partitions));
    }

    /// Partitions of each of its topics, 0 until metadata came.
    pub fn partition_counts(&self) -> impl Iterator<Item = usize> {
        (0..self.connections.topic_count()).map(|topic| self.connections.partition_count(topic))
    }

    /// Its records; `None` before [`Self::prepare`].
    pub fn producer(&self) -> Option<&Producer<M>> {
        self.producer.as_ref()
    }

    /// Takes up to `limit` records at `now_ns` and returns how many found room: none before [`Self::prepare`].
    /// `each_run` is called for each run of records that join one batch, in order.
    pub fn admit(&mut self, limit: u64, now_ns: u64, each_run: impl FnMut(&mut M, u32)) -> u64 {
        let Self { connections, producer: Some(producer), places, .. } = self else { return 0 };
        let leader = |place| known_leader(connections, places, place);
        producer.admit(limit, now_ns, leader, each_run)
    }

    /// Takes one record of its own size, into `partition` or where the partitioner has it. Returns what is kept with
    /// the batch that it joined; `None`: it found no room, or [`Self::prepare`] was not called.
    pub fn admit_one(
        &mut self,
        record: RecordShape,
        partition: Option<usize>,
        now_ns: u64,
    ) -> Option<&mut M> {
        let Self { connections, producer: Some(producer), places, .. } = self else { return None };
        let leader = |place| known_leader(connections, places, place);
        producer.admit_one(record, partition, now_ns, leader)
    }

    /// Notes which brokers take requests, for `partitioner.availability.timeout.ms`.
    pub fn note_availability(&mut self, now_ns: u64, is_flushing: bool) {
        let Self { connections, producer: Some(producer), places, .. } = self else { return };
        let in_flight_max = producer.config().in_flight_max as usize;
        producer.note_availability(now_ns, is_flushing, |place| {
            let connection = known_leader(connections, places, place)?;
            let takes = connections.can_ask(connection) && connections.in_flight(connection) < in_flight_max;
            Some((connection, takes))
        });
    }

    /// Its records, to take outcomes; `None` before [`Self::prepare`].
    pub fn producer_mut(&mut self) -> Option<&mut Producer<M>> {
        self.producer.as_mut()
    }

    /// Ends it.
    pub fn into_producer(self) -> Option<Producer<M>> {
        self.producer
    }

    /// Takes the requests that were finished since the last call.
    pub fn take_finished(&mut self) -> impl Iterator<Item = FinishedRequest> {
        self.finished.drain(..)
    }

    /// What was asked over connections that are gone is to be sent again.
    pub fn retry_lost(&mut self, now_ns: u64) {
        for (_, token) in self.connections.take_lost() {
            match (token, &mut self.producer) {
                (ProducerToken::Produce(request), Some(producer)) => producer.on_lost(request, now_ns),
                (ProducerToken::InitProducerId, Some(producer)) => producer.on_lost_id(now_ns),
                (ProducerToken::Transaction(_), Some(producer)) => producer.on_transaction_lost(now_ns),
                (_, None) => {}
            }
        }
    }

    /// Asks for the producer's id when it is time, over any connection that can be asked.
    pub fn ask_id(&mut self, now_ns: u64) {
        let Self { connections, producer: Some(producer), .. } = self else { return };
        if producer.asks_id_at().is_none_or(|at| at > now_ns) {
            return;
        }
        let mut up = (0..connections.count()).filter(|&connection| connections.can_ask(connection));
        let Some(connection) = up.next() else { return };
        let request = producer.ask_id();
        let queues = connections.connection_mut(connection);
        if queues.ask(ProducerToken::InitProducerId.into(), &request, now_ns).is_err() {
            producer.on_lost_id(now_ns); // each broker was asked whether it speaks this
        }
    }

    /// Asks what is to be asked next for the sake of transactions, when it is time: who coordinates over any connection
    /// that can be asked, everything else over one to the coordinator, for that alone.
    pub fn ask_coordinator(&mut self, now_ns: u64) {
        let Self { connections, producer: Some(producer), coordinator, .. } = self else { return };
        producer.conclude(now_ns);
        let Some((request, _)) = producer.next_transaction_request().filter(|(_, at)| *at <= now_ns) else {
            return;
        };
        let connection = match (request, producer.coordinator()) {
            (TransactionRequest::FindCoordinator, _) | (_, None) => {
                (0..connections.count()).find(|&connection| connections.can_ask(connection))
            }
            (_, Some(broker)) => {
                if let Some(before) = coordinator.replace(broker).filter(|before| *before != broker) {
                    connections.unwanted(before, Purpose::Coordinator);
                }
                let Some(connection) = connections.wanted(broker, Purpose::Coordinator) else {
                    // Metadata does not name it yet.
                    connections.want_metadata();
                    return producer.on_transaction_lost(now_ns);
                };
                connections.wake_connection(connection);
                match connections.state(connection) {
                    // It has just failed: another broker may coordinate by now.
                    ConnectionState::Down { retry_ns } if retry_ns > now_ns => {
                        return producer.on_transaction_lost(now_ns);
                    }
                    ConnectionState::Refused => return producer.on_transaction_lost(now_ns),
                    _ => Some(connection).filter(|&connection| connections.can_ask(connection)),
                }
            }
        };
        let Some(connection) = connection else { return };
        let queues = connections.connection_mut(connection);
        if producer.ask_for_transaction(request, queues, now_ns).is_err() {
            producer.on_transaction_lost(now_ns); // each broker was asked whether it speaks this
        }
    }

    /// When [`Self::ask_coordinator`] has something to ask, ns; `None` also while there is no broker to ask.
    fn next_question(&self, producer: &Producer<M>) -> Option<u64> {
        let (request, at) = producer.next_transaction_request()?;
        let connections = &self.connections;
        let is_anybody_there = (0..connections.count()).any(|connection| connections.can_ask(connection));
        let broker = producer.coordinator().filter(|_| request != TransactionRequest::FindCoordinator);
        let is_able = match broker.and_then(|broker| connections.known(broker, Purpose::Coordinator)) {
            Some(connection) => {
                // One that is down is looked at when it is tried again.
                connections.can_ask(connection) || connections.is_at_rest(connection)
            }
            None => is_anybody_there,
        };
        is_able.then_some(at)
    }

    /// Fails batches past `delivery.timeout.ms`, when it is time to look. Returns whether there were any.
    pub fn expire(&mut self, now_ns: u64) -> bool {
        let Some(producer) = self.producer.as_mut().filter(|_| now_ns >= self.expired_ns + EXPIRE_NS) else {
            return false;
        };
        self.expired_ns = now_ns;
        producer.expire(now_ns)
    }

    /// When [`Self::expire`] looks again, ns.
    pub fn next_look_ns(&self) -> u64 {
        self.expired_ns + EXPIRE_NS
    }

    /// The connections, from the one behind that which records were sent over last on: where a cap lets one request go
    /// at a time, each broker has its turn.
    pub fn in_turn(&self) -> impl Iterator<Item = usize> + use<M> {
        let (count, from) = (self.connections.count(), self.next_connection);
        (0..count).map(move |step| (from + step) % count)
    }

    /// Sends one request over a connection, if it is up, may take one, and a batch is ready. Returns how many
    /// records were sent.
    pub fn send_ready(
        &mut self,
        connection: usize,
        now_ns: u64,
        is_flushing: bool,
        bodies: &mut impl Bodies<M>,
    ) -> u64 {
        let Some(producer) = self.producer.as_mut().filter(|_| self.connections.can_ask(connection)) else {
            return 0;
        };
        let (connections, topic_ids, places) = (&mut self.connections, &mut self.topic_ids, &self.places);
        topic_ids.clear();
        let of_topic = |topic| connections.topic_id(topic).unwrap_or_default();
        topic_ids.extend((0..connections.topic_count()).map(of_topic));
        let (queues, leads) = connections.connection_and_leads(connection);
        let Ok(version) = queues.version(&m00_produce::API) else { return 0 };
        let are_known = !topic_ids.contains(&[0; 16]);
        let version = if are_known { version } else { version.min(m00_produce::BY_NAME_MAX) };
        let version = version.min(producer.produce_version_max());
        let over = Over { number: connection, connection: queues, version, topic_ids };
        let leads = |place| {
            let (topic, partition) = places.split(place);
            leads(topic, partition)
        };
        let records = producer.send_ready(over, now_ns, is_flushing, leads, bodies);
        if records > 0 {
            self.next_connection = connection + 1;
        }
        records
    }

    /// Compresses the full batches that may be sent next; returns what share of that is the sender's in Java's client, `None`
    /// where there were none.
    pub fn compress_full(&mut self, bodies: &mut impl Bodies<M>) -> Option<f64> {
        let producer = self.producer.as_mut()?;
        let in_flight_max = producer.config().in_flight_max as usize;
        let takes = |place| able_leader(&self.connections, in_flight_max, self.places.split(place)).is_some();
        producer.compress_full(takes, bodies)
    }

    /// Has connections made again that were closed because nothing was sent over them, where something waits.
    pub fn wake_idle(&mut self) {
        let Some(producer) = self.producer.as_ref().filter(|_| self.connections.has_idle()) else { return };
        let mut from = 0;
        while let Some(place) = producer.queues.waiting_from(from) {
            let (topic, partition) = self.places.split(place);
            self.connections.wake(topic, partition);
            from = place + 1;
        }
    }

    /// After bytes of a connection were written: with acks=0 a request is over then. Returns whether any was.
    pub fn finish_unanswered(&mut self, connection: usize) -> bool {
        let Some(producer) = &mut self.producer else { return false };
        let before = self.finished.len();
        while let Some(written) = self.connections.take_unanswered(connection) {
            let ProducerToken::Produce(request) = written.token else { continue };
            let FollowUp { batches, in_flight_ns, .. } = producer.on_written(request, written.written_ns);
            self.finished.push(FinishedRequest {
                at_ns: written.written_ns,
                batches,
                bytes: written.bytes,
                connection,
                throttled_ns: 0,
                split: 0,
                in_flight_ns,
            });
        }
        self.finished.len() > before
    }

    /// When it has something to do by time alone: connecting, sending, giving up. Nothing is sent before
    /// `opens_ns`.
    pub fn next_deadline(&self, is_flushing: bool, opens_ns: u64) -> Option<u64> {
        let producer = self.producer.as_ref().and_then(|producer| {
            let in_flight_max = producer.config().in_flight_max as usize;
            let able = |place| able_leader(&self.connections, in_flight_max, self.places.split(place));
            let ready = producer.next_ready(is_flushing, able).map(|at| at.max(opens_ns));
            let expiry = producer.next_expiry().map(|at| at.max(self.next_look_ns()));
            let is_anybody_there =
                (0..self.connections.count()).any(|connection| self.connections.can_ask(connection));
            let id = producer.asks_id_at().filter(|_| is_anybody_there);
            let question = self.next_question(producer);
            ready.into_iter().chain(expiry).chain(id).chain(question).min()
        });
        self.connections.next_deadline().into_iter().chain(producer).min()
    }
}

/// The connection of a place's leader, up or not.
fn known_leader(
    connections: &BrokerConnections<ProducerToken>,
    places: &Places,
    place: usize,
) -> Option<usize> {
    let (topic, partition) = places.split(place);
    connections.known_leader(topic, partition)
}

/// The connection of a partition's leader, if it takes a request now.
fn able_leader(
    connections: &BrokerConnections<ProducerToken>,
    in_flight_max: usize,
    (topic, partition): (usize, usize),
) -> Option<usize> {
    let connection = connections.leader(topic, partition)?;
    let has_room = connections.in_flight(connection) < in_flight_max;
    (has_room && connections.can_ask(connection)).then_some(connection)
}

impl<M: RecordData> Client for ProducerClient<M> {
    type Token = ProducerToken;

    fn connections(&self) -> &BrokerConnections<ProducerToken> {
        &self.connections
    }

    fn connections_mut(&mut self) -> &mut BrokerConnections<ProducerToken> {
        &mut self.connections
    }

    fn receive(&mut self, connection: usize, now_ns: u64) -> Result<(), ConnectionError> {
        let Self { connections, producer, finished, .. } = self;
        let (mut is_metadata_old, mut held_back_ns) = (false, 0);
        let feature_level = connections.connection_mut(connection).transaction_version();
        let mut hints = LeaderHints::default();
        let result = connections.receive(connection, now_ns, |request, body| {
            let Some(producer) = producer else { return Ok(()) };
            let token = match request.token {
                ProducerToken::Produce(token) => token,
                ProducerToken::InitProducerId => return producer.on_id(request.version, body, now_ns),
                ProducerToken::Transaction(asked) => {
                    let answer = (request.version, body);
                    return producer.on_transaction_answer(asked, answer, feature_level, now_ns);
                }
            };
            let FollowUp { refresh_metadata, batches, throttled_ns, split, in_flight_ns } =
                producer.on_reply(token, request.version, body, request.written_ns, now_ns)?;
            let bytes = request.bytes;
            finished.push(FinishedRequest {
                at_ns: now_ns,
                batches,
                bytes,
                connection,
                throttled_ns,
                split,
                in_flight_ns,
            });
            if refresh_metadata {
                is_metadata_old = true;
                let place = |topic: TopicName<'_>| producer.topic_of(topic);
                hints.extend(m00_produce::leader_hints(body, request.version, place)?);
            }
            if request.version >= m00_produce::THROTTLED_BY_CLIENT_FROM {
                held_back_ns = held_back_ns.max(throttled_ns);
            }
            Ok(())
        });
        if is_metadata_old {
            connections.want_metadata();
        }
        connections.throttle(connection, held_back_ns, now_ns);
        // A pause is for the broker that did not take a batch: another leader gets it at once.
        connections.take_hints(hints, now_ns);
        result
    }
}
