//! What a producer does by its transactions: what is asked of the coordinator, and what its answers change.

use super::sender::ProducerToken;
use super::sequences::Idempotence;
use super::transactions::{
    EndedTransaction, TransactionEnd, TransactionPartitions, TransactionRequest, Transactions,
};
use super::{Delivery, Producer, ProducerBatch, RecordData};
use crate::connection::Connection;
use crate::errors::ErrorCode;
use crate::messages::{
    ApiVersionError, Message as _, Request as _, m10_find_coordinator, m22_init_producer_id,
    m24_add_partitions_to_txn, m26_end_txn,
};
use crate::wire::WireError;

/// Reason of a record that was not sent any more since its transaction had failed.
pub const TRANSACTION_ABORTED: &str = "transaction-aborted";

/// The level of the feature `transaction.version` from which on leaders add partitions by themselves (KIP-890).
const V2: i16 = 2;
/// The last version of EndTxn before that: later ones bring an epoch.
const END_TXN_V1_MAX: i16 = 4;
/// The last version of AddPartitionsToTxn that is for clients.
const ADD_PARTITIONS_MAX: i16 = 3;
/// Kind of coordinator.
const OF_TRANSACTIONS: i8 = 1;

/// Transactions, as their user sees them.
impl<M: RecordData> Producer<M> {
    /// Whether records are taken: not while a transaction ends, not before there is an id for the first one, and not
    /// after what ends a transactional producer; and by a synchronous one not while it waits for the one before.
    pub fn takes_records(&self) -> bool {
        let is_waiting = self.config.is_synchronous && self.batches > 0;
        !is_waiting && self.transactions.as_ref().is_none_or(Transactions::takes_records)
    }

    /// When the open transaction took its first record, ns; `None` if there is none, or if it is ending.
    pub fn transaction_began_ns(&self) -> Option<u64> {
        self.transactions.as_ref()?.began_ns()
    }

    /// Ends the open transaction, if there is one: its records are sent and answered without lingering, then the
    /// coordinator gets the request. No record is taken until that is over.
    pub fn end_transaction(&mut self, is_commit: bool, now_ns: u64) {
        let end = if is_commit { TransactionEnd::Committed } else { TransactionEnd::Aborted };
        if let Some(transactions) = &mut self.transactions {
            transactions.end(end, now_ns);
        }
    }

    /// Takes the transactions that ended since the last call.
    pub fn take_ended(&mut self) -> impl Iterator<Item = EndedTransaction> + '_ {
        self.transactions.iter_mut().flat_map(Transactions::take_ended)
    }

    /// The partitions of the transaction that is not over.
    pub fn open_partitions(&self) -> TransactionPartitions {
        self.transactions.as_ref().map_or_else(TransactionPartitions::default, Transactions::partitions)
    }

    /// Whether a transaction has begun and is not over.
    pub fn is_in_transaction(&self) -> bool {
        self.transactions.as_ref().is_some_and(Transactions::is_in_one)
    }

    /// Whether everything is sent without lingering, since a transaction ends.
    pub(super) fn is_ending(&self) -> bool {
        self.transactions.as_ref().is_some_and(Transactions::is_ending)
    }

    /// Whether a partition's batches wait until it is added to the transaction.
    pub(super) fn is_unadded(&self, partition: usize) -> bool {
        self.transactions.as_ref().is_some_and(|transactions| transactions.misses(partition))
    }

    /// The newest version of produce requests that fits: before KIP-890 one that adds no partitions.
    pub fn produce_version_max(&self) -> i16 {
        match &self.transactions {
            Some(transactions) if !transactions.is_v2() => crate::messages::m00_produce::BEFORE_V2_MAX,
            _ => i16::MAX,
        }
    }

    /// A record was taken.
    pub(super) fn begin_transaction(&mut self, now_ns: u64) {
        if let Some(transactions) = &mut self.transactions {
            transactions.begin(now_ns);
        }
    }

    /// A batch of the transaction will not be stored, or that is unknown: it can only be aborted. What was never sent
    /// fails with it.
    pub(super) fn fail_transaction(&mut self, reason: &'static str, now_ns: u64) {
        let Some(transactions) = &mut self.transactions else { return };
        transactions.end(TransactionEnd::Failed(reason), now_ns);
        let mut from = 0;
        while let Some(partition) = self.queues.waiting_from(from) {
            while let Some(batch) = self.queues.pop_back_if(partition, |batch| !batch.has_sequence()) {
                self.resolve(batch, Delivery::Failed { reason: TRANSACTION_ABORTED });
            }
            from = partition + 1;
        }
    }

    /// The producer will not send any more.
    pub(super) fn give_up(&mut self, error: ErrorCode) {
        if let Some(idempotence) = &mut self.idempotence {
            idempotence.give_up(error);
        }
        if let Some(transactions) = &mut self.transactions {
            transactions.give_up();
        }
    }

    /// Ends a transaction that is to end without a request to the coordinator.
    pub fn conclude(&mut self, now_ns: u64) {
        let is_flushed = self.batches == 0;
        if let Some(transactions) = self.transactions.as_mut().filter(|one| is_flushed && one.ends_unheard())
        {
            transactions.over(now_ns);
        }
    }

    /// A batch that the transaction has is sent, or stored.
    pub(super) fn note_in_transaction(&mut self, batch: &ProducerBatch<M>, is_stored: bool) {
        let Some(transactions) = &mut self.transactions else { return };
        let partition = batch.partition as usize;
        if is_stored { transactions.note_stored(partition) } else { transactions.note_sent(partition) }
    }
}

