//! What the partitions of the fake cluster hold.

use super::batch;
use super::codec::code;
use kdyno_kafka::records::{Batch, BatchHeader};
use kdyno_kafka::wire::Result;
use kdyno_kafka_server::codec::batch::put_at_offset;
use std::collections::{BTreeMap, VecDeque};

/// Batches of a producer that a partition remembers, as a broker does.
const REMEMBERED: usize = 5;

/// A batch as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredBatch {
    /// Offset of its first record, also written into the bytes.
    pub base_offset: i64,
    /// Offset of its last record, also of one that was compacted away.
    pub last_offset: i64,
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
    /// Markers of transactions; each takes an offset too.
    pub markers: u64,
}

impl StoredPartition {
    /// A batch is not there any more.
    fn forget(&mut self, batch: &StoredBatch) {
        if batch::is_control(&batch.bytes) {
            self.markers -= 1;
            return;
        }
        self.records -= batch.records;
        self.batches -= 1;
        self.bytes -= batch.bytes.len() as u64;
    }
}

/// A partition: who leads it and what it holds.
#[derive(Debug, Clone)]
pub(super) struct PartitionLog {
    pub leader: Option<i32>,
    pub leader_epoch: i32,
    pub replicas: Vec<i32>,
    pub stored: StoredPartition,
    pub batches: Vec<StoredBatch>,
    /// The first offset that is there.
    pub log_start: i64,
    end_offset: i64,
    producers: BTreeMap<i64, ProducerEntry>,
    /// The first offset of each producer's open transaction.
    open: BTreeMap<i64, i64>,
    aborted: Vec<AbortedTransaction>,
}

/// A transaction that was aborted.
#[derive(Debug, Clone, Copy)]
struct AbortedTransaction {
    producer: i64,
    first: i64,
    /// Offset of its marker.
    last: i64,
}

/// What a partition knows of an idempotent producer.
#[derive(Debug, Clone, Default)]
struct ProducerEntry {
    epoch: i16,
    /// First and last sequence of its latest batches, and the offset of each.
    latest: VecDeque<(i32, i32, i64)>,
}

/// What becomes of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AppendDecision {
    /// It is to be stored.
    New,
    /// It is stored already, from this offset on.
    Known(i64),
    /// An error code.
    Refused(i16),
}

impl ProducerEntry {
    /// By the rules of Kafka's `ProducerAppendInfo`.
    fn judge(&self, head: &BatchHeader) -> AppendDecision {
        let (epoch, first) = (head.producer_epoch, head.base_sequence);
        let last = last_sequence(head);
        if epoch < self.epoch {
            return AppendDecision::Refused(code::INVALID_PRODUCER_EPOCH);
        }
        let known = self.latest.iter().find(|(from, to, _)| (*from, *to) == (first, last));
        if let Some((_, _, offset)) = known.filter(|_| epoch == self.epoch) {
            return AppendDecision::Known(*offset);
        }
        let expected = match self.latest.back() {
            Some((_, last, _)) if epoch == self.epoch => last.wrapping_add(1) & i32::MAX,
            Some(_) => 0,
            // Since KIP-890 no batch of a transaction may overtake the first one, neither that of a new epoch, which a
            // marker has begun, nor that of a producer that the partition does not know.
            None if batch::is_transactional(head) => 0,
            None => first,
        };
        if first == expected {
            AppendDecision::New
        } else {
            AppendDecision::Refused(code::OUT_OF_ORDER_SEQUENCE_NUMBER)
        }
    }

    fn note(&mut self, head: &BatchHeader, offset: i64) {
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

fn last_sequence(head: &BatchHeader) -> i32 {
    head.base_sequence.wrapping_add((head.record_count - 1).max(0)) & i32::MAX
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
            log_start: 0,
            end_offset: 0,
            producers: BTreeMap::new(),
            open: BTreeMap::new(),
            aborted: Vec::new(),
        }
    }

    /// The next offset.
    pub fn end_offset(&self) -> i64 {
        self.end_offset
    }

    /// The next offset, but not behind the first record of the first transaction that is open.
    pub fn last_stable_offset(&self) -> i64 {
        self.open.values().copied().min().unwrap_or(self.end_offset)
    }

    /// Producer and first offset of the aborted transactions that reach into these offsets.
    pub fn aborted(&self, from: i64, to: i64) -> Vec<(i64, i64)> {
        let reach = self.aborted.iter().filter(|one| one.last >= from && one.first < to);
        reach.map(|one| (one.producer, one.first)).collect()
    }

    /// Deletes what lies before an offset, which is in the log.
    pub fn delete_before(&mut self, offset: i64) {
        self.log_start = offset;
        let (stored, batches) = (&mut self.stored, &mut self.batches);
        batches.retain(|batch| {
            let stays = batch.last_offset >= offset;
            if !stays {
                stored.forget(batch);
            }
            stays
        });
    }

