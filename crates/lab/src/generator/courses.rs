//! How the clocks of a trial's hosts went, from T0 to its end.

use super::clock::{self, ClockOffset, ClockSpan};
use crate::clock::relative_ns;
use kdyno_model::event::Subject;
use kdyno_model::sample::{ProbeReading, series};
use std::collections::BTreeMap;

/// The clocks of the workers on other hosts.
pub(crate) struct ClockCourses {
    /// From when on it is asked for, and until when, by the lab's clock.
    pub(super) from_ns: u64,
    pub(super) until_ns: u64,
    pub(super) clocks: BTreeMap<u16, ClockCourse>,
}

/// One of them.
pub(super) struct ClockCourse {
    /// What was found before T0, by which instants were translated.
    pub(super) used: ClockOffset,
    pub(super) spans: Vec<ClockSpan>,
}

impl ClockCourses {
    /// Between each two exchanges where a clock was, and its drift in all. None of those that are the lab's own, and of one
    /// that jumped.
    pub(crate) fn readings(&self) -> Vec<ProbeReading> {
        let mut readings = Vec::new();
        for (worker, course) in &self.clocks {
            for span in &course.spans {
                let (offset_s, bound_s) = span.offset_s();
                let at_ns = relative_ns(span.until_ns, self.from_ns);
                readings.push(of_clock(*worker, at_ns, series::CLOCK_OFFSET_S, offset_s));
                readings.push(of_clock(*worker, at_ns, series::CLOCK_BOUND_S, bound_s));
            }
            if let (Some((ppm, bound_ppm)), Some(last)) =
                (clock::drift_ppm(&course.spans), course.spans.last())
            {
                let at_ns = relative_ns(last.until_ns, self.from_ns);
                readings.push(of_clock(*worker, at_ns, series::CLOCK_DRIFT_PPM, ppm));
                readings.push(of_clock(*worker, at_ns, series::CLOCK_DRIFT_BOUND_PPM, bound_ppm));
            }
        }
        readings
    }

    /// How far times may be from the truth that begin on the worker `from` and end on the worker `to`, ns, at most; `None`:
    /// it is not known for the whole time.
    pub(crate) fn way_error_ns(&self, from: u16, to: u16) -> Option<u64> {
        if from == to {
            return Some(0);
        }
        let ((from_least, from_most), (to_least, to_most)) = (self.off_by(from)?, self.off_by(to)?);
        let most = (to_most - from_least).max(from_most - to_least);
        u64::try_from(most).ok()
    }

    /// How far a clock was ahead of where it was taken to be, the least and the most, ns.
    fn off_by(&self, worker: u16) -> Option<(i128, i128)> {
        // A child of the lab has its clock.
        let Some(ClockCourse { used, spans }) = self.clocks.get(&worker) else { return Some((0, 0)) };
        if used.bound_ns == 0 {
            return Some((0, 0));
        }
        let is_whole = spans.first()?.from_ns <= self.from_ns && spans.last()?.until_ns >= self.until_ns;
        let (least, most) = clock::hull(spans.iter().filter(|span| span.until_ns >= self.from_ns))?;
        is_whole.then_some((least - i128::from(used.offset_ns), most - i128::from(used.offset_ns)))
    }
}

/// A reading of a worker's clock.
pub(super) fn of_clock(worker: u16, at_ns: i64, series: &str, value: f64) -> ProbeReading {
    ProbeReading { at_ns, subject: Subject::Worker(worker), series: series.to_owned(), value }
}

#[cfg(test)]
mod tests {
    use super::super::clock::Exchange;
    use super::*;

    const S: u64 = 1_000_000_000;

    /// A clock that is ahead by so much at 1 s and drifts, read each second with a round trip of 2 µs.
    fn course(used_ns: i64, ahead_ns: u64, drift_ns_per_s: u64, until_s: u64) -> ClockCourse {
        let exchange = |at: u64| {
            let theirs = at * S + ahead_ns + (at - 1) * drift_ns_per_s + 1_000;
            Exchange { asked_ns: at * S, read_ns: theirs, answered_ns: theirs, heard_ns: at * S + 2_000 }
        };
        let exchanges: Vec<_> = (1..=until_s).map(exchange).collect();
        ClockCourse {
            used: ClockOffset { offset_ns: used_ns, bound_ns: 1_000 },
            spans: clock::course(&exchanges),
        }
    }

    fn courses(clocks: impl IntoIterator<Item = (u16, ClockCourse)>) -> ClockCourses {
        ClockCourses { from_ns: 2 * S, until_ns: 10 * S, clocks: clocks.into_iter().collect() }
    }

