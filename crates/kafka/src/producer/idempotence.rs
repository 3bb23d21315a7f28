//! What an idempotent producer does by the sequences of its partitions, as the Java client (KIP-98, KIP-360).

use super::{DELIVERY_TIMEOUT, Producer, ProducerBatch, RecordData};
use crate::errors::ErrorCode;
use crate::messages::{Request as _, m22_init_producer_id};
use crate::wire::WireError;

/// What becomes of batches; nothing here of a producer that is not idempotent.
impl<M: RecordData> Producer<M> {
    /// Whether a partition's next batch waits for an earlier one, since with one request in flight records keep their
    /// order.
    pub(super) fn is_muted(&self, partition: usize) -> bool {
        self.config.in_flight_max == 1 && self.in_flight_counts[partition] > 0
    }

    /// Whether a partition's next batch waits for something else than time: for an earlier one, which that of an
    /// idempotent producer may do too, or for the producer's id.
    pub(super) fn is_held(&self, partition: usize) -> bool {
        if self.is_muted(partition) || self.is_unadded(partition) {
            return true;
        }
        match (&self.idempotence, self.queues.front(partition)) {
            (Some(idempotence), Some(front)) => !idempotence.may_send(front),
            _ => false,
        }
    }

    /// Gives a batch that is about to be sent its sequence.
    pub(super) fn number(&mut self, batch: &mut ProducerBatch<M>) {
        if let Some(idempotence) = &mut self.idempotence {
            idempotence.number(batch);
        }
    }

    /// Whether a batch that the broker refused is to be sent again.
    pub(super) fn is_retried(&mut self, batch: &ProducerBatch<M>, error: ErrorCode) -> bool {
        match (&mut self.idempotence, &self.transactions) {
            (Some(idempotence), None) => idempotence.is_retried(batch, error),
            // Not the next one: one before it is sent again, and it will follow that.
            (Some(idempotence), Some(transactions)) if error == ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER => {
                !transactions.is_failed() && !idempotence.is_next(batch)
            }
            _ => error.is_retriable(),
        }
    }

    /// A batch was stored, now or before.
    pub(super) fn note_stored(&mut self, batch: &ProducerBatch<M>) {
        if let Some(idempotence) = &mut self.idempotence {
            idempotence.note_stored(batch);
        }
        self.note_in_transaction(batch, true);
    }

    /// The broker will not have a batch.
    pub(super) fn note_failed(&mut self, batch: &ProducerBatch<M>, error: ErrorCode, now_ns: u64) {
        let Some(idempotence) = &mut self.idempotence else { return };
        if self.transactions.is_none() {
            return idempotence.note_failed(batch, error);
        }
        idempotence.close(batch);
        match error {
            ErrorCode::CLUSTER_AUTHORIZATION_FAILED
            | ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED
            | ErrorCode::INVALID_PRODUCER_ID_MAPPING
            | ErrorCode::PRODUCER_FENCED
            | ErrorCode::UNSUPPORTED_VERSION => self.give_up(error),
            _ => self.fail_transaction(error.name(), now_ns),
        }
    }

    /// A batch gave up.
    pub(super) fn note_expired(&mut self, batch: &ProducerBatch<M>, now_ns: u64) {
        let Some(idempotence) = &mut self.idempotence else { return };
        if self.transactions.is_none() {
            return idempotence.note_expired(batch);
        }
        idempotence.close(batch);
        self.fail_transaction(DELIVERY_TIMEOUT, now_ns);
    }

    /// A batch that was sent is divided: this is one of its parts behind the first.
    pub(super) fn note_part(&mut self, partition: i32, first: u64) {
        if let Some(idempotence) = &mut self.idempotence {
            idempotence.note_part(partition, first);
        }
    }

    /// Before something is sent: begins a new epoch where there is a gap.
    pub(super) fn heal_sequences(&mut self) {
        let Some(idempotence) = &mut self.idempotence else { return };
        for (partition, from) in idempotence.heal() {
            let flying = self.in_flight.iter_mut().flatten().flatten();
            let flying = flying.filter(|batch| batch.partition as usize == partition);
            idempotence.renumber(partition, from, flying.chain(self.queues.of_mut(partition)));
        }
    }
}

/// The producer's id.
impl<M: RecordData> Producer<M> {
    /// When the id is to be requested, ns; a transactional producer asks its coordinator.
    pub fn asks_id_at(&self) -> Option<u64> {
        self.idempotence.as_ref().filter(|_| self.transactions.is_none())?.asks_at()
    }

    /// The request that asks for it, which counts as sent.
    pub fn ask_id(&mut self) -> m22_init_producer_id::Request {
        if let Some(idempotence) = &mut self.idempotence {
            idempotence.note_asked();
        }
        m22_init_producer_id::Request {
            transactional_id: None,
            transaction_timeout_ms: i32::MAX,
            ..Default::default()
        }
    }

    /// The request's connection is gone.
    pub(super) fn on_lost_id(&mut self, now_ns: u64) {
        let Some(idempotence) = &mut self.idempotence else { return };
        idempotence.note_unanswered(now_ns, |failures| self.backoff.after(failures, &mut self.rng));
    }

    /// The answer came.
    ///
    /// # Errors
    /// When it is none; the id is then requested again after a pause, and the connection is to be closed.
    pub fn on_id(&mut self, version: i16, body: &[u8], now_ns: u64) -> Result<(), WireError> {
        let response = m22_init_producer_id::Request::decode_response(body, version)
            .inspect_err(|_| self.on_lost_id(now_ns))?;
        let error = response.error_code;
        if error.is_retriable() {
            self.on_lost_id(now_ns);
        } else if let Some(idempotence) = &mut self.idempotence {
            let identity = (response.producer_id, response.producer_epoch);
            idempotence.note_answer(if error.is_error() { Err(error) } else { Ok(identity) });
        }
        Ok(())
    }

    /// Why it has ended: it will not send any more.
    pub fn ended_by(&self) -> Option<ErrorCode> {
        self.idempotence.as_ref()?.ended_by()
    }
}
