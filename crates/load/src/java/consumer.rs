//! One consuming client of a Java process: what it was handed, and what it has as a member of its group.

use super::frames::{ConsumedRecords, OwnershipChange};
use crate::groups::GroupReading;
use crate::recorder::{HandedOver, Recorder, UNREPORTED};
use kdyno_kafka::group::{GroupEvent, Rebalanced, TopicPartition};
use kdyno_model::sample::{ClientTotals, MemberTotals};
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

/// One consuming client.
#[derive(Debug)]
pub(super) struct JavaConsumer {
    /// Its number among all of the load item's.
    number: u32,
    /// What it shares with the other members of its group; `None`: it is in none.
    reading: Option<Arc<GroupReading>>,
    totals: ClientTotals,
    first_ns: Option<u64>,
    /// The measure phase, ns; empty before it is known.
    measure: Range<u64>,
    lag: Option<u64>,
    assigned: BTreeSet<i32>,
    /// When it gave up partitions of a rebalance that is not over, ns.
    gave_up_ns: Option<u64>,
    /// Since when it has no partition that it should have, ns; `None`: it has some, or it is before T0.
    unassigned_since_ns: Option<u64>,
    /// For how long partitions had had no owner that it was assigned since that was last asked, ns.
    without_owner_ns: Vec<u64>,
    has_caught_up: bool,
    /// It closes: what it gives up then is not counted.
    is_ending: bool,
    /// t0 of the records of a poll, ns.
    intended_ns: Vec<u64>,
}

impl JavaConsumer {
    /// One that has nothing yet.
    pub fn new(number: u32, reading: Option<Arc<GroupReading>>) -> Self {
        let member = reading.as_ref().map(|_| MemberTotals::default());
        Self {
            number,
            reading,
            totals: ClientTotals { member, ..ClientTotals::default() },
            first_ns: None,
            measure: 0..0,
            lag: None,
            assigned: BTreeSet::new(),
            gave_up_ns: None,
            unassigned_since_ns: None,
            without_owner_ns: Vec::new(),
            has_caught_up: false,
            is_ending: false,
            intended_ns: Vec::new(),
        }
    }

    /// Its number among all of the load item's.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// The measure phase begins and ends at these instants, ns.
    pub fn measure_begins(&mut self, measure: Range<u64>) {
        self.measure = measure;
    }

    /// It came at this instant, ns, later than T0.
    pub fn comes(&mut self, at_ns: u64) {
        self.unassigned_since_ns = Some(at_ns);
    }

    /// A poll returned records at an instant, ns.
    pub fn handed(
        &mut self,
        at_ns: u64,
        records: ConsumedRecords<'_>,
        wall_offset_ns: i64,
        recorder: &mut Recorder,
    ) {
        self.intended_ns.clear();
        let (mut count, mut bytes) = (0, 0);
        // Records of a partition whose offsets follow one another.
        let mut run: Option<(i32, Range<i64>, u64)> = None;
        for record in records.iter() {
            count += 1;
            bytes += u64::from(record.bytes);
            let monotonic_ns = record.intended_ns.and_then(|wall_ns| wall_ns.checked_sub(wall_offset_ns));
            self.intended_ns.push(monotonic_ns.and_then(|ns| u64::try_from(ns).ok()).unwrap_or(UNREPORTED));
            let after = record.offset.saturating_add(1);
            match &mut run {
                Some((partition, offsets, length)) if *partition == record.partition => {
                    offsets.end = after;
                    *length += 1;
                }
                _ => {
                    let over = run.replace((record.partition, record.offset..after, 1));
                    self.count_again(at_ns, over, recorder);
                }
            }
        }
        self.count_again(at_ns, run, recorder);
        recorder.handed_over(at_ns, count);
        recorder.fetched_bytes(at_ns, bytes);
        recorder.handed_over_bytes(at_ns, bytes);
        let intended_ns = &self.intended_ns;
        recorder.end_to_end(HandedOver { fetched_ns: None, handed_ns: at_ns, intended_ns });
        self.totals.records += count;
        self.totals.span_ns = at_ns.saturating_sub(*self.first_ns.get_or_insert(at_ns));
        if let Some(member) = &mut self.totals.member {
            member.measured_records += if self.measure.contains(&at_ns) { count } else { 0 };
        }
    }

