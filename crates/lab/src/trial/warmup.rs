//! When the measure phase begins after a warm-up that ends by evidence.
//!
//! Workers do not know how long it lasts. Once per second the lab looks at what the trial has shown; when that has
//! settled (`analysis::warmup`) it announces the first whole second that is far enough ahead. When the longest time is
//! nearly over it announces its end, settled or not.

use kdyno_analysis::warmup::{self, Progress};
use kdyno_model::evidence::TrialEvidence;
use kdyno_model::plan::PhasesPlan;
use kdyno_model::worker::MEASURE_AHEAD_NS;

const SECOND_NS: u64 = 1_000_000_000;

/// Added to [`MEASURE_AHEAD_NS`]: the announcement takes its way to every worker of a busy machine.
const ON_ITS_WAY_NS: u64 = 200_000_000;

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
    pub(super) fn of(phases: &PhasesPlan) -> Option<Self> {
        phases.warmup_auto.map(|_| Self { latest_ns: phases.measure_start_ns(), why: None })
    }

    /// When the end of its longest time has to be announced, ns from T0.
    pub(super) fn last_call_ns(&self) -> u64 {
        self.latest_ns.saturating_sub(MEASURE_AHEAD_NS + ON_ITS_WAY_NS + LATE_NS)
    }

    /// Looks at the warm-up so far, `now_ns` after T0; `seconds` of it are there with all of their rows.
    pub(super) fn look(&mut self, so_far: &TrialEvidence, seconds: u32, now_ns: u64) -> Option<Begin> {
        let why = match warmup::progress(so_far, seconds) {
            Ok(Some(Progress::Settled)) => {
                return Some(Begin { start_ns: announced(now_ns), not_settled: None });
            }
            Ok(Some(Progress::NotYet { why } | Progress::NotSettled { why })) => why,
            Ok(None) => return None,
            // What is damaged is told by the findings; here it only cannot be taken for settled.
            Err(error) => error.to_string(),
        };
        self.why = Some(why);
        None
    }

    /// The longest time is nearly over, `now_ns` after T0.
    pub(super) fn last_call(&mut self, now_ns: u64) -> Begin {
        let why = self.why.take().unwrap_or_else(|| "nothing was seen of it".to_owned());
        Begin { start_ns: announced(now_ns).max(self.latest_ns), not_settled: Some(why) }
    }
}

/// The first whole second that can be announced at `now_ns`, both from T0.
fn announced(now_ns: u64) -> u64 {
    now_ns.saturating_add(MEASURE_AHEAD_NS + ON_ITS_WAY_NS).div_ceil(SECOND_NS) * SECOND_NS
}

#[cfg(test)]
mod tests {
    use super::*;
    use kdyno_model::plan::WarmupAuto;

    fn phases(longest_ns: u64, auto: bool) -> PhasesPlan {
        let warmup_auto = auto.then_some(WarmupAuto { least_ns: SECOND_NS, records_min: 0 });
        PhasesPlan { warmup_ns: longest_ns, warmup_auto, measure_ns: SECOND_NS, drain_ns: SECOND_NS }
    }

    #[test]
    fn a_warmup_of_fixed_length_is_not_watched() {
        assert!(Warmup::of(&phases(10 * SECOND_NS, false)).is_none());
    }

    #[test]
    fn every_announcement_names_a_whole_second_far_enough_ahead_and_the_first_such() {
        for now_ns in (0..5 * SECOND_NS).step_by(99_999_999) {
            let start_ns = announced(now_ns);
            assert_eq!(start_ns % SECOND_NS, 0);
            assert!(start_ns - now_ns >= MEASURE_AHEAD_NS + ON_ITS_WAY_NS, "{now_ns}");
            assert!(start_ns - now_ns < MEASURE_AHEAD_NS + ON_ITS_WAY_NS + SECOND_NS, "{now_ns}");
        }
    }

    #[test]
    fn at_the_last_call_the_longest_time_is_kept_unless_the_call_is_late() {
        // The longest time need be no whole number of seconds: the measure phase begins with the next one.
        let mut warmup = Warmup::of(&phases(10 * SECOND_NS - 1, true)).expect("it ends by evidence");
        let call_ns = warmup.last_call_ns();
        assert!(call_ns < 10 * SECOND_NS - MEASURE_AHEAD_NS);
        let begin = warmup.last_call(call_ns);
        assert_eq!(begin.start_ns, 10 * SECOND_NS);
        assert_eq!(begin.not_settled.as_deref(), Some("nothing was seen of it"));
        assert_eq!(warmup.last_call(call_ns + LATE_NS).start_ns, 10 * SECOND_NS);
        assert_eq!(warmup.last_call(call_ns + LATE_NS + 1).start_ns, 11 * SECOND_NS);
    }

    #[test]
    fn a_longest_time_that_is_too_short_to_be_announced_is_called_at_once() {
        let mut warmup = Warmup::of(&phases(SECOND_NS, true)).expect("it ends by evidence");
        assert_eq!(warmup.last_call_ns(), 0);
        assert_eq!(warmup.last_call(0).start_ns, 2 * SECOND_NS);
    }
}
