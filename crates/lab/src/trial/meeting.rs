//! Where the two trials of a duet agree on the instant at which the measure phase of both begins.
//!
//! Both have one T0, so an instant of one is an instant of the other. It is chosen when the warm-ups of both have
//! settled, or when the longest time of one is nearly over, and is then final; each side announces it to its own
//! workers.

use super::announcement::{AGREED_AHEAD_NS, first_second};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A side's place at the meeting. A side that leaves it is not waited for.
#[derive(Debug)]
pub(crate) struct Seat {
    meeting: Arc<Mutex<Meeting>>,
    side: usize,
}

#[derive(Debug, Default)]
struct Meeting {
    /// Sides that have settled, or left.
    is_ready: [bool; 2],
    /// The instant, once it is chosen, ns from T0.
    start_ns: Option<u64>,
}

impl Seat {
    /// Warm-ups of both sides.
    pub(crate) fn both() -> [Self; 2] {
        let meeting = Arc::new(Mutex::new(Meeting::default()));
        [0, 1].map(|side| Self { meeting: Arc::clone(&meeting), side })
    }

    /// This side's warm-up has settled, `now_ns` after T0; the instant, once the other one's has too.
    pub(super) fn settled(&self, now_ns: u64) -> Option<u64> {
        let mut meeting = self.meeting();
        meeting.is_ready[self.side] = true;
        if meeting.is_ready == [true; 2] {
            meeting.start_ns.get_or_insert_with(|| first_second(now_ns, AGREED_AHEAD_NS));
        }
        meeting.start_ns
    }

    /// The longest time of this side's warm-up is nearly over: the instant that was chosen, or now is.
    pub(super) fn choose(&self, start_ns: u64) -> u64 {
        *self.meeting().start_ns.get_or_insert(start_ns)
    }

    /// The instant, once it is chosen.
    pub(super) fn chosen(&self) -> Option<u64> {
        self.meeting().start_ns
    }

    fn meeting(&self) -> MutexGuard<'_, Meeting> {
        // What a thread that failed wrote is whole: nothing that can fail happens in between.
        self.meeting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.meeting().is_ready[self.side] = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observer::SECOND_NS;

    #[test]
    fn the_instant_is_set_once_when_both_have_settled() {
        let [a, b] = Seat::both();
        assert_eq!(b.settled(20 * SECOND_NS), None);
        assert_eq!((a.chosen(), b.settled(29 * SECOND_NS)), (None, None), "one alone, however often");
        assert_eq!(a.settled(30 * SECOND_NS), Some(33 * SECOND_NS), "2.5 s ahead, on a whole second");
        assert_eq!((a.chosen(), b.chosen()), (Some(33 * SECOND_NS), Some(33 * SECOND_NS)));
        assert_eq!(b.settled(31 * SECOND_NS), Some(33 * SECOND_NS));
        assert_eq!(b.choose(60 * SECOND_NS), 33 * SECOND_NS);
    }

    #[test]
    fn at_the_last_call_the_first_one_chooses_for_both() {
        let [a, b] = Seat::both();
        assert_eq!(a.settled(10 * SECOND_NS), None);
        assert_eq!(b.choose(60 * SECOND_NS), 60 * SECOND_NS);
        assert_eq!(a.choose(61 * SECOND_NS), 60 * SECOND_NS);
        assert_eq!(a.settled(58 * SECOND_NS), Some(60 * SECOND_NS));
    }

    #[test]
    fn one_that_has_left_is_not_waited_for() {
        let [a, b] = Seat::both();
        assert_eq!(a.settled(10 * SECOND_NS), None);
        drop(b);
        assert_eq!(a.chosen(), None);
        assert_eq!(a.settled(11 * SECOND_NS), Some(14 * SECOND_NS));
    }
}
