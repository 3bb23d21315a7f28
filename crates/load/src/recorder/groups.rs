//! What is recorded of consumer groups: rebalances, offset commits, records that were handed over again.

use super::{Recorder, at};
use kdyno_model::sample::Timing;

impl Recorder {
    /// A rebalance of the group was over now, which had begun so long ago.
    pub fn rebalanced(&mut self, now_ns: u64, took_ns: u64) {
        self.of_group(now_ns, Timing::Rebalance, took_ns);
    }

    /// So many generations of the group began since the last one that a member had.
    pub fn generations(&mut self, now_ns: u64, count: u64) {
        self.slot(now_ns).counts.rebalances += count;
    }

    /// A commit of offsets was confirmed now, which had been wanted so long ago.
    pub fn offsets_committed(&mut self, now_ns: u64, took_ns: u64) {
        self.slot(now_ns).counts.offset_commits += 1;
        self.of_group(now_ns, Timing::OffsetCommit, took_ns);
    }

    /// A partition has an owner again now, after so long without one.
    pub fn owned_again(&mut self, now_ns: u64, without_ns: u64) {
        self.of_group(now_ns, Timing::WithoutOwner, without_ns);
    }

    /// So many of the records handed over now had been handed to a member of the group before.
    pub fn handed_over_again(&mut self, now_ns: u64, records: u64) {
        self.slot(now_ns).counts.duplicates += records;
    }

    /// A member is assigned partitions now that had none for so long.
    pub fn assigned_after(&mut self, now_ns: u64, unassigned_ns: u64) {
        self.slot(now_ns).counts.unassigned_ns += unassigned_ns;
    }

    fn of_group(&mut self, now_ns: u64, timing: Timing, took_ns: u64) {
        let five = self.slot(now_ns).five;
        self.fives[five].timings[at(timing)].record(took_ns, 1);
    }
}
