//! How long a run may last: on the targets it is a guest of, and by its budget.

use crate::clock::monotonic_ns;
use kdyno_model::plan::Plan;
use kdyno_model::units::duration;

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
        let caps = plan.every_case().filter_map(|case| case.system.caps()?.time_ns);
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

/// The plan's budget; sessions before have had their part. In the first one it counts from the first trial: what
/// precedes that is not in the plan's estimate.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TimeBudget {
    /// `None`: trials take as long as they take.
    budget_ns: Option<u64>,
    /// What the sessions before took.
    spent_ns: u64,
    /// When the first trial began, CLOCK_MONOTONIC.
    began_ns: Option<u64>,
}

impl TimeBudget {
    /// The limit of a session that has begun no trial.
    pub(crate) fn of(plan: &Plan, spent_ns: u64) -> Self {
        Self { budget_ns: plan.budget_ns, spent_ns, began_ns: None }
    }

    /// A trial begins: the first one starts the clock.
    pub(crate) fn begin(&mut self, now_ns: u64) {
        self.began_ns.get_or_insert(now_ns);
    }

    /// Why no trial of this length is begun: it might end after the budget. Plans fit their budget, but trials in the
    /// place of lost ones come on top, and drains may last. The first trial of a run is always begun.
    pub(crate) fn too_late(&self, now_ns: u64, longest_ns: u64) -> Option<String> {
        let budget_ns = self.budget_ns?;
        let here_ns = self.began_ns.map_or(0, |began_ns| now_ns.saturating_sub(began_ns));
        let is_first = self.began_ns.is_none() && self.spent_ns == 0;
        let taken_ns = self.spent_ns.saturating_add(here_ns).saturating_add(longest_ns);
        let is_late = !is_first && taken_ns > budget_ns;
        let why = || {
            let budget = duration(budget_ns);
            format!("the budget of {budget} might not hold another trial: the run ends with what it has")
        };
        is_late.then(why)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE_NS: u64 = 60_000_000_000;

    #[test]
    fn no_trial_begins_that_might_end_after_the_budget() {
        let mut budget = TimeBudget { budget_ns: Some(10 * MINUTE_NS), spent_ns: 0, began_ns: None };
        assert_eq!(budget.too_late(20 * MINUTE_NS, 30 * MINUTE_NS), None, "nothing has begun");
        budget.begin(20 * MINUTE_NS);
        budget.begin(25 * MINUTE_NS);
        assert_eq!(budget.too_late(28 * MINUTE_NS, 2 * MINUTE_NS), None);
        let why = budget.too_late(28 * MINUTE_NS + 1, 2 * MINUTE_NS).expect("a nanosecond too long");
        assert!(why.starts_with("the budget of 10 min might not hold another trial"), "{why}");
        assert!(budget.too_late(21 * MINUTE_NS, u64::MAX).is_some());
        let unbounded = TimeBudget { budget_ns: None, spent_ns: 1, began_ns: Some(0) };
        assert_eq!(unbounded.too_late(u64::MAX, u64::MAX), None);
    }

    #[test]
    fn what_sessions_before_took_is_gone_from_the_budget() {
        let mut budget =
            TimeBudget { budget_ns: Some(10 * MINUTE_NS), spent_ns: 7 * MINUTE_NS, began_ns: None };
        assert_eq!(budget.too_late(20 * MINUTE_NS, 3 * MINUTE_NS), None);
        assert!(budget.too_late(20 * MINUTE_NS, 3 * MINUTE_NS + 1).is_some(), "its first trial is not begun");
        budget.begin(20 * MINUTE_NS);
        assert_eq!(budget.too_late(22 * MINUTE_NS, MINUTE_NS), None);
        assert!(budget.too_late(22 * MINUTE_NS + 1, MINUTE_NS).is_some());
    }
}
