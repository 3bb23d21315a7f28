//! What the members of one consumer group on this worker know together: whose a partition is, and how far it was handed
//! over. Streams of one group share it; it is looked at once for each answer, or with `work` once for each run of one
//! partition's records that a turn begins with.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// By the group's id and the topic; of several that its members read the first one stands for all.
type GroupReadings = BTreeMap<(String, String), Arc<GroupReading>>;

/// All groups of a worker.
#[derive(Debug, Clone, Default)]
pub struct ReadGroups(Arc<Mutex<GroupReadings>>);

impl ReadGroups {
    /// What the members of a group that read a topic share.
    pub fn reading(&self, group_id: &str, topic: &str) -> Arc<GroupReading> {
        let mut groups = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(groups.entry((group_id.to_owned(), topic.to_owned())).or_default())
    }
}

/// How far a group has read its topics, as far as its members are on this worker. Members number the partitions of several in
/// the same way.
#[derive(Debug, Default)]
pub struct GroupReading(Mutex<BTreeMap<i32, PartitionProgress>>);

#[derive(Debug, Default)]
struct PartitionProgress {
    /// Behind the highest offset that was handed over.
    next: i64,
    /// Members that have it: more than one where a member does not know yet that it lost it.
    owners: u32,
    /// When the last of them gave it up, ns; `None`: a member has it, or none ever had it.
    without_owner_since_ns: Option<u64>,
    /// When the last member that has it was given it, ns.
    gained_ns: u64,
}

impl GroupReading {
    /// Records of a partition were handed over that lie between these offsets. Returns how many of them had been handed over
    /// before: exact wherever each offset has a record.
    pub fn handed_over(&self, partition: i32, offsets: Range<i64>, records: u64) -> u64 {
        let mut partitions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let next = &mut partitions.entry(partition).or_default().next;
        let before = (*next).min(offsets.end).saturating_sub(offsets.start);
        let again = records.min(u64::try_from(before).unwrap_or(0));
        *next = offsets.end.max(*next);
        again
    }

    /// A member has a partition since `at_ns`. Returns for how long it had no owner, ns, where it had one before.
    pub fn gained(&self, partition: i32, at_ns: u64) -> Option<u64> {
        let mut partitions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let partition = partitions.entry(partition).or_default();
        partition.owners += 1;
        partition.gained_ns = at_ns;
        partition.without_owner_since_ns.take().map(|since_ns| at_ns.saturating_sub(since_ns))
    }

    /// A member has it no longer since `at_ns`. Returns for how long it had no owner, ns, where the report that this
    /// was before the next owner got it comes only now: members report what happened to them one after the other.
    pub fn lost(&self, partition: i32, at_ns: u64) -> Option<u64> {
        let mut partitions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let partition = partitions.entry(partition).or_default();
        partition.owners = partition.owners.saturating_sub(1);
        if partition.owners == 0 {
            partition.without_owner_since_ns.get_or_insert(at_ns);
            return None;
        }
        partition.gained_ns.checked_sub(at_ns).filter(|without_ns| *without_ns > 0)
    }

    /// Whether so many partitions have an owner: between two of a rebalance some have none.
    pub fn are_owned(&self, count: usize) -> bool {
        let partitions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        partitions.values().filter(|partition| partition.owners > 0).count() >= count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_before_the_highest_offset_was_handed_over_before() {
        let reading = ReadGroups::default().reading("g", "t");
        assert_eq!(reading.handed_over(0, 0..10, 10), 0);
        assert_eq!(reading.handed_over(0, 10..20, 10), 0);
        assert_eq!(reading.handed_over(0, 15..25, 10), 5, "another owner began at what was committed");
        assert_eq!(reading.handed_over(0, 0..5, 5), 5, "and one at the beginning");
        assert_eq!(reading.handed_over(0, 5..30, 25), 20);
        assert_eq!(reading.handed_over(1, 7..9, 2), 0, "each partition for itself");
        assert_eq!(reading.handed_over(0, 30..40, 0), 0, "offsets without records");
        assert_eq!(reading.handed_over(0, 28..50, 3), 3, "never more than there were");
    }

    #[test]
    fn streams_of_one_group_share_what_they_know() {
        let groups = ReadGroups::default();
        let (a, b) = (groups.reading("g", "t"), groups.reading("g", "t"));
        assert_eq!((a.gained(0, 10), b.gained(1, 10)), (None, None), "nobody had them before");
        assert!(a.are_owned(2) && !groups.reading("other", "t").are_owned(1));
        assert_eq!(b.gained(0, 20), None);
        assert_eq!(a.lost(0, 15), Some(5), "the new owner told first what came later");
        assert!(b.are_owned(2));
        assert_eq!(b.gained(0, 30).or(a.lost(0, 35)), None, "never without one");
        assert_eq!(b.lost(0, 40), None);
        assert!(!a.are_owned(2));
        assert_eq!(a.gained(0, 100), Some(60), "since the last owner gave it up");
        assert_eq!(b.gained(0, 110), None, "it has an owner");
    }
}
