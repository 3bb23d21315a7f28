//! `--sustain`: windows on targets that are long enough to say something of load that goes on.
//!
//! Rented machines and disks do more for as long as their burst credits last, and brokers write to memory first. How long
//! that is cannot be read from a cluster, so the user who measures it states it.

use crate::choices::PlanError;
use crate::phases::PHASE_NS_MAX;
use kdyno_model::plan::{CasePlan, Depth, FindPlan, Plan};
use kdyno_model::units::duration;
use kdyno_scenario::input::InputError;

/// Makes the measured window of a case at least so long.
///
/// # Errors
/// The case is not on a target, or its load ends earlier.
pub(crate) fn lengthen(case: &mut CasePlan, sustain_ns: Option<u64>) -> Result<(), PlanError> {
    let Some(sustain_ns) = sustain_ns else { return Ok(()) };
    if !(1..=PHASE_NS_MAX).contains(&sustain_ns) {
        let message = format!("{} is no length of a window", duration(sustain_ns));
        return Err(refused(&message).hint(format!("more than 0 s and at most {}", duration(PHASE_NS_MAX))));
    }
    let Some(target) = case.system.target_mut() else {
        return Err(refused("a cluster made for the run has no burst credits to go past")
            .hint("name a target; a local run is as long as its `measure`"));
    };
    target.sustain_ns = Some(sustain_ns);
    let limit = case.load.iter().find_map(|(name, item)| Some((name, item.role.as_produce()?.records_max?)));
    if let Some((name, records)) = limit {
        let message = format!("`{name}` ends after {records} records");
        return Err(refused(&message).hint("give `measure` as a duration"));
    }
    case.phases.measure_ns = case.phases.measure_ns.max(sustain_ns);
    Ok(())
}

/// Makes the trials that confirm a search's answer at least so long; those before it show where to look, and are as short
/// as they were.
///
/// # Errors
/// The search confirms nothing, or is a quick look.
pub(crate) fn confirm(search: &mut FindPlan, depth: Depth, sustain_ns: Option<u64>) -> Result<(), PlanError> {
    let Some(sustain_ns) = sustain_ns else { return Ok(()) };
    if depth == Depth::Quick {
        return Err(refused("a quick look has no time for windows that long")
            .hint("leave `--quick` out, or give more `--budget`"));
    }
    if search.confirm_trials == 0 {
        return Err(refused("only trials that confirm are that long, and this search has none")
            .hint("`confirmations: 3` in the scenario's `find`"));
    }
    search.confirm_ns = search.confirm_ns.max(sustain_ns);
    Ok(())
}

fn refused(message: &str) -> InputError {
    InputError::whole(format!("--sustain: {message}"))
}

/// How long windows on targets are to be at least, a sentence.
pub(crate) fn remark(plan: &Plan) -> Option<String> {
    let least_ns = plan.cases.iter().find_map(|case| case.system.target()?.sustain_ns)?;
    let least = duration(least_ns);
    Some(format!("a window of {least} and more counts as past burst credits: you said so by --sustain"))
}
