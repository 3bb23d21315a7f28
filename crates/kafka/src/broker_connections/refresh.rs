//! Metadata is asked for, and taken in.

use super::metadata::Leader;
use super::{BrokerConnections, ConnectionEvent, ConnectionKey, ConnectionState, Purpose, RequestKind};
use crate::connection::Refusal;
use crate::errors::ErrorCode;
use crate::messages::m03_metadata;

/// Most brokers a client remembers; a response that names more is not believed.
const BROKERS_MAX: usize = 4096;

impl<T> BrokerConnections<T> {
    /// Asks for metadata when it is time, over any connection that is up.
    pub fn poll(&mut self, now_ns: u64) {
        let metadata = &mut self.metadata;
        if metadata.taken_ns.is_some_and(|at| at + self.config.metadata_max_age_ns <= now_ns) {
            metadata.is_wanted = true;
        }
        if !metadata.is_wanted || metadata.is_asked || now_ns < metadata.not_before_ns {
            return;
        }
        let count = self.connections.len();
        let mut in_turn = (0..count).map(|step| (metadata.next_connection + step) % count);
        let Some(connection) = in_turn.find(|&index| self.connections[index].connection.is_up()) else {
            return;
        };
        let topics: Vec<&str> = self.config.topics.iter().map(String::as_str).collect();
        let request = m03_metadata::Request::of_topics(Some(&topics));
        let queues = &mut self.connections[connection].connection;
        let asked = queues.ask(RequestKind::Metadata, &request, now_ns);
        metadata.next_connection = (connection + 1) % count;
        metadata.is_asked = asked.is_ok();
        metadata.not_before_ns = now_ns + self.config.retry_backoff_ns;
    }

    pub(super) fn on_metadata(&mut self, connection: usize, response: m03_metadata::Response, now_ns: u64) {
        self.metadata.is_asked = false;
        self.topic_refusal = None;
        for broker in &response.brokers {
            self.on_broker(broker);
        }
        let mut is_complete = true;
        for topic in 0..self.metadata.topics.len() {
            let name = &self.metadata.topics[topic].name;
            let found = response.topics.iter().find(|found| found.name.as_deref() == Some(name));
            let error = found.map_or(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, |found| found.error_code);
            match found.filter(|_| !error.is_error()) {
                Some(found) => is_complete &= self.on_topic(topic, found, now_ns),
                None => is_complete &= self.on_topic_error(connection, topic, error, now_ns),
            }
        }
        self.metadata.taken_ns = Some(now_ns);
        self.metadata.is_wanted = !is_complete;
    }

    fn on_broker(&mut self, broker: &m03_metadata::MetadataResponseBroker) {
        let Ok(port) = u16::try_from(broker.port) else { return };
        let brokers = &mut self.metadata.brokers;
        if brokers.len() >= BROKERS_MAX && !brokers.contains_key(&broker.node_id) {
            return;
        }
        let address = (broker.host.clone(), port);
        if brokers.insert(broker.node_id, address.clone()).is_none_or(|before| before == address) {
            return;
        }
        // Used at the next connect: an open connection to the old address ends by itself.
        for moved in &mut self.connections {
            if matches!(moved.key, ConnectionKey::Broker(id, _) if id == broker.node_id) {
                (moved.host, moved.port) = address.clone();
                if moved.state == ConnectionState::Refused {
                    moved.state = ConnectionState::Down { retry_ns: 0 };
                    moved.refusal = None;
                }
            }
        }
    }

    /// Notes a topic's leaders. Returns whether each partition has one that can be reached.
    fn on_topic(&mut self, topic: usize, found: &m03_metadata::MetadataResponseTopic, now_ns: u64) -> bool {
        let noted = &mut self.metadata.topics[topic];
        let is_same = std::mem::replace(&mut noted.id, found.topic_id) == found.topic_id;
        let known = noted.leaders.len();
        let count = found.partitions.len().max(known);
        noted.leaders.resize(count, Leader::NONE);
        let mut is_complete = true;
        for partition in &found.partitions {
            let Some(slot) = usize::try_from(partition.partition_index).ok().filter(|&id| id < count) else {
                continue;
            };
            let (to, epoch) = (partition.leader_id, partition.leader_epoch);
            let before = self.metadata.topics[topic].leaders[slot];
            if is_same && (0..before.epoch).contains(&epoch) {
                // This broker has not heard of the latest election: another one is asked.
                is_complete = false;
                continue;
            }
            let connection = if to >= 0 { self.wanted(to, Purpose::Leader) } else { None };
            let noted = &mut self.metadata.topics[topic];
            let epoch = if is_same { epoch.max(before.epoch) } else { epoch };
            noted.leaders[slot] = Leader { broker: to, epoch, connection };
            let from = before.broker;
            // The first leader that is heard of has not moved.
            if from != to && slot < known {
                let event = ConnectionEvent::LeaderMoved {
                    topic: noted.name.clone(),
                    partition: partition.partition_index,
                    from,
                    to,
                };
                self.events.push((now_ns, event));
            }
            is_complete &= connection.is_some();
        }
        is_complete
    }

    /// Returns whether there is nothing to wait for.
    fn on_topic_error(&mut self, connection: usize, topic: usize, error: ErrorCode, now_ns: u64) -> bool {
        let topic = self.metadata.topics[topic].name.clone();
        let event = if error.is_refusal() {
            let refusal = Refusal::Topic { topic, error };
            self.topic_refusal.get_or_insert_with(|| refusal.clone());
            ConnectionEvent::Refused { key: self.connections[connection].key, refusal }
        } else {
            ConnectionEvent::MetadataError { topic, error }
        };
        self.events.push((now_ns, event));
        error.is_refusal()
    }
}