    /// Compacts the log: records stay whose offsets `keeps` names, and markers. Batches are kept and not compressed.
    ///
    /// # Errors
    /// When a batch cannot be read.
    pub fn compact(&mut self, keeps: impl Fn(i64) -> bool) -> Result<()> {
        for batch in std::mem::take(&mut self.batches) {
            let is_marker = batch::is_control(&batch.bytes);
            match if is_marker { None } else { Some(batch::compacted(&batch.bytes, &keeps)?) } {
                None => self.batches.push(batch),
                Some((records, bytes)) => {
                    self.stored.forget(&batch);
                    if records > 0 {
                        self.stored.records += records;
                        self.stored.batches += 1;
                        self.stored.bytes += bytes.len() as u64;
                        self.batches.push(StoredBatch { records, bytes, ..batch });
                    }
                }
            }
        }
        Ok(())
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
        for (Batch { header: head, .. }, bytes) in split(set)? {
            if head.producer_id >= 0 {
                let offset = self.end_offset();
                let producer = self.producers.entry(head.producer_id).or_default();
                match producer.judge(&head) {
                    AppendDecision::New => producer.note(&head, offset),
                    AppendDecision::Known(base_offset) => {
                        appended.base_offset = base_offset;
                        continue;
                    }
                    AppendDecision::Refused(error) => {
                        return Ok(Appended { error, base_offset: -1, ..appended });
                    }
                }
            }
            let (records, offset) = (head.record_count as u64, self.end_offset);
            appended.records += records;
            self.end_offset += i64::from(head.record_count);
            if batch::is_transactional(&head) {
                self.open.entry(head.producer_id).or_insert(offset);
            }
            if keep {
                let mut copy = Vec::with_capacity(bytes.len());
                put_at_offset(&mut copy, bytes, offset);
                let last_offset = self.end_offset - 1;
                self.batches.push(StoredBatch { base_offset: offset, last_offset, records, bytes: copy });
            }
            self.stored.records += records;
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
        let offset = self.end_offset;
        self.end_offset += 1;
        if let Some(first) = self.open.remove(&id).filter(|_| !is_commit) {
            self.aborted.push(AbortedTransaction { producer: id, first, last: offset });
        }
        if keep {
            let bytes = batch::marker((id, epoch), is_commit, offset);
            self.batches.push(StoredBatch { base_offset: offset, last_offset: offset, records: 1, bytes });
        }
        self.stored.markers += 1;
    }

    /// Kept batches from the one that holds `offset` on, before `end`, up to `bytes_max` bytes but at least one.
    pub fn read(&self, (offset, end): (i64, i64), bytes_max: usize) -> &[StoredBatch] {
        let first = self.batches.partition_point(|batch| batch.last_offset < offset);
        let last = self.batches.partition_point(|batch| batch.base_offset < end);
        let from = &self.batches[first.min(last)..last];
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

/// A record set's batches, each with all of its bytes.
fn split(mut set: &[u8]) -> Result<Vec<(Batch<'_>, &[u8])>> {
    let mut batches = Vec::new();
    while !set.is_empty() {
        let batch = batch::first(set)?;
        let (bytes, rest) = set.split_at(batch.bytes());
        batches.push((batch, bytes));
        set = rest;
    }
    Ok(batches)
}

/// Number of records in a record set, or `None` when it is not a sequence of whole batches with right
/// checksums, as a broker checks before it appends.
pub(super) fn check(set: &[u8]) -> Option<u64> {
    let batches = split(set).ok()?;
    batches.iter().try_fold(0u64, |sum, (batch, _)| {
        batch.verify_crc().ok().map(|()| sum + batch.header.record_count as u64)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use kdyno_kafka::records::{Compression, TRANSACTIONAL_BIT};

    const ID: i64 = 7;

    fn head(producer_epoch: i16, base_sequence: i32, is_transactional: bool) -> BatchHeader {
        BatchHeader {
            attributes: if is_transactional { TRANSACTIONAL_BIT } else { 0 },
            producer_id: ID,
            producer_epoch,
            base_sequence,
            ..BatchHeader::plain(Compression::None, 5, 0, 0)
        }
    }

    /// The first of two batches in flight is refused for another reason: the second must not take its place.
    #[test]
    fn in_a_transaction_no_batch_overtakes_the_first() {
        let refused = AppendDecision::Refused(code::OUT_OF_ORDER_SEQUENCE_NUMBER);
        let mut log = PartitionLog::new(0, vec![0]);
        for epoch in [0, 1, 2] {
            let producer = log.producers.entry(ID).or_default();
            assert_eq!(producer.judge(&head(epoch, 5, true)), refused, "{epoch}");
            assert_eq!(producer.judge(&head(epoch, 0, true)), AppendDecision::New, "{epoch}");
            producer.note(&head(epoch, 0, true), 0);
            assert_eq!(producer.judge(&head(epoch, 5, true)), AppendDecision::New, "{epoch}");
            // Since KIP-890 the marker begins the next epoch; before, sequences go on over it.
            log.append_marker((ID, epoch), true, false);
            let producer = log.producers.entry(ID).or_default();
            assert_eq!(producer.judge(&head(epoch, 5, true)), AppendDecision::New, "{epoch}");
            log.append_marker((ID, epoch + 1), true, false);
        }
    }

    /// Without transactions a partition goes on with whatever comes from a producer that it does not know.
    #[test]
    fn an_unknown_producer_starts_anywhere_without_transactions() {
        assert_eq!(ProducerEntry::default().judge(&head(0, 5, false)), AppendDecision::New);
    }
}
