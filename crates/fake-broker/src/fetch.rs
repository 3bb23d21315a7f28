//! Fetches: answered when there is enough, something is wrong, or the client's wait is over.

use super::cluster::{FakeCluster, Timer};
use super::codec::{code, endpoint_tags, leader_tags};
use super::connection::{ConnId, Slot};
use super::log::StoredBatch;
use super::requests::{FetchSession, FetchedPartition, WaitingFetch};
use kdyno_kafka::messages::m01_fetch::{RACKS_FROM, SESSIONS_FROM};
use kdyno_kafka_server::codec::fetch::{FetchOutcome, FetchRequest, FetchResponse};
use kdyno_kafka_server::codec::{RequestHead, TopicRef};

/// Largest response, whatever the client asks for.
const RESPONSE_BYTES_MAX: usize = 64 << 20;

/// Fetch sessions that are remembered: of so many each further one is refused.
const SESSIONS_MAX: usize = 1000;

/// The first version whose responses say where leaders listen.
const ENDPOINTS_FROM: i16 = 16;

/// Number of the tagged field that says who leads a partition instead.
const LEADER_TAG: u32 = 1;

/// The session of a fetch: its id, whether the request names all partitions, and these.
type Joined = (i32, bool, Vec<FetchedPartition>);

impl FakeCluster {
    /// Answers at once or waits.
    pub(super) fn begin_fetch(
        &mut self,
        conn: ConnId,
        slot: Slot,
        head: RequestHead,
        request: &FetchRequest<'_>,
    ) {
        let Some(broker) = self.broker_of(conn) else { return };
        let (session, is_full, partitions) = match self.join_session(broker, &head, request) {
            Ok(joined) => joined,
            Err(error) => {
                let mut bytes = Vec::new();
                FetchResponse::begin(&mut bytes, &head, 0, 0, (error, 0)).end(&mut bytes, &[]);
                return self.answer(conn, slot, bytes);
            }
        };
        let id = self.new_id();
        let bytes = |value: i32| usize::try_from(value).unwrap_or(0);
        let waiting = WaitingFetch {
            conn,
            slot,
            head,
            bytes_min: bytes(request.bytes_min),
            bytes_max: bytes(request.bytes_max).min(RESPONSE_BYTES_MAX),
            is_committed: request.is_committed,
            rack: request.rack.to_owned(),
            session,
            is_full,
            partitions,
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

    /// Begins a session, goes on with one, or does without.
    fn join_session(
        &mut self,
        broker: i32,
        head: &RequestHead,
        request: &FetchRequest<'_>,
    ) -> Result<Joined, i16> {
        let named = request.topics.iter().flat_map(|(topic, partitions)| {
            partitions.iter().map(move |asked| FetchedPartition {
                topic: topic.name.to_owned(),
                topic_id: topic.id,
                asked: *asked,
                reported: -1,
            })
        });
        let step = request.session;
        if step.epoch <= 0 {
            self.fetch_sessions.remove(&step.id);
            let partitions: Vec<_> = named.collect();
            let has_room = self.fetch_sessions.len() < SESSIONS_MAX && self.config.keeps_fetch_sessions;
            if step.epoch < 0 || head.version < SESSIONS_FROM || !has_room {
                return Ok((0, true, partitions));
            }
            let id = self.new_id() as i32;
            let kept = FetchSession { broker, epoch: 1, partitions: partitions.clone() };
            self.fetch_sessions.insert(id, kept);
            return Ok((id, true, partitions));
        }
        let session = self.fetch_sessions.get_mut(&step.id).filter(|session| session.broker == broker);
        let session = session.ok_or(code::FETCH_SESSION_ID_NOT_FOUND)?;
        if step.epoch != session.epoch {
            return Err(code::INVALID_FETCH_SESSION_EPOCH);
        }
        session.epoch += 1;
        let forgotten = |known: &FetchedPartition| {
            request.forgotten.iter().any(|(topic, partitions)| {
                (topic.name, topic.id) == (known.topic.as_str(), known.topic_id)
                    && partitions.contains(&known.asked.index)
            })
        };
        session.partitions.retain(|known| !forgotten(known));
        for new in named {
            let same = |known: &&mut FetchedPartition| {
                (&known.topic, known.topic_id, known.asked.index)
                    == (&new.topic, new.topic_id, new.asked.index)
            };
            match session.partitions.iter_mut().find(same) {
                Some(known) => known.asked = new.asked,
                None => session.partitions.push(new),
            }
        }
        Ok((step.id, false, session.partitions.clone()))
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
        for partition in &waiting.partitions {
            let (outcome, batches) = self.look(broker, waiting, partition, usize::MAX);
            failed |= outcome.error != code::NONE || outcome.preferred >= 0;
            bytes += batches.iter().map(|batch| batch.bytes.len()).sum::<usize>();
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
        let mut left = waiting.bytes_max;
        let mut is_first = true;
        let mut pieces = Vec::new();
        for partition in &waiting.partitions {
            let (mut outcome, mut batches) = self.look(broker, &waiting, partition, left);
            // As brokers do, the first batch is sent whatever its size, others if they fit.
            if !is_first && outcome.records_bytes > left {
                batches = &[];
                outcome.records_bytes = 0;
            }
            is_first &= batches.is_empty();
            left = left.saturating_sub(outcome.records_bytes);
            let is_news = outcome.error != code::NONE
                || outcome.preferred >= 0
                || outcome.high_watermark != partition.reported
                || !batches.is_empty();
            if waiting.is_full || is_news {
                pieces.push((partition, outcome, batches));
            }
        }
        let mut topics: Vec<(TopicRef<'_>, usize)> = Vec::new();
        for (partition, ..) in &pieces {
            let topic = TopicRef { name: &partition.topic, id: partition.topic_id };
            match topics.last_mut().filter(|(last, _)| *last == topic) {
                Some((_, count)) => *count += 1,
                None => topics.push((topic, 1)),
            }
        }
        let mut bytes = Vec::new();
        let session = (code::NONE, waiting.session);
        let throttle_ms = self.throttle_ms(broker);
        let response = FetchResponse::begin(&mut bytes, &waiting.head, topics.len(), throttle_ms, session);
        let (mut all, mut named) = (pieces.iter(), Vec::new());
        let has_endpoints = waiting.head.version >= ENDPOINTS_FROM;
        for (topic, count) in topics {
            response.topic(&mut bytes, topic, count);
            for (_, outcome, batches) in all.by_ref().take(count) {
                let leader = self.leader_instead(topic.name, outcome.index, outcome.error);
                named.extend(leader.filter(|_| has_endpoints).map(|(leader, _)| leader));
                response.partition(&mut bytes, outcome);
                batches.iter().for_each(|batch| bytes.extend_from_slice(&batch.bytes));
                response.end_partition(&mut bytes, &leader_tags(LEADER_TAG, leader));
            }
            response.end_topic(&mut bytes);
        }
        response.end(&mut bytes, &endpoint_tags(&self.endpoints(named)));
        let said = |(partition, outcome, batches): &(&FetchedPartition, FetchOutcome, &[StoredBatch])| {
            let place = (partition.topic.clone(), partition.asked.index);
            (place, outcome.high_watermark, !batches.is_empty())
        };
        let reported: Vec<_> = pieces.iter().map(said).collect();
        let leads = |of: &FetchedPartition| {
            self.partition(&of.topic, of.asked.index).is_some_and(|log| log.leader == Some(broker))
        };
        let followed = pieces.iter().filter(|(partition, ..)| !leads(partition));
        let follower_batches: usize = followed.map(|(_, _, batches)| batches.len()).sum();
        self.counts.follower_batches += follower_batches as u64;
        self.remember(waiting.session, reported);
        self.answer(waiting.conn, waiting.slot, bytes);
    }

    /// What a session has reported: partitions with records come last the next time.
    fn remember(&mut self, session: i32, reported: Vec<((String, i32), i64, bool)>) {
        let Some(session) = self.fetch_sessions.get_mut(&session) else { return };
        for (place, high_watermark, has_records) in reported {
            let same = |known: &FetchedPartition| (&known.topic, known.asked.index) == (&place.0, place.1);
            let Some(at) = session.partitions.iter().position(same) else { continue };
            session.partitions[at].reported = high_watermark;
            if has_records {
                let last = session.partitions.remove(at);
                session.partitions.push(last);
            }
        }
    }

    /// What a partition has for a fetch.
    fn look(
        &self,
        broker: i32,
        fetch: &WaitingFetch,
        partition: &FetchedPartition,
        left: usize,
    ) -> (FetchOutcome, &[StoredBatch]) {
        let asked = &partition.asked;
        let topic = TopicRef { name: &partition.topic, id: partition.topic_id };
        let failed = |error| (FetchOutcome::failed(asked.index, error), &[][..]);
        if !self.is_meant(topic) {
            return failed(code::UNKNOWN_TOPIC_ID);
        }
        let Some(log) = self.partition(topic.name, asked.index) else {
            return failed(code::UNKNOWN_TOPIC_OR_PARTITION);
        };
        if (0..log.leader_epoch).contains(&asked.leader_epoch) {
            return failed(code::FENCED_LEADER_EPOCH);
        }
        if asked.leader_epoch > log.leader_epoch {
            return failed(code::UNKNOWN_LEADER_EPOCH);
        }
        let (is_leader, version) = (log.leader == Some(broker), fetch.head.version);
        if !is_leader && (version < RACKS_FROM || !log.replicas.contains(&broker)) {
            return failed(code::NOT_LEADER_OR_FOLLOWER);
        }
        if !(log.log_start..=log.end_offset()).contains(&asked.offset) {
            return failed(code::OFFSET_OUT_OF_RANGE);
        }
        let stable = log.last_stable_offset();
        let end = if fetch.is_committed { stable } else { log.end_offset() };
        let mut outcome = FetchOutcome {
            last_stable: stable,
            log_start: log.log_start,
            aborted: fetch.is_committed.then(|| log.aborted(asked.offset, end)),
            ..FetchOutcome::of(asked.index, log.end_offset())
        };
        if is_leader && version >= RACKS_FROM {
            outcome.preferred = self.nearer_replica(broker, &log.replicas, &fetch.rack);
        }
        if outcome.preferred >= 0 {
            return (outcome, &[]);
        }
        let bytes_max = usize::try_from(asked.bytes_max).unwrap_or(0).min(left);
        let batches = log.read((asked.offset, end), bytes_max);
        outcome.records_bytes = batches.iter().map(|batch| batch.bytes.len()).sum();
        (outcome, batches)
    }

    /// A replica in the client's rack, where the leader is in another one, as Kafka's `RackAwareReplicaSelector` has it;
    /// -1: none.
    fn nearer_replica(&self, leader: i32, replicas: &[i32], rack: &str) -> i32 {
        let is_near = |broker: i32| self.config.racks.get(&broker).is_some_and(|its| its == rack);
        if rack.is_empty() || is_near(leader) {
            return -1;
        }
        let mut there = replicas.iter().copied().filter(|broker| self.brokers.contains_key(broker));
        there.find(|broker| is_near(*broker)).unwrap_or(-1)
    }
}
