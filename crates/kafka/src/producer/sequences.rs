//! What an idempotent producer knows of its id and of the sequence of each partition's records.
//!
//! A broker stores a batch only if its sequence follows that of the batch before, so none is stored twice and none
//! overtakes. What leaves a gap (a batch that failed, or gave up while it is unknown whether it was stored) is healed
//! by a new epoch, in which the partition's sequence begins again at 0.

use super::batch::{ProducerBatch, ProducerState};
use crate::errors::ErrorCode;
use crate::records::NO_SEQUENCE;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Id and epoch.
pub(super) type ProducerIdentity = (i64, i16);

/// A partition's sequence.
#[derive(Debug, Clone, Default)]
struct Sequence {
    /// As which its records were sent last.
    identity: Option<ProducerIdentity>,
    /// The number of the first record of that epoch. What is open before it has a sequence of an earlier one.
    begins_at: u64,
    /// Sequence of the next record.
    next: i32,
    /// Sequence of the last record that was acknowledged.
    acknowledged: Option<i32>,
    /// The number of the record behind it, whichever epoch that was.
    stored_to: u64,
    /// Batches that have a sequence and no outcome, by the number of their first record, in order.
    open: VecDeque<u64>,
    /// The sequence after a batch that gave up and may have been stored: nothing new is sent before all that was sent
    /// has its outcome.
    unresolved: Option<i32>,
}

impl Sequence {
    fn begin(&mut self, identity: Option<ProducerIdentity>, begins_at: u64) {
        let (open, stored_to) = (std::mem::take(&mut self.open), self.stored_to);
        *self = Self { identity, begins_at, open, stored_to, ..Self::default() };
    }

    fn is_of_earlier_epoch(&self, first: u64) -> bool {
        first < self.begins_at
    }

    fn is_next(&self, sequence: i32) -> bool {
        sequence == self.acknowledged.map_or(0, |last| last.wrapping_add(1) & i32::MAX)
    }

    /// Whether one behind an open batch was acknowledged. Then the batch was stored too, and only forgotten by the
    /// broker: in a new epoch it would be stored again.
    fn is_forgotten(&self, first: u64) -> bool {
        first < self.stored_to
    }

    fn close(&mut self, first: u64) {
        self.open.retain(|open| *open != first);
    }
}

/// The later one of two sequences. They begin again at 0 after the largest, so it is the one that follows the other
/// by less than half of them all.
fn latest(before: Option<i32>, sequence: i32) -> i32 {
    before.filter(|before| before.wrapping_sub(sequence) & i32::MAX < 1 << 30).unwrap_or(sequence)
}

/// What an idempotent producer knows of itself.
#[derive(Debug)]
pub(super) struct Idempotence {
    identity: Option<ProducerIdentity>,
    is_asked: bool,
    /// Its id is not requested before, ns, after so many answers that were none.
    not_before_ns: u64,
    failures: u32,
    /// Why its producer has ended: it will not send any more.
    ended_by: Option<ErrorCode>,
    sequences: Vec<Sequence>,
    unresolved: BTreeSet<usize>,
    /// Partitions that need a new epoch, from the record with this number on.
    gaps: BTreeMap<usize, u64>,
}

impl Idempotence {
    /// The state of a producer for so many partitions that has no id yet.
    pub(super) fn new(partitions: usize) -> Self {
        Self {
            identity: None,
            is_asked: false,
            not_before_ns: 0,
            failures: 0,
            ended_by: None,
            sequences: vec![Sequence::default(); partitions],
            unresolved: BTreeSet::new(),
            gaps: BTreeMap::new(),
        }
    }

    /// Whether the batch at a partition's front may be sent: one that was sent before when it is the first without an
    /// outcome, another one when none of another epoch is open and it is known what became of all before it.
    pub(super) fn may_send<M>(&self, batch: &ProducerBatch<M>) -> bool {
        let sequence = &self.sequences[batch.partition as usize];
        if self.identity.is_none() || self.ended_by.is_some() {
            return false;
        }
        if batch.producer().sequence != NO_SEQUENCE {
            return sequence.open.front() == Some(&batch.first);
        }
        let is_any_earlier = sequence
            .open
            .front()
            .is_some_and(|&first| sequence.identity != self.identity || sequence.is_of_earlier_epoch(first));
        !is_any_earlier && sequence.unresolved.is_none()
    }

