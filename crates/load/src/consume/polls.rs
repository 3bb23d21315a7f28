//! How many records an application is still handed where its load ends after so many: polls are whole, as with a loop that
//! polls, counts what it got and stops once that is enough.

use std::collections::BTreeMap;

/// The polls of an application that takes no time over records: each takes what is there, at most so many.
#[derive(Debug)]
pub(super) struct Polls {
    /// `max.poll.records`.
    records_max: u64,
    /// How many it is still to have; with the poll that gets there it may have more.
    left: u64,
    /// How many the poll under way takes yet.
    in_poll: u64,
    /// By partition the first record that came and that it was not handed.
    first_left: BTreeMap<i32, i64>,
    /// Records that came and were not handed to it, since they were requested last.
    left_over: u64,
    /// Records of the answer that is being read.
    left_over_of_answer: u64,
}

impl Polls {
    /// No limit yet.
    pub(super) fn new(records_max: usize) -> Self {
        Self {
            records_max: records_max as u64,
            left: u64::MAX,
            in_poll: 0,
            first_left: BTreeMap::new(),
            left_over: 0,
            left_over_of_answer: 0,
        }
    }

    /// It is still to have so many.
    pub(super) fn set_left(&mut self, left: u64) {
        self.left = left;
    }

    /// Whether it is handed the next record, which has this offset.
    #[inline]
    pub(super) fn takes(&mut self, partition: i32, offset: i64) -> bool {
        if self.in_poll == 0 {
            if self.left == 0 {
                self.leave(partition, offset, 1);
                return false;
            }
            self.in_poll = self.records_max;
        }
        self.in_poll -= 1;
        self.left = self.left.saturating_sub(1);
        true
    }

    /// An answer came whose records are not looked at, from this offset on: it is handed all of them or none.
    pub(super) fn takes_answer(&mut self, partition: i32, offset: i64, records: u64) {
        if self.left == 0 {
            self.leave(partition, offset, records);
        } else {
            self.left = self.left.saturating_sub(records);
        }
    }

    fn leave(&mut self, partition: i32, offset: i64, records: u64) {
        self.first_left.entry(partition).or_insert(offset);
        self.left_over += records;
        self.left_over_of_answer += records;
    }

    /// The part of an answer with so many records between offsets that end here that was handed over: its end, and its
    /// count.
    pub(super) fn of_answer(&mut self, partition: i32, end: i64, records: u64) -> (i64, u64) {
        let left_over = std::mem::take(&mut self.left_over_of_answer);
        let end = self.first_left(partition).map_or(end, |first| first.min(end));
        (end, records.saturating_sub(left_over))
    }

    /// Nothing more is there: what comes next is for the next poll.
    pub(super) fn end_poll(&mut self) {
        self.in_poll = 0;
    }

    /// The first record of a partition that came and that it was not handed.
    pub(super) fn first_left(&self, partition: i32) -> Option<i64> {
        self.first_left.get(&partition).copied()
    }

    /// Takes how many came and were not handed over.
    pub(super) fn take_left_over(&mut self) -> u64 {
        std::mem::take(&mut self.left_over)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of so many records that are there at once it is handed.
    fn handed(polls: &mut Polls, partition: i32, offsets: std::ops::Range<i64>) -> u64 {
        let records = (offsets.end - offsets.start) as u64;
        let taken = offsets.clone().filter(|offset| polls.takes(partition, *offset)).count() as u64;
        let (end, reported) = polls.of_answer(partition, offsets.end, records);
        // An answer with nothing handed over ends where the one before did.
        assert_eq!(((end - offsets.start).max(0), reported), (taken as i64, taken));
        taken
    }

    #[test]
    fn a_completed_poll_is_handed_over_whole_without_the_next() {
        for (left, expected) in [(0, 0), (1, 500), (500, 500), (501, 1_000), (1_200, 1_234), (9_999, 1_234)] {
            let mut polls = Polls::new(500);
            polls.set_left(left);
            assert_eq!(handed(&mut polls, 3, 0..1_234), expected, "of {left}");
            assert_eq!(polls.take_left_over(), 1_234 - expected);
            let first_left = (expected < 1_234).then_some(expected as i64);
            assert_eq!((polls.first_left(3), polls.first_left(4)), (first_left, None));
        }
    }

    #[test]
    fn a_poll_takes_what_several_partitions_have_and_nothing_later() {
        let mut polls = Polls::new(500);
        polls.set_left(600);
        assert_eq!(handed(&mut polls, 0, 0..400), 400);
        assert_eq!(handed(&mut polls, 1, 50..450), 400, "100 of the first poll and 300 of the second");
        assert_eq!(handed(&mut polls, 2, 7..300), 200, "the rest of the second, though 600 are there");
        polls.end_poll();
        assert_eq!(handed(&mut polls, 2, 300..310), 0);
        assert_eq!((polls.first_left(2), polls.take_left_over()), (Some(207), 93 + 10));
        assert_eq!(polls.take_left_over(), 0);
    }

    #[test]
    fn unread_answers_are_handed_over_whole_until_there_are_enough() {
        let mut polls = Polls::new(500);
        polls.set_left(100);
        polls.takes_answer(0, 10, 99);
        assert_eq!(polls.of_answer(0, 109, 99), (109, 99));
        polls.takes_answer(0, 109, 1_000);
        assert_eq!(polls.of_answer(0, 1_109, 1_000), (1_109, 1_000));
        polls.takes_answer(0, 1_109, 5);
        assert_eq!(polls.of_answer(0, 1_114, 5), (1_109, 0));
    }
}
