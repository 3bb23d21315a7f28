//! Metadata is requested, and taken in.

use super::metadata::{BROKERS_MAX, Leader};
use super::{BrokerConnections, ConnectionEvent, ConnectionKey, ConnectionState, Purpose, RequestOwner};
use crate::connection::{ConnectionError, PermanentError};
use crate::errors::ErrorCode;
use crate::messages::m03_metadata;
use crate::words;
use std::collections::BTreeMap;

/// The first version in which brokers answer before they throttle, and leave it to the client to wait.
const THROTTLED_BY_CLIENT_FROM: i16 = 6;

/// What a response was worth.
#[derive(Debug, Clone, Copy, Default)]
struct MetadataChange {
    /// It reported something that was not known.
    is_news: bool,
    /// The broker has not heard of the latest election.
    is_stale: bool,
    /// It said too little: a topic that is not there yet.
    is_incomplete: bool,
}

impl<T> BrokerConnections<T> {
    /// Asks for metadata when it is time, over any connection that can be asked.
    pub fn poll(&mut self, now_ns: u64) {
        for connection in &mut self.connections {
            connection.muted_until_ns = connection.muted_until_ns.filter(|until_ns| *until_ns > now_ns);
        }
        self.is_patient &= self.patience_ns.is_none_or(|until_ns| until_ns > now_ns);
        self.metadata.grow_old(now_ns, self.config.metadata_max_age_ns);
        if self.metadata.gives_up_on_brokers(now_ns) {
            self.rebootstrap("none of the known brokers returned metadata for too long");
        }
        let metadata = &mut self.metadata;
        if !metadata.is_due(now_ns) {
            return;
        }
        let count = self.connections.len();
        let mut in_turn = (0..count).map(|step| (metadata.next_connection + step) % count);
        let Some(connection) = in_turn.find(|&index| self.connections[index].can_ask()) else {
            return;
        };
        let topics: Vec<&str> = self.config.topics.iter().map(String::as_str).collect();
        let request = m03_metadata::Request::of_topics(Some(&topics));
        let queues = &mut self.connections[connection].connection;
        let asked = queues.ask(RequestOwner::Metadata, &request, now_ns);
        metadata.next_connection = (connection + 1) % count;
        metadata.is_asked = true;
        if asked.is_err() {
            metadata.failed(now_ns, self.config.retry_backoff, &mut self.random);
        }
    }

    /// # Errors
    /// When another cluster answers than the one before; the connection must then be closed.
    pub(super) fn on_metadata(
        &mut self,
        connection: usize,
        version: i16,
        response: m03_metadata::Response,
        now_ns: u64,
    ) -> Result<(), ConnectionError> {
        if version >= THROTTLED_BY_CLIENT_FROM {
            let throttled_ms = u64::try_from(response.throttle_time_ms).unwrap_or(0);
            self.throttle(connection, throttled_ms * 1_000_000, now_ns);
        }
        if response.error_code == ErrorCode::REBOOTSTRAP_REQUIRED {
            self.metadata.failed(now_ns, self.config.retry_backoff, &mut self.random);
            self.rebootstrap("a broker asked for it");
            return Ok(());
        }
        let is_same_cluster = self.check_cluster(response.cluster_id.as_deref());
        // A broker that is about to start knows of none.
        if is_same_cluster.is_err() || response.brokers.is_empty() {
            self.metadata.failed(now_ns, self.config.retry_backoff, &mut self.random);
            return is_same_cluster.map_err(ConnectionError::from);
        }
        self.topic_refusal = None;
        let mut taken = MetadataChange::default();
        for topic in 0..self.metadata.topics.len() {
            let name = &self.metadata.topics[topic].name;
            let found = response.topics.iter().find(|found| found.name.as_deref() == Some(name));
            let error = found.map_or(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, |found| found.error_code);
            self.on_topic_error(connection, topic, error, &mut taken, now_ns);
            if let Some(found) = found.filter(|_| !error.is_error()) {
                self.on_topic(topic, found, &mut taken, now_ns);
            }
        }
        self.on_brokers(&response.brokers, taken.is_stale, now_ns);
        self.relink();
        let is_complete = self.leaders().all(|leader| leader.connection.is_some());
        let patience_ns = now_ns.saturating_add(self.config.setup_timeout.first_ns);
        self.patience_ns.get_or_insert(patience_ns);
        self.metadata.answered(taken.is_news, now_ns, self.config.retry_backoff, &mut self.random);
        self.metadata.is_wanted = taken.is_stale || taken.is_incomplete || !is_complete;
        Ok(())
    }

    /// The client starts again at the bootstrap addresses: it forgets where brokers listen, and each connection is to
    /// be closed ([KIP-899](https://cwiki.apache.org/confluence/display/KAFKA/KIP-899%3A+Allow+clients+to+rebootstrap),
    /// [KIP-1102](https://cwiki.apache.org/confluence/display/KAFKA/KIP-1102%3A+Enable+clients+to+rebootstrap+based+on+timeout+or+error+code)).
    /// Who leads what, and since when, is kept: it is compared with what the next reply reports.
    fn rebootstrap(&mut self, why: &'static str) {
        self.metadata.brokers.clear();
        self.relink();
        for connection in &mut self.connections {
            let is_made =
                matches!(connection.state, ConnectionState::Connecting { .. } | ConnectionState::Open);
            connection.left_why = is_made.then_some(why);
        }
    }