    /// Counts what a member of the group had been handed before.
    fn count_again(&self, at_ns: u64, run: Option<(i32, Range<i64>, u64)>, recorder: &mut Recorder) {
        if let (Some(reading), Some((partition, offsets, records))) = (&self.reading, run) {
            let again = reading.handed_over(partition, offsets, records);
            if again > 0 {
                recorder.handed_over_again(at_ns, again);
            }
        }
    }

    /// Partitions changed hands, as its listener heard at an instant. Returns what that is in the group's history: a
    /// rebalance begins where partitions are given up, for nothing before it is seen, and ends with an assignment.
    pub fn assigned(
        &mut self,
        (at_ns, change): (u64, OwnershipChange),
        generation: i32,
        partitions: &[i32],
        topic: &str,
        has_begun: bool,
    ) -> (u64, GroupEvent) {
        let named = || partitions.iter().map(|partition| TopicPartition::new(topic, *partition)).collect();
        if self.is_ending && change == OwnershipChange::Gained {
            return (at_ns, GroupEvent::Left);
        }
        self.has_caught_up = false;
        for partition in partitions {
            let reading = self.reading.iter();
            match change {
                OwnershipChange::Gained if self.assigned.insert(*partition) => {
                    self.without_owner_ns.extend(reading.filter_map(|one| one.gained(*partition, at_ns)));
                }
                OwnershipChange::GivenUp | OwnershipChange::Lost if self.assigned.remove(partition) => {
                    self.without_owner_ns.extend(reading.filter_map(|one| one.lost(*partition, at_ns)));
                }
                _ => {}
            }
        }
        if self.is_ending {
            return (at_ns, GroupEvent::Left);
        }
        if has_begun && change != OwnershipChange::Gained && self.assigned.is_empty() {
            self.unassigned_since_ns.get_or_insert(at_ns);
        }
        match change {
            OwnershipChange::Gained => {
                if let Some(member) = self.totals.member.as_mut().filter(|_| has_begun) {
                    member.rebalances += 1;
                }
                let began_ns = self.gave_up_ns.take().unwrap_or(at_ns);
                let rebalanced = Rebalanced {
                    began_ns,
                    joined_ns: began_ns,
                    generation,
                    is_leader: false,
                    added: named(),
                    assigned: self.assigned.len(),
                };
                (at_ns, GroupEvent::Assigned(rebalanced))
            }
            OwnershipChange::GivenUp => {
                self.gave_up_ns.get_or_insert(at_ns);
                (at_ns, GroupEvent::Rebalancing("a member gives up partitions".to_owned()))
            }
            OwnershipChange::Lost => {
                if let Some(member) = self.totals.member.as_mut().filter(|_| has_begun) {
                    member.losses += 1;
                }
                (at_ns, GroupEvent::Lost(named()))
            }
        }
    }

    /// For how long it had no partition before it had some at this instant, ns; reported once.
    pub fn take_unassigned(&mut self, at_ns: u64) -> Option<u64> {
        let since_ns = self.unassigned_since_ns.take_if(|_| !self.assigned.is_empty())?;
        Some(at_ns.saturating_sub(since_ns))
    }

    /// For how long partitions that it was assigned had had no owner, ns; reported once.
    pub fn take_without_owner(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.without_owner_ns)
    }

    /// How many partitions it has as a member.
    pub fn partitions(&self) -> usize {
        self.assigned.len()
    }

    /// Records between it and the end of its logs; `None`: it does not know.
    pub fn lag_is(&mut self, records: Option<u64>) {
        self.lag = records;
    }

    /// As it said last.
    pub fn lag(&self) -> Option<u64> {
        self.lag
    }

    /// It has what there was when nothing new came any more.
    pub fn caught_up(&mut self) {
        self.has_caught_up = true;
    }

    /// Whether it has.
    pub fn has_caught_up(&self) -> bool {
        self.has_caught_up
    }

    /// It closes, or the stream ends.
    pub fn ends(&mut self) {
        if !std::mem::replace(&mut self.is_ending, true)
            && let Some(member) = &mut self.totals.member
        {
            member.partitions = u32::try_from(self.assigned.len()).unwrap_or(u32::MAX);
        }
    }

    /// What it did.
    pub fn totals(&self) -> ClientTotals {
        self.totals
    }
}
