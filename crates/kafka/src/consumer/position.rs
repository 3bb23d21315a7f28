//! Where a consuming client is in each of its partitions, and whose turn it is.

use super::effects::Effects;
use super::places::PlaceWords;
use super::types::ConsumerEvent;
use crate::errors::ErrorCode;
use std::fmt;

/// A replica that the leader has named to read from
/// ([KIP-392](https://cwiki.apache.org/confluence/display/KAFKA/KIP-392%3A+Allow+consumers+to+fetch+from+closest+replica)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Preferred {
    /// Its broker.
    pub broker: i32,
    /// From this instant on the leader is asked again, ns.
    pub until_ns: u64,
    /// What was known when it was named; `None` until that is looked up.
    pub then: Option<Then>,
}

/// The leader that has named a replica, and what was known of the connection to that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Then {
    /// The leader, and since which election it led.
    pub leader: (i32, i32),
    /// Attempts in a row to connect to the replica that had failed.
    pub failures: u32,
}

/// How old the end of a log without fetches may be, ns: the lag is reported once a second.
const END_EVERY_NS: u64 = 250_000_000;

/// A partition of ours.
#[derive(Debug, Clone, Copy)]
pub(super) struct PartitionPosition {
    /// Its place: with one topic its number.
    pub partition: i32,
    /// Next offset to fetch; `None`: to be requested.
    pub next: Option<i64>,
    /// The offset after the last record that can be fetched, as the latest answer says; −1 before one.
    pub end: i64,
    /// When that was reported, ns.
    pub end_reported_ns: u64,
    /// The offset after the last record that all in-sync replicas have, likewise.
    pub high_watermark: i64,
    /// After an error: not before this instant; 0: at once.
    pub not_before_ns: u64,
    /// When the last request for it was sent to which the answer was empty, ns.
    pub empty_ns: u64,
    /// Its place among the others: it grows each time that something came of the partition, so that another one is
    /// served first the next time.
    pub turn: u64,
    /// The offset to begin at is being requested.
    pub is_listing: bool,
    /// Nothing of it is fetched, and what comes of it is not taken.
    pub is_held: bool,
    /// The same, since it is about to be another client's.
    pub is_stopped: bool,
    /// The replica to fetch from in place of the leader.
    pub preferred: Option<Preferred>,
    /// What the last answer said.
    error: ErrorCode,
    /// The offset that the leader did not have; `next` is requested because of it.
    missed: Option<i64>,
}

impl PartitionPosition {
    /// Whether it is fetched.
    pub(super) fn is_fetched(&self) -> bool {
        !self.is_held && !self.is_stopped
    }

    /// From when on its leader is asked where the log ends, ns: a partition that is held is not fetched, and nothing
    /// else reports it.
    pub(super) fn end_due_ns(&self) -> Option<u64> {
        let is_waiting = self.is_held && !self.is_stopped && self.next.is_some();
        is_waiting.then(|| self.end_reported_ns.saturating_add(END_EVERY_NS))
    }

    pub(super) fn new(partition: i32) -> Self {
        Self {
            partition,
            next: None,
            end: -1,
            end_reported_ns: 0,
            high_watermark: -1,
            not_before_ns: 0,
            empty_ns: 0,
            turn: 0,
            is_listing: false,
            is_held: false,
            is_stopped: false,
            preferred: None,
            error: ErrorCode::NONE,
            missed: None,
        }
    }

    /// Records that could have been fetched and have not been, as of the latest answer; `None` before one. While it is asked
    /// where to go on, they are counted from where fetching ended.
    pub(super) fn lag_records(&self) -> Option<u64> {
        let next = self.next.or(self.missed).filter(|_| self.end >= 0)?;
        Some(self.end.saturating_sub(next).max(0) as u64)
    }

    /// There is no answer: the leader is asked again after a while.
    pub(super) fn failed(
        &mut self,
        error: ErrorCode,
        what: fmt::Arguments<'_>,
        retry_ns: u64,
        effects: &mut Effects,
    ) {
        self.not_before_ns = retry_ns;
        effects.has_error = true;
        effects.is_metadata_old |= error.refreshes_metadata();
        if self.error != error {
            self.error = error;
            effects.events.push(ConsumerEvent::FetchError(format!("{}: {what}", PlaceWords(self.partition))));
        }
    }

    /// What is to wait until now has waited.
    pub(super) fn end_pause(&mut self, now_ns: u64) {
        if self.not_before_ns <= now_ns {
            self.not_before_ns = 0;
        }
    }

    /// It answers again.
    pub(super) fn recovered(&mut self) {
        self.error = ErrorCode::NONE;
    }

    /// The offset to go on from is gone, or was never there: reported when it is known where fetching goes on.
    pub(super) fn out_of_range(&mut self, retry_ns: u64) {
        self.missed = self.next.take().or(self.missed);
        self.not_before_ns = retry_ns;
    }

    /// The offset to go on from.
    pub(super) fn listed(&mut self, offset: i64, effects: &mut Effects) {
        self.error = ErrorCode::NONE;
        self.next = Some(offset);
        let Some(missed) = self.missed.take() else { return };
        let skipped = if offset > missed {
            let records = offset.saturating_sub(missed);
            format!("is gone: {records} records before offset {offset} were not fetched")
        } else {
            format!("does not exist: fetching went back to offset {offset}")
        };
        let detail = format!("{}: offset {missed} {skipped}", PlaceWords(self.partition));
        effects.events.push(ConsumerEvent::RecordsSkipped(detail));
    }
}

/// All partitions of a client.
#[derive(Debug, Default)]
pub(super) struct PartitionPositions {
    /// By ascending partition.
    all: Vec<PartitionPosition>,
    next_turn: u64,
}

impl PartitionPositions {
    /// At the beginning of these partitions, by ascending partition.
    pub(super) fn of(partitions: impl Iterator<Item = i32>) -> Self {
        Self { all: partitions.map(PartitionPosition::new).collect(), next_turn: 0 }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &PartitionPosition> {
        self.all.iter()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut PartitionPosition> {
        self.all.iter_mut()
    }

    /// A partition, if it is ours.
    pub(super) fn find(&self, partition: i32) -> Option<&PartitionPosition> {
        let at = self.all.binary_search_by_key(&partition, |position| position.partition).ok()?;
        Some(&self.all[at])
    }

    /// The same, to change it.
    pub(super) fn find_mut(&mut self, partition: i32) -> Option<&mut PartitionPosition> {
        let at = self.all.binary_search_by_key(&partition, |position| position.partition).ok()?;
        Some(&mut self.all[at])
    }

    /// Changes a partition, if it is ours.
    pub(super) fn at(&mut self, partition: i32, change: impl FnOnce(&mut PartitionPosition)) {
        if let Some(position) = self.find_mut(partition) {
            change(position);
        }
    }

    /// One more partition, unless it is ours already.
    pub(super) fn add(&mut self, position: PartitionPosition) {
        if let Err(at) = self.all.binary_search_by_key(&position.partition, |one| one.partition) {
            self.all.insert(at, position);
        }
    }

    /// A partition that is not ours any more.
    pub(super) fn remove(&mut self, partition: i32) {
        self.all.retain(|position| position.partition != partition);
    }

    /// A partition, if it is ours; all others have their turn before it the next time.
    pub(super) fn served(&mut self, partition: i32) -> Option<&mut PartitionPosition> {
        self.next_turn += 1;
        let turn = self.next_turn;
        let position = self.find_mut(partition)?;
        position.turn = turn;
        Some(position)
    }
}