    /// An address may come to lead to another cluster, which is not to get our records.
    fn check_cluster(&mut self, cluster_id: Option<&str>) -> Result<(), PermanentError> {
        let Some(found) = cluster_id else { return Ok(()) };
        let first = self.metadata.cluster_id.get_or_insert_with(|| found.to_owned());
        if first == found {
            return Ok(());
        }
        Err(PermanentError::OtherCluster { first: words::of_broker(first), found: words::of_broker(found) })
    }

    /// Replaces what is known of the brokers. One that has not heard of the latest election may not have heard of
    /// all brokers either.
    fn on_brokers(&mut self, reported: &[m03_metadata::MetadataResponseBroker], is_stale: bool, now_ns: u64) {
        let address = |broker: &m03_metadata::MetadataResponseBroker| {
            (broker.node_id, (broker.host.clone(), broker.port))
        };
        let mut brokers: BTreeMap<i32, (String, i32)> =
            reported.iter().take(BROKERS_MAX).map(address).collect();
        if is_stale {
            for (id, address) in &self.metadata.brokers {
                brokers.entry(*id).or_insert_with(|| address.clone());
            }
        }
        let before = std::mem::replace(&mut self.metadata.brokers, brokers);
        let ids: Vec<i32> = self.metadata.brokers.keys().copied().collect();
        for id in ids {
            if before.get(&id) != self.metadata.brokers.get(&id) {
                self.on_moved(id, now_ns);
            }
        }
    }

    /// A broker is new, or listens elsewhere. The address is used at the next connect: an open connection to the
    /// old one ends by itself.
    pub(super) fn on_moved(&mut self, id: i32, now_ns: u64) {
        let Some((host, port)) = self.metadata.address(id) else {
            let (host, port) = self.metadata.brokers.get(&id).cloned().unwrap_or_default();
            let key = ConnectionKey::Broker(id, Purpose::Leader);
            let why = match host.is_empty() {
                true => "it advertises an address without a host".to_owned(),
                false => format!("it advertises port {port}, and ports are 1 to 65535"),
            };
            return self.events.push((now_ns, ConnectionEvent::Unreachable { key, why }));
        };
        let known = self.connections.iter_mut();
        for moved in known.filter(|known| matches!(known.key, ConnectionKey::Broker(of, _) if of == id)) {
            if (moved.host.as_str(), moved.port) == (host, port) {
                continue;
            }
            (moved.host, moved.port) = (host.to_owned(), port);
            (moved.failures, moved.setup_failures) = (0, 0);
            if moved.state == ConnectionState::Refused {
                moved.state = ConnectionState::Down { retry_ns: now_ns };
                moved.refusal = None;
            }
        }
    }

    /// Notes a topic's leaders.
    fn on_topic(
        &mut self,
        topic: usize,
        found: &m03_metadata::MetadataResponseTopic,
        taken: &mut MetadataChange,
        now_ns: u64,
    ) {
        let noted = &mut self.metadata.topics[topic];
        // Brokers that do not know ids report 0, and mean the same topic.
        let [is_reported, was_reported] = [found.topic_id, noted.id].map(|id| id != [0; 16]);
        let is_another = is_reported && was_reported && found.topic_id != noted.id;
        if is_reported {
            noted.id = found.topic_id;
        }
        let known = noted.leaders.len();
        if is_another {
            noted.leaders.truncate(found.partitions.len());
            let topic = noted.name.clone();
            self.events.push((now_ns, ConnectionEvent::TopicRecreated { topic }));
        }
        let count = found.partitions.len().max(noted.leaders.len());
        taken.is_news |= is_another || count != known;
        noted.leaders.resize(count, Leader::NONE);
        for partition in &found.partitions {
            let Some(slot) = usize::try_from(partition.partition_index).ok().filter(|&id| id < count) else {
                continue;
            };
            let before = noted.leaders[slot];
            let (to, epoch) = (partition.leader_id.max(-1), partition.leader_epoch.max(-1));
            if !is_another && (0..before.epoch).contains(&epoch) {
                // This broker has not heard of the latest election: another one is asked.
                taken.is_stale = true;
                continue;
            }
            // A broker that reports no epoch is believed, and does not make us forget one.
            let epoch = if is_another { epoch } else { epoch.max(before.epoch) };
            taken.is_news |= (before.broker, before.epoch) != (to, epoch);
            noted.leaders[slot] = Leader { broker: to, epoch, connection: None };
            // The first leader that is heard of has not moved.
            if before.broker != to && slot < known {
                let (topic, partition) = (noted.name.clone(), partition.partition_index);
                let event = ConnectionEvent::LeaderMoved { topic, partition, from: before.broker, to };
                self.events.push((now_ns, event));
            }
        }
    }

    /// Notes whether a topic is described; an error is reported when it is another one than before.
    fn on_topic_error(
        &mut self,
        connection: usize,
        topic: usize,
        error: ErrorCode,
        taken: &mut MetadataChange,
        now_ns: u64,
    ) {
        let noted = &mut self.metadata.topics[topic];
        let before = std::mem::replace(&mut noted.error, error);
        let topic = noted.name.clone();
        taken.is_news |= before != error;
        // After a refusal there is nothing to wait for.
        taken.is_incomplete |= error.is_error() && !error.is_refusal();
        let refusal = PermanentError::Topic { topic: topic.clone(), error };
        if error.is_refusal() {
            self.topic_refusal.get_or_insert_with(|| refusal.clone());
        }
        if before == error {
            return;
        }
        let event = if error.is_refusal() {
            ConnectionEvent::Refused { key: self.connections[connection].key, refusal }
        } else if error.is_error() {
            ConnectionEvent::MetadataError { topic, error }
        } else {
            ConnectionEvent::MetadataRecovered { topic }
        };
        self.events.push((now_ns, event));
    }
}
