//! From waiting batches to requests.

use super::transactions::TransactionRequest;
use super::{Bodies, Producer, ProducerBatch, RecordData};
use crate::connection::Connection;
use crate::messages::m00_produce::{self, PartitionBatch, ProduceHead};
use crate::records::{BatchHeader, Compression, HEADER_BYTES, TRANSACTIONAL_BIT, write_batch_header};

/// Names a request in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProducerToken {
    /// Topics of records.
    Produce(usize),
    /// Epoch of the producer's id.
    InitProducerId,
    /// For the sake of transactions.
    Transaction(TransactionRequest),
}

/// The connection that a request is to go over.
#[derive(Debug)]
pub struct Over<'a, T> {
    /// Its number.
    pub number: usize,
    /// Its queues.
    pub connection: &'a mut Connection<T>,
    /// Version of produce requests that both ends speak.
    pub version: i16,
    /// The topics' ids, by which they go in versions above [`m00_produce::BY_NAME_MAX`].
    pub topic_ids: &'a [[u8; 16]],
}

/// Java's client compresses a batch in pieces of so many bytes, the application's thread as soon as a piece is full, the
/// sender what is left (`Compression.wrapForOutput` of kafka-clients 4.x: its buffers before gzip and zstd, the blocks of
/// snappy and lz4); `None`: nothing is compressed.
fn java_piece_bytes(compression: Compression) -> Option<u64> {
    match compression {
        Compression::None => None,
        Compression::Gzip | Compression::Zstd => Some(16 << 10),
        Compression::Snappy => Some(32 << 10),
        Compression::Lz4 => Some(64 << 10),
    }
}

impl<M: RecordData> Producer<M> {
    /// Sends one request over a connection whose broker leads the partitions that `leads` names, if it may
    /// take one and a batch is ready. Returns how many records were sent.
    pub fn send_ready<T: From<ProducerToken>>(
        &mut self,
        over: Over<'_, T>,
        now_ns: u64,
        is_flushing: bool,
        leads: impl Fn(usize) -> bool,
        bodies: &mut impl Bodies<M>,
    ) -> u64 {
        for body in self.unused_bodies.drain(..) {
            bodies.recycle(body);
        }
        if over.connection.in_flight() >= self.config.in_flight_max as usize {
            return 0;
        }
        self.heal_sequences();
        let is_flushing = is_flushing || self.is_exhausted() || self.is_ending();
        self.collect(over.number, now_ns, is_flushing, leads, bodies);
        if self.staged.is_empty() {
            return 0;
        }
        if self.turns.are_several() {
            // They begin where the request before ended, which may be in the middle of a topic.
            self.staged.sort_by_key(|batch| (batch.topic, batch.partition));
            self.topic_ids.clear();
            self.topic_ids.extend_from_slice(over.topic_ids);
        }
        let records = self.staged_batches.iter().map(|batch| u64::from(batch.count)).sum();
        let token = ProducerToken::Produce(self.track());
        let (config, arena, staged) = (&self.config, &mut self.arena, &self.staged);
        let is_answered = config.acks != 0;
        let (version, topic_ids) = (over.version, over.topic_ids);
        let api = (m00_produce::API, version);
        over.connection.send(T::from(token), api, is_answered, now_ns, |correlation_id, out| {
            let head = ProduceHead {
                version,
                correlation_id,
                client_id: &config.client_id,
                transactional_id: config.transactions.as_ref().map(|one| one.transactional_id.as_str()),
                acks: config.acks,
                timeout_ms: (config.request_timeout_ns / 1_000_000) as i32,
                topics: &config.topics,
                topic_ids,
            };
            m00_produce::encode(&head, staged, arena, out)
        });
        self.staged.clear();
        records
    }

    /// Once a batch of a partition that the broker leads is ready, takes the first one of each that does not pause, up
    /// to `max.request.size`, and seals them: what lingers travels along. The next request begins with what found no
    /// room.
    pub(super) fn collect(
        &mut self,
        connection: usize,
        now_ns: u64,
        is_flushing: bool,
        leads: impl Fn(usize) -> bool,
        bodies: &mut impl Bodies<M>,
    ) {
        let may_go = |producer: &Self, partition: usize| leads(partition) && !producer.is_held(partition);
        let is_ready = |partition: usize| {
            may_go(self, partition)
                && self.ready_ns(partition, is_flushing, connection).is_some_and(|at| at <= now_ns)
        };
        if !self.queues.waiting().any(is_ready) {
            return;
        }
        let start = self.drain_from.get(connection).copied().unwrap_or(0);
        let mut bytes = 0;
        for (begin, end) in [(start, self.queues.count()), (0, start)] {
            let mut from = begin;
            while let Some(partition) = self.queues.waiting_from(from).filter(|found| *found < end) {
                from = partition + 1;
                let able = self.queues.front(partition).filter(|_| may_go(self, partition));
                let Some(front) = able.filter(|batch| batch.pauses_until_ns(connection) <= now_ns) else {
                    continue;
                };
                if bytes > 0 && bytes + front.bytes() > u64::from(self.config.request_bytes_max) {
                    self.begin_with(connection, partition);
                    return;
                }
                let Some(mut batch) = self.queues.pop(partition) else { continue };
                self.seal(&mut batch, now_ns, bodies);
                batch.sending_mut().sent_over = connection;
                bytes += batch.bytes();
                self.in_flight_counts[partition] += 1;
                self.note_in_transaction(&batch, false);
                self.staged_batches.push(batch);
            }
        }
    }

