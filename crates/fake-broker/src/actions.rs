//! What a script does to the fake cluster as a whole.

use super::cluster::{ClusterOutput, FakeCluster, ServingBroker};
use super::connection::ConnId;
use super::log::PartitionLog;
use super::plan::Action;
use super::server::RequestServer;
use kdyno_kafka_server::codec::responses::BrokerView;
use kdyno_kafka_server::codec::{ApiKind, RequestHead};

/// Head of the request that unsolicited bytes answer.
const NOBODY_ASKED: RequestHead = RequestHead {
    api: ApiKind::Produce,
    version: 9,
    correlation_id: i32::MAX,
    flexible: true,
    unsupported: false,
};

impl FakeCluster {
    /// Does it now.
    pub(super) fn act(&mut self, action: Action) {
        match action {
            Action::Stall { broker, duration_ns } => {
                if let Some(broker) = self.brokers.get_mut(&broker) {
                    broker.server.stall(self.now_ns, duration_ns);
                }
            }
            Action::MoveLeader { topic, partition, to } => {
                if let Some(log) = self.partition_mut(&topic, partition) {
                    log.lead(to);
                    self.wake_all_fetches();
                }
            }
            Action::DeleteTopic { topic } => {
                self.delete_topic(&topic);
                self.wake_all_fetches();
            }
            Action::RecreateTopic { topic } => self.recreate_topic(&topic),
            Action::SetClusterId { cluster_id } => self.cluster_id = cluster_id,
            Action::RemoveBroker { broker } => self.remove_broker(broker),
            Action::AddBroker { broker } => {
                self.add_broker(broker);
                self.lead_instead(None);
            }
            Action::CloseConnections { broker } => self.hang_up_all(broker),
            Action::SendHostile { broker, hostile } => {
                for conn in self.connections_of(broker) {
                    let answer = self.spoil(hostile, &NOBODY_ASKED, &[]);
                    self.outputs.push(ClusterOutput::Bytes { conn, bytes: answer.bytes });
                }
            }
            Action::SetService { broker, service } => {
                if let Some(broker) = self.brokers.get_mut(&broker) {
                    broker.server.set_service(service);
                }
            }
            Action::Throttle { broker, ms } => {
                if let Some(broker) = self.brokers.get_mut(&broker) {
                    broker.throttle_ms = ms;
                }
            }
            Action::DeleteRecords { topic, partition, before } => {
                if let Some(log) = self.partition_mut(&topic, partition) {
                    log.delete_before(before);
                    self.wake_all_fetches();
                }
            }
            Action::ForgetFetchSessions => self.fetch_sessions.clear(),
            Action::MoveCoordinator { to } => self.coordinator.broker = to,
            Action::LoadCoordinator { duration_ns } => {
                self.coordinator.loads_until_ns = self.now_ns.saturating_add(duration_ns);
            }
            Action::FenceProducers => self.fence_producers(),
            Action::Fate(fate) => self.plan.next_fates.push_back(fate),
        }
    }

    pub(super) fn add_broker(&mut self, id: i32) {
        let (host, port) = self.address(id);
        // Each broker draws its own service times, whatever the others serve.
        let seed = self.config.seed ^ (id as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let service = self.config.service.clone();
        self.brokers.entry(id).or_insert_with(|| ServingBroker {
            view: BrokerView { id, host, port },
            server: RequestServer::new(service, seed),
            throttle_ms: 0,
        });
    }

    /// What a broker's answers say of throttling.
    pub(super) fn throttle_ms(&self, broker: i32) -> i32 {
        self.brokers.get(&broker).map_or(0, |broker| broker.throttle_ms)
    }

    fn recreate_topic(&mut self, topic: &str) {
        let Some(logs) = self.topics.get(topic) else { return };
        let recreated = |log: &PartitionLog| {
            let mut recreated = PartitionLog::new(log.leader.unwrap_or(-1), log.replicas.clone());
            recreated.leader = log.leader;
            recreated
        };
        let logs = logs.iter().map(recreated).collect();
        self.delete_topic(topic);
        self.topics.insert(topic.to_owned(), logs);
        self.wake_all_fetches();
    }

    fn remove_broker(&mut self, id: i32) {
        if self.brokers.remove(&id).is_some() {
            self.hang_up_all(id);
            self.lead_instead(Some(id));
        }
    }

    /// Hands the partitions of `gone`, or those without leader, to the next broker that is there.
    fn lead_instead(&mut self, gone: Option<i32>) {
        let from = gone.unwrap_or(0);
        let next = self.brokers.range(from..).chain(self.brokers.range(..from)).map(|(id, _)| *id).next();
        for log in self.topics.values_mut().flatten().filter(|log| log.leader == gone) {
            log.lead(next);
        }
        self.wake_all_fetches();
    }

    fn hang_up_all(&mut self, broker: i32) {
        let all: Vec<_> = self.connections_of(broker);
        for conn in all {
            self.hang_up(conn);
        }
    }

    fn connections_of(&self, broker: i32) -> Vec<ConnId> {
        self.connections.iter().filter(|(_, c)| c.broker == broker).map(|(conn, _)| *conn).collect()
    }
}
