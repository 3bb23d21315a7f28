//! What a producing client holds and decides: which partition takes a record, when a batch is ready, what
//! goes into a request, what is tried again. Semantics follow the Java client; docs/METHOD.md lists where
//! they differ.
//!
//! A record is an index, not a struct: a batch holds how many records it has, and data of type `M` that
//! the caller keeps with them (intended instants, say). Bodies are built by the caller's [`Bodies`] when a
//! batch is sealed, so what waits in the buffer takes no memory but that.

mod accumulator;
mod batch;
mod client;
mod non_empty;
mod sender;
mod shape;

pub use batch::{Batch, Outcome, Sealed};
pub use client::{FinishedRequest, ProducerClient};
pub use sender::{DELIVERY_TIMEOUT, FollowUp, Token};
pub use shape::RecordShape;

use crate::messages::m00_produce;
use batch::PartitionQueue;
use bytes::{Bytes, BytesMut};
use non_empty::NonEmptyPartitions;
use rand::SeedableRng;
use rand_pcg::Pcg64;

/// Which partition a record without a key goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Partitioner {
    /// One partition until `batch.size` bytes went to it, then another, uniformly at random.
    Sticky,
    /// One after the other.
    RoundRobin,
}

/// Settings, with the Java client's names in the docs. Times in ns.
#[derive(Debug, Clone)]
pub struct ProducerConfig {
    /// `client.id`.
    pub client_id: String,
    /// The one topic.
    pub topic: String,
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
    /// Choice of partitions.
    pub partitioner: Partitioner,
    /// Seed of that choice.
    pub seed: u64,
}

/// Builds the bodies of batches.
pub trait Bodies<M> {
    /// The records of a batch whose first has sequence `first` within (producer, partition).
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

/// One producing client's records.
#[derive(Debug)]
pub struct Producer<M> {
    config: ProducerConfig,
    shape: RecordShape,
    /// Records a batch holds, and what a batch takes of the buffer.
    batch_records_max: u32,
    batch_cost_bytes: u64,
    partitions: Vec<PartitionQueue<M>>,
    /// Partitions with batches; one that was emptied by a time-out may still be in it.
    waiting: NonEmptyPartitions,
    /// Buffer in use.
    used_bytes: u64,
    sticky: usize,
    sticky_left_bytes: i64,
    rng: Pcg64,
    /// The batches of each request in flight, by its token.
    in_flight: Vec<Option<Vec<Batch<M>>>>,
    free_tokens: Vec<usize>,
    outcomes: Vec<(Batch<M>, Outcome)>,
    free_user_data: Vec<M>,
    arena: BytesMut,
    staged: Vec<m00_produce::PartitionBatch>,
    staged_batches: Vec<Batch<M>>,
    /// First partition looked at by the next request, so that none starves.
    drain_from: usize,
    retries: Retries,
}

impl<M: Default> Producer<M> {
    /// A producer with nothing to send to a topic of `partitions` (at least 1) partitions.
    pub fn new(config: ProducerConfig, shape: RecordShape, partitions: usize) -> Self {
        let batch_records_max = shape.capacity(config.batch_bytes);
        let one_batch = crate::records::HEADER_BYTES as u64 + shape.body_bytes(batch_records_max);
        let mut producer = Self {
            batch_records_max,
            batch_cost_bytes: one_batch.max(u64::from(config.batch_bytes)),
            partitions: (0..partitions.max(1)).map(|_| PartitionQueue::default()).collect(),
            waiting: NonEmptyPartitions::none(partitions.max(1)),
            used_bytes: 0,
            sticky: 0,
            sticky_left_bytes: 0,
            rng: Pcg64::seed_from_u64(config.seed),
            in_flight: Vec::new(),
            free_tokens: Vec::new(),
            outcomes: Vec::new(),
            free_user_data: Vec::new(),
            arena: BytesMut::with_capacity(64 << 10),
            staged: Vec::new(),
            staged_batches: Vec::new(),
            drain_from: 0,
            retries: Retries::default(),
            config,
            shape,
        };
        producer.next_partition();
        producer
    }

    /// Settings.
    pub fn config(&self) -> &ProducerConfig {
        &self.config
    }

    /// What was sent again so far.
    pub fn retries(&self) -> Retries {
        self.retries
    }

    /// Takes the outcomes known since the last call; give each batch back with [`Self::recycle`].
    pub fn take_outcomes(&mut self, into: &mut Vec<(Batch<M>, Outcome)>) {
        into.append(&mut self.outcomes);
    }

    /// Takes back an outcome's batch, to use its memory again.
    pub fn recycle(&mut self, batch: Batch<M>, bodies: &mut impl Bodies<M>) {
        if let Some(sealed) = batch.sealed {
            bodies.recycle(sealed.body);
        }
        self.free_user_data.push(batch.user_data);
    }

    /// Every batch that is still here, in no order: what is unresolved when the drain has ended.
    pub fn into_unresolved(self) -> impl Iterator<Item = Batch<M>> {
        let in_flight = self.in_flight.into_iter().flatten().flatten();
        in_flight.chain(self.partitions.into_iter().flat_map(|partition| partition.batches))
    }

    /// Whether nothing waits and nothing is in flight.
    pub fn is_idle(&self) -> bool {
        self.used_bytes == 0
    }
}
