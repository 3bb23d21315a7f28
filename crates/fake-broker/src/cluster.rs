//! The cluster: connections, the order of events, and what happens to produce requests.

use super::FakeConfig;
use super::codec::topic_id;
use super::connection::{ConnId, FakeConnection, QueuedResponse, Slot};
use super::coordinator::FakeCoordinator;
use super::log::{PartitionLog, StoredBatch, StoredPartition};
use super::plan::ScriptedPlan;
use super::requests::{ControlRequest, FetchSession, PendingProduce, TimerKey, WaitingFetch};
use super::server::RequestServer;
use kdyno_kafka::wire::{Reader, Result};
use kdyno_kafka_server::codec::responses::BrokerView;
use kdyno_kafka_server::codec::{ApiKind, RequestHead, TopicRef};
use rand::SeedableRng;
use rand_pcg::Pcg64;
use std::collections::BTreeMap;

/// Replicas of the topics that a configuration names, where there are so many brokers.
const REPLICAS: usize = 3;

/// What the cluster does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClusterOutput {
    /// Bytes for the client.
    Bytes {
        /// On this connection.
        conn: ConnId,
        /// Never empty.
        bytes: Vec<u8>,
    },
    /// The connection is closed by the broker; it is not known any more.
    Close {
        /// This connection.
        conn: ConnId,
    },
}

/// Times of one produce request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestTrace {
    /// Produce requests of the cluster count from 1, in order of arrival.
    pub number: u64,
    /// Who served it.
    pub broker: i32,
    /// Where it came from.
    pub conn: ConnId,
    /// Its records, as its batches' heads count them.
    pub records: u64,
    /// When its last byte was received.
    pub arrival_ns: u64,
    /// When its service began.
    pub start_ns: u64,
    /// When its service ended: its answer leaves now, unless an earlier one of its connection is due.
    pub completion_ns: u64,
}

/// What happened so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FakeCounts {
    /// Produce requests received.
    pub produce_requests: u64,
    /// All other requests received.
    pub other_requests: u64,
    /// Connections opened.
    pub connections: u64,
    /// Connections closed because of what they sent.
    pub protocol_errors: u64,
    /// Records stored.
    pub stored_records: u64,
    /// Records whose successful answer has left.
    pub acknowledged_records: u64,
    /// Batches that replicas have given to consumers, which are not their partitions' leaders.
    pub follower_batches: u64,
}

/// What happens at an instant of its own.
#[derive(Debug)]
pub(super) enum Timer {
    Control(ControlRequest),
    FetchDeadline { fetch: u64 },
}

/// A broker that is there.
#[derive(Debug)]
pub(super) struct ServingBroker {
    pub view: BrokerView,
    pub(super) server: RequestServer<PendingProduce>,
    /// What its answers to produce and fetch requests say of throttling.
    pub(super) throttle_ms: i32,
}

/// A scripted cluster; see the module.
#[derive(Debug)]
pub struct FakeCluster {
    pub(super) config: FakeConfig,
    pub(super) now_ns: u64,
    pub(super) brokers: BTreeMap<i32, ServingBroker>,
    addresses: BTreeMap<i32, (String, u16)>,
    /// As metadata reports it.
    pub(super) cluster_id: String,
    pub(super) topics: BTreeMap<String, Vec<PartitionLog>>,
    /// How often a topic of a name was deleted.
    pub(super) deletions: BTreeMap<String, u8>,
    pub(super) connections: BTreeMap<ConnId, FakeConnection>,
    timers: BTreeMap<TimerKey, Timer>,
    pub(super) fetches: BTreeMap<u64, WaitingFetch>,
    /// By their ids.
    pub(super) fetch_sessions: BTreeMap<i32, FetchSession>,
    pub(super) plan: ScriptedPlan,
    pub(super) random: Pcg64,
    next_id: u64,
    pub(super) next_producer_id: i64,
    pub(super) coordinator: FakeCoordinator,
    pub(super) outputs: Vec<ClusterOutput>,
    pub(super) counts: FakeCounts,
    pub(super) traces: Vec<RequestTrace>,
}

