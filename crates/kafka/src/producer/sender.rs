//! From waiting batches to requests, from replies to outcomes.

use super::{Batch, Bodies, Outcome, Producer};
use crate::connection::Connection;
use crate::errors::ErrorCode;
use crate::messages::m00_produce::{self, Head, PartitionBatch};
use crate::wire::WireError;

/// Names a produce request in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token(usize);

/// Reason of a batch that was not acknowledged within `delivery.timeout.ms`.
pub const DELIVERY_TIMEOUT: &str = "delivery-timeout";

/// What a reply, or a lost connection, asks of the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FollowUp {
    /// The leaders are to be asked for again.
    pub refresh_metadata: bool,
    /// Record batches the request had.
    pub batches: u32,
    /// How long the broker throttles the client, ns.
    pub throttled_ns: u64,
}

impl<M: Default> Producer<M> {
    /// Sends one request over a connection whose broker leads the partitions that `leads` names, if it may
    /// take one and a batch is ready; with the version of Produce and the topic's id, by which the topic goes in
    /// versions above [`m00_produce::BY_NAME_MAX`]. Returns how many records were sent.
    pub fn send_ready<T: From<Token>>(
        &mut self,
        connection: &mut Connection<T>,
        (version, topic_id): (i16, [u8; 16]),
        now_ns: u64,
        is_flushing: bool,
        leads: impl Fn(usize) -> bool,
        bodies: &mut impl Bodies<M>,
    ) -> u64 {
        if connection.in_flight() >= self.config.in_flight_max as usize {
            return 0;
        }
        self.collect(now_ns, is_flushing || self.is_exhausted(), leads, bodies);
        if self.staged.is_empty() {
            return 0;
        }
        let records = self.staged_batches.iter().map(|batch| u64::from(batch.count)).sum();
        let token = self.track();
        let (config, arena, staged) = (&self.config, &mut self.arena, &self.staged);
        let is_answered = config.acks != 0;
        let api = (m00_produce::API, version);
        connection.send(T::from(token), api, is_answered, now_ns, |correlation_id, out| {
            let head = Head {
                version,
                correlation_id,
                client_id: &config.client_id,
                acks: config.acks,
                timeout_ms: (config.request_timeout_ns / 1_000_000) as i32,
                topic: &config.topic,
                topic_id,
            };
            m00_produce::encode(&head, staged, arena, out)
        });
        self.staged.clear();
        records
    }

    /// Takes one ready batch of each partition the broker leads, up to `max.request.size`, and seals them.
    fn collect(
        &mut self,
        now_ns: u64,
        is_flushing: bool,
        leads: impl Fn(usize) -> bool,
        bodies: &mut impl Bodies<M>,
    ) {
        let mut bytes = 0;
        let waiting = std::mem::take(&mut self.waiting);
        for partition in waiting.cycle_from(self.drain_from) {
            if !leads(partition) || self.ready_ns(partition, is_flushing).is_none_or(|at| at > now_ns) {
                continue;
            }
            let Some(front) = self.partitions[partition].batches.front() else { continue };
            let batch_bytes = self.shape.body_bytes(front.count);
            if bytes > 0 && bytes + batch_bytes > u64::from(self.config.request_bytes_max) {
                self.drain_from = partition;
                break;
            }
            bytes += batch_bytes;
            let Some(mut batch) = self.partitions[partition].batches.pop_front() else { continue };
            batch.sealed_ns.get_or_insert(now_ns);
            batch.sent_ns = now_ns;
            if batch.attempts > 0 {
                self.retries.batches += 1;
                self.retries.records += u64::from(batch.count);
            }
            batch.attempts += 1;
            let sealed = match batch.sealed.take() {
                Some(sealed) => sealed,
                None => bodies.seal(batch.partition, batch.first, batch.count, &batch.user_data),
            };
            self.staged.push(PartitionBatch {
                partition: batch.partition,
                header: sealed.header,
                body: sealed.body.clone(),
            });
            batch.sealed = Some(sealed);
            self.staged_batches.push(batch);
        }
        self.waiting = waiting;
        for batch in &self.staged_batches {
            let partition = batch.partition as usize;
            if self.partitions[partition].batches.is_empty() {
                self.waiting.remove(partition);
            }
        }
    }

    fn track(&mut self) -> Token {
        let batches = std::mem::take(&mut self.staged_batches);
        let request = Some(batches);
        match self.free_tokens.pop() {
            Some(token) => {
                self.in_flight[token] = request;
                Token(token)
            }
            None => {
                self.in_flight.push(request);
                Token(self.in_flight.len() - 1)
            }
        }
    }

    fn untrack(&mut self, token: Token) -> Vec<Batch<M>> {
        self.free_tokens.push(token.0);
        self.in_flight[token.0].take().unwrap_or_default()
    }