/// Requests and answers.
impl<M: RecordData> Producer<M> {
    /// What is to be requested for the sake of transactions, and not before which instant, ns.
    pub fn next_transaction_request(&self) -> Option<(TransactionRequest, u64)> {
        let transactions = self.transactions.as_ref()?;
        let has_new = self.queues.waiting().any(|partition| transactions.misses(partition));
        transactions.next_request(has_new, self.batches == 0)
    }

    /// The broker that coordinates the transactions, if it is known.
    pub fn coordinator(&self) -> Option<i32> {
        self.transactions.as_ref()?.coordinator()
    }

    /// Sends a request over a connection.
    ///
    /// # Errors
    /// When the broker does not speak it.
    pub fn ask_for_transaction<T: From<ProducerToken>>(
        &mut self,
        request: TransactionRequest,
        connection: &mut Connection<T>,
        now_ns: u64,
    ) -> Result<(), ApiVersionError> {
        let Some(transactions) = &mut self.transactions else { return Ok(()) };
        let token = T::from(ProducerToken::Transaction(request));
        let transactional_id = transactions.config().transactional_id.clone();
        let known = self.idempotence.as_ref().and_then(Idempotence::identity);
        let (producer_id, producer_epoch) = known.unwrap_or((-1, -1));
        let mut added = Vec::new();
        match request {
            TransactionRequest::FindCoordinator => {
                let request = m10_find_coordinator::Request {
                    key: transactional_id.clone(),
                    key_type: OF_TRANSACTIONS,
                    coordinator_keys: vec![transactional_id],
                };
                connection.ask(token, &request, now_ns)?;
            }
            TransactionRequest::InitProducerId => {
                let request = m22_init_producer_id::Request {
                    transactional_id: Some(transactional_id),
                    transaction_timeout_ms: transactions.config().timeout_ms,
                    producer_id,
                    producer_epoch,
                    ..Default::default()
                };
                connection.ask(token, &request, now_ns)?;
            }
            TransactionRequest::AddPartitions => {
                added = self.queues.waiting().filter(|at| transactions.misses(*at)).collect();
                let topic = m24_add_partitions_to_txn::AddPartitionsToTxnTopic {
                    name: self.config.topics[0].clone(),
                    partitions: added.iter().map(|partition| *partition as i32).collect(),
                };
                let request = m24_add_partitions_to_txn::Request {
                    v3_and_below_transactional_id: transactional_id,
                    v3_and_below_producer_id: producer_id,
                    v3_and_below_producer_epoch: producer_epoch,
                    v3_and_below_topics: vec![topic],
                    ..Default::default()
                };
                let api = (m24_add_partitions_to_txn::API, ADD_PARTITIONS_MAX);
                connection.ask_by_hand(token, api, now_ns, |version, out| request.encode(version, out))?;
            }
            TransactionRequest::EndTxn => {
                let committed = transactions.is_commit();
                let request =
                    m26_end_txn::Request { transactional_id, producer_id, producer_epoch, committed };
                let version_max = if transactions.is_v2() { i16::MAX } else { END_TXN_V1_MAX };
                let api = (m26_end_txn::API, version_max);
                connection.ask_by_hand(token, api, now_ns, |version, out| request.encode(version, out))?;
            }
        }
        transactions.note_asked(request, &added);
        Ok(())
    }

