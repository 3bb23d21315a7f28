//! How far the clock of another host is from the lab's, found by exchanges of four instants.

/// How fast two clocks may drift apart: more than quartz does, in parts per million.
const DRIFT_PPM_MAX: i128 = 100;

/// How many of the fastest exchanges give the bounds.
const FASTEST: usize = 8;

/// One question and its answer: instants of CLOCK_MONOTONIC, ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Exchange {
    /// The lab asks, by its clock.
    pub(super) asked_ns: u64,
    /// The agent has read the question, by its own clock.
    pub(super) read_ns: u64,
    /// The agent answers, by its own clock.
    pub(super) answered_ns: u64,
    /// The lab has read the answer, by its clock.
    pub(super) heard_ns: u64,
}

impl Exchange {
    /// The least and the most that the agent's clock can be ahead: it was read after the question left, and before the
    /// answer came.
    fn bounds(&self) -> (i128, i128) {
        let ahead = |theirs: u64, ours: u64| i128::from(theirs) - i128::from(ours);
        (ahead(self.answered_ns, self.heard_ns), ahead(self.read_ns, self.asked_ns))
    }

    /// How long it was under way in both directions.
    pub(super) fn round_trip_ns(&self) -> u64 {
        let (least, most) = self.bounds();
        u64::try_from(most - least).unwrap_or(0)
    }
}

/// The clock of a generator's host as the lab sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ClockOffset {
    /// Its CLOCK_MONOTONIC minus the lab's, ns.
    pub offset_ns: i64,
    /// How far that may be from the truth, ns; 0: it is the lab's own clock.
    pub bound_ns: u64,
}

impl ClockOffset {
    /// What exchanges say of it when the last one has ended; `None`: nothing, or they contradict each other by more than
    /// clocks drift.
    pub(super) fn of(exchanges: &[Exchange]) -> Option<Self> {
        let mut fastest = exchanges.to_vec();
        fastest.sort_by_key(Exchange::round_trip_ns);
        fastest.truncate(FASTEST);
        let begin = exchanges.iter().map(|one| one.asked_ns).min()?;
        let end = exchanges.iter().map(|one| one.heard_ns).max()?;
        // What was within bounds at one time may have drifted since.
        let drift = (i128::from(end) - i128::from(begin)) * DRIFT_PPM_MAX / 1_000_000 + 1;
        let bounds = || fastest.iter().map(Exchange::bounds);
        let least = bounds().map(|(least, _)| least).max()? - drift;
        let most = bounds().map(|(_, most)| most).min()? + drift;
        let middle = least + (most - least).div_euclid(2);
        let offset_ns = i64::try_from(middle).ok()?;
        (least <= most)
            .then(|| u64::try_from(most - middle).ok())?
            .map(|bound_ns| Self { offset_ns, bound_ns })
    }

    /// Whether its clock can be the lab's own.
    pub(super) fn may_be_none(self) -> bool {
        self.offset_ns.unsigned_abs() <= self.bound_ns
    }

    /// An instant of the lab's clock on the other one.
    pub(crate) fn theirs(self, ours_ns: u64) -> u64 {
        ours_ns.saturating_add_signed(self.offset_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Delays of a way there, of the answer, and of the way back, ns.
    fn delays() -> impl Strategy<Value = Vec<(u64, u64, u64)>> {
        let way = || prop_oneof![9 => 1_000u64..2_000_000, 1 => 2_000_000u64..200_000_000];
        prop::collection::vec((way(), 0u64..100_000, way()), 1..64)
    }

    proptest! {
        /// Whatever the delays are and however unequal, with a clock that drifts by up to 50 ppm.
        #[test]
        fn the_truth_is_within_the_bound(
            offset_ns in -4_000_000_000_000_000i64..4_000_000_000_000_000,
            drift_ppm in -50i128..50,
            delays in delays(),
        ) {
            let begin = 5_000_000_000_000_000u64;
            let ahead = |now: u64| {
                i128::from(offset_ns) + i128::from(now - begin) * drift_ppm / 1_000_000
            };
            let theirs = |now: u64| u64::try_from(i128::from(now) + ahead(now)).expect("after its boot");
            let mut now = begin;
            let mut exchanges = Vec::new();
            for (there, thinking, back) in delays {
                let (asked, read) = (now, now + there);
                let heard = read + thinking + back;
                exchanges.push(Exchange {
                    asked_ns: asked,
                    read_ns: theirs(read),
                    answered_ns: theirs(read + thinking),
                    heard_ns: heard,
                });
                now = heard;
            }
            let found = ClockOffset::of(&exchanges).expect("bounds that meet");
            let error = (ahead(now) - i128::from(found.offset_ns)).unsigned_abs();
            prop_assert!(error <= u128::from(found.bound_ns), "{error} ns, bound {}", found.bound_ns);
            let fastest = exchanges.iter().map(Exchange::round_trip_ns).min().expect("one");
            let drifted = (now - begin) / 10_000 + 2;
            prop_assert!(found.bound_ns <= fastest / 2 + 1 + drifted, "{} ns, fastest {fastest}", found.bound_ns);
        }
    }

    #[test]
    fn bounds_that_do_not_meet_say_nothing() {
        let exchange = |asked_ns, ahead: u64| Exchange {
            asked_ns,
            read_ns: asked_ns + ahead + 10,
            answered_ns: asked_ns + ahead + 20,
            heard_ns: asked_ns + 30,
        };
        assert_eq!(ClockOffset::of(&[]), None);
        assert!(ClockOffset::of(&[exchange(1_000, 500), exchange(2_000, 500)]).is_some());
        assert_eq!(ClockOffset::of(&[exchange(1_000, 500), exchange(2_000, 5_000_000)]), None, "it jumped");
        let own = ClockOffset::of(&[exchange(1_000, 0)]).expect("one");
        assert!(own.may_be_none());
        assert_eq!(ClockOffset { offset_ns: -3, bound_ns: 0 }.theirs(10), 7);
    }
}
