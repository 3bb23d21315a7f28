//! Transactions in the fake cluster: one broker coordinates all of them, partitions check who writes to them, and the
//! end of a transaction leaves a marker in each of its partitions.

use super::batch;
use super::cluster::FakeCluster;
use super::codec::code;
use super::coordinator::Transactional;
use kdyno_kafka::errors::ErrorCode;
use kdyno_kafka::messages::{
    m10_find_coordinator, m22_init_producer_id, m24_add_partitions_to_txn, m26_end_txn,
};
use kdyno_kafka::records::BatchHeader;
use kdyno_kafka_server::codec::responses::{self, BrokerView};

/// The level of the feature `transaction.version` from which on each transaction has an epoch of its own and leaders
/// add partitions to it (KIP-890).
const V2: i16 = 2;

impl FakeCluster {
    /// Somebody else takes every transactional id: the producers of now are fenced.
    pub(super) fn fence_producers(&mut self) {
        let ids: Vec<String> = self.coordinator.producers.keys().cloned().collect();
        for id in ids {
            self.end_one(&id, false, true);
            if let Some(taken_over) = self.coordinator.producers.get_mut(&id) {
                // What the one before may ask again for is not the new one's.
                (taken_over.renewed, taken_over.before) = (None, None);
            }
        }
    }

    /// The error with which a broker does not work on a request to a coordinator.
    pub(super) fn not_coordinating(&self, broker: i32) -> Result<(), i16> {
        if broker != self.coordinator.broker {
            Err(code::NOT_COORDINATOR)
        } else if self.now_ns < self.coordinator.loads_until_ns {
            Err(code::COORDINATOR_LOAD_IN_PROGRESS)
        } else {
            Ok(())
        }
    }

    pub(super) fn find_coordinator(
        &self,
        request: &m10_find_coordinator::Request,
        version: i16,
    ) -> m10_find_coordinator::Response {
        let nowhere = BrokerView { id: -1, host: String::new(), port: 0 };
        let found = self.brokers.get(&self.coordinator.broker).map(|broker| &broker.view);
        let error = if found.is_some() { code::NONE } else { code::COORDINATOR_NOT_AVAILABLE };
        responses::find_coordinator(request, version, found.unwrap_or(&nowhere), error)
    }

    pub(super) fn init_producer_id(
        &mut self,
        broker: i32,
        request: m22_init_producer_id::Request,
    ) -> m22_init_producer_id::Response {
        let Some(transactional_id) = request.transactional_id else {
            self.next_producer_id += 1;
            return responses::init_producer_id(self.next_producer_id - 1);
        };
        let known = (request.producer_id, request.producer_epoch);
        match self.not_coordinating(broker).and_then(|()| self.start_producer(&transactional_id, known)) {
            Ok((producer_id, producer_epoch)) => {
                m22_init_producer_id::Response { producer_id, producer_epoch, ..Default::default() }
            }
            Err(error) => {
                m22_init_producer_id::Response { error_code: ErrorCode(error), ..Default::default() }
            }
        }
    }

    /// A producer starts, or one that knows id and epoch wants the next epoch.
    fn start_producer(&mut self, transactional_id: &str, known: (i64, i16)) -> Result<(i64, i16), i16> {
        if !self.coordinator.producers.contains_key(transactional_id) {
            let new = Transactional { id: self.next_producer_id, epoch: -1, ..Transactional::default() };
            self.next_producer_id += 1;
            self.coordinator.producers.insert(transactional_id.to_owned(), new);
        }
        let now_ns = self.now_ns;
        let producer = &self.coordinator.producers[transactional_id];
        if known.0 == producer.id && Some(known.1) == producer.renewed {
            return Ok((producer.id, producer.epoch));
        }
        if known.0 >= 0 && known != (producer.id, producer.epoch) {
            return Err(code::PRODUCER_FENCED);
        }
        if producer.completes_ns > now_ns {
            return Err(code::CONCURRENT_TRANSACTIONS);
        }
        if !producer.partitions.is_empty() {
            self.end_one(transactional_id, false, false);
            return Err(code::CONCURRENT_TRANSACTIONS);
        }
        let producer = self.coordinator.producers.entry(transactional_id.to_owned()).or_default();
        (producer.epoch, producer.before) = (producer.epoch + 1, None);
        producer.renewed = (known.0 >= 0).then_some(known.1);
        Ok((producer.id, producer.epoch))
    }