    /// A request got no answer, or its connection cannot be made.
    pub fn on_transaction_lost(&mut self, now_ns: u64) {
        if let Some(transactions) = &mut self.transactions {
            transactions.note_lost(now_ns, self.config.retry_backoff_ns);
        }
    }

    /// An answer came, over a connection to a broker that knows this level of the feature `transaction.version`.
    ///
    /// # Errors
    /// When it is none; it is then asked again after a pause, and the connection is to be closed.
    pub fn on_transaction_answer(
        &mut self,
        request: TransactionRequest,
        (version, body): (i16, &[u8]),
        feature_level: i16,
        now_ns: u64,
    ) -> Result<(), WireError> {
        self.take_transaction_answer(request, (version, body), feature_level, now_ns)
            .inspect_err(|_| self.on_transaction_lost(now_ns))
    }

    fn take_transaction_answer(
        &mut self,
        request: TransactionRequest,
        (version, body): (i16, &[u8]),
        feature_level: i16,
        now_ns: u64,
    ) -> Result<(), WireError> {
        let Self { transactions: Some(transactions), idempotence: Some(idempotence), .. } = self else {
            return Ok(());
        };
        let (mut coordinator, mut identity, mut added) = (None, None, Vec::new());
        let error = match request {
            TransactionRequest::FindCoordinator => {
                let response = m10_find_coordinator::Request::decode_response(body, version)?;
                let (error, node) = match response.coordinators.first() {
                    Some(found) => (found.error_code, found.node_id),
                    None => (response.error_code, response.node_id),
                };
                coordinator = Some(node);
                error
            }
            TransactionRequest::InitProducerId => {
                let response = m22_init_producer_id::Request::decode_response(body, version)?;
                identity = Some((response.producer_id, response.producer_epoch));
                response.error_code
            }
            TransactionRequest::AddPartitions => {
                let response = m24_add_partitions_to_txn::Request::decode_response(body, version)?;
                let topics = response.results_by_topic_v3_and_below;
                let results: Vec<_> =
                    topics.into_iter().flat_map(|topic| topic.results_by_partition).collect();
                added = results.iter().filter_map(|one| usize::try_from(one.partition_index).ok()).collect();
                first_error(results.iter().map(|one| one.partition_error_code))
            }
            TransactionRequest::EndTxn => {
                let response = m26_end_txn::Request::decode_response(body, version)?;
                let is_reported = response.producer_id >= 0;
                identity = is_reported.then_some((response.producer_id, response.producer_epoch));
                response.error_code
            }
        };
        transactions.note_answered();
        let was_failed = transactions.is_failed();
        match transactions.settle(request, error, now_ns, self.config.retry_backoff_ns) {
            Err(error) => self.give_up(error),
            // It has just failed: what was not sent fails with it.
            Ok(false) if transactions.is_failed() && !was_failed => {
                self.fail_transaction(error.name(), now_ns);
            }
            Ok(false) => {}
            Ok(true) => {
                if let Some(identity) = identity {
                    idempotence.note_answer(Ok(identity));
                }
                match request {
                    TransactionRequest::FindCoordinator => {
                        coordinator.into_iter().for_each(|broker| transactions.note_coordinator(broker));
                    }
                    TransactionRequest::InitProducerId => transactions.start(feature_level >= V2),
                    TransactionRequest::AddPartitions => {
                        transactions.note_added(added.into_iter(), now_ns, self.config.retry_backoff_ns);
                    }
                    TransactionRequest::EndTxn => transactions.over(now_ns),
                }
            }
        }
        Ok(())
    }
}

/// What several answers say together: that a request was not worked on because of another one's error only if no answer
/// says which.
fn first_error(errors: impl Iterator<Item = ErrorCode> + Clone) -> ErrorCode {
    let of_its_own = |error: &ErrorCode| error.is_error() && *error != ErrorCode::OPERATION_NOT_ATTEMPTED;
    let any = errors.clone().find(|error| error.is_error());
    errors.clone().find(of_its_own).or(any).unwrap_or(ErrorCode::NONE)
}
