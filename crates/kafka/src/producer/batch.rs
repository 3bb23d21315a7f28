//! A batch: what it holds, and what becomes of it.

use super::ratio::CompressionRatio;
use crate::records::{BodySum, Compression, NO_PRODUCER_EPOCH, NO_PRODUCER_ID, NO_SEQUENCE};
use bytes::Bytes;

/// What the caller keeps with a batch's records.
pub trait RecordData: Default {
    /// Takes what belongs to the records from the one at `at` on.
    #[must_use]
    fn split_off(&mut self, at: u32) -> Self;
}

impl RecordData for () {
    fn split_off(&mut self, _at: u32) -> Self {}
}

/// Records of one partition that travel together.
#[derive(Debug)]
pub struct ProducerBatch<M> {
    /// Partition; of a producer with several topics its place: the partitions of one topic come behind those of the one before.
    pub partition: i32,
    /// Number of the first record within (producer, partition), from 0.
    pub first: u64,
    /// Number of records, at least 1.
    pub count: u32,
    /// When the first record was accepted, ns.
    pub created_ns: u64,
    /// What the caller keeps with the records.
    pub user_data: M,
    /// Timestamp of the first record, ms since 1970.
    pub(super) base_timestamp_ms: i64,
    /// Bytes of its records, uncompressed; of a part of a batch that was divided its share, until it is sealed.
    pub(super) body_bytes: u64,
    /// The size up to which it is filled, header included.
    pub(super) bytes_max: u64,
    /// How well it is expected to compress.
    pub(super) ratio: CompressionRatio,
    /// A record found no room in it, or it was sent: it takes no more.
    pub(super) is_closed: bool,
    /// It came of a batch that was too large.
    pub(super) is_part: bool,
    /// What it has from when its records are sealed on. In a box of its own, since thousands of batches may wait: the
    /// less of each, the less of them is fetched from memory again when their turn comes.
    pub(super) sending: Option<Box<Sending>>,
}

/// What a batch has from when its records are sealed on.
#[derive(Debug, Clone)]
pub(super) struct Sending {
    pub(super) sealed: Option<Sealed>,
    /// When it was sealed for its first sending (t3), ns.
    pub(super) sealed_ns: Option<u64>,
    /// When the request of its latest attempt was begun, ns: at the first one when it was sealed.
    pub(super) sent_ns: u64,
    pub(super) producer: ProducerState,
    /// It got another sequence since it was sent last.
    pub(super) is_renumbered: bool,
    pub(super) attempts: u32,
    pub(super) not_before_ns: u64,
    /// The connection that its latest attempt went over.
    pub(super) sent_over: usize,
}

impl Sending {
    /// Bytes of a batch that was not sealed yet.
    const NONE: Self = Self {
        sealed: None,
        sealed_ns: None,
        sent_ns: 0,
        producer: ProducerState::NONE,
        is_renumbered: false,
        attempts: 0,
        not_before_ns: 0,
        sent_over: 0,
    };
}

impl<M> ProducerBatch<M> {
    /// Its size: known once it is sealed, estimated before; 0 while it has no records.
    pub(super) fn bytes(&self) -> u64 {
        match self.sealed() {
            Some(sealed) => (crate::records::HEADER_BYTES + sealed.body.len()) as u64,
            None if self.count == 0 => 0,
            None => self.ratio.batch_bytes(self.body_bytes),
        }
    }

    /// What it takes of the buffer: parts of one that was too large take nothing.
    pub(super) fn charged_bytes(&self) -> u64 {
        if self.is_part { 0 } else { self.bytes_max }
    }

    /// Bytes of its records, uncompressed and as they were sent last; 0 before that.
    pub fn record_bytes(&self) -> (u64, u64) {
        self.sealed().map_or((0, 0), |sealed| (sealed.body_bytes, sealed.body.len() as u64))
    }

    /// When it was sealed for its first sending (t3), ns.
    pub fn sealed_ns(&self) -> Option<u64> {
        self.sending.as_ref()?.sealed_ns
    }

    /// When the request of its latest attempt was begun, ns: at the first one when it was sealed; 0 before that.
    pub fn sent_ns(&self) -> u64 {
        self.sending.as_ref().map_or(0, |sending| sending.sent_ns)
    }

    pub(super) fn sealed(&self) -> Option<&Sealed> {
        self.sending.as_ref()?.sealed.as_ref()
    }

    pub(super) fn attempts(&self) -> u32 {
        self.sending.as_ref().map_or(0, |sending| sending.attempts)
    }

    pub(super) fn is_renumbered(&self) -> bool {
        self.sending.as_ref().is_some_and(|sending| sending.is_renumbered)
    }

    /// As which producer it was numbered, if it was.
    pub(super) fn producer(&self) -> ProducerState {
        self.sending.as_ref().map_or(ProducerState::NONE, |sending| sending.producer)
    }

    pub(super) fn sending_mut(&mut self) -> &mut Sending {
        self.sending.get_or_insert_with(|| Box::new(Sending::NONE))
    }

    /// Until when it is not sent over a connection, ns: a pause is for the leader that did not take the batch, not for
    /// another one.
    pub(super) fn pauses_until_ns(&self, connection: usize) -> u64 {
        let again = self.sending.as_ref().filter(|again| again.attempts > 0 && again.sent_over == connection);
        again.map_or(0, |again| again.not_before_ns)
    }

    /// Whether it was numbered for its first sending by an idempotent producer.
    pub(super) fn has_sequence(&self) -> bool {
        self.producer().sequence != NO_SEQUENCE
    }

    /// Whether it takes no further record.
    pub(super) fn is_full(&self) -> bool {
        self.is_closed || self.bytes() >= self.bytes_max
    }
}

/// A sealed batch's records.
#[derive(Debug, Clone)]
pub struct Sealed {
    /// The records, compressed or not.
    pub body: Bytes,
    /// Their length and checksum.
    pub sum: BodySum,
    /// How they are compressed.
    pub compression: Compression,
    /// Their length, uncompressed.
    pub body_bytes: u64,
    /// Timestamp of the first record, which those of the others count from, ms since 1970.
    pub base_timestamp_ms: i64,
    /// Largest timestamp, ms since 1970.
    pub max_timestamp_ms: i64,
}

/// As which producer a batch was sent, and which number its first record has there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ProducerState {
    pub(super) id: i64,
    pub(super) epoch: i16,
    pub(super) sequence: i32,
}

impl ProducerState {
    /// Not idempotent, or not sent yet.
    pub(super) const NONE: Self =
        Self { id: NO_PRODUCER_ID, epoch: NO_PRODUCER_EPOCH, sequence: NO_SEQUENCE };

    /// The sequence of a record so many records later. After the largest sequence comes 0.
    pub(super) fn after(self, records: u32) -> Self {
        if self.sequence == NO_SEQUENCE {
            return self;
        }
        Self { sequence: (self.sequence as u32).wrapping_add(records) as i32 & i32::MAX, ..self }
    }
}

/// What became of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// The broker has it (acks=0: the socket has it).
    Acknowledged {
        /// When the request's last byte was written (t4), ns.
        written_ns: u64,
        /// When the reply had arrived (t5; acks=0: t4), ns; not before t4.
        received_ns: u64,
    },
    /// It will not be tried again.
    Failed {
        /// Kafka's error name, or `delivery-timeout`.
        reason: &'static str,
    },
}
