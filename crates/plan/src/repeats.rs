//! How often the cases of a list are repeated: as the scenario says, or as often as the budget allows.

use crate::PlanError;
use crate::budget::Budget;
use crate::estimate::{start_expected_ns, trial_expected_ns};
use crate::planned::Planned;
use crate::strategy::{self, conditioned_by};
use kdyno_model::plan::{CasePlan, Isolation, Strategy};

/// The list of all trials.
pub(crate) fn list(planned: &Planned, seed: u64, budget: Option<Budget>) -> Result<Strategy, PlanError> {
    let mut repeats = u32::try_from(planned.repeat).unwrap_or(u32::MAX);
    if let Some(budget) = budget {
        let fits = |repeats: &u32| expected_ns(planned, *repeats) <= budget.ns;
        let too_small = || budget.too_small("one trial of each case", "", expected_ns(planned, 1));
        repeats = (1..=repeats).rev().find(fits).ok_or_else(too_small)?;
    }
    Ok(strategy::list(&planned.cases, repeats, planned.isolation, seed))
}

/// What so many repeats take, ns. Within a repeat the cases of one system stand together; between repeats a cluster
/// stays only where all cases share it.
fn expected_ns(planned: &Planned, repeats: u32) -> u64 {
    let mut systems: Vec<&CasePlan> = Vec::new();
    for case in &planned.cases {
        let known = systems.iter().any(|known| known.system == case.system);
        if planned.isolation == Isolation::Cluster || !known {
            systems.push(case);
        }
    }
    let conditioned = |case: &&CasePlan| planned.conditioning.and_then(|how| conditioned_by(how, case));
    let start =
        |case: &&CasePlan| start_expected_ns(case) + conditioned(case).as_ref().map_or(0, trial_expected_ns);
    let starts: u64 = systems.iter().map(start).sum();
    let trials: u64 = planned.cases.iter().map(trial_expected_ns).sum();
    let stays = systems.len() == 1 && planned.isolation != Isolation::Cluster;
    let times = |ns: u64| ns.saturating_mul(u64::from(repeats));
    times(trials).saturating_add(if stays { starts } else { times(starts) })
}