    /// Partitions join a transaction; one that is not there leaves all of them out.
    pub(super) fn add_partitions(
        &mut self,
        broker: i32,
        request: &m24_add_partitions_to_txn::Request,
    ) -> m24_add_partitions_to_txn::Response {
        let id = &request.v3_and_below_transactional_id;
        let who = (request.v3_and_below_producer_id, request.v3_and_below_producer_epoch);
        let topics = &request.v3_and_below_topics;
        let named: Vec<(String, usize)> = topics
            .iter()
            .flat_map(|topic| topic.partitions.iter().map(|at| (topic.name.clone(), *at)))
            .map(|(name, at)| (name, usize::try_from(at).unwrap_or(usize::MAX)))
            .collect();
        let is_there =
            |(name, at): &(String, usize)| self.topics.get(name).is_some_and(|logs| *at < logs.len());
        let outcome = match self.not_coordinating(broker) {
            Ok(()) if !named.iter().all(is_there) => Err(code::UNKNOWN_TOPIC_OR_PARTITION),
            Ok(()) => self.join(id, who, named),
            Err(error) => Err(error),
        };
        responses::add_partitions(topics, outcome.err().unwrap_or(code::NONE))
    }

    /// Partitions join the transaction of a producer.
    fn join(&mut self, id: &str, who: (i64, i16), partitions: Vec<(String, usize)>) -> Result<(), i16> {
        let now_ns = self.now_ns;
        let producer = self.coordinator.producers.get_mut(id).ok_or(code::INVALID_PRODUCER_ID_MAPPING)?;
        if (producer.id, producer.epoch) != who {
            return Err(code::PRODUCER_FENCED);
        }
        if producer.completes_ns > now_ns {
            return Err(code::CONCURRENT_TRANSACTIONS);
        }
        producer.before = None;
        producer.partitions.extend(partitions);
        Ok(())
    }

    pub(super) fn end_txn(
        &mut self,
        broker: i32,
        version: i16,
        request: &m26_end_txn::Request,
    ) -> m26_end_txn::Response {
        let is_v2 = self.config.transaction_version >= V2 && version > END_TXN_V1_MAX;
        let ended = self.not_coordinating(broker).and_then(|()| self.end_transaction(request, is_v2));
        let (error, (producer_id, producer_epoch)) = match ended {
            Ok(identity) if is_v2 => (code::NONE, identity),
            Ok(_) => (code::NONE, (-1, -1)),
            Err(error) => (error, (-1, -1)),
        };
        let error_code = ErrorCode(error);
        m26_end_txn::Response { error_code, producer_id, producer_epoch, ..Default::default() }
    }

    /// Ends a transaction, or says again how it ended to a producer that has not heard it: since KIP-890 its epoch
    /// separates that from the end of a further transaction.
    fn end_transaction(&mut self, request: &m26_end_txn::Request, is_v2: bool) -> Result<(i64, i16), i16> {
        let (id, now_ns) = (&request.transactional_id, self.now_ns);
        let who = (request.producer_id, request.producer_epoch);
        let producer = self.coordinator.producers.get(id).ok_or(code::INVALID_PRODUCER_ID_MAPPING)?;
        let is_again = producer.partitions.is_empty()
            && producer.before == Some(request.committed)
            && who == (producer.id, producer.epoch - i16::from(is_v2));
        if !is_again && who != (producer.id, producer.epoch) {
            return Err(code::PRODUCER_FENCED);
        }
        if producer.completes_ns > now_ns {
            return Err(code::CONCURRENT_TRANSACTIONS);
        }
        if producer.partitions.is_empty() && !is_again && (request.committed || !is_v2) {
            return Err(code::INVALID_TXN_STATE);
        }
        if !is_again {
            self.end_one(id, request.committed, is_v2);
        }
        let producer = &self.coordinator.producers[id];
        Ok((producer.id, producer.epoch))
    }

