//! How often the cases of a list are repeated: as the scenario says, or as often as the budget allows.

use crate::budget::Budget;
use crate::choices::PlanError;
use crate::estimate::of_trials;
use crate::planned::PlannedCases;
use crate::strategy::{self, Ground};
use kdyno_model::plan::Strategy;

/// The list of all trials.
pub(crate) fn list(planned: &PlannedCases, seed: u64, budget: Option<Budget>) -> Result<Strategy, PlanError> {
    let repeats = u32::try_from(planned.repeat).unwrap_or(u32::MAX);
    let mut list = strategy::list(&planned.cases, repeats, planned.isolation, seed);
    if let Some(budget) = budget {
        // Fewer repeats are the beginning of more.
        let trials = |repeats: u32| planned.cases.len() * repeats as usize;
        let longest_ns =
            |repeats| of_trials(strategy::listed(Ground::of(planned), &list[..trials(repeats)])).longest_ns;
        let too_small = || budget.too_small("one trial of each case", "", longest_ns(1));
        let fitting = budget.most(1, repeats, longest_ns).ok_or_else(too_small)?;
        list.truncate(trials(fitting));
    }
    Ok(Strategy::List(list))
}
