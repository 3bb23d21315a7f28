//! What the partitions of the fake cluster hold.

use crate::codec::batch::{self, BatchHead};
use crate::codec::code;
use kdyno_kafka::wire::{Reader, Result};
use std::collections::{BTreeMap, VecDeque};

/// Batches of a producer that a partition remembers, as a broker does.
const REMEMBERED: usize = 5;

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
    /// Records stored.
    pub records: u64,
    /// Batches stored.
    pub batches: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Markers of transactions, each of which takes an offset too.
    pub markers: u64,
}

/// A partition: who leads it and what it holds.
#[derive(Debug, Clone)]
pub(super) struct PartitionLog {
    pub leader: Option<i32>,
    pub leader_epoch: i32,
    pub replicas: Vec<i32>,
    pub stored: StoredPartition,
    pub batches: Vec<StoredBatch>,
    producers: BTreeMap<i64, Producer>,
}

/// What a partition knows of an idempotent producer.
#[derive(Debug, Clone, Default)]
struct Producer {
    epoch: i16,
    /// First and last sequence of its latest batches, and the offset of each.
    latest: VecDeque<(i32, i32, i64)>,
}

/// What becomes of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    /// It is to be stored.
    New,
    /// It is stored already, from this offset on.
    Known(i64),
    /// An error code.
    Refused(i16),
}

impl Producer {
    /// By the rules of Kafka's `ProducerAppendInfo`.
    fn judge(&self, head: &BatchHead) -> Verdict {
        let (epoch, first) = (head.producer_epoch, head.base_sequence);
        let last = last_sequence(head);
        if epoch < self.epoch {
            return Verdict::Refused(code::INVALID_PRODUCER_EPOCH);
        }
        let known = self.latest.iter().find(|(from, to, _)| (*from, *to) == (first, last));
        if let Some((_, _, offset)) = known.filter(|_| epoch == self.epoch) {
            return Verdict::Known(*offset);
        }
        let expected = match self.latest.back() {
            Some((_, last, _)) if epoch == self.epoch => last.wrapping_add(1) & i32::MAX,
            Some(_) => 0,
            // Since KIP-890 no batch of a transaction may overtake the first one, neither that of a new epoch, which a
            // marker has begun, nor that of a producer that the partition does not know.
            None if head.is_transactional => 0,
            None => first,
        };
        if first == expected { Verdict::New } else { Verdict::Refused(code::OUT_OF_ORDER_SEQUENCE_NUMBER) }
    }

    fn note(&mut self, head: &BatchHead, offset: i64) {
        if head.producer_epoch > self.epoch {
            self.latest.clear();
        }
        self.epoch = head.producer_epoch;
        self.latest.push_back((head.base_sequence, last_sequence(head), offset));
        if self.latest.len() > REMEMBERED {
            self.latest.pop_front();
        }
    }
}

fn last_sequence(head: &BatchHead) -> i32 {
    head.base_sequence.wrapping_add(head.records.saturating_sub(1) as i32) & i32::MAX
}

/// What became of a record set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Appended {
    /// Error code, 0 for none.
    pub error: i16,
    /// Offset of its first record, -1 with an error.
    pub base_offset: i64,
    /// Records that were stored: none of a batch that was known.
    pub records: u64,
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
            producers: BTreeMap::new(),
        }
    }

    /// The next offset.
    pub fn end_offset(&self) -> i64 {
        (self.stored.records + self.stored.markers) as i64
    }

    /// Another leader, or none, in a new epoch.
    pub fn lead(&mut self, leader: Option<i32>) {
        self.leader = leader;
        self.leader_epoch += 1;
    }

    /// Stores a record set that [`check`] has passed. Batches of idempotent producers are stored if they follow the one
    /// before, and not a second time.
    ///
    /// # Errors
    /// It is not a sequence of whole batches; nothing is stored then.
    pub fn append(&mut self, set: &[u8], keep: bool) -> Result<Appended> {
        let mut appended = Appended { error: code::NONE, base_offset: self.end_offset(), records: 0 };
        let batches = split(set)?;
        for (head, bytes) in batches {
            if head.producer_id >= 0 {
                let offset = self.end_offset();
                let producer = self.producers.entry(head.producer_id).or_default();
                match producer.judge(&head) {
                    Verdict::New => producer.note(&head, offset),
                    Verdict::Known(base_offset) => {
                        appended.base_offset = base_offset;
                        continue;
                    }
                    Verdict::Refused(error) => return Ok(Appended { error, base_offset: -1, ..appended }),
                }
            }
            appended.records += u64::from(head.records);
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
        Ok(appended)
    }

    /// Appends the marker that ends a producer's transaction; the epoch is that of its batches, or the next one.
    pub fn append_marker(&mut self, (id, epoch): (i64, i16), is_commit: bool, keep: bool) {
        let producer = self.producers.entry(id).or_default();
        if epoch > producer.epoch {
            producer.latest.clear();
            producer.epoch = epoch;
        }
        if keep {
            let base_offset = self.end_offset();
            let bytes = batch::marker((id, epoch), is_commit, base_offset);
            self.batches.push(StoredBatch { base_offset, records: 1, bytes });
        }
        self.stored.markers += 1;
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

#[cfg(test)]
mod tests {
    use super::*;

    const ID: i64 = 7;

    fn head(producer_epoch: i16, base_sequence: i32, is_transactional: bool) -> BatchHead {
        BatchHead { bytes: 0, records: 5, producer_id: ID, producer_epoch, base_sequence, is_transactional }
    }

    /// Of two batches in flight the first is refused for another reason: the second must not take its place.
    #[test]
    fn in_a_transaction_no_batch_overtakes_the_first() {
        let refused = Verdict::Refused(code::OUT_OF_ORDER_SEQUENCE_NUMBER);
        let mut log = PartitionLog::new(0, vec![0]);
        for epoch in [0, 1, 2] {
            let producer = log.producers.entry(ID).or_default();
            assert_eq!(producer.judge(&head(epoch, 5, true)), refused, "{epoch}");
            assert_eq!(producer.judge(&head(epoch, 0, true)), Verdict::New, "{epoch}");
            producer.note(&head(epoch, 0, true), 0);
            assert_eq!(producer.judge(&head(epoch, 5, true)), Verdict::New, "{epoch}");
            // Since KIP-890 the marker begins the next epoch; before, sequences go on over it.
            log.append_marker((ID, epoch), true, false);
            let producer = log.producers.entry(ID).or_default();
            assert_eq!(producer.judge(&head(epoch, 5, true)), Verdict::New, "{epoch}");
            log.append_marker((ID, epoch + 1), true, false);
        }
    }

    /// Without transactions a partition goes on with whatever comes from a producer that it does not know.
    #[test]
    fn a_producer_that_is_not_known_begins_anywhere_without_transactions() {
        assert_eq!(Producer::default().judge(&head(0, 5, false)), Verdict::New);
    }
}
