//! How a fake cluster is made to misbehave: first say when, then what.

use super::cluster::FakeCluster;
use super::plan::{Action, Hostile, ProduceFate, StoredAnyway, When};
use super::service::Service;

impl FakeCluster {
    /// Adds to what is going to go wrong.
    pub fn script(&mut self) -> Script<'_> {
        Script { cluster: self }
    }
}

/// Adds to what a cluster is scripted to do: first say when, then what.
///
/// ```text
/// cluster
///     .script()
///     .at(2_000_000_000).stall(0, 500_000_000)
///     .at(3_000_000_000).move_leader("t", 1, 0)
///     .request(10).close(Stored::Yes)
///     .share(0.01).fail(7, Stored::No);
/// ```
#[derive(Debug)]
pub struct Script<'a> {
    cluster: &'a mut FakeCluster,
}

impl<'a> Script<'a> {
    /// At an instant; an instant that has passed is now. What is done to a request is then done to the
    /// first produce request that arrives at or after it.
    pub fn at(self, at_ns: u64) -> ScriptStep<'a> {
        self.when(When::At(at_ns))
    }

    /// When the produce request with this number arrives, at whichever broker; they count from 1.
    pub fn request(self, number: u64) -> ScriptStep<'a> {
        self.when(When::Request(number))
    }

    /// With each produce request whose number is a multiple of `every`, 1 or more.
    pub fn every(self, every: u64) -> ScriptStep<'a> {
        self.when(When::Every(every.max(1)))
    }

    /// With each produce request with this probability.
    pub fn share(self, share: f64) -> ScriptStep<'a> {
        self.share_between(share, 0, u64::MAX)
    }

    /// With each produce request with this probability, from one instant until before another.
    pub fn share_between(self, share: f64, from_ns: u64, to_ns: u64) -> ScriptStep<'a> {
        self.when(When::Share { share, from_ns, to_ns })
    }

    fn when(self, when: When) -> ScriptStep<'a> {
        ScriptStep { script: self, when }
    }
}

/// An instant or a choice of requests, and what to do then. If several things are done to one request the first
/// counts.
#[derive(Debug)]
#[must_use]
pub struct ScriptStep<'a> {
    script: Script<'a>,
    when: When,
}

impl<'a> ScriptStep<'a> {
    /// Stops all answers of a broker for a while, as a stopped process would: connections stay, requests
    /// queue, the one in service goes on afterwards where it was.
    pub fn stall(self, broker: i32, duration_ns: u64) -> Script<'a> {
        self.add(Action::Stall { broker, duration_ns })
    }

    /// Makes another broker lead a partition. The old one answers `NOT_LEADER_OR_FOLLOWER` from then on,
    /// also to what it has queued.
    pub fn move_leader(self, topic: &str, partition: i32, to: i32) -> Script<'a> {
        self.add(Action::MoveLeader { topic: topic.to_owned(), partition, to: Some(to) })
    }

    /// Leaves a partition without leader.
    pub fn lose_leader(self, topic: &str, partition: i32) -> Script<'a> {
        self.add(Action::MoveLeader { topic: topic.to_owned(), partition, to: None })
    }

    /// Deletes a topic.
    pub fn delete_topic(self, topic: &str) -> Script<'a> {
        self.add(Action::DeleteTopic { topic: topic.to_owned() })
    }

    /// Deletes a topic and creates it again with another id, empty, each partition led by the broker that led it.
    pub fn recreate_topic(self, topic: &str) -> Script<'a> {
        self.add(Action::RecreateTopic { topic: topic.to_owned() })
    }

    /// Reports another cluster id from then on, as if another cluster had taken over the addresses.
    pub fn set_cluster_id(self, cluster_id: &str) -> Script<'a> {
        self.add(Action::SetClusterId { cluster_id: cluster_id.to_owned() })
    }

    /// Ends a broker: its connections close, what it has queued is lost, the next broker that is there takes
    /// the lead of its partitions.
    pub fn remove_broker(self, broker: i32) -> Script<'a> {
        self.add(Action::RemoveBroker { broker })
    }

    /// Starts a broker, new or removed before. It leads nothing yet, but for partitions without leader.
    pub fn add_broker(self, broker: i32) -> Script<'a> {
        self.add(Action::AddBroker { broker })
    }

    /// Closes all connections of a broker. What it has queued it still serves.
    pub fn close_connections(self, broker: i32) -> Script<'a> {
        self.add(Action::CloseConnections { broker })
    }

    /// Sends unrequested bytes to all connections of a broker. Those kinds that spoil an answer
    /// have none to spoil and send garbage.
    pub fn send_hostile(self, broker: i32, hostile: Hostile) -> Script<'a> {
        self.add(Action::SendHostile { broker, hostile })
    }

    /// Serves produce requests that arrive from then on in another way.
    pub fn set_service(self, broker: i32, service: Service) -> Script<'a> {
        self.add(Action::SetService { broker, service })
    }

    /// Says in each answer to a produce or fetch request from then on that the client was throttled for so long;
    /// 0: not. Nothing is held back.
    pub fn throttle(self, broker: i32, ms: i32) -> Script<'a> {
        self.add(Action::Throttle { broker, ms })
    }

    /// Deletes the records of a partition that come before an offset, as retention does.
    pub fn delete_records(self, topic: &str, partition: i32, before: i64) -> Script<'a> {
        self.add(Action::DeleteRecords { topic: topic.to_owned(), partition, before })
    }

    /// Has all brokers forget what clients fetch, as they do where there are more clients than they remember.
    pub fn forget_fetch_sessions(self) -> Script<'a> {
        self.add(Action::ForgetFetchSessions)
    }

    /// Makes another broker coordinate transactions and groups; the old one answers `NOT_COORDINATOR` from then on.
    pub fn move_coordinator(self, to: i32) -> Script<'a> {
        self.add(Action::MoveCoordinator { to })
    }

    /// Has the coordinator read its log for so long; it answers `COORDINATOR_LOAD_IN_PROGRESS` meanwhile.
    pub fn load_coordinator(self, duration_ns: u64) -> Script<'a> {
        self.add(Action::LoadCoordinator { duration_ns })
    }

    /// Has other producers take all transactional ids: their open transactions are aborted, and they are fenced.
    pub fn fence_producers(self) -> Script<'a> {
        self.add(Action::FenceProducers)
    }

    /// Answers every partition of the request with an error code.
    pub fn fail(self, code: i16, stored: StoredAnyway) -> Script<'a> {
        self.add(Action::Fate(ProduceFate::Fail { code, stored }))
    }

    /// Never answers; the answers to later requests of the connection wait behind it for ever.
    pub fn drop_request(self, stored: StoredAnyway) -> Script<'a> {
        self.add(Action::Fate(ProduceFate::Drop { stored }))
    }

    /// Closes the connection instead of answering.
    pub fn close(self, stored: StoredAnyway) -> Script<'a> {
        self.add(Action::Fate(ProduceFate::Close { stored }))
    }

    /// Stores the records and answers with something else than an answer.
    pub fn answer_hostile(self, hostile: Hostile) -> Script<'a> {
        self.add(Action::Fate(ProduceFate::Hostile(hostile)))
    }

    fn add(self, action: Action) -> Script<'a> {
        self.script.cluster.plan.add(self.when, action);
        self.script
    }
}