    /// Gives a batch that is about to be sent its sequence; it keeps the one that it has.
    pub(super) fn number<M>(&mut self, batch: &mut ProducerBatch<M>) {
        batch.sending_mut().is_renumbered = false;
        let Some((id, epoch)) = self.identity.filter(|_| batch.producer().sequence == NO_SEQUENCE) else {
            return;
        };
        let sequence = &mut self.sequences[batch.partition as usize];
        if sequence.identity != self.identity {
            sequence.begin(self.identity, batch.first);
        }
        let numbered = ProducerState { id, epoch, sequence: sequence.next };
        batch.sending_mut().producer = numbered;
        sequence.next = numbered.after(batch.count).sequence;
        sequence.open.push_back(batch.first);
    }

    /// Whether a batch that the broker refused is to be sent again.
    pub(super) fn is_retried<M>(&mut self, batch: &ProducerBatch<M>, error: ErrorCode) -> bool {
        let partition = batch.partition as usize;
        let sequence = &self.sequences[partition];
        let has_gap = match error {
            ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER if sequence.is_of_earlier_epoch(batch.first) => {
                sequence.open.front() == Some(&batch.first) && !sequence.is_forgotten(batch.first)
            }
            ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER => match sequence.unresolved {
                // Not the next one: one before it failed, and it will follow that.
                None => !batch.is_renumbered() && sequence.is_next(batch.producer().sequence),
                Some(next) => next == batch.producer().sequence && !sequence.is_forgotten(batch.first),
            },
            ErrorCode::UNKNOWN_PRODUCER_ID => !batch.is_renumbered(),
            _ => return error.is_retriable(),
        };
        if has_gap {
            self.begin_epoch(partition, batch.first);
        }
        true
    }

    fn begin_epoch(&mut self, partition: usize, from: u64) {
        let begins_at = self.gaps.entry(partition).or_insert(from);
        *begins_at = from.min(*begins_at);
    }

    /// Whether a batch's sequence follows that of the last one that was acknowledged.
    pub(super) fn is_next<M>(&self, batch: &ProducerBatch<M>) -> bool {
        self.sequences[batch.partition as usize].is_next(batch.producer().sequence)
    }

    /// A batch of a transactional producer has its outcome; what its sequence leaves ends with the transaction.
    pub(super) fn close<M>(&mut self, batch: &ProducerBatch<M>) {
        self.sequences[batch.partition as usize].close(batch.first);
    }

    /// A batch was stored, now or before.
    pub(super) fn note_stored<M>(&mut self, batch: &ProducerBatch<M>) {
        let sequence = &mut self.sequences[batch.partition as usize];
        sequence.close(batch.first);
        sequence.stored_to = sequence.stored_to.max(batch.first + u64::from(batch.count));
        if !sequence.is_of_earlier_epoch(batch.first) {
            let last = batch.producer().after(batch.count.saturating_sub(1)).sequence;
            // Answers come over several connections: that of an earlier batch may be the later one.
            sequence.acknowledged = Some(latest(sequence.acknowledged, last));
        }
    }

    /// The broker will not have a batch: what comes after it has a gap before it.
    pub(super) fn note_failed<M>(&mut self, batch: &ProducerBatch<M>, error: ErrorCode) {
        let partition = batch.partition as usize;
        self.sequences[partition].close(batch.first);
        if matches!(error, ErrorCode::CLUSTER_AUTHORIZATION_FAILED | ErrorCode::UNSUPPORTED_VERSION) {
            self.ended_by.get_or_insert(error);
        } else {
            self.begin_epoch(partition, batch.first);
        }
    }

    /// A batch gave up. Whether it was stored is unknown if it was ever sent.
    pub(super) fn note_expired<M>(&mut self, batch: &ProducerBatch<M>) {
        if batch.producer().sequence == NO_SEQUENCE {
            return;
        }
        let partition = batch.partition as usize;
        let sequence = &mut self.sequences[partition];
        sequence.close(batch.first);
        sequence.unresolved = Some(latest(sequence.unresolved, batch.producer().after(batch.count).sequence));
        self.unresolved.insert(partition);
    }

