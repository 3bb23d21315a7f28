//! A batch: what it holds, and what becomes of it.

use bytes::Bytes;
use std::collections::VecDeque;

/// Records of one partition that travel together.
#[derive(Debug)]
pub struct Batch<M> {
    /// Partition.
    pub partition: i32,
    /// Sequence of the first record within (producer, partition), from 0.
    pub first: u64,
    /// Number of records, at least 1.
    pub count: u32,
    /// When the first record was accepted, ns.
    pub created_ns: u64,
    /// When it was sealed for its first sending (t3), ns.
    pub sealed_ns: Option<u64>,
    /// When the request of its latest attempt was begun, ns: at the first one when it was sealed.
    pub sent_ns: u64,
    /// What the caller keeps with the records.
    pub user_data: M,
    pub(super) sealed: Option<Sealed>,
    pub(super) attempts: u32,
    pub(super) not_before_ns: u64,
}

/// A sealed batch's bytes.
#[derive(Debug, Clone)]
pub struct Sealed {
    /// The batch header, checksum included.
    pub header: [u8; crate::records::HEADER_BYTES],
    /// The records.
    pub body: Bytes,
}

#[derive(Debug)]
pub(super) struct PartitionQueue<M> {
    /// Oldest first. Only the last may be open, that is take further records.
    pub(super) batches: VecDeque<Batch<M>>,
    /// Sequence of the next record.
    pub(super) next: u64,
}

impl<M> Default for PartitionQueue<M> {
    fn default() -> Self {
        Self { batches: VecDeque::new(), next: 0 }
    }
}

/// What became of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
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
