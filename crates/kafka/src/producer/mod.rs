//! What a producing client holds and decides: which partition takes a record, when a batch is ready, what
//! goes into a request, what is tried again. Semantics follow the Java client; docs/reference/client.md lists where
//! they differ.
//!
//! A record is an index, not a struct: a batch holds how many records it has, and data of type `M` that
//! the caller keeps with them (scheduled send times, say). Bodies are built by the caller's [`Bodies`] when a
//! batch is sealed, so what waits in the buffer takes no memory but that.

mod accumulator;
mod availability;
mod batch;
mod client;
mod coordination;
mod idempotence;
mod murmur2;
mod non_empty;
mod partitioner;
mod places;
mod queues;
mod ratio;
mod replies;
mod sender;
mod sequences;
mod shape;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_client;
#[cfg(test)]
mod tests_coordination;
#[cfg(test)]
mod tests_each;
#[cfg(test)]
mod tests_idempotence;
#[cfg(test)]
mod tests_partitions;
#[cfg(test)]
mod tests_sending;
#[cfg(test)]
mod tests_sequences;
#[cfg(test)]
mod tests_topics;
#[cfg(test)]
mod tests_transactions;
mod transactions;

pub use batch::{Delivery, ProducerBatch, RecordData, Sealed};
pub use client::{FinishedRequest, ProducerClient};
pub use coordination::TRANSACTION_ABORTED;
pub use murmur2::partition_of_key;
pub use replies::{DELIVERY_TIMEOUT, FollowUp};
pub use sender::{Over, ProducerToken};
pub use shape::{RecordLayout, RecordShape};
pub use transactions::{
    EndedTransaction, TransactionEnd, TransactionPartitions, TransactionRequest, TransactionsConfig,
};

use crate::backoff::ExponentialBackoff;
use crate::errors::ErrorCode;
use crate::messages::m00_produce;
use crate::messages::m01_fetch::TopicName;
use crate::records::Compression;
use availability::Availability;
use bytes::{Bytes, BytesMut};
use places::{Places, TopicTurns};
use queues::{QueueLengths, Queues};
use rand::SeedableRng;
use rand_pcg::Pcg64;
use ratio::CompressionRatio;
use sequences::Idempotence;
use transactions::Transactions;

/// Which partition a record goes to whose key does not say so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Partitioner {
    /// One partition until `batch.size` bytes went to it, then another by chance.
    Sticky,
    /// One after the other.
    RoundRobin,
    /// This one, which each topic must have.
    One(usize),
}

/// Settings, with the Java client's names in the docs. Times in ns.
#[derive(Debug, Clone)]
pub struct ProducerConfig {
    /// `client.id`.
    pub client_id: String,
    /// Its topics, at least one: records go to them one after the other. Transactions take one.
    pub topics: Vec<String>,
    /// `acks`: 0, 1 or −1.
    pub acks: i16,
    /// `batch.size`.
    pub batch_bytes: u32,
    /// `linger.ms`.
    pub linger_ns: u64,
    /// `buffer.memory`.
    pub buffer_bytes: u64,
    /// Whether admission stops as soon as a full batch waits, instead of when the buffer is full.
    pub fill_in_flight: bool,
    /// Whether a record is taken only when the one before has its outcome.
    pub is_synchronous: bool,
    /// `max.request.size`.
    pub request_bytes_max: u32,
    /// `max.in.flight.requests.per.connection`.
    pub in_flight_max: u32,
    /// `request.timeout.ms`.
    pub request_timeout_ns: u64,
    /// `delivery.timeout.ms`, from the moment the batch was begun.
    pub delivery_timeout_ns: u64,
    /// `retry.backoff.ms`.
    pub retry_backoff_ns: u64,
    /// `retry.backoff.max.ms`; not more than `retry.backoff.ms`: each pause is that long.
    pub retry_backoff_max_ns: u64,
    /// `compression.type`, for the size that a batch is expected to have.
    pub compression: Compression,
    /// Most records of a batch, where something else than its size bounds them.
    pub batch_records_max: u32,
    /// Wall clock minus the clock of all instants, ns: for timestamps.
    pub wall_offset_ns: i64,
    /// `enable.idempotence`; takes `acks` of −1 and at most 5 requests in flight.
    pub is_idempotent: bool,
    /// `None`: it is not transactional; otherwise it is idempotent too.
    pub transactions: Option<TransactionsConfig>,
    /// Choice of partitions.
    pub partitioner: Partitioner,
    /// `partitioner.adaptive.partitioning.enable`.
    pub adaptive_partitioning: bool,
    /// `partitioner.availability.timeout.ms`; 0: off.
    pub availability_timeout_ns: u64,
    /// Seed of that choice and of the pauses' jitter.
    pub seed: u64,
}

/// Builds the bodies of batches.
pub trait Bodies<M> {
    /// The records of a batch whose first has the number `first` within (producer, [partition](ProducerBatch::partition)).
    fn seal(&mut self, partition: i32, first: u64, count: u32, user_data: &M) -> Sealed;
    /// Takes back a body that is no longer needed.
    fn recycle(&mut self, body: Bytes);
}

/// What was sent again, each time counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Retries {
    /// Batches.
    pub batches: u64,
    /// Their records: a cluster may have stored each of them once more.
    pub records: u64,
}

/// Bytes after which the next record chooses a partition.
const CHOOSES_NEXT: u64 = u64::MAX >> 1;

