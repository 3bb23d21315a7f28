//! Produce requests in the fake cluster: their fate on arrival, what is stored and answered at completion.

use super::batch;
use super::cluster::{FakeCluster, RequestTrace};
use super::codec::{ProduceRequest, code, endpoint_tags, leader_tags};
use super::connection::{ConnId, QueuedResponse};
use super::log;
use super::plan::{Action, Hostile, ProduceFate, StoredAnyway};
use super::requests::PendingProduce;
use super::server::Job;
use kdyno_kafka::wire::{Reader, Result, Writer};
use kdyno_kafka_server::codec::produce::ProduceResponse;
use kdyno_kafka_server::codec::responses::BrokerView;
use kdyno_kafka_server::codec::{RequestHead, begin_frame, end_frame};
use rand::{Rng, RngExt};

/// The first version whose responses say who leads instead.
const LEADER_HINTS_FROM: i16 = 10;

/// Number of the tagged field that says it of a partition.
const LEADER_TAG: u32 = 0;

impl FakeCluster {
    /// A produce request came in: its place in the script is decided and it joins its broker's queue.
    pub(super) fn arrive_produce(
        &mut self,
        conn: ConnId,
        head: RequestHead,
        frame: Vec<u8>,
        body_at: usize,
    ) -> Result<()> {
        let request = ProduceRequest::decode(Reader::new(&frame[body_at..]), &head)?;
        let sets: Vec<_> = request.partitions().map(|(_, partition)| log::check(partition.records)).collect();
        self.counts.produce_requests += 1;
        let number = self.counts.produce_requests;
        let random = &mut self.random;
        let mut fate = None;
        for action in self.plan.actions(number, self.now_ns, || random.random()) {
            match action {
                Action::Fate(chosen) => fate = fate.or(Some(chosen)),
                other => self.act(other),
            }
        }
        let Some(connection) = self.connections.get_mut(&conn) else { return Ok(()) };
        let (broker, slot) = (connection.broker, connection.reserve(frame.len()));
        let records = sets.iter().flatten().sum();
        let fate = fate.unwrap_or(ProduceFate::Answer);
        let produce = PendingProduce { conn, slot, number, head, frame, body_at, sets, fate };
        if let Some(broker) = self.brokers.get_mut(&broker) {
            broker.server.arrive(self.now_ns, records, produce);
        }
        Ok(())
    }

    /// A server has finished a produce request: stores and answers as its fate says.
    pub(super) fn complete(&mut self, broker: i32, job: Job<PendingProduce>) {
        let PendingProduce { conn, slot, number, head, frame, body_at, sets, fate } = job.request;
        if self.config.keeps_traces {
            self.traces.push(RequestTrace {
                number,
                broker,
                conn,
                records: sets.iter().flatten().sum(),
                arrival_ns: job.arrival_ns,
                start_ns: job.start_ns,
                completion_ns: job.completion_ns,
            });
        }
        let Ok(request) = ProduceRequest::decode(Reader::new(&frame[body_at..]), &head) else {
            return;
        };
        let stores = match fate {
            ProduceFate::Answer | ProduceFate::Hostile(_) => true,
            ProduceFate::Fail { stored, .. }
            | ProduceFate::Drop { stored }
            | ProduceFate::Close { stored } => stored == StoredAnyway::Yes,
        };
        let mut outcomes = if stores {
            self.store(broker, &request, &sets, head.version)
        } else {
            vec![(code::NONE, -1); sets.len()]
        };
        if let ProduceFate::Fail { code, .. } = fate {
            outcomes.fill((code, -1));
        }
        let mut answer = QueuedResponse::default();
        if request.acks != 0 {
            answer.bytes = self.respond(broker, &head, &request, &outcomes);
            let acknowledged = sets.iter().zip(&outcomes).filter(|(_, (error, _))| *error == code::NONE);
            answer.acknowledged_records = acknowledged.filter_map(|(records, _)| *records).sum();
        }
        match fate {
            ProduceFate::Drop { .. } => return self.wake_fetches(broker),
            ProduceFate::Close { .. } => {
                answer = QueuedResponse { closes: true, ..QueuedResponse::default() }
            }
            ProduceFate::Hostile(hostile) => answer = self.spoil(hostile, &head, &answer.bytes),
            ProduceFate::Answer | ProduceFate::Fail { .. } => {}
        }
        self.send(conn, slot, answer);
        self.wake_fetches(broker);
    }

