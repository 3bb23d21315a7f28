//! The course of the ends of logs: from the offset that a group has committed to how far it is behind in time.

use kdyno_kafka::admin::PartitionKey;
use std::collections::{BTreeMap, VecDeque};

/// Readings that are kept of all partitions together, 16 bytes each.
const POINTS_MAX: usize = 1_000_000;
/// Readings that are kept of one partition: an hour of them.
const POINTS_MAX_OF_ONE: usize = 360;

/// Ends of logs as they were read, ns from T0.
#[derive(Debug, Default)]
pub(super) struct Ends {
    courses: BTreeMap<PartitionKey, VecDeque<(i64, i64)>>,
}

/// How far a group is behind.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct GroupLag {
    /// Records, of all partitions together.
    pub(super) records: u64,
    /// How long ago the log was as long as was committed, of the partition that is the farthest behind.
    pub(super) seconds: f64,
    /// Longer ago than ends have been read, which is what `seconds` then is.
    pub(super) is_at_least: bool,
}

impl Ends {
    /// Ends that were read at this instant, ns from T0. Partitions that were not reported keep what they had.
    pub(super) fn take(&mut self, at_ns: i64, ends: BTreeMap<PartitionKey, i64>) {
        let points_max = (POINTS_MAX / ends.len().max(self.courses.len()).max(1)).clamp(2, POINTS_MAX_OF_ONE);
        for (partition, end) in ends {
            let course = self.courses.entry(partition).or_default();
            // A shorter log is another one, or has lost records.
            if course.back().is_some_and(|(_, before)| *before > end) {
                course.clear();
            }
            course.push_back((at_ns, end));
            while course.len() > points_max {
                course.pop_front();
            }
        }
    }

    /// How far a group is behind that has committed this offset of a partition; `None`: its end has never been
    /// reported. Between two readings a log is taken to have grown evenly.
    pub(super) fn behind(&self, partition: &PartitionKey, committed: i64) -> Option<GroupLag> {
        let course = self.courses.get(partition)?;
        let (now_ns, end) = *course.back()?;
        let records = u64::try_from(end - committed).unwrap_or(0);
        let seconds = |at_ns: i64| (now_ns - at_ns) as f64 / 1e9;
        if records == 0 {
            return Some(GroupLag { records, seconds: 0.0, is_at_least: false });
        }
        let after = course.partition_point(|(_, offset)| *offset <= committed);
        let Some((before_ns, before)) = after.checked_sub(1).map(|at| course[at]) else {
            return Some(GroupLag { records, seconds: seconds(course[0].0), is_at_least: true });
        };
        let (after_ns, after) = course[after];
        let share = (committed - before) as f64 / (after - before) as f64;
        let passed_ns = before_ns + ((after_ns - before_ns) as f64 * share) as i64;
        Some(GroupLag { records, seconds: seconds(passed_ns), is_at_least: false })
    }
}

impl GroupLag {
    /// The sum over both partitions. The time is that of the one that is farther behind; it may be more, if that is so
    /// for either.
    pub(super) fn with(self, other: Self) -> Self {
        Self {
            records: self.records.saturating_add(other.records),
            seconds: self.seconds.max(other.seconds),
            is_at_least: self.is_at_least || other.is_at_least,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: i64 = 1_000_000_000;

    fn partition() -> PartitionKey {
        ("t".to_owned(), 0)
    }

    fn ends(course: &[(i64, i64)]) -> Ends {
        let mut ends = Ends::default();
        course.iter().for_each(|(at_s, end)| ends.take(at_s * S, BTreeMap::from([(partition(), *end)])));
        ends
    }

    fn behind(course: &[(i64, i64)], committed: i64) -> (u64, f64, bool) {
        let found = ends(course).behind(&partition(), committed).expect("its end is known");
        (found.records, found.seconds, found.is_at_least)
    }

    #[test]
    fn time_behind_is_since_the_log_was_as_long_as_was_committed() {
        let course = [(0, 100), (10, 200), (20, 400)];
        assert_eq!(behind(&course, 400), (0, 0.0, false));
        assert_eq!(behind(&course, 300), (100, 5.0, false), "evenly within 10 s");
        assert_eq!(behind(&course, 200), (200, 10.0, false));
        assert_eq!(behind(&course, 150), (250, 15.0, false));
        assert_eq!(behind(&course, 100), (300, 20.0, false));
        assert_eq!(behind(&course, 99), (301, 20.0, true), "it was that long before");
        assert_eq!(behind(&course, 500), (0, 0.0, false), "committed after the end was read");
    }

    #[test]
    fn a_log_that_does_not_grow_is_behind_since_it_was_that_short() {
        assert_eq!(behind(&[(0, 5), (10, 5), (20, 10), (30, 10)], 5), (5, 20.0, false));
    }

    #[test]
    fn a_log_that_shrinks_starts_again_and_memory_is_bounded() {
        assert_eq!(behind(&[(0, 100), (10, 50), (20, 60)], 40), (20, 10.0, true));
        let many: Vec<(i64, i64)> = (0..1000).map(|at| (at, at)).collect();
        assert_eq!(ends(&many).courses[&partition()].len(), POINTS_MAX_OF_ONE);
        assert_eq!(Ends::default().behind(&partition(), 0), None);
    }

    #[test]
    fn partitions_add_up_and_the_farthest_behind_sets_the_time() {
        let one = GroupLag { records: 5, seconds: 3.0, is_at_least: false };
        let other = GroupLag { records: 7, seconds: 2.0, is_at_least: true };
        assert_eq!(one.with(other), GroupLag { records: 12, seconds: 3.0, is_at_least: true });
    }
}