    /// A batch that was sent is divided: this is one of its parts behind the first.
    pub(super) fn note_part(&mut self, partition: i32, first: u64) {
        let open = &mut self.sequences[partition as usize].open;
        let at = open.partition_point(|other| *other < first);
        open.insert(at, first);
    }

    /// Finds out what became of batches that gave up, and begins a new epoch where there is a gap. The partitions that
    /// are to be [renumbered](Self::renumber) for it, each from the record with this number on.
    pub(super) fn heal(&mut self) -> BTreeMap<usize, u64> {
        let Self { sequences, unresolved, gaps, .. } = self;
        unresolved.retain(|&partition| {
            let sequence = &mut sequences[partition];
            let is_open = !sequence.open.is_empty();
            if !is_open {
                sequence.unresolved = None;
                if !sequence.is_next(sequence.next) {
                    gaps.entry(partition).or_insert(0);
                }
            }
            is_open
        });
        if gaps.is_empty() || self.identity.is_none() {
            return BTreeMap::new();
        }
        // After the last epoch comes another id.
        self.identity = self.identity.and_then(|(id, epoch)| Some((id, epoch.checked_add(1)?)));
        std::mem::take(gaps)
    }

    /// A partition's batches that have a sequence get one of the new epoch, from 0 on, if they come after the gap: for
    /// its sake none of these was stored. What is open before it was perhaps, and keeps its sequence.
    pub(super) fn renumber<'a, M: 'a>(
        &mut self,
        partition: usize,
        from: u64,
        batches: impl Iterator<Item = &'a mut ProducerBatch<M>>,
    ) {
        let sequence = &mut self.sequences[partition];
        sequence.begin(self.identity, from);
        self.unresolved.remove(&partition);
        let is_sent =
            |batch: &&mut ProducerBatch<M>| batch.producer().sequence != NO_SEQUENCE && batch.first >= from;
        let mut sent: Vec<_> = batches.filter(is_sent).collect();
        sent.sort_by_key(|batch| batch.first);
        let Some((id, epoch)) = self.identity else {
            sequence.open.retain(|first| *first < from);
            sent.into_iter().for_each(|batch| batch.sending_mut().producer = ProducerState::NONE);
            return;
        };
        let mut state = ProducerState { id, epoch, sequence: 0 };
        for batch in sent {
            let sending = batch.sending_mut();
            (sending.producer, sending.is_renumbered) = (state, true);
            state = state.after(batch.count);
        }
        sequence.next = state.sequence;
    }

    /// When the id is to be requested, ns.
    pub(super) fn asks_at(&self) -> Option<u64> {
        let needs = self.identity.is_none() && !self.is_asked && self.ended_by.is_none();
        needs.then_some(self.not_before_ns)
    }

    /// The id is requested.
    pub(super) fn note_asked(&mut self) {
        self.is_asked = true;
    }

    /// There was no answer, or one that says to ask again: not before `pause_ns(failures so far)` is over.
    pub(super) fn note_unanswered(&mut self, now_ns: u64, pause_ns: impl FnOnce(u32) -> u64) {
        self.is_asked = false;
        self.not_before_ns = now_ns + pause_ns(self.failures);
        self.failures += 1;
    }

    /// Id and epoch, or why there will be none.
    pub(super) fn note_answer(&mut self, answer: Result<ProducerIdentity, ErrorCode>) {
        self.is_asked = false;
        self.failures = 0;
        match answer {
            Ok(identity) => self.identity = Some(identity),
            Err(error) => self.ended_by = Some(error),
        }
    }

    /// Id and epoch, if it has them.
    pub(super) fn identity(&self) -> Option<ProducerIdentity> {
        self.identity
    }

    /// It will not send any more.
    pub(super) fn give_up(&mut self, error: ErrorCode) {
        self.ended_by.get_or_insert(error);
    }

    /// Why its producer has ended: it will not send any more.
    pub(super) fn ended_by(&self) -> Option<ErrorCode> {
        self.ended_by
    }
}
