//! Every case that a plan may run: the rows, and in a comparison those of side B and of further clusters as well.

use kdyno_model::plan::{CasePlan, Plan, Strategy};

/// The plan's cases, side A first.
pub(crate) fn all(plan: &Plan) -> impl Iterator<Item = &CasePlan> {
    let others = match &plan.strategy {
        Strategy::Compare(comparison) => Some(comparison.other_cases()),
        Strategy::List(_) | Strategy::Find(_) => None,
    };
    plan.cases.iter().chain(others.into_iter().flatten())
}