/// One producing client's records.
#[derive(Debug)]
pub struct Producer<M> {
    config: ProducerConfig,
    shape: RecordShape,
    /// What a batch takes of the buffer, and the size up to which it is filled.
    batch_cost_bytes: u64,
    queues: Queues<M>,
    /// By partition: the number of the next record.
    next_numbers: Vec<u64>,
    /// By partition: batches in requests that are not answered.
    in_flight_counts: Vec<u32>,
    /// Buffer in use.
    used_bytes: u64,
    /// The latest record of its own size found no room, and none came free since.
    is_blocked: bool,
    /// Batches that are neither acknowledged nor failed.
    batches: usize,
    /// The partition that records of the topic whose turn it is go to, and the bytes that went there since it is.
    current: usize,
    current_bytes: u64,
    turns: TopicTurns,
    /// By topic: its id when a request was sent last.
    topic_ids: Vec<[u8; 16]>,
    /// How long the queues of partitions are that may be chosen; `None` until they are looked at, once for all records
    /// that are taken at an instant.
    queue_lengths: Option<QueueLengths>,
    availability: Availability,
    ratio: CompressionRatio,
    backoff: ExponentialBackoff,
    /// `None`: it is not idempotent.
    idempotence: Option<Idempotence>,
    /// `None`: it is not transactional.
    transactions: Option<Transactions>,
    rng: Pcg64,
    /// The batches of each request in flight, by its token.
    in_flight: Vec<Option<Vec<ProducerBatch<M>>>>,
    free_tokens: Vec<usize>,
    outcomes: Vec<(ProducerBatch<M>, Delivery)>,
    free_user_data: Vec<M>,
    /// Bodies of batches that were split.
    unused_bodies: Vec<Bytes>,
    arena: BytesMut,
    staged: Vec<m00_produce::PartitionBatch>,
    staged_batches: Vec<ProducerBatch<M>>,
    /// What a reply says of a request's batches.
    reply_errors: Vec<Option<ErrorCode>>,
    /// By connection: the first partition looked at by its next request, so that none starves; 0 where there is none.
    drain_from: Vec<usize>,
    retries: Retries,
}

impl<M: RecordData> Producer<M> {
    /// A producer with nothing to send to topics that have so many (at least 1) partitions each.
    pub fn new(config: ProducerConfig, shape: RecordShape, partitions: &[usize]) -> Self {
        let places = Places::of(partitions);
        let partitions = places.count();
        let first_ns = config.retry_backoff_ns;
        Self {
            batch_cost_bytes: shape.buffer_bytes(config.batch_bytes),
            queues: Queues::new(partitions),
            next_numbers: vec![0; partitions],
            in_flight_counts: vec![0; partitions],
            used_bytes: 0,
            is_blocked: false,
            batches: 0,
            current: 0,
            current_bytes: CHOOSES_NEXT,
            turns: TopicTurns::new(places, CHOOSES_NEXT),
            topic_ids: Vec::new(),
            queue_lengths: None,
            availability: Availability::default(),
            ratio: CompressionRatio::new(config.compression),
            backoff: ExponentialBackoff { first_ns, max_ns: config.retry_backoff_max_ns.max(first_ns) },
            idempotence: (config.is_idempotent || config.transactions.is_some())
                .then(|| Idempotence::new(partitions)),
            transactions: config.transactions.clone().map(Transactions::new),
            rng: Pcg64::seed_from_u64(config.seed),
            in_flight: Vec::new(),
            free_tokens: Vec::new(),
            outcomes: Vec::new(),
            free_user_data: Vec::new(),
            unused_bodies: Vec::new(),
            arena: BytesMut::with_capacity(64 << 10),
            staged: Vec::new(),
            staged_batches: Vec::new(),
            reply_errors: Vec::new(),
            drain_from: Vec::new(),
            retries: Retries::default(),
            config,
            shape,
        }
    }

    /// Settings.
    pub fn config(&self) -> &ProducerConfig {
        &self.config
    }

    /// Which of its topics a reply names.
    fn topic_of(&self, topic: TopicName<'_>) -> Option<usize> {
        if !self.turns.are_several() {
            return Some(0);
        }
        match topic {
            TopicName::Name(name) => self.config.topics.iter().position(|own| own == name),
            TopicName::Id(id) => self.topic_ids.iter().position(|own| *own == id),
        }
    }

    /// What was sent again so far.
    pub fn retries(&self) -> Retries {
        self.retries
    }

    /// Takes the outcomes known since the last call; give each batch back with [`Self::recycle`].
    pub fn take_outcomes(&mut self, into: &mut Vec<(ProducerBatch<M>, Delivery)>) {
        into.append(&mut self.outcomes);
    }

    /// Takes back an outcome's batch, to use its memory again.
    pub fn recycle(&mut self, batch: ProducerBatch<M>, bodies: &mut impl Bodies<M>) {
        if let Some(sealed) = batch.sending.and_then(|sending| sending.sealed) {
            bodies.recycle(sealed.body);
        }
        self.free_user_data.push(batch.user_data);
    }

    /// Every batch that is still here, in no order: what is unresolved when the drain has ended.
    pub fn into_unresolved(self) -> impl Iterator<Item = ProducerBatch<M>> {
        let in_flight = self.in_flight.into_iter().flatten().flatten();
        in_flight.chain(self.queues.into_batches())
    }

    /// Whether nothing waits, nothing is in flight, and no transaction is open.
    pub fn is_idle(&self) -> bool {
        self.batches == 0 && !self.is_in_transaction()
    }
}
