//! How far the clock of another host is from the lab's, found by exchanges of four instants.

/// How fast two clocks may drift apart: more than quartz does, in parts per million.
const DRIFT_PPM_MAX: i128 = 100;

/// Exchanges of which the bounds are used: the fastest ones.
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

/// Where a clock was ahead of the lab's by no less and no more, ns, from one instant of the lab's clock to another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ClockSpan {
    pub(super) from_ns: u64,
    pub(super) until_ns: u64,
    least: i128,
    most: i128,
}

impl ClockSpan {
    /// The middle, and how far that may be from the truth, s.
    pub(super) fn offset_s(&self) -> (f64, f64) {
        let sum = (self.most + self.least) as f64;
        (sum / 2e9, (self.most - self.least) as f64 / 2e9)
    }
}

/// What exchanges say of the time between each two of them, in their order; empty when they contradict each other by more
/// than clocks drift.
///
/// What one of them says of its own time holds, wider by the drift, before and after it too. So a slow one learns from
/// fast ones next to it, and between two of them the offset is no further than the drift allows from both.
pub(super) fn course(exchanges: &[Exchange]) -> Vec<ClockSpan> {
    let drift =
        |from_ns: u64, until_ns: u64| i128::from(until_ns.abs_diff(from_ns)) * DRIFT_PPM_MAX / 1_000_000 + 1;
    let mut known: Vec<(u64, i128, i128)> = Vec::with_capacity(exchanges.len());
    for exchange in exchanges {
        let (least, most) = exchange.bounds();
        let own = drift(exchange.asked_ns, exchange.heard_ns);
        known.push((exchange.heard_ns, least - own, most + own));
    }
    let narrow = |known: &mut [(u64, i128, i128)], at: usize, by: usize| {
        let (from_ns, least, most) = known[by];
        let drifted = drift(from_ns, known[at].0);
        known[at].1 = known[at].1.max(least - drifted);
        known[at].2 = known[at].2.min(most + drifted);
    };
    for at in 1..known.len() {
        narrow(&mut known, at, at - 1);
    }
    for at in (1..known.len()).rev() {
        narrow(&mut known, at - 1, at);
    }
    if known.iter().any(|(_, least, most)| least > most) {
        return Vec::new();
    }
    let between = |pair: &[(u64, i128, i128)]| {
        let ((from_ns, l0, m0), (until_ns, l1, m1)) = (pair[0], pair[1]);
        let drifted = drift(from_ns, until_ns);
        let least = (l0 + l1 - drifted).div_euclid(2);
        ClockSpan { from_ns, until_ns, least, most: (m0 + m1 + drifted).div_euclid(2) + 1 }
    };
    known.windows(2).map(between).collect()
}

/// The least and the most of some spans; `None` of none.
pub(super) fn hull<'s>(spans: impl Iterator<Item = &'s ClockSpan>) -> Option<(i128, i128)> {
    let all = |(least, most): (i128, i128), span: &ClockSpan| (least.min(span.least), most.max(span.most));
    let (least, most) = spans.fold((i128::MAX, i128::MIN), all);
    (least <= most).then_some((least, most))
}

/// How fast a clock went in the mean of a course, less the lab's, in parts per million: the line through the middles of its
/// ends, and how far that may be from the truth. `None`: the course has no two spans.
pub(super) fn drift_ppm(course: &[ClockSpan]) -> Option<(f64, f64)> {
    let [first, .., last] = course else { return None };
    // What a span says holds at its end.
    let ns = last.until_ns.checked_sub(first.until_ns).filter(|ns| *ns > 0)? as f64;
    let slope = |from: i128, to: i128| (to - from) as f64 * 1e6 / ns;
    let (least, most) = (slope(first.most, last.least), slope(first.least, last.most));
    Some((f64::midpoint(least, most), (most - least) / 2.0))
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

    proptest! {
        /// Whatever the delays are, with an exchange per second and a clock whose drift changes.
        #[test]
        fn the_course_holds_the_truth_at_each_instant(
            offset_ns in -4_000_000_000_000_000i64..4_000_000_000_000_000,
            (early_ppm, late_ppm) in (-50i128..50, -50i128..50),
            delays in delays(),
        ) {
            const S: u64 = 1_000_000_000;
            let begin = 5_000_000_000_000_000u64;
            let turn = begin + delays.len() as u64 / 2 * S;
            let ahead = |now: u64| {
                let early = i128::from(now.min(turn) - begin) * early_ppm;
                let late = i128::from(now.saturating_sub(turn)) * late_ppm;
                i128::from(offset_ns) + (early + late) / 1_000_000
            };
            let theirs = |now: u64| u64::try_from(i128::from(now) + ahead(now)).expect("after its boot");
            let exchange = |(at, (there, thinking, back)): (u64, &(u64, u64, u64))| {
                let asked_ns = begin + at * S;
                let answered = asked_ns + there + thinking;
                let (read_ns, answered_ns) = (theirs(asked_ns + there), theirs(answered));
                Exchange { asked_ns, read_ns, answered_ns, heard_ns: answered + back }
            };
            let exchanges: Vec<_> = (0..).zip(&delays).map(exchange).collect();
            let course = course(&exchanges);
            prop_assert_eq!(course.len(), delays.len() - 1);
            for span in &course {
                for now in [span.from_ns, u64::midpoint(span.from_ns, span.until_ns), span.until_ns] {
                    let truth = ahead(now);
                    prop_assert!((span.least..=span.most).contains(&truth), "{truth} at {now}: {span:?}");
                }
            }
            if let Some((ppm, bound)) = drift_ppm(&course) {
                let (first, last) = (course[0].until_ns, course[course.len() - 1].until_ns);
                let truth = (ahead(last) - ahead(first)) as f64 * 1e6 / (last - first) as f64;
                prop_assert!((ppm - truth).abs() <= bound + 1e-6, "{ppm} ± {bound} of {truth}");
            }
        }
    }

    #[test]
    fn fast_exchanges_narrow_slow_ones_and_a_jump_says_nothing() {
        const S: u64 = 1_000_000_000;
        let exchange = |at: u64, ahead: u64, round_trip: u64| Exchange {
            asked_ns: at * S,
            read_ns: at * S + ahead + round_trip / 2,
            answered_ns: at * S + ahead + round_trip / 2,
            heard_ns: at * S + round_trip,
        };
        let of =
            |slow: u64| course(&[exchange(1, 500, 20_000), exchange(2, 500, slow), exchange(3, 500, 20_000)]);
        let (_, bound_s) = of(500_000_000)[0].offset_s();
        // A tenth of a millisecond for the second that a clock may have drifted, and half of the fast round trip.
        assert!(bound_s < 2e-4, "{bound_s}");
        let (offset_s, bound_s) = of(20_000)[0].offset_s();
        assert!((offset_s - 5e-7).abs() < 5e-9 && bound_s < 7e-5, "{offset_s} ± {bound_s}");
        assert!(course(&[exchange(1, 0, 1_000), exchange(2, 5_000_000, 1_000)]).is_empty());
        assert!(course(&[]).is_empty() && drift_ppm(&[]).is_none());
        let exact: Vec<_> = (0..=100).map(|at| exchange(at, 1_000_000 + at * 20_000, 2_000)).collect();
        let (ppm, bound) = drift_ppm(&course(&exact)).expect("a line");
        assert!((ppm - 20.0).abs() <= bound && bound < 1.2, "{ppm} ± {bound}");
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
