//! How often the cases of a list are repeated: as the scenario says, or as often as the budget allows. Where it allows not even
//! one trial of each, their windows are shorter, as far as the method goes.

use crate::budget::Budget;
use crate::choices::PlanError;
use crate::estimate::of_trials;
use crate::planned::PlannedCases;
use crate::strategy::{self, TrialBasis};
use kdyno_model::plan::{CasePlan, ListedTrial, Rate, Strategy};

/// Shortest window to which a budget cuts one: fewer seconds show no steady state (docs/METHOD.md, Steady state).
const WINDOW_S_LEAST: u32 = 10;
const SECOND_NS: u64 = 1_000_000_000;

/// The list of all trials. The windows of the cases may get shorter.
pub(crate) fn list(
    planned: &mut PlannedCases,
    seed: u64,
    budget: Option<Budget>,
) -> Result<Strategy, PlanError> {
    let repeats = u32::try_from(planned.repeat).unwrap_or(u32::MAX);
    let mut list = strategy::list(&planned.cases, repeats, planned.isolation, seed);
    if let Some(budget) = budget {
        let of_each = planned.cases.len();
        // Fewer repeats are the beginning of more.
        let longest_ns =
            |repeats: u32| longest_ns(planned, &planned.cases, &list[..of_each * repeats as usize]);
        let fitting = match budget.most(1, repeats, longest_ns) {
            Some(fitting) => fitting,
            None => {
                let too_small = || budget.too_small("one trial of each case", "", longest_ns(1));
                let cases = shortened(planned, &list[..of_each], budget).ok_or_else(too_small)?;
                planned.cases = cases;
                1
            }
        };
        list.truncate(of_each * fitting as usize);
    }
    Ok(Strategy::List(list))
}

/// How long trials of these cases take at the longest.
fn longest_ns(planned: &PlannedCases, cases: &[CasePlan], list: &[ListedTrial]) -> u64 {
    let ground = TrialBasis { cases, ..TrialBasis::of(planned) };
    of_trials(strategy::listed(ground, list)).longest_ns
}

/// The cases with the longest windows that fit; `None`: not even the shortest do, or what a case measures depends on its length.
fn shortened(planned: &PlannedCases, list: &[ListedTrial], budget: Budget) -> Option<Vec<CasePlan>> {
    if !planned.cases.iter().all(is_even) {
        return None;
    }
    let longest = planned.cases.iter().map(|case| case.phases.measure_ns).max()?;
    let longest_s = u32::try_from(longest / SECOND_NS).unwrap_or(u32::MAX);
    let cut = |seconds: u32| {
        let mut cases = planned.cases.clone();
        for case in &mut cases {
            case.phases.measure_ns = case.phases.measure_ns.min(u64::from(seconds) * SECOND_NS);
        }
        cases
    };
    let fits = |seconds| longest_ns(planned, &cut(seconds), list);
    budget.most(WINDOW_S_LEAST, longest_s, fits).map(cut)
}

/// Whether a case does the same all through its window, however long that is.
fn is_even(case: &CasePlan) -> bool {
    let is_constant = |rate: &Rate| match rate {
        Rate::Max { .. } => true,
        Rate::Open { pieces, .. } => {
            pieces.iter().all(|piece| piece.from_per_s == piece.to_per_s) && pieces.len() == 1
        }
    };
    let is_asked_for = case.system.target().is_some_and(|target| target.sustain_ns.is_some());
    let mut items = case.load.values();
    case.commands.is_empty()
        && !is_asked_for
        && items.all(|item| {
            let produce = item.role.as_produce();
            item.span.is_whole()
                && produce.is_none_or(|produce| produce.records_max.is_none() && is_constant(&produce.rate))
        })
}
