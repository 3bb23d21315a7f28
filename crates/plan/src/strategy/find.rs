//! The search for the highest load at which conditions hold.

use super::{Next, Upcoming};
use kdyno_model::finding::TrialOutcome;
use kdyno_model::plan::{FindPlan, Plan};

/// See [`super::next`].
pub(super) fn next(_plan: &Plan, _settings: &FindPlan, _outcomes: &[TrialOutcome]) -> Next {
    Next::Stop
}

/// See [`super::upcoming`].
pub(super) fn upcoming<'a>(_plan: &'a Plan, _settings: &'a FindPlan) -> impl Iterator<Item = Upcoming<'a>> {
    std::iter::empty()
}
