//! Which broker leads what, as far as it is known, and when it is asked again.

use crate::backoff::ExponentialBackoff;
use crate::errors::ErrorCode;
use rand::Rng;
use std::collections::{BTreeMap, BTreeSet};

/// Most brokers a client remembers; those that a response names beyond them are not.
pub(super) const BROKERS_MAX: usize = 4096;

/// `metadata.recovery.rebootstrap.trigger.ms` of the Java client, ns.
pub(super) const REBOOTSTRAP_AFTER_NS: u64 = 300_000_000_000;

/// What is known of the cluster, and when it is asked again.
#[derive(Debug)]
pub(super) struct Metadata {
    /// Host and port of each broker, as reported: not each number is a port.
    pub(super) brokers: BTreeMap<i32, (String, i32)>,
    pub(super) topics: Vec<TopicLeaders>,
    /// As the first reply that had it reported it.
    pub(super) cluster_id: Option<String>,
    pub(super) is_wanted: bool,
    /// A request for it is in flight.
    pub(super) is_asked: bool,
    /// When the last response came, ns.
    pub(super) taken_ns: Option<u64>,
    /// Not to be asked before, ns.
    pub(super) not_before_ns: u64,
    /// Since when it is to be asked and no broker has described the cluster, ns.
    pub(super) missed_since_ns: Option<u64>,
    /// The connection to ask next, so that one broker that does not know better is not asked for ever.
    pub(super) next_connection: usize,
    /// Requests in a row that were not answered.
    failures: u32,
    /// Responses in a row that reported nothing new.
    repeats: u32,
}

/// A topic's leaders by partition; none until metadata came.
#[derive(Debug)]
pub(super) struct TopicLeaders {
    pub(super) name: String,
    /// Its id, all 0 where brokers do not report it: a topic that is created again under its name has another.
    pub(super) id: [u8; 16],
    pub(super) leaders: Vec<Leader>,
    /// Partitions that the client needs; `None`: all.
    pub(super) only: Option<BTreeSet<usize>>,
    /// What the last response said of it.
    pub(super) error: ErrorCode,
}

impl TopicLeaders {
    /// The partitions that the client needs, as far as there are such, with their leaders.
    pub(super) fn needed(&self) -> impl Iterator<Item = (usize, &Leader)> {
        let all = if self.only.is_some() { 0 } else { self.leaders.len() };
        let some = self.only.iter().flatten().copied();
        (0..all).chain(some).filter_map(|partition| Some((partition, self.leaders.get(partition)?)))
    }
}

/// A partition's leader.
#[derive(Debug, Clone, Copy)]
pub(super) struct Leader {
    /// Its id; −1: none is known.
    pub(super) broker: i32,
    /// Grows with each election; −1: not reported.
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
        let topic = |name: &String| TopicLeaders {
            name: name.clone(),
            id: [0; 16],
            leaders: Vec::new(),
            only: None,
            error: ErrorCode::NONE,
        };
        Self {
            brokers: BTreeMap::new(),
            topics: topics.iter().map(topic).collect(),
            cluster_id: None,
            is_wanted: true,
            is_asked: false,
            taken_ns: None,
            not_before_ns: 0,
            missed_since_ns: None,
            next_connection: 0,
            failures: 0,
            repeats: 0,
        }
    }

    /// Where a broker listens, if it is known and can be.
    pub(super) fn address(&self, broker: i32) -> Option<(&str, u16)> {
        let (host, port) = self.brokers.get(&broker)?;
        let port = u16::try_from(*port).ok().filter(|port| *port > 0)?;
        (!host.is_empty()).then_some((host, port))
    }

    pub(super) fn leaders(&self, topic: usize) -> &[Leader] {
        self.topics.get(topic).map_or(&[], |topic| &topic.leaders)
    }

    /// A request was answered. The next one is not sent before a pause, which grows while responses report nothing new.
    pub(super) fn answered(
        &mut self,
        is_news: bool,
        now_ns: u64,
        backoff: ExponentialBackoff,
        random: &mut impl Rng,
    ) {
        if is_news {
            self.repeats = 0;
        }
        (self.is_asked, self.taken_ns, self.failures) = (false, Some(now_ns), 0);
        self.missed_since_ns = None;
        self.not_before_ns = now_ns + backoff.after(self.repeats, random);
        self.repeats += u32::from(!is_news);
    }

    /// A request was not answered, or not with anything to go by.
    pub(super) fn failed(&mut self, now_ns: u64, backoff: ExponentialBackoff, random: &mut impl Rng) {
        (self.is_asked, self.is_wanted, self.repeats) = (false, true, 0);
        self.not_before_ns = now_ns + backoff.after(self.failures, random);
        self.failures = self.failures.saturating_add(1);
    }

    /// What is known is out of date from `max_age_ns` on: nothing new since then would be news.
    pub(super) fn grow_old(&mut self, now_ns: u64, max_age_ns: u64) {
        if self.taken_ns.is_some_and(|at| at + max_age_ns <= now_ns) {
            (self.is_wanted, self.repeats) = (true, 0);
        }
    }

    /// Whether it is to be requested now.
    pub(super) fn is_due(&self, now_ns: u64) -> bool {
        self.is_wanted && !self.is_asked && self.not_before_ns <= now_ns
    }

    /// Whether it has been missed for so long that the known brokers are no use; it is then missed again.
    pub(super) fn gives_up_on_brokers(&mut self, now_ns: u64) -> bool {
        // A client that knows no broker asks the bootstrap addresses anyway.
        if self.is_due(now_ns) && self.taken_ns.is_some() {
            self.missed_since_ns.get_or_insert(now_ns);
        }
        let is_given_up = self.missed_since_ns.is_some_and(|at| at + REBOOTSTRAP_AFTER_NS <= now_ns);
        if is_given_up {
            self.missed_since_ns = Some(now_ns);
        }
        is_given_up
    }

    /// When it is to be asked, is out of date, or is given up.
    pub(super) fn next_ns(&self, is_anybody_there: bool, max_age_ns: u64) -> Option<u64> {
        let due_ns = match (self.is_wanted, self.is_asked, self.taken_ns) {
            (true, false, _) if is_anybody_there => Some(self.not_before_ns),
            (false, _, Some(at)) => Some(at + max_age_ns),
            _ => None,
        };
        let given_up_ns = self.missed_since_ns.map(|at| at + REBOOTSTRAP_AFTER_NS);
        due_ns.into_iter().chain(given_up_ns).min()
    }
}
