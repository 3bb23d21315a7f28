//! How long a run may last on the targets it is a guest of.

use crate::cases;
use crate::clock::monotonic_ns;
use kdyno_model::plan::{Plan, SystemPlan};

/// The end of the time that a plan's targets allow. It counts all of a run from its first step: the look at the
/// cluster, connecting, drains, topics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeCap {
    /// The smallest cap, ns.
    cap_ns: u64,
    /// When it is reached, CLOCK_MONOTONIC.
    end_ns: u64,
}

impl TimeCap {
    /// Starts the clock; `None` when no target of the plan has such a cap.
    pub(crate) fn start(plan: &Plan) -> Option<Self> {
        let caps = cases::all(plan).filter_map(|case| match &case.system {
            SystemPlan::Attached(target) => target.caps.time_ns,
            SystemPlan::Local(_) => None,
        });
        caps.min().map(|cap_ns| Self { cap_ns, end_ns: monotonic_ns().saturating_add(cap_ns) })
    }

    /// Whether the time is over.
    pub(crate) fn is_reached(&self) -> bool {
        monotonic_ns() >= self.end_ns
    }

    /// The cap, s.
    pub(crate) fn seconds(&self) -> f64 {
        self.cap_ns as f64 / 1e9
    }
}