    /// Writes the markers of a producer's open transaction; with the next epoch where that ends with it.
    fn end_one(&mut self, transactional_id: &str, is_commit: bool, next_epoch: bool) {
        let Some(producer) = self.coordinator.producers.get_mut(transactional_id) else { return };
        producer.epoch += i16::from(next_epoch);
        producer.before = Some(is_commit);
        let partitions = std::mem::take(&mut producer.partitions);
        if !partitions.is_empty() {
            producer.completes_ns = self.now_ns + self.config.marker_delay_ns;
        }
        let keep = self.config.keeps_batches;
        for (name, at) in partitions {
            let log = self.topics.get_mut(&name).and_then(|logs| logs.get_mut(at));
            if let Some(log) = log {
                log.append_marker((producer.id, producer.epoch), is_commit, keep);
            }
        }
        self.wake_all_fetches();
    }

    /// Whether a partition takes a batch of a transaction: it has to be in it, or joins it now.
    pub(super) fn check_transaction(
        &mut self,
        transactional_id: Option<&str>,
        (name, at): (&str, usize),
        head: &BatchHeader,
        version: i16,
    ) -> Result<(), i16> {
        let is_transactional = batch::is_transactional(head);
        let Some(id) = transactional_id.filter(|_| is_transactional) else {
            return if is_transactional { Err(code::INVALID_TXN_STATE) } else { Ok(()) };
        };
        let who = (head.producer_id, head.producer_epoch);
        let partition = (name.to_owned(), at);
        let is_v2 = self.config.transaction_version >= V2 && version > PRODUCE_V1_MAX;
        let producer = self.coordinator.producers.get(id).ok_or(code::INVALID_PRODUCER_ID_MAPPING)?;
        if producer.id != who.0 || who.1 < producer.epoch {
            return Err(code::INVALID_PRODUCER_EPOCH);
        }
        match producer.partitions.contains(&partition) {
            true => Ok(()),
            false if is_v2 => self.join(id, who, vec![partition]),
            false => Err(code::INVALID_TXN_STATE),
        }
    }
}

/// The last version of EndTxn whose answer brings no epoch.
const END_TXN_V1_MAX: i16 = 4;
/// The last version of Produce that does not add partitions.
const PRODUCE_V1_MAX: i16 = kdyno_kafka::messages::m00_produce::BEFORE_V2_MAX;

#[cfg(test)]
mod tests {
    use super::super::FakeConfig;
    use super::*;

    const START: (i64, i16) = (-1, -1);

    fn cluster(level: i16) -> FakeCluster {
        FakeCluster::new(FakeConfig::new(1).topic("t", 2).transaction_version(level).marker_delay_ns(10))
    }

    fn join(cluster: &mut FakeCluster, epoch: i16) -> Result<(), i16> {
        cluster.join("mine", (1, epoch), vec![("t".to_owned(), 0)])
    }

    /// The error of EndTxn, and the epoch that its answer brings.
    fn end(cluster: &mut FakeCluster, version: i16, producer_epoch: i16, committed: bool) -> (i16, i16) {
        let transactional_id = "mine".to_owned();
        let request = m26_end_txn::Request { transactional_id, producer_id: 1, producer_epoch, committed };
        let answer = cluster.end_txn(0, version, &request);
        (answer.error_code.0, answer.producer_epoch)
    }

    fn markers(cluster: &FakeCluster) -> u64 {
        cluster.stored("t", 0).expect("a partition").markers
    }