impl FakeCluster {
    /// A cluster at instant 0, without connections.
    pub fn new(config: FakeConfig) -> Self {
        let mut cluster = Self {
            now_ns: 0,
            brokers: BTreeMap::new(),
            addresses: BTreeMap::new(),
            cluster_id: "kdyno-fake-cluster".to_owned(),
            topics: BTreeMap::new(),
            deletions: BTreeMap::new(),
            connections: BTreeMap::new(),
            timers: BTreeMap::new(),
            fetches: BTreeMap::new(),
            fetch_sessions: BTreeMap::new(),
            plan: ScriptedPlan::default(),
            random: Pcg64::seed_from_u64(config.seed),
            next_id: 0,
            next_producer_id: 1,
            coordinator: FakeCoordinator::default(),
            outputs: Vec::new(),
            counts: FakeCounts::default(),
            traces: Vec::new(),
            config,
        };
        for id in 0..cluster.config.brokers as i32 {
            cluster.add_broker(id);
        }
        for (name, leaders) in cluster.config.topics.clone() {
            let logs = leaders.iter().map(|leader| cluster.new_partition(*leader, REPLICAS)).collect();
            cluster.topics.insert(name, logs);
        }
        cluster
    }

    /// Brokers that are there.
    pub fn broker_ids(&self) -> Vec<i32> {
        self.brokers.keys().copied().collect()
    }

    /// Where metadata says that a broker is; by default `fake-<id>` and 9092.
    pub fn address(&self, broker: i32) -> (String, u16) {
        self.addresses.get(&broker).cloned().unwrap_or_else(|| (format!("fake-{broker}"), 9092))
    }

    /// Which broker has this address, there or not.
    pub fn broker_at(&self, host: &str, port: u16) -> Option<i32> {
        let mut ids = self.brokers.keys().chain(self.addresses.keys());
        ids.find(|id| self.address(**id) == (host.to_owned(), port)).copied()
    }

    /// Sets where metadata says that a broker is.
    pub fn set_address(&mut self, broker: i32, host: &str, port: u16) {
        self.addresses.insert(broker, (host.to_owned(), port));
        if let Some(known) = self.brokers.get_mut(&broker) {
            known.view = BrokerView { id: broker, host: host.to_owned(), port };
        }
    }

    /// Connects to a broker. When it is not there, the connection's first output is its close.
    pub fn open(&mut self, broker: i32, now_ns: u64) -> ConnId {
        self.advance(now_ns);
        let conn = ConnId(self.new_id());
        if self.brokers.contains_key(&broker) {
            self.counts.connections += 1;
            self.connections.insert(conn, FakeConnection::new(broker));
        } else {
            self.outputs.push(ClusterOutput::Close { conn });
        }
        conn
    }

    /// The client sent bytes. On a connection that is closed they are lost.
    pub fn receive(&mut self, conn: ConnId, bytes: &[u8], now_ns: u64) {
        self.advance(now_ns);
        let Some(connection) = self.connections.get_mut(&conn) else { return };
        match connection.frames(bytes) {
            Ok(frames) => {
                for frame in frames {
                    if !self.connections.contains_key(&conn) {
                        break;
                    }
                    if self.arrive(conn, frame).is_err() {
                        self.refuse(conn);
                    }
                }
            }
            Err(_) => self.refuse(conn),
        }
    }

    /// The client closed its connection. What it has sent is still served.
    pub fn close(&mut self, conn: ConnId, now_ns: u64) {
        self.advance(now_ns);
        self.connections.remove(&conn);
    }

    /// The next instant at which something happens by itself: [`poll`](Self::poll) is due then.
    pub fn next_deadline(&self) -> Option<u64> {
        if self.outputs.is_empty() { self.next_event_ns() } else { Some(self.now_ns) }
    }

    /// Lets everything happen that is due until `now_ns`, and returns what came of it, in order. An instant before the
    /// latest one given is that one.
    pub fn poll(&mut self, now_ns: u64) -> Vec<ClusterOutput> {
        self.advance(now_ns);
        std::mem::take(&mut self.outputs)
    }