    /// Stores what `broker` leads and is not spoilt: error and base offset of each partition, in order.
    fn store(
        &mut self,
        broker: i32,
        request: &ProduceRequest<'_>,
        sets: &[Option<u64>],
        version: i16,
    ) -> Vec<(i16, i64)> {
        let keep = self.config.keeps_batches;
        let mut outcomes = Vec::with_capacity(sets.len());
        for ((topic, partition), records) in request.partitions().zip(sets) {
            let index = usize::try_from(partition.index).unwrap_or(usize::MAX);
            let is_meant = self.is_meant(topic);
            let is_led =
                self.partition(topic.name, partition.index).is_some_and(|log| log.leader == Some(broker));
            let allowed = match batch::first(partition.records) {
                Ok(first) if is_meant && is_led => {
                    let place = (topic.name, index);
                    self.check_transaction(request.transactional_id, place, &first.header, version)
                }
                _ => Ok(()),
            };
            let log = self.topics.get_mut(topic.name).and_then(|logs| logs.get_mut(index));
            let outcome = match (log, records) {
                _ if !is_meant => (code::UNKNOWN_TOPIC_ID, -1),
                (None, _) => (code::UNKNOWN_TOPIC_OR_PARTITION, -1),
                (Some(log), _) if log.leader != Some(broker) => (code::NOT_LEADER_OR_FOLLOWER, -1),
                (Some(_), None) => (code::CORRUPT_MESSAGE, -1),
                (Some(_), Some(_)) if allowed.is_err() => (allowed.err().unwrap_or(code::NONE), -1),
                (Some(log), Some(_)) => match log.append(partition.records, keep) {
                    Ok(appended) => {
                        self.counts.stored_records += appended.records;
                        (appended.error, appended.base_offset)
                    }
                    Err(_) => (code::CORRUPT_MESSAGE, -1),
                },
            };
            outcomes.push(outcome);
        }
        outcomes
    }

    /// What is sent in place of an answer.
    pub(super) fn spoil(&mut self, hostile: Hostile, head: &RequestHead, answer: &[u8]) -> QueuedResponse {
        let mut bytes = Vec::new();
        match hostile {
            Hostile::Truncated | Hostile::WrongCorrelation if answer.is_empty() => {
                bytes.resize(64, 0);
                self.random.fill_bytes(&mut bytes);
            }
            Hostile::Garbage { bytes: count } => {
                bytes.resize(count.max(1), 0);
                self.random.fill_bytes(&mut bytes);
            }
            Hostile::Truncated => bytes.extend_from_slice(&answer[..answer.len() / 2]),
            Hostile::HugeFrame => bytes.put_i32(i32::MAX),
            Hostile::NegativeFrame => bytes.put_i32(-2),
            Hostile::HugeArray => {
                let start = begin_frame(&mut bytes, head);
                if head.flexible {
                    bytes.put_uvarint(u32::MAX)
                } else {
                    bytes.put_i32(i32::MAX)
                }
                end_frame(&mut bytes, start);
            }
            Hostile::WrongCorrelation => {
                bytes.extend_from_slice(answer);
                bytes[4] ^= 0x55;
            }
        }
        QueuedResponse { bytes, acknowledged_records: 0, closes: hostile == Hostile::Truncated }
    }

    /// The answer; with who leads the partitions that the broker does not.
    fn respond(
        &self,
        broker: i32,
        head: &RequestHead,
        request: &ProduceRequest<'_>,
        outcomes: &[(i16, i64)],
    ) -> Vec<u8> {
        let mut bytes = Vec::new();
        let (mut outcomes, mut named) = (outcomes.iter(), Vec::new());
        let has_hints = head.version >= LEADER_HINTS_FROM;
        let response = ProduceResponse::begin(&mut bytes, head, request.topics.len());
        for (topic, partitions) in &request.topics {
            response.topic(&mut bytes, *topic, partitions.len());
            for (partition, outcome) in partitions.iter().zip(&mut outcomes) {
                let leader =
                    self.leader_instead(topic.name, partition.index, outcome.0).filter(|_| has_hints);
                named.extend(leader.map(|(leader, _)| leader));
                let tags = leader_tags(LEADER_TAG, leader);
                response.partition(&mut bytes, partition.index, *outcome, &tags);
            }
            response.end_topic(&mut bytes);
        }
        let endpoints = endpoint_tags(&self.endpoints(named));
        response.end(&mut bytes, self.throttle_ms(broker), &endpoints);
        bytes
    }

    /// Who leads a partition, and since which election, where an error says that it is not the broker asked.
    pub(super) fn leader_instead(&self, topic: &str, partition: i32, error: i16) -> Option<(i32, i32)> {
        let is_reported = matches!(error, code::NOT_LEADER_OR_FOLLOWER | code::FENCED_LEADER_EPOCH);
        let log = self.partition(topic, partition).filter(|_| is_reported)?;
        Some((log.leader?, log.leader_epoch))
    }

    /// Where these brokers listen, each once.
    pub(super) fn endpoints(&self, mut named: Vec<i32>) -> Vec<&BrokerView> {
        named.sort_unstable();
        named.dedup();
        named.iter().filter_map(|id| self.brokers.get(id)).map(|broker| &broker.view).collect()
    }
}