    /// Takes in a reply's body.
    ///
    /// # Errors
    /// When it is not a produce reply; the request's batches are then tried again, and the connection is to
    /// be closed.
    pub fn on_reply(
        &mut self,
        token: Token,
        version: i16,
        body: &[u8],
        written_ns: u64,
        received_ns: u64,
    ) -> Result<FollowUp, WireError> {
        let mut batches = self.untrack(token);
        let mut follow_up = FollowUp { batches: batches.len() as u32, ..FollowUp::default() };
        // What is told of a whole turn may be told of an instant before the request's own.
        let received_ns = received_ns.max(written_ns);
        let mut replies = [None; 8];
        let mut more = Vec::new();
        let mut count = 0;
        let decoded = m00_produce::decode(body, version, |reply| {
            match replies.get_mut(count) {
                Some(slot) => *slot = Some(reply),
                None => more.push(reply),
            }
            count += 1;
        });
        for reply in replies.into_iter().flatten().chain(more) {
            let Some(at) = batches.iter().position(|batch| batch.partition == reply.partition) else {
                continue;
            };
            let batch = batches.swap_remove(at);
            match ErrorCode(reply.error) {
                ErrorCode(0) => {
                    self.resolve(batch, Outcome::Acknowledged { written_ns, received_ns });
                }
                error => follow_up.refresh_metadata |= self.on_error(batch, error, received_ns),
            }
        }
        for batch in batches {
            self.try_again(batch, received_ns);
        }
        let throttle_ms = decoded?;
        follow_up.throttled_ns = u64::try_from(throttle_ms).unwrap_or(0) * 1_000_000;
        Ok(follow_up)
    }

    /// With acks=0: the request is written, which is all there is to know.
    pub fn on_written(&mut self, token: Token, written_ns: u64) -> FollowUp {
        let batches = self.untrack(token);
        let follow_up = FollowUp { batches: batches.len() as u32, ..FollowUp::default() };
        for batch in batches {
            self.resolve(batch, Outcome::Acknowledged { written_ns, received_ns: written_ns });
        }
        follow_up
    }

    /// A request's connection is gone: its batches are tried again.
    pub fn on_lost(&mut self, token: Token, now_ns: u64) {
        for batch in self.untrack(token).into_iter().rev() {
            self.try_again(batch, now_ns);
        }
    }

    /// Whether the leaders are to be asked for again.
    fn on_error(&mut self, batch: Batch<M>, error: ErrorCode, now_ns: u64) -> bool {
        if error.is_retriable() {
            self.try_again(batch, now_ns);
        } else {
            self.resolve(batch, Outcome::Failed { reason: error.name() });
        }
        error.refreshes_metadata()
    }

    /// Puts a batch back at its partition's front, or gives up when its time is over.
    fn try_again(&mut self, mut batch: Batch<M>, now_ns: u64) {
        if now_ns >= batch.created_ns + self.config.delivery_timeout_ns {
            self.resolve(batch, Outcome::Failed { reason: DELIVERY_TIMEOUT });
            return;
        }
        batch.not_before_ns = now_ns + self.config.retry_backoff_ns;
        let partition = batch.partition as usize;
        let batches = &mut self.partitions[partition].batches;
        let at = batches.iter().position(|other| other.first > batch.first).unwrap_or(batches.len());
        batches.insert(at, batch);
        self.waiting.insert(partition);
    }

    fn resolve(&mut self, batch: Batch<M>, outcome: Outcome) {
        self.used_bytes -= self.batch_cost_bytes;
        self.outcomes.push((batch, outcome));
    }

    /// Fails what is older than `delivery.timeout.ms`, waiting or in flight. To be called now and then, from
    /// [`Self::next_expiry`] on. Returns whether there was any.
    pub fn expire(&mut self, now_ns: u64) -> bool {
        let timeout_ns = self.config.delivery_timeout_ns;
        let mut expired = Vec::new();
        let waiting = self.partitions.iter_mut().map(|queue| &mut queue.batches);
        for batches in waiting {
            while batches.front().is_some_and(|batch| batch.created_ns + timeout_ns <= now_ns) {
                expired.extend(batches.pop_front());
            }
        }
        for batches in self.in_flight.iter_mut().flatten() {
            expired.extend(batches.extract_if(.., |batch| batch.created_ns + timeout_ns <= now_ns));
        }
        let is_any = !expired.is_empty();
        for batch in expired {
            self.resolve(batch, Outcome::Failed { reason: DELIVERY_TIMEOUT });
        }
        is_any
    }

    /// The next instant at which a batch gets ready by time alone; it may lie in the past. `cannot` names
    /// partitions that cannot be sent to now and so are no reason to wake.
    pub fn next_ready(&self, is_flushing: bool, cannot: impl Fn(usize) -> bool) -> Option<u64> {
        let is_flushing = is_flushing || self.is_exhausted();
        let able = self.waiting.iter().filter(|&partition| !cannot(partition));
        able.filter_map(|partition| self.ready_ns(partition, is_flushing)).min()
    }

    /// The next instant at which [`Self::expire`] has something to do.
    pub fn next_expiry(&self) -> Option<u64> {
        let waiting = self.waiting.iter().filter_map(|partition| self.partitions[partition].batches.front());
        let flying = self.in_flight.iter().flatten().flatten();
        waiting.chain(flying).map(|batch| batch.created_ns + self.config.delivery_timeout_ns).min()
    }
}
