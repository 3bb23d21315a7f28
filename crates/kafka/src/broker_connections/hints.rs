//! What responses say of leaders in addition to their own matter
//! ([KIP-951](https://cwiki.apache.org/confluence/display/KAFKA/KIP-951%3A+Leader+discovery+optimisations+for+the+client)).

use super::metadata::{BROKERS_MAX, Leader};
use super::{BrokerConnections, ConnectionEvent};
use crate::messages::LeaderHints;
use std::collections::BTreeMap;

impl<T> BrokerConnections<T> {
    /// Takes in what a response says of the leaders of partitions, as far as that is newer than what is known. Returns the
    /// partitions whose leader is another now, each behind its topic.
    pub fn take_hints(&mut self, hints: LeaderHints, now_ns: u64) -> Vec<(usize, usize)> {
        let (mut moved, mut is_any_new) = (Vec::new(), false);
        // If a broker is reported twice the later report counts.
        let reported = hints.endpoints.into_iter().take(BROKERS_MAX);
        let endpoints: BTreeMap<i32, (String, i32)> =
            reported.map(|endpoint| (endpoint.broker, (endpoint.host, endpoint.port))).collect();
        for hint in hints.leaders {
            let place = hint.topic as usize;
            let Some(noted) = self.metadata.topics.get_mut(place) else { continue };
            let slot = usize::try_from(hint.partition).unwrap_or(usize::MAX);
            let Some(leader) = noted.leaders.get_mut(slot) else { continue };
            let address = endpoints.get(&hint.leader);
            let brokers = &mut self.metadata.brokers;
            let has_room = address.is_some() && brokers.len() < BROKERS_MAX;
            let is_known = has_room || brokers.contains_key(&hint.leader);
            if hint.leader < 0 || hint.epoch <= leader.epoch || !is_known {
                continue;
            }
            let before = std::mem::replace(
                leader,
                Leader { broker: hint.leader, epoch: hint.epoch, connection: None },
            );
            if before.broker != hint.leader {
                let (from, to) = (before.broker, hint.leader);
                let (topic, partition) = (noted.name.clone(), hint.partition);
                self.events.push((now_ns, ConnectionEvent::LeaderMoved { topic, partition, from, to }));
                moved.push((place, slot));
            }
            if let Some(address) = address {
                let known = self.metadata.brokers.insert(hint.leader, address.clone());
                if known.as_ref() != Some(address) {
                    self.on_moved(hint.leader, now_ns);
                }
            }
            is_any_new = true;
        }
        if is_any_new {
            self.relink();
        }
        moved
    }
}
