//! Which broker leads what, as far as it is known.

use std::collections::BTreeMap;

/// What is known of the cluster, and when it is asked again.
#[derive(Debug)]
pub(super) struct Metadata {
    /// Host and port of each broker.
    pub(super) brokers: BTreeMap<i32, (String, u16)>,
    pub(super) topics: Vec<Topic>,
    pub(super) is_wanted: bool,
    /// A request for it is in flight.
    pub(super) is_asked: bool,
    /// When the last response came, ns.
    pub(super) taken_ns: Option<u64>,
    /// Not to be asked before, ns.
    pub(super) not_before_ns: u64,
    /// The connection to ask next, so that one broker that does not know better is not asked for ever.
    pub(super) next_connection: usize,
}

/// A topic's leaders by partition; none until metadata came.
#[derive(Debug)]
pub(super) struct Topic {
    pub(super) name: String,
    /// Its id, all 0 where brokers do not tell it: a topic that is made anew under its name has another.
    pub(super) id: [u8; 16],
    pub(super) leaders: Vec<Leader>,
}

/// A partition's leader.
#[derive(Debug, Clone, Copy)]
pub(super) struct Leader {
    /// Its id; −1: none is known.
    pub(super) broker: i32,
    /// Grows with each election; −1: not told.
    pub(super) epoch: i32,
    /// The connection to it.
    pub(super) connection: Option<usize>,
}

impl Leader {
    /// Nothing is known of the partition.
    pub(super) const NONE: Self = Self { broker: -1, epoch: -1, connection: None };
}

impl Metadata {
    pub(super) fn new(topics: &[String]) -> Self {
        let topics = topics.iter().map(|name| Topic { name: name.clone(), id: [0; 16], leaders: Vec::new() });
        Self {
            brokers: BTreeMap::new(),
            topics: topics.collect(),
            is_wanted: true,
            is_asked: false,
            taken_ns: None,
            not_before_ns: 0,
            next_connection: 0,
        }
    }

    pub(super) fn address(&self, broker: i32) -> Option<(&str, u16)> {
        self.brokers.get(&broker).map(|(host, port)| (host.as_str(), *port))
    }

    pub(super) fn leaders(&self, topic: usize) -> &[Leader] {
        self.topics.get(topic).map_or(&[], |topic| &topic.leaders)
    }

    /// When it is to be asked, or is out of date.
    pub(super) fn next_ns(&self, is_any_up: bool, max_age_ns: u64) -> Option<u64> {
        match (self.is_wanted, self.is_asked, self.taken_ns) {
            (true, false, _) if is_any_up => Some(self.not_before_ns),
            (false, _, Some(at)) => Some(at + max_age_ns),
            _ => None,
        }
    }
}
