//! Every case that a plan may run: the rows, and in a comparison those of side B as well.

use kdyno_model::plan::{CasePlan, Plan, Strategy};

/// The plan's cases, side A first.
pub(crate) fn all(plan: &Plan) -> impl Iterator<Item = &CasePlan> {
    let other_side = match &plan.strategy {
        Strategy::Compare(comparison) => comparison.b.as_slice(),
        Strategy::List(_) | Strategy::Find(_) => &[],
    };
    plan.cases.iter().chain(other_side)
}
