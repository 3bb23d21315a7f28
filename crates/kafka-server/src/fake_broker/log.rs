//! What the partitions of the fake cluster hold.

use crate::codec::batch::{self, BatchHead};
use kdyno_kafka::wire::{Reader, Result};

/// A batch as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredBatch {
    /// Offset of its first record, also written into the bytes.
    pub base_offset: i64,
    /// Its records, as its head counts them.
    pub records: u64,
    /// The whole batch.
    pub bytes: Vec<u8>,
}

/// Counts of a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StoredPartition {
    /// Records stored, which is also the next offset.
    pub records: u64,
    /// Batches stored.
    pub batches: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// A partition: who leads it and what it holds.
#[derive(Debug, Clone)]
pub(super) struct PartitionLog {
    pub leader: Option<i32>,
    pub leader_epoch: i32,
    pub replicas: Vec<i32>,
    pub stored: StoredPartition,
    pub batches: Vec<StoredBatch>,
}

impl PartitionLog {
    /// An empty partition.
    pub fn new(leader: i32, replicas: Vec<i32>) -> Self {
        Self {
            leader: Some(leader),
            leader_epoch: 0,
            replicas,
            stored: StoredPartition::default(),
            batches: Vec::new(),
        }
    }

    /// The next offset.
    pub fn end_offset(&self) -> i64 {
        self.stored.records as i64
    }

    /// Another leader, or none, in a new epoch.
    pub fn lead(&mut self, leader: Option<i32>) {
        self.leader = leader;
        self.leader_epoch += 1;
    }

    /// Stores a record set that [`check`] has passed; returns the offset of its first record.
    ///
    /// # Errors
    /// It is not a sequence of whole batches; nothing is stored then.
    pub fn append(&mut self, set: &[u8], keep: bool) -> Result<i64> {
        let base_offset = self.end_offset();
        let batches = split(set)?;
        for (head, bytes) in batches {
            if keep {
                let offset = self.end_offset();
                let mut copy = Vec::with_capacity(bytes.len());
                batch::put_at_offset(&mut copy, bytes, offset);
                let records = u64::from(head.records);
                self.batches.push(StoredBatch { base_offset: offset, records, bytes: copy });
            }
            self.stored.records += u64::from(head.records);
            self.stored.batches += 1;
            self.stored.bytes += bytes.len() as u64;
        }
        Ok(base_offset)
    }

    /// Kept batches from the one that holds `offset` on, up to `bytes_max` bytes but at least one.
    pub fn read(&self, offset: i64, bytes_max: usize) -> &[StoredBatch] {
        let first = self.batches.partition_point(|b| b.base_offset + b.records as i64 <= offset);
        let from = &self.batches[first..];
        let mut bytes = 0;
        let count = from
            .iter()
            .take_while(|batch| {
                bytes += batch.bytes.len();
                bytes <= bytes_max
            })
            .count();
        &from[..count.max(1).min(from.len())]
    }
}

/// A record set's batches.
fn split(mut set: &[u8]) -> Result<Vec<(BatchHead, &[u8])>> {
    let mut batches = Vec::new();
    while !set.is_empty() {
        let head = BatchHead::read(&mut Reader::new(set))?;
        let mut reader = Reader::new(set);
        batches.push((head, reader.take(head.bytes)?));
        set = reader.take(reader.remaining())?;
    }
    Ok(batches)
}

/// Number of records in a record set, or `None` when it is not a sequence of whole batches with right
/// checksums, as a broker checks before it appends.
pub(super) fn check(set: &[u8]) -> Option<u64> {
    let batches = split(set).ok()?;
    batches.iter().try_fold(0u64, |sum, (head, bytes)| {
        batch::has_valid_checksum(bytes).then(|| sum + u64::from(head.records))
    })
}