    /// What happened so far.
    pub fn counts(&self) -> FakeCounts {
        self.counts
    }

    /// What a partition holds; `None` if there is no such partition.
    pub fn stored(&self, topic: &str, partition: i32) -> Option<StoredPartition> {
        self.partition(topic, partition).map(|log| log.stored)
    }

    /// Batches of a partition; empty unless they are kept.
    pub fn batches(&self, topic: &str, partition: i32) -> &[StoredBatch] {
        self.partition(topic, partition).map_or(&[], |log| &log.batches)
    }

    /// Leader of a partition at present.
    pub fn leader(&self, topic: &str, partition: i32) -> Option<i32> {
        self.partition(topic, partition)?.leader
    }

    /// Takes the traces of produce requests that completed, in that order; none unless they are kept.
    pub fn take_traces(&mut self) -> Vec<RequestTrace> {
        std::mem::take(&mut self.traces)
    }

    /// Bytes of a connection's requests that are not answered yet.
    pub fn held_bytes(&self, conn: ConnId) -> usize {
        self.connections.get(&conn).map_or(0, FakeConnection::held_bytes)
    }

    pub(super) fn partition(&self, topic: &str, partition: i32) -> Option<&PartitionLog> {
        self.topics.get(topic)?.get(usize::try_from(partition).ok()?)
    }

    pub(super) fn partition_mut(&mut self, topic: &str, partition: i32) -> Option<&mut PartitionLog> {
        self.topics.get_mut(topic)?.get_mut(usize::try_from(partition).ok()?)
    }

    /// Compacts a partition whose batches are kept and not compressed: records stay whose offsets `keeps` names.
    ///
    /// # Errors
    /// When a batch cannot be read.
    pub fn compact(&mut self, topic: &str, partition: i32, keeps: impl Fn(i64) -> bool) -> Result<()> {
        self.partition_mut(topic, partition).map_or(Ok(()), |log| log.compact(keeps))
    }

    /// The id of a topic that is there.
    pub(super) fn topic_id(&self, name: &str) -> [u8; 16] {
        let deletions = self.deletions.get(name).copied().unwrap_or(0);
        topic_id(name, deletions.wrapping_add(1).max(1))
    }

    /// Whether a request means the topic that is there: an id may be one of before.
    pub(super) fn is_meant(&self, topic: TopicRef<'_>) -> bool {
        topic.id == [0; 16] || self.topics.contains_key(topic.name) && topic.id == self.topic_id(topic.name)
    }

    /// Deletes a topic; false if there is none.
    pub(super) fn delete_topic(&mut self, name: &str) -> bool {
        let is_deleted = self.topics.remove(name).is_some();
        if is_deleted {
            let deletions = self.deletions.entry(name.to_owned()).or_default();
            *deletions = deletions.wrapping_add(1);
        }
        is_deleted
    }

    pub(super) fn new_partition(&self, leader: i32, replicas: usize) -> PartitionLog {
        let after = self.brokers.range(leader..).chain(self.brokers.range(..leader));
        PartitionLog::new(leader, after.map(|(id, _)| *id).take(replicas).collect())
    }

    pub(super) fn broker_of(&self, conn: ConnId) -> Option<i32> {
        self.connections.get(&conn).map(|connection| connection.broker)
    }

    pub(super) fn new_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    /// Returns the timer's key, for [`stop_timer`](Self::stop_timer).
    pub(super) fn start_timer(&mut self, at_ns: u64, timer: Timer) -> TimerKey {
        let key = (at_ns, self.new_id());
        self.timers.insert(key, timer);
        key
    }

    pub(super) fn stop_timer(&mut self, key: TimerKey) {
        self.timers.remove(&key);
    }

    fn next_event_ns(&self) -> Option<u64> {
        let timer = self.timers.keys().next().map(|(at, _)| *at);
        let servers = self.brokers.values().filter_map(|broker| broker.server.next_completion_ns()).min();
        [self.plan.next_ns(), servers, timer].into_iter().flatten().min()
    }

