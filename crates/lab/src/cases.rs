//! Every case that a plan may run: the rows, and in a comparison those of side B and of further clusters as well.

use kdyno_model::plan::{CasePlan, Plan};

/// The plan's cases, side A first.
pub(crate) fn all(plan: &Plan) -> impl Iterator<Item = &CasePlan> {
    plan.every_case()
}