    /// Compresses the full batches that the next request over a connection begins with, if its broker leads any. That takes
    /// time, and an application goes on meanwhile: what it hands over can still join the batches that travel along, as it
    /// does while the sender thread of Java's client closes a full one. Returns what share of the bytes that one would have
    /// to compress; `None`: there is no such batch.
    pub(super) fn compress_full(
        &mut self,
        leads: impl Fn(usize) -> bool,
        bodies: &mut impl Bodies<M>,
    ) -> Option<f64> {
        let piece_bytes = java_piece_bytes(self.config.compression)?;
        let (mut bytes, mut left_bytes) = (0, 0);
        let mut from = 0;
        while let Some(partition) = self.queues.waiting_from(from) {
            from = partition + 1;
            let is_due = |batch: &ProducerBatch<M>| batch.is_full() && batch.sealed().is_none();
            if !leads(partition)
                || self.is_held(partition)
                || !self.queues.front(partition).is_some_and(is_due)
            {
                continue;
            }
            let Some(mut batch) = self.queues.pop(partition) else { continue };
            self.close(&mut batch, bodies);
            bytes += batch.body_bytes;
            left_bytes += batch.body_bytes % piece_bytes;
            self.queues.put_back(batch);
        }
        (bytes > 0).then(|| left_bytes as f64 / bytes as f64)
    }

    /// The next request over a connection begins with this partition.
    fn begin_with(&mut self, connection: usize, partition: usize) {
        if self.drain_from.len() <= connection {
            self.drain_from.resize(connection + 1, 0);
        }
        self.drain_from[connection] = partition;
    }

    /// A batch takes no more records: its body is made.
    fn close(&mut self, batch: &mut ProducerBatch<M>, bodies: &mut impl Bodies<M>) {
        batch.is_closed = true;
        if batch.sealed().is_none() {
            let ProducerBatch { partition, first, count, user_data, .. } = &*batch;
            let sealed = bodies.seal(*partition, *first, *count, user_data);
            batch.body_bytes = sealed.body_bytes;
            self.ratio.learn(sealed.body_bytes, sealed.sum.bytes as u64);
            batch.sending_mut().sealed = Some(sealed);
        }
    }

    /// Makes a batch ready to go out, and stages it.
    fn seal(&mut self, batch: &mut ProducerBatch<M>, now_ns: u64, bodies: &mut impl Bodies<M>) {
        self.number(batch);
        self.close(batch, bodies);
        let (topic, partition) = self.turns.split(batch.partition as usize);
        let count = batch.count;
        let Some(sending) = &mut batch.sending else { return };
        let Some(sealed) = &sending.sealed else { return };
        sending.sealed_ns.get_or_insert(now_ns);
        sending.sent_ns = now_ns;
        if sending.attempts > 0 {
            self.retries.batches += 1;
            self.retries.records += u64::from(count);
        }
        sending.attempts += 1;
        let plain = BatchHeader::plain(
            sealed.compression,
            count as i32,
            sealed.base_timestamp_ms,
            sealed.max_timestamp_ms,
        );
        let transactional = if self.transactions.is_some() { TRANSACTIONAL_BIT } else { 0 };
        let fields = BatchHeader {
            attributes: plain.attributes | transactional,
            producer_id: sending.producer.id,
            producer_epoch: sending.producer.epoch,
            base_sequence: sending.producer.sequence,
            ..plain
        };
        let mut header = [0; HEADER_BYTES];
        write_batch_header(&mut header, &fields, &sealed.sum);
        let partition = partition as i32;
        self.staged.push(PartitionBatch { topic, partition, header, body: sealed.body.clone() });
    }

    pub(super) fn track(&mut self) -> usize {
        let batches = std::mem::take(&mut self.staged_batches);
        let request = Some(batches);
        match self.free_tokens.pop() {
            Some(token) => {
                self.in_flight[token] = request;
                token
            }
            None => {
                self.in_flight.push(request);
                self.in_flight.len() - 1
            }
        }
    }

    /// The next instant at which a batch gets ready by time alone; it may lie in the past. `leader` names the
    /// connection of a partition's leader, if that takes a request now: otherwise a batch is no reason to wake.
    pub fn next_ready(&self, is_flushing: bool, leader: impl Fn(usize) -> Option<usize>) -> Option<u64> {
        let is_flushing = is_flushing || self.is_exhausted() || self.is_ending();
        let able = self.queues.waiting().filter(|&partition| !self.is_held(partition));
        able.filter_map(|partition| self.ready_ns(partition, is_flushing, leader(partition)?)).min()
    }
}
