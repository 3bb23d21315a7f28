//! Pairs of trials of two sides, until the verdict is clear or the last look is reached.

use super::{Next, Upcoming};
use kdyno_model::finding::TrialOutcome;
use kdyno_model::plan::{ComparePlan, Plan};

/// See [`super::next`].
pub(super) fn next(_plan: &Plan, _settings: &ComparePlan, _outcomes: &[TrialOutcome]) -> Next {
    Next::Stop
}

/// See [`super::upcoming`].
pub(super) fn upcoming<'a>(
    _plan: &'a Plan,
    _settings: &'a ComparePlan,
) -> impl Iterator<Item = Upcoming<'a>> {
    std::iter::empty()
}
