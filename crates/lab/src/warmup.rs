//! When the measure phase begins after a warm-up that ends by evidence.
//!
//! Workers do not know how long it lasts. Once per second the lab looks at what the trial has shown; when that has
//! settled it announces the first whole second that is far enough ahead. When the longest time is nearly over it
//! announces its end, settled or not.

use kdyno_analysis::warmup::{self, Bounds, Progress};
use kdyno_model::evidence::TrialEvidence;
use kdyno_model::plan::{PhasesPlan, WarmupAuto};
use kdyno_model::worker::MEASURE_AHEAD_NS;

const SECOND_NS: u64 = 1_000_000_000;

/// Added to [`MEASURE_AHEAD_NS`]: the announcement takes its way to every worker of a busy machine.
const ON_ITS_WAY_NS: u64 = 200_000_000;

/// How long before the last instant at which the end of the longest warm-up can be announced that is done: the thread
/// that announces it may be late.
const LATE_NS: u64 = 300_000_000;

/// A warm-up under way.
#[derive(Debug)]
pub(crate) struct Warmup {
    bounds: Bounds,
    /// When the measure phase begins at the latest, ns from T0.
    latest_ns: u64,
    /// Why it went on at the last look.
    why: Option<String>,
}

/// The measure phase begins.
#[derive(Debug, PartialEq)]
pub(crate) struct Begin {
    /// A whole second from T0, ns.
    pub(crate) start_ns: u64,
    /// What had not settled, in words, where the longest time ended the warm-up.
    pub(crate) not_settled: Option<String>,
}

impl Warmup {
    /// `None`: its length is fixed.
    pub(crate) fn of(phases: &PhasesPlan) -> Option<Self> {
        let WarmupAuto { least_ns, records_min } = phases.warmup_auto?;
        let seconds = |ns: u64| u32::try_from(ns.div_ceil(SECOND_NS)).unwrap_or(u32::MAX);
        let latest_ns = phases.measure_start_ns();
        let bounds = Bounds { least_s: seconds(least_ns), most_s: seconds(latest_ns), records_min };
        Some(Self { bounds, latest_ns, why: None })
    }

    /// When its longest time has to be announced as over, ns from T0.
    pub(crate) fn last_call_ns(&self) -> u64 {
        self.latest_ns.saturating_sub(MEASURE_AHEAD_NS + ON_ITS_WAY_NS + LATE_NS)
    }

    /// Looks at the warm-up so far, `now_ns` after T0.
    pub(crate) fn look(&mut self, so_far: &TrialEvidence, now_ns: u64) -> Option<Begin> {
        let seconds = u32::try_from(now_ns / SECOND_NS).unwrap_or(u32::MAX);
        match warmup::has_ended(&warmup::so_far(so_far, seconds), &self.bounds) {
            Progress::Settled => Some(Begin { start_ns: self.start_from(now_ns), not_settled: None }),
            Progress::NotYet { why } | Progress::NotSettled { why } => {
                self.why = Some(why);
                None
            }
        }
    }

    /// The longest time is nearly over.
    pub(crate) fn last_call(&mut self, now_ns: u64) -> Begin {
        let why = self.why.take().unwrap_or_else(|| "nothing was heard of the load".to_owned());
        Begin { start_ns: self.start_from(now_ns).max(self.latest_ns), not_settled: Some(why) }
    }

    /// The first whole second that can still be announced, no later than need be.
    fn start_from(&self, now_ns: u64) -> u64 {
        now_ns.saturating_add(MEASURE_AHEAD_NS + ON_ITS_WAY_NS).div_ceil(SECOND_NS) * SECOND_NS
    }
}
