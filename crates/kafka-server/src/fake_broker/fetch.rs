//! Fetches: answered when there is enough, something is wrong, or the client's wait is over.

use super::cluster::{FakeCluster, Timer};
use super::connection::{ConnId, Slot};
use super::log::StoredBatch;
use super::requests::WaitingFetch;
use crate::codec::fetch::{FetchOutcome, FetchPartition, FetchRequest, FetchResponse};
use crate::codec::{RequestHead, TopicRef, code};

/// Largest response, whatever the client asks for.
const RESPONSE_BYTES_MAX: usize = 64 << 20;

impl FakeCluster {
    /// Answers at once or waits.
    pub(super) fn begin_fetch(
        &mut self,
        conn: ConnId,
        slot: Slot,
        head: RequestHead,
        request: &FetchRequest<'_>,
    ) {
        let id = self.new_id();
        let bytes = |value: i32| usize::try_from(value).unwrap_or(0);
        let waiting = WaitingFetch {
            conn,
            slot,
            head,
            bytes_min: bytes(request.bytes_min),
            bytes_max: bytes(request.bytes_max).min(RESPONSE_BYTES_MAX),
            topics: request.topics.iter().map(|(t, p)| (t.name.to_owned(), t.id, p.clone())).collect(),
            deadline: None,
        };
        self.fetches.insert(id, waiting);
        let wait_ns = u64::try_from(request.max_wait_ms).unwrap_or(0) * 1_000_000;
        if wait_ns == 0 {
            self.end_fetch(id);
        } else if !self.try_fetch(id) {
            let at_ns = self.now_ns.saturating_add(wait_ns);
            let deadline = self.start_timer(at_ns, Timer::FetchDeadline { fetch: id });
            if let Some(waiting) = self.fetches.get_mut(&id) {
                waiting.deadline = Some(deadline);
            }
        }
    }

    /// Something may have changed for the fetches at a broker.
    pub(super) fn wake_fetches(&mut self, broker: i32) {
        let waiting: Vec<u64> = self.fetches.keys().copied().collect();
        for fetch in waiting {
            let at = self.fetches.get(&fetch).and_then(|waiting| self.broker_of(waiting.conn));
            if at.is_none() {
                self.fetches.remove(&fetch);
            } else if at == Some(broker) {
                self.try_fetch(fetch);
            }
        }
    }

    /// Something may have changed for all fetches.
    pub(super) fn wake_all_fetches(&mut self) {
        for broker in self.broker_ids() {
            self.wake_fetches(broker);
        }
    }

    /// Answers if there is a reason to; true if so.
    fn try_fetch(&mut self, fetch: u64) -> bool {
        let Some(waiting) = self.fetches.get(&fetch) else { return true };
        let Some(broker) = self.broker_of(waiting.conn) else { return true };
        let mut bytes = 0;
        let mut failed = false;
        for (name, id, partitions) in &waiting.topics {
            let topic = TopicRef { name, id: *id };
            for partition in partitions {
                let (outcome, batches) = self.look(broker, topic, partition, usize::MAX);
                failed |= outcome.error != code::NONE;
                bytes += batches.iter().map(|batch| batch.bytes.len()).sum::<usize>();
            }
        }
        let due = failed || bytes >= waiting.bytes_min.max(1);
        if due {
            self.end_fetch(fetch);
        }
        due
    }

    /// Answers with what there is.
    pub(super) fn end_fetch(&mut self, fetch: u64) {
        let Some(waiting) = self.fetches.remove(&fetch) else { return };
        if let Some(deadline) = waiting.deadline {
            self.stop_timer(deadline);
        }
        let Some(broker) = self.broker_of(waiting.conn) else { return };
        let throttle_ms = self.throttle_ms(broker);
        let mut bytes = Vec::new();
        let mut left = waiting.bytes_max;
        let mut is_first = true;
        let response = FetchResponse::begin(&mut bytes, &waiting.head, waiting.topics.len(), throttle_ms);
        let mut named = Vec::new();
        for (name, id, partitions) in &waiting.topics {
            let topic = TopicRef { name, id: *id };
            response.topic(&mut bytes, topic, partitions.len());
            for partition in partitions {
                let (mut outcome, mut batches) = self.look(broker, topic, partition, left);
                named.extend(outcome.leader.map(|(leader, _)| leader));
                // As brokers do, the first batch is sent whatever its size, others if they fit.
                if !is_first && outcome.records_bytes > left {
                    batches = &[];
                    outcome.records_bytes = 0;
                }
                response.partition(&mut bytes, &outcome);
                for batch in batches {
                    bytes.extend_from_slice(&batch.bytes);
                    is_first = false;
                }
                left = left.saturating_sub(outcome.records_bytes);
                response.end_partition(&mut bytes, &outcome);
            }
            response.end_topic(&mut bytes);
        }
        response.end(&mut bytes, &self.endpoints(named));
        self.answer(waiting.conn, waiting.slot, bytes);
    }

    /// What a partition has for a fetch.
    fn look(
        &self,
        broker: i32,
        topic: TopicRef<'_>,
        asked: &FetchPartition,
        left: usize,
    ) -> (FetchOutcome, &[StoredBatch]) {
        let failed = |error| {
            let leader = self.leader_instead(topic.name, asked.index, error);
            let outcome =
                FetchOutcome { index: asked.index, error, high_watermark: -1, records_bytes: 0, leader };
            (outcome, &[][..])
        };
        if !self.is_meant(topic) {
            return failed(code::UNKNOWN_TOPIC_ID);
        }
        let Some(log) = self.partition(topic.name, asked.index) else {
            return failed(code::UNKNOWN_TOPIC_OR_PARTITION);
        };
        if log.leader != Some(broker) {
            return failed(code::NOT_LEADER_OR_FOLLOWER);
        }
        if !(0..=log.end_offset()).contains(&asked.offset) {
            return failed(code::OFFSET_OUT_OF_RANGE);
        }
        let batches = log.read(asked.offset, usize::try_from(asked.bytes_max).unwrap_or(0).min(left));
        let outcome = FetchOutcome {
            index: asked.index,
            error: code::NONE,
            high_watermark: log.end_offset(),
            records_bytes: batches.iter().map(|batch| batch.bytes.len()).sum(),
            leader: None,
        };
        (outcome, batches)
    }
}
