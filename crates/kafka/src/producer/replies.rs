//! From replies, and what comes instead of them, to outcomes.

use super::{Delivery, Producer, ProducerBatch, RecordData};
use crate::errors::ErrorCode;
use crate::messages::m00_produce;
use crate::messages::m01_fetch::TopicName;
use crate::wire::WireError;

/// Reason of a batch that was not acknowledged within `delivery.timeout.ms`.
pub const DELIVERY_TIMEOUT: &str = "delivery-timeout";

/// What a reply, or a lost connection, asks of the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FollowUp {
    /// The leaders are to be requested again.
    pub refresh_metadata: bool,
    /// Record batches the request had.
    pub batches: u32,
    /// How long the broker throttles the client, ns.
    pub throttled_ns: u64,
    /// Batches of it that were split, since they were too large for the broker.
    pub split: u32,
    /// For how long it was in flight, from its beginning on, ns.
    pub in_flight_ns: u64,
}

impl FollowUp {
    /// The turn of a request with these batches that is over at `at_ns`.
    fn of<M>(batches: &[ProducerBatch<M>], at_ns: u64) -> Self {
        // A request's batches are sealed together when it is begun.
        let began_ns = batches.first().map_or(at_ns, ProducerBatch::sent_ns);
        let in_flight_ns = at_ns.saturating_sub(began_ns);
        Self { batches: batches.len() as u32, in_flight_ns, ..Self::default() }
    }
}

impl<M: RecordData> Producer<M> {
    /// The batches of a request that is over.
    pub(super) fn untrack(&mut self, token: usize) -> Vec<ProducerBatch<M>> {
        self.free_tokens.push(token);
        let batches = self.in_flight[token].take().unwrap_or_default();
        for batch in &batches {
            self.in_flight_counts[batch.partition as usize] -= 1;
        }
        batches
    }

    /// The place of a partition that a reply names.
    pub(super) fn place_of(&self, topic: TopicName<'_>, partition: i32) -> Option<i32> {
        if !self.turns.are_several() {
            return Some(partition);
        }
        self.turns.place(self.topic_of(topic)?, partition).and_then(|place| i32::try_from(place).ok())
    }

    /// Takes in a reply's body.
    ///
    /// # Errors
    /// When it is not a produce reply; the request's batches are then tried again, and the connection is to
    /// be closed.
    pub fn on_reply(
        &mut self,
        token: usize,
        version: i16,
        body: &[u8],
        written_ns: u64,
        received_ns: u64,
    ) -> Result<FollowUp, WireError> {
        let mut batches = self.untrack(token);
        batches.sort_by_key(|batch| batch.partition);
        // What is reported of a whole turn may be of an instant before the request's own.
        let received_ns = received_ns.max(written_ns);
        let mut follow_up = FollowUp::of(&batches, received_ns);
        let mut errors = std::mem::take(&mut self.reply_errors);
        errors.clear();
        errors.resize(batches.len(), None);
        // The first that is said of a partition counts.
        let decoded = m00_produce::decode(body, version, |topic, reply| {
            let Some(place) = self.place_of(topic, reply.partition) else { return };
            if let Ok(at) = batches.binary_search_by_key(&place, |batch| batch.partition) {
                errors[at].get_or_insert(ErrorCode(reply.error));
            }
        });
        if decoded.is_err() {
            // Nor is what it seemed to say up to there to be believed.
            errors.fill(None);
        }
        for (batch, error) in batches.into_iter().zip(errors.drain(..)) {
            let Some(error) = error else {
                self.try_again(batch, received_ns);
                continue;
            };
            match error {
                // The broker has it, from so long ago that it does not remember where.
                ErrorCode::NONE | ErrorCode::DUPLICATE_SEQUENCE_NUMBER => {
                    self.note_stored(&batch);
                    self.resolve(batch, Delivery::Acknowledged { written_ns, received_ns });
                }
                _ => {
                    follow_up.split += u32::from(is_split(&batch, error));
                    self.on_error(batch, error, received_ns);
                }
            }
            follow_up.refresh_metadata |= error.refreshes_metadata();
        }
        self.reply_errors = errors;
        let throttle_ms = decoded?;
        follow_up.throttled_ns = u64::try_from(throttle_ms).unwrap_or(0) * 1_000_000;
        Ok(follow_up)
    }

    /// With acks=0: the request is written, which is all there is to know.
    pub fn on_written(&mut self, token: usize, written_ns: u64) -> FollowUp {
        let batches = self.untrack(token);
        let follow_up = FollowUp::of(&batches, written_ns);
        for batch in batches {
            self.resolve(batch, Delivery::Acknowledged { written_ns, received_ns: written_ns });
        }
        follow_up
    }

    /// A request's connection is gone: its batches are tried again.
    pub fn on_lost(&mut self, token: usize, now_ns: u64) {
        for batch in self.untrack(token) {
            self.try_again(batch, now_ns);
        }
    }