    #[test]
    fn the_error_of_a_way_is_what_both_clocks_may_have_gone() {
        let offset = 3 * S;
        let drifting = || course(3_000_000_000, offset, 20_000, 11);
        let of = courses([(0, drifting()), (1, course(0, 0, 0, 11))]);
        assert_eq!(of.way_error_ns(0, 0), Some(0));
        // 20 ppm for 10 s are 200 µs; each clock is known to about 51 µs between two readings.
        for (from, to) in [(0, 1), (1, 0)] {
            let error_ns = of.way_error_ns(from, to).expect("known");
            assert!((290_000..295_000).contains(&error_ns), "{error_ns}");
        }
        let here = of.way_error_ns(0, 7).expect("the lab's own clock");
        assert!((240_000..245_000).contains(&here), "{here}");
        // Clocks that drift alike are apart by no more than before; that is not known of them.
        assert!(courses([(0, drifting()), (1, drifting())]).way_error_ns(0, 1) > Some(200_000));
        let own = ClockCourse { used: ClockOffset::default(), spans: Vec::new() };
        assert_eq!(courses([(0, own)]).way_error_ns(0, 7), Some(0));
    }

    #[test]
    fn a_course_that_does_not_reach_the_end_bounds_nothing() {
        assert_eq!(courses([(0, course(0, 0, 0, 9))]).way_error_ns(0, 1), None);
        assert_eq!(courses([(0, course(0, 0, 0, 1))]).way_error_ns(0, 1), None);
        let readings = courses([(0, course(0, 0, 0, 9))]).readings();
        assert_eq!(readings.iter().filter(|one| one.series == series::CLOCK_OFFSET_S).count(), 8);
        assert_eq!(readings.iter().filter(|one| one.series == series::CLOCK_DRIFT_PPM).count(), 1);
    }

    /// Two clocks that are 3 s ahead and behind and drift by 50 ppm away from each other for ten minutes; ways there and back
    /// of each exchange take 20 µs to 2 ms, each differently.
    #[test]
    fn ways_between_drifting_clocks_are_right_within_the_bound() {
        const WAY_NS: u64 = 5_000_000;
        let (t0_ns, until_ns) = (100 * S, 700 * S);
        let clock = |ahead_ns: i64, ppm: i64| {
            move |now_ns: u64| {
                let drifted_ns = i64::try_from(now_ns).expect("a time") * ppm / 1_000_000;
                now_ns.checked_add_signed(ahead_ns + drifted_ns).expect("after its boot")
            }
        };
        let mut seed = 7_u64;
        let mut delay_ns = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            20_000 + (seed >> 33) % 1_980_000
        };
        let mut exchange = |clock: &dyn Fn(u64) -> u64, asked_ns: u64| {
            let (there, back) = (delay_ns(), delay_ns());
            let theirs = clock(asked_ns + there);
            Exchange { asked_ns, read_ns: theirs, answered_ns: theirs, heard_ns: asked_ns + there + back }
        };
        let clocks = [clock(3_000_000_000, 50), clock(-3_000_000_000, -50)];
        let mut watched = BTreeMap::new();
        for (worker, clock) in (0..).zip(&clocks) {
            let before: Vec<_> = (0..64).map(|at| exchange(clock, 98 * S + at * 4_100_000)).collect();
            let during: Vec<_> = (99..702).map(|at| exchange(clock, at * S)).collect();
            let used = ClockOffset::of(&before).expect("bounds that meet");
            watched.insert(worker, ClockCourse { used, spans: clock::course(&during) });
        }
        let of = ClockCourses { from_ns: t0_ns, until_ns, clocks: watched };
        // Since T0, of which each was told by what was known of its clock.
        let seen_ns = |worker: u16, now_ns: u64| {
            let used = of.clocks[&worker].used;
            i128::from(clocks[usize::from(worker)](now_ns)) - i128::from(used.theirs(t0_ns))
        };
        for (from, to) in [(0, 1), (1, 0)] {
            let bound_ns = of.way_error_ns(from, to).expect("known");
            let error_ns = |sent_ns: u64| {
                let found_ns = seen_ns(to, sent_ns + WAY_NS) - seen_ns(from, sent_ns);
                (found_ns - i128::from(WAY_NS)).unsigned_abs()
            };
            let worst_ns = (0..6_000).map(|at| error_ns(t0_ns + at * S / 10)).max().expect("ways");
            // What the clocks have gone, and not much more.
            assert!((59_000_000..u128::from(bound_ns)).contains(&worst_ns), "{worst_ns}, bound {bound_ns}");
            assert!(bound_ns < 63_000_000, "{bound_ns}");
        }
    }
}
