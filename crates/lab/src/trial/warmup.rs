//! When the measure phase begins after a warm-up that ends by evidence.
//!
//! Workers do not know how long it lasts. Once per second the lab looks at what the trial has shown; when that has
//! settled (`analysis::warmup`) it announces the first whole second that is far enough ahead. When the longest time is
//! nearly over it announces its end, settled or not. The two sides of a duet agree on that second (`meeting`).

use super::announcement::{AGREED_AHEAD_NS, AHEAD_NS, first_second};
use super::meeting::Seat;
use kdyno_analysis::warmup::{self, WarmupProgress};
use kdyno_model::evidence::TrialEvidence;
use kdyno_model::plan::PhasesPlan;

/// How often a side looks whether both have agreed.
const MEETING_LOOK_NS: u64 = 100_000_000;

/// How long before the last instant at which the end of the longest warm-up can be announced that is done: the thread
/// that announces it may be late.
const LATE_NS: u64 = 300_000_000;

/// A warm-up under way.
#[derive(Debug)]
pub(super) struct Warmup {
    /// When the measure phase begins at the latest, ns from T0.
    latest_ns: u64,
    /// Why it went on at the last look.
    why: Option<String>,
    /// It has settled, and waits for the other side.
    has_settled: bool,
    /// In a duet: where both sides agree when the measure phase begins.
    seat: Option<Seat>,
}

/// The measure phase begins.
#[derive(Debug, PartialEq)]
pub(super) struct Begin {
    /// A whole second from T0, ns.
    pub(super) start_ns: u64,
    /// What had not settled, in words, where the longest time ended the warm-up.
    pub(super) not_settled: Option<String>,
}

impl Warmup {
    /// `None`: its length is fixed.
    pub(super) fn of(phases: &PhasesPlan, seat: Option<Seat>) -> Option<Self> {
        let latest_ns = phases.measure_start_ns();
        phases.warmup_auto.map(|_| Self { latest_ns, why: None, has_settled: false, seat })
    }

    /// How far ahead the measure phase is announced, ns.
    fn ahead_ns(&self) -> u64 {
        if self.seat.is_some() { AGREED_AHEAD_NS } else { AHEAD_NS }
    }

    /// When the end of its longest time has to be announced, ns from T0.
    fn last_call_ns(&self) -> u64 {
        self.latest_ns.saturating_sub(self.ahead_ns() + LATE_NS)
    }

    /// When to ask [`Warmup::due`] again, `now_ns` after T0; ns from T0.
    pub(super) fn next_look_ns(&self, now_ns: u64) -> u64 {
        let meeting_ns = now_ns.saturating_add(MEETING_LOOK_NS);
        self.last_call_ns().min(if self.seat.is_some() { meeting_ns } else { u64::MAX })
    }

    /// Whether it ends without anything new being seen: both sides have agreed, or the longest time is nearly over.
    pub(super) fn due(&mut self, now_ns: u64) -> Option<Begin> {
        let agreed_ns = match &self.seat {
            Some(seat) if self.has_settled => seat.settled(now_ns),
            Some(seat) => seat.chosen(),
            None => None,
        };
        let is_last = now_ns >= self.last_call_ns();
        let start_ns = agreed_ns.or_else(|| is_last.then(|| self.last_call(now_ns)))?;
        Some(Begin { start_ns, not_settled: self.not_settled() })
    }

    /// Looks at the warm-up so far, `now_ns` after T0; `seconds` of it are there with all of their rows.
    pub(super) fn look(&mut self, so_far: &TrialEvidence, seconds: u32, now_ns: u64) -> Option<Begin> {
        if self.has_settled {
            // What one side waits for is the other one.
            return None;
        }
        let why = match warmup::progress(so_far, seconds) {
            Ok(Some(WarmupProgress::Settled)) => {
                self.has_settled = true;
                let start_ns = match &self.seat {
                    Some(seat) => seat.settled(now_ns)?,
                    None => first_second(now_ns, self.ahead_ns()),
                };
                return Some(Begin { start_ns, not_settled: None });
            }
            Ok(Some(WarmupProgress::NotYet { why } | WarmupProgress::NotSettled { why })) => why,
            Ok(None) => return None,
            // What is damaged is reported by the findings; here it only cannot be taken for settled.
            Err(error) => error.to_string(),
        };
        self.why = Some(why);
        None
    }

    /// The longest time is nearly over, `now_ns` after T0: when the measure phase begins.
    fn last_call(&self, now_ns: u64) -> u64 {
        let start_ns = first_second(now_ns, self.ahead_ns()).max(self.latest_ns);
        self.seat.as_ref().map_or(start_ns, |seat| seat.choose(start_ns))
    }