    #[test]
    fn before_kip_890_an_epoch_lasts_and_an_end_may_be_repeated() {
        let mut cluster = cluster(1);
        assert_eq!(cluster.start_producer("mine", START), Ok((1, 0)));
        for ended in 1..=2 {
            assert_eq!(join(&mut cluster, 0), Ok(()));
            assert_eq!(end(&mut cluster, 4, 0, true), (code::NONE, -1));
            assert_eq!(end(&mut cluster, 4, 0, true), (code::CONCURRENT_TRANSACTIONS, -1));
            assert_eq!(join(&mut cluster, 0), Err(code::CONCURRENT_TRANSACTIONS));
            cluster.now_ns += 10;
            assert_eq!(end(&mut cluster, 4, 0, true), (code::NONE, -1), "its answer may be lost");
            assert_eq!(end(&mut cluster, 4, 0, false), (code::INVALID_TXN_STATE, -1));
            assert_eq!(markers(&cluster), ended);
        }
    }

    #[test]
    fn since_kip_890_each_end_brings_an_epoch() {
        let mut cluster = cluster(2);
        assert_eq!(cluster.start_producer("mine", START), Ok((1, 0)));
        assert_eq!(join(&mut cluster, 0), Ok(()));
        assert_eq!(end(&mut cluster, 5, 0, false), (code::NONE, 1));
        cluster.now_ns += 10;
        assert_eq!(end(&mut cluster, 5, 0, false), (code::NONE, 1), "its answer may be lost");
        // For the next transaction, unknown to every leader: its abort brings an epoch too, its commit is none.
        assert_eq!(end(&mut cluster, 5, 1, true), (code::INVALID_TXN_STATE, -1));
        assert_eq!(end(&mut cluster, 5, 1, false), (code::NONE, 2));
        assert_eq!(end(&mut cluster, 5, 2, false), (code::NONE, 3));
        assert_eq!(end(&mut cluster, 5, 1, false), (code::PRODUCER_FENCED, -1));
        assert_eq!(markers(&cluster), 1);
    }

    #[test]
    fn another_producer_fences_the_one_before_whatever_it_asks() {
        for level in [1, 2] {
            let version = if level == 2 { 5 } else { 4 };
            for has_joined in [false, true] {
                let mut cluster = cluster(level);
                assert_eq!(cluster.start_producer("mine", START), Ok((1, 0)));
                if has_joined {
                    assert_eq!(join(&mut cluster, 0), Ok(()));
                }
                cluster.fence_producers();
                cluster.now_ns += 10;
                for committed in [false, true] {
                    assert_eq!(end(&mut cluster, version, 0, committed), (code::PRODUCER_FENCED, -1));
                }
                assert_eq!(join(&mut cluster, 0), Err(code::PRODUCER_FENCED));
                assert_eq!(cluster.start_producer("mine", (1, 0)), Err(code::PRODUCER_FENCED));
                assert_eq!(markers(&cluster), u64::from(has_joined), "what was open is aborted");
            }
        }
    }

    /// A producer that starts ends the transaction of the one before first; one that renews its epoch may ask twice.
    #[test]
    fn epochs_are_given_out_one_after_the_other() {
        let mut cluster = cluster(1);
        assert_eq!(cluster.start_producer("mine", START), Ok((1, 0)));
        assert_eq!(join(&mut cluster, 0), Ok(()));
        assert_eq!(cluster.start_producer("mine", START), Err(code::CONCURRENT_TRANSACTIONS));
        assert_eq!(markers(&cluster), 1);
        assert_eq!(cluster.start_producer("mine", START), Err(code::CONCURRENT_TRANSACTIONS));
        cluster.now_ns += 10;
        assert_eq!(cluster.start_producer("mine", START), Ok((1, 1)));
        assert_eq!(cluster.start_producer("mine", (1, 0)), Err(code::PRODUCER_FENCED));
        assert_eq!(cluster.start_producer("mine", (1, 1)), Ok((1, 2)));
        assert_eq!(cluster.start_producer("mine", (1, 1)), Ok((1, 2)), "its answer may be lost");
        assert_eq!(cluster.start_producer("mine", (1, 2)), Ok((1, 3)));
        assert_eq!(cluster.start_producer("yours", START), Ok((2, 0)), "an id of its own");
    }
}