    /// At one instant the script comes first, then completions by broker, then the rest in the order it was set up.
    fn advance(&mut self, now_ns: u64) {
        while let Some(at_ns) = self.next_event_ns().filter(|at| *at <= now_ns) {
            self.now_ns = self.now_ns.max(at_ns);
            if self.plan.next_ns().is_some_and(|next| next <= at_ns) {
                if let Some(action) = self.plan.take_timed() {
                    self.act(action);
                }
                continue;
            }
            let completed =
                self.brokers.iter_mut().find_map(|(id, b)| b.server.complete(at_ns).map(|job| (*id, job)));
            if let Some((broker, job)) = completed {
                self.complete(broker, job);
            } else if let Some((_, timer)) = self.timers.pop_first() {
                self.ring(timer);
            }
        }
        self.now_ns = self.now_ns.max(now_ns);
    }

    fn ring(&mut self, timer: Timer) {
        let conn = match &timer {
            Timer::Control(control) => Some(control.conn),
            Timer::FetchDeadline { fetch } => self.fetches.get(fetch).map(|waiting| waiting.conn),
        };
        let Some(broker) = conn.and_then(|conn| self.broker_of(conn)) else {
            if let Timer::FetchDeadline { fetch } = timer {
                self.fetches.remove(&fetch);
            }
            return;
        };
        let server = self.brokers.get(&broker).map(|broker| &broker.server);
        if let Some(until_ns) = server.and_then(|server| server.stalled_until_ns(self.now_ns)) {
            let fetch = if let Timer::FetchDeadline { fetch } = &timer { Some(*fetch) } else { None };
            let key = self.start_timer(until_ns, timer);
            if let Some(waiting) = fetch.and_then(|fetch| self.fetches.get_mut(&fetch)) {
                waiting.deadline = Some(key);
            }
            return;
        }
        match timer {
            Timer::Control(control) => {
                let conn = control.conn;
                if self.answer_control(broker, control).is_err() {
                    self.refuse(conn);
                }
            }
            Timer::FetchDeadline { fetch } => self.end_fetch(fetch),
        }
    }

    /// A whole request came in.
    fn arrive(&mut self, conn: ConnId, frame: Vec<u8>) -> Result<()> {
        let mut reader = Reader::new(&frame);
        let head = RequestHead::read(&mut reader, self.config.versions())?;
        let body_at = frame.len() - reader.remaining();
        if head.api == ApiKind::Produce {
            return self.arrive_produce(conn, head, frame, body_at);
        }
        self.counts.other_requests += 1;
        let Some(connection) = self.connections.get_mut(&conn) else { return Ok(()) };
        let slot = connection.reserve(frame.len());
        let due_ns = self.now_ns.saturating_add(self.config.control_delay_ns);
        self.start_timer(due_ns, Timer::Control(ControlRequest { conn, slot, head, frame, body_at }));
        Ok(())
    }

    /// Puts an answer into its place and sends what has its turn.
    pub(super) fn send(&mut self, conn: ConnId, slot: Slot, answer: QueuedResponse) {
        let Some(connection) = self.connections.get_mut(&conn) else { return };
        connection.fill(slot, answer);
        let mut closes = false;
        while let Some(answer) = connection.next_answer().filter(|_| !closes) {
            self.counts.acknowledged_records += answer.acknowledged_records;
            if !answer.bytes.is_empty() {
                self.outputs.push(ClusterOutput::Bytes { conn, bytes: answer.bytes });
            }
            closes = answer.closes;
        }
        if closes {
            self.hang_up(conn);
        }
    }

    fn refuse(&mut self, conn: ConnId) {
        if self.hang_up(conn) {
            self.counts.protocol_errors += 1;
        }
    }

    /// Closes from the broker's side; false if it was closed.
    pub(super) fn hang_up(&mut self, conn: ConnId) -> bool {
        let was_open = self.connections.remove(&conn).is_some();
        if was_open {
            self.outputs.push(ClusterOutput::Close { conn });
        }
        was_open
    }
}