    fn not_settled(&self) -> Option<String> {
        let why = || self.why.clone().unwrap_or_else(|| "nothing was seen of it".to_owned());
        (!self.has_settled).then(why)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observer::SECOND_NS;
    use kdyno_model::plan::WarmupAuto;
    use kdyno_model::worker::MEASURE_AHEAD_NS;

    fn phases(longest_ns: u64, auto: bool) -> PhasesPlan {
        let warmup_auto = auto.then_some(WarmupAuto { least_ns: SECOND_NS, records_min: 0 });
        PhasesPlan { warmup_ns: longest_ns, warmup_auto, measure_ns: SECOND_NS, drain_ns: SECOND_NS }
    }

    #[test]
    fn a_warmup_of_fixed_length_is_not_watched() {
        assert!(Warmup::of(&phases(10 * SECOND_NS, false), None).is_none());
    }

    #[test]
    fn at_the_last_call_the_longest_time_applies_unless_it_is_late() {
        // The longest time need be no whole number of seconds: the measure phase begins with the next one.
        let mut warmup = Warmup::of(&phases(10 * SECOND_NS - 1, true), None).expect("it ends by evidence");
        let call_ns = warmup.last_call_ns();
        assert!(call_ns < 10 * SECOND_NS - MEASURE_AHEAD_NS);
        assert_eq!(warmup.due(call_ns - 1), None);
        assert_eq!(warmup.next_look_ns(0), call_ns);
        let begin = warmup.due(call_ns).expect("the last call");
        assert_eq!(begin.start_ns, 10 * SECOND_NS);
        assert_eq!(begin.not_settled.as_deref(), Some("nothing was seen of it"));
        let start_ns = |warmup: &mut Warmup, now_ns| warmup.due(now_ns).map(|begin| begin.start_ns);
        assert_eq!(start_ns(&mut warmup, call_ns + LATE_NS), Some(10 * SECOND_NS));
        assert_eq!(start_ns(&mut warmup, call_ns + LATE_NS + 1), Some(11 * SECOND_NS));
    }

    /// Both sides of a duet with a warm-up of 30 s at most.
    fn duet() -> [Warmup; 2] {
        Seat::both()
            .map(|seat| Warmup::of(&phases(30 * SECOND_NS, true), Some(seat)).expect("it ends by evidence"))
    }

    /// What `look` does with a warm-up that has settled.
    fn settle(warmup: &mut Warmup, now_ns: u64) {
        warmup.has_settled = true;
        warmup.due(now_ns);
    }

    #[test]
    fn both_sides_of_a_duet_measure_from_one_announceable_instant() {
        let [mut a, mut b] = duet();
        settle(&mut a, 9 * SECOND_NS);
        assert_eq!((a.due(9 * SECOND_NS), b.due(9 * SECOND_NS)), (None, None), "one has not settled");
        let agreed_ns = 12 * SECOND_NS + 1;
        settle(&mut b, agreed_ns);
        // The other one looks as late as it may.
        let seen_ns = a.next_look_ns(agreed_ns - 1);
        let (of_a, of_b) = (a.due(seen_ns).expect("agreed"), b.due(agreed_ns).expect("agreed"));
        assert_eq!(of_a, Begin { start_ns: 15 * SECOND_NS, not_settled: None });
        assert_eq!(of_a, of_b);
        assert!(of_a.start_ns - seen_ns >= AHEAD_NS);
    }

    #[test]
    fn at_the_last_call_a_duet_starts_and_names_the_unsettled_side() {
        let [mut a, mut b] = duet();
        settle(&mut a, 9 * SECOND_NS);
        b.why = Some("the rate rose".to_owned());
        let call_ns = b.last_call_ns();
        assert_eq!((a.due(call_ns - 1), b.due(call_ns - 1)), (None, None));
        // One thread is later than the other: what the first has chosen is final.
        let late_ns = call_ns + LATE_NS + 1;
        assert_eq!(b.due(call_ns).expect("the last call").not_settled.as_deref(), Some("the rate rose"));
        assert_eq!(a.due(late_ns), Some(Begin { start_ns: 30 * SECOND_NS, not_settled: None }));
        assert!(30 * SECOND_NS - late_ns >= AHEAD_NS, "it can still be announced");
    }

    #[test]
    fn a_side_that_was_cut_short_does_not_hold_up_the_other_one() {
        let [mut a, b] = duet();
        settle(&mut a, 9 * SECOND_NS);
        drop(b);
        assert_eq!(a.due(10 * SECOND_NS), Some(Begin { start_ns: 13 * SECOND_NS, not_settled: None }));
    }

    #[test]
    fn a_longest_time_too_short_to_announce_is_called_at_once() {
        let mut warmup = Warmup::of(&phases(SECOND_NS, true), None).expect("it ends by evidence");
        assert_eq!(warmup.last_call_ns(), 0);
        assert_eq!(warmup.due(0).map(|begin| begin.start_ns), Some(2 * SECOND_NS));
    }
}