    /// The broker did not take a batch.
    pub(super) fn on_error(&mut self, batch: ProducerBatch<M>, error: ErrorCode, now_ns: u64) {
        if is_split(&batch, error) {
            self.split(batch);
        } else if self.is_retried(&batch, error) {
            self.try_again(batch, now_ns);
        } else {
            self.note_failed(&batch, error, now_ns);
            self.resolve(batch, Delivery::Failed { reason: error.name() });
        }
    }

    /// Puts a batch back at its partition's front, or gives up when its time is over.
    pub(super) fn try_again(&mut self, mut batch: ProducerBatch<M>, now_ns: u64) {
        if now_ns >= batch.created_ns + self.config.delivery_timeout_ns {
            self.note_expired(&batch, now_ns);
            self.resolve(batch, Delivery::Failed { reason: DELIVERY_TIMEOUT });
            return;
        }
        let failures = batch.attempts().saturating_sub(1);
        batch.sending_mut().not_before_ns = now_ns + self.backoff.after(failures, &mut self.rng);
        self.queues.put_back(batch);
    }

    /// Divides a batch that was too large for the broker into batches of `batch.size`, or one that came of such a
    /// division into halves, and puts them back at their partition's front. They have no attempt behind them, were
    /// begun when it was, and take nothing of the buffer.
    fn split(&mut self, mut batch: ProducerBatch<M>) {
        let bytes = batch.bytes();
        batch.sending_mut().attempts = 0;
        if let Some(sealed) = batch.sending_mut().sealed.take() {
            self.ratio.reset(batch.body_bytes, sealed.sum.bytes as u64);
            self.unused_bodies.push(sealed.body);
        }
        let bytes_max = if batch.is_part { bytes / 2 } else { self.batch_cost_bytes };
        let part = self.ratio.records(bytes_max, batch.body_bytes / u64::from(batch.count));
        self.used_bytes -= batch.charged_bytes();
        (batch.is_part, batch.ratio) = (true, self.ratio);
        while batch.count > part {
            let rest = batch.user_data.split_off(part);
            let body_bytes = batch.body_bytes * u64::from(part) / u64::from(batch.count);
            let user_data = std::mem::replace(&mut batch.user_data, rest);
            let front =
                ProducerBatch { count: part, body_bytes, user_data, sending: batch.sending.clone(), ..batch };
            batch.first += u64::from(part);
            batch.count -= part;
            batch.body_bytes -= body_bytes;
            batch.sending_mut().producer = batch.producer().after(part);
            self.batches += 1;
            // One that lost its sequence with the producer's id has its parts numbered when they are sent.
            if batch.has_sequence() {
                self.note_part(batch.partition, batch.first);
            }
            self.queues.put_back(front);
        }
        self.queues.put_back(batch);
    }

    pub(super) fn resolve(&mut self, batch: ProducerBatch<M>, outcome: Delivery) {
        self.used_bytes -= batch.charged_bytes();
        self.is_blocked = false;
        self.batches -= 1;
        self.outcomes.push((batch, outcome));
    }

    /// Fails what is older than `delivery.timeout.ms`, waiting or in flight, and all that waits where nothing can be
    /// sent any more. To be called now and then, from
    /// [`Self::next_expiry`] on. Returns whether there was any.
    pub fn expire(&mut self, now_ns: u64) -> bool {
        let timeout_ns = self.config.delivery_timeout_ns;
        let is_old = |batch: &ProducerBatch<M>| batch.created_ns + timeout_ns <= now_ns;
        let ended_by = self.ended_by();
        let (mut expired, mut refused) = (Vec::new(), Vec::new());
        let mut from = 0;
        while let Some(partition) = self.queues.waiting_from(from) {
            while self.queues.front(partition).is_some_and(is_old) {
                expired.extend(self.queues.pop(partition));
            }
            while ended_by.is_some() && self.queues.length(partition) > 0 {
                refused.extend(self.queues.pop(partition));
            }
            from = partition + 1;
        }
        for batches in self.in_flight.iter_mut().flatten() {
            for batch in batches.extract_if(.., |batch| is_old(batch)) {
                self.in_flight_counts[batch.partition as usize] -= 1;
                expired.push(batch);
            }
        }
        let is_any = !expired.is_empty() || !refused.is_empty();
        for batch in expired {
            self.note_expired(&batch, now_ns);
            self.resolve(batch, Delivery::Failed { reason: DELIVERY_TIMEOUT });
        }
        for batch in refused {
            self.resolve(
                batch,
                Delivery::Failed { reason: ended_by.map_or(DELIVERY_TIMEOUT, ErrorCode::name) },
            );
        }
        is_any
    }

    /// The next instant at which [`Self::expire`] has something to do.
    pub fn next_expiry(&self) -> Option<u64> {
        let waiting = self.queues.waiting().filter_map(|partition| self.queues.front(partition));
        let flying = self.in_flight.iter().flatten().flatten();
        let timeout_ns = if self.ended_by().is_some() { 0 } else { self.config.delivery_timeout_ns };
        waiting.chain(flying).map(|batch| batch.created_ns + timeout_ns).min()
    }
}

/// Whether a batch that the broker did not take is split.
fn is_split<M>(batch: &ProducerBatch<M>, error: ErrorCode) -> bool {
    error == ErrorCode::MESSAGE_TOO_LARGE && batch.count > 1
}
