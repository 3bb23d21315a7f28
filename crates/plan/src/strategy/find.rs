//! The search for the highest load at which conditions hold, of one case after the other.
//!
//! `kdyno_analysis::search` decides which load comes next; here it becomes a trial: the item's rate or number of
//! clients, the lengths of the phases, the workers' shares.

use super::trials::{ConditioningPace, Next, TrialBasis, Upcoming, conditioning, next_id, trial_seed};
use crate::choices::PlanError;
use crate::item_topics::CLIENTS_MAX;
use crate::workers::workers;
use kdyno_analysis::run::AnalysedTrial;
use kdyno_analysis::search::lengths::settle_ns;
use kdyno_analysis::search::{
    PointSoFar, RAMP_FACTOR, SearchSettings, SearchStep, judge, next_step, settings,
};
use kdyno_model::outcome::TrialOutcome;
use kdyno_model::plan::{Arrivals, CasePlan, FindPlan, PhasesPlan, Plan, Rate, RatePiece, Role, Vary};
use kdyno_model::trial::{SearchStage, Trial, TrialReason};
use kdyno_scenario::input::{InputError, quoted};
use std::borrow::Cow;

/// Trials that decide in a typical search; those of the ramp come before them.
const DECIDING_TYPICAL: usize = 9;
/// A constant rate's last piece goes on beyond its length.
const PIECE_NS: u64 = 1_000_000_000;

/// See [`super::next`]. A plan that [`check`] refuses ends at once.
pub(super) fn next(plan: &Plan, find: &FindPlan, outcomes: &[TrialOutcome], session: u32) -> Next {
    let settings = settings(find);
    for (index, case, start) in starts(TrialBasis::of_plan(plan)) {
        let said = outcomes.iter().filter(|outcome| outcome.trial.case == index);
        let points: Vec<PointSoFar> =
            said.filter_map(|outcome| Some(judge(find, AnalysedTrial::of(outcome))?.point)).collect();
        let SearchStep::Trial { stage, load_per_s } = next_step(&settings, &points) else { continue };
        let Some(effective) = loaded(case, find, stage, load_per_s) else { continue };
        if let Some(trial) = conditioning(plan, index, case, start, outcomes, session) {
            return Next::Trial(Box::new(trial));
        }
        let repeat = u32::try_from(points.len() + 1).unwrap_or(u32::MAX);
        return Next::Trial(Box::new(Trial {
            id: next_id(outcomes),
            case: index,
            variant: None,
            pair: None,
            repeat,
            start,
            label: label(case, find, stage, load_per_s),
            reason: TrialReason::Search { stage, load_per_s },
            seed: trial_seed(plan.seed, repeat),
            effective,
        }));
    }
    Next::Stop
}

/// Each case with its index and the number of the start of its cluster.
fn starts<'a>(ground: TrialBasis<'a>) -> impl Iterator<Item = (u32, &'a CasePlan, u32)> {
    (0_u32..).zip(ground.starts(ground.cases.iter())).map(|(index, (case, start))| (index, case, start))
}

/// How many trials a search takes: that depends on what they show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// A ramp to the middle of the range, as many trials that decide as usual, and those that confirm, if all of them
    /// pass.
    Typical,
    /// As long as its number of trials allows, each at the highest load.
    Longest,
}

/// The trials of a search of each case, and those that condition a cluster.
pub(crate) fn trials<'a>(
    ground: TrialBasis<'a>,
    find: &'a FindPlan,
    extent: Extent,
) -> impl Iterator<Item = Upcoming<'a>> {
    let mut before = 0;
    starts(ground).flat_map(move |(_, case, start)| {
        let is_fresh = std::mem::replace(&mut before, start) != start;
        let first = is_fresh.then(|| ground.conditioning(case, start, ConditioningPace::Most)).flatten();
        let stages = match extent {
            Extent::Typical => typical(find),
            Extent::Longest => longest(find),
        };
        let trials = stages.into_iter().filter_map(move |(stage, load_per_s)| {
            let case = Cow::Owned(loaded(case, find, stage, load_per_s)?);
            Some(Upcoming { case, start, is_conditioning: false, is_concurrent: false })
        });
        first.into_iter().chain(trials)
    })
}

/// Stages and loads of a search whose answer lies in the middle of the range.
fn typical(find: &FindPlan) -> Vec<(SearchStage, f64)> {
    let settings = settings(find);
    if settings.check().is_err() {
        return Vec::new();
    }
    let answer = (find.from_per_s * find.to_per_s).sqrt();
    let mut ramp = std::iter::successors(Some(find.from_per_s), |load| Some(load * RAMP_FACTOR));
    let mut found = Vec::new();
    let is_left = |found: &Vec<(SearchStage, f64)>, stage| {
        let stages = found.iter().map(|(stage, _)| *stage).chain([stage]);
        SearchSettings::counted(stages) <= settings.search_trials_max()
    };
    while let Some(load) = ramp.next().filter(|_| is_left(&found, SearchStage::Ramp)) {
        found.push((SearchStage::Ramp, load.min(find.to_per_s)));
        if load >= answer {
            break;
        }
    }
    for _ in 0..DECIDING_TYPICAL {
        if is_left(&found, SearchStage::Bisect) {
            found.push((SearchStage::Bisect, answer));
        }
    }
    found.extend(std::iter::repeat_n((SearchStage::Confirm, answer), find.confirm_trials as usize));
    found
}

/// Stages and loads of the longest search: its ramp fails at its second load, or, where two of its trials are longer
/// than a whole one, never ends.
fn longest(find: &FindPlan) -> Vec<(SearchStage, f64)> {
    let settings = settings(find);
    if settings.check().is_err() {
        return Vec::new();
    }
    let trials_max = settings.search_trials_max() as usize;
    let length_ns = |window_ns: u64| window_ns.saturating_add(settle_ns(window_ns));
    let is_long_ramp = length_ns(find.ramp_ns).saturating_mul(2) > length_ns(find.trial_ns);
    let ramp = if is_long_ramp { 2 * trials_max } else { 2 };
    let deciding = if is_long_ramp { 0 } else { trials_max.saturating_sub(1) };
    let confirming = settings.confirm_trials_max() as usize;
    let counts =
        [(SearchStage::Ramp, ramp), (SearchStage::Bisect, deciding), (SearchStage::Confirm, confirming)];
    let each = |(stage, count)| std::iter::repeat_n((stage, find.to_per_s), count);
    counts.into_iter().flat_map(each).collect()
}

/// The case with this load on the item that is varied, and the phases of the stage; `None`: it has no such item that
/// produces.
pub(crate) fn loaded(
    case: &CasePlan,
    find: &FindPlan,
    stage: SearchStage,
    load_per_s: f64,
) -> Option<CasePlan> {
    let mut case = case.clone();
    let item = case.load.get_mut(&find.item)?;
    let Role::Produce(produce) = &mut item.role else { return None };
    let arrivals = match produce.rate {
        Rate::Open { arrivals, .. } => arrivals,
        Rate::Max { .. } => Arrivals::Poisson,
    };
    let piece = RatePiece { from_per_s: load_per_s, to_per_s: load_per_s, length_ns: PIECE_NS };
    produce.rate = Rate::Open { pieces: vec![piece], arrivals };
    if let Vary::Clients { per_client_per_s } = find.vary {
        // A whole number by the search's choice; the conversion saturates.
        item.clients = (load_per_s / per_client_per_s).round().max(1.0) as u32;
    }
    for item in case.load.values_mut() {
        if let Role::Produce(produce) = &mut item.role {
            // A window by records would be shorter the higher the load is.
            produce.records_max = None;
        }
    }
    let measure_ns = match stage {
        SearchStage::Ramp => find.ramp_ns,
        SearchStage::Bisect => find.trial_ns,
        SearchStage::Confirm => find.confirm_ns,
    };
    let drain_ns = case.phases.drain_ns;
    case.phases = PhasesPlan { warmup_ns: settle_ns(measure_ns), warmup_auto: None, measure_ns, drain_ns };
    case.workers = workers(&case.load, &case.generators);
    Some(case)
}

fn label(case: &CasePlan, find: &FindPlan, stage: SearchStage, load_per_s: f64) -> String {
    let load = match find.vary {
        Vary::Rate => format!("{stage} {load_per_s:.0}/s"),
        Vary::Clients { per_client_per_s } => {
            let clients = (load_per_s / per_client_per_s).round();
            format!("{stage} {clients:.0} client{}", if clients > 1.0 { "s" } else { "" })
        }
    };
    if case.label.is_empty() { load } else { format!("{} {load}", case.label) }
}

/// The heaviest load that the search may put on a case; `None`: it has no such item that produces.
pub(super) fn heaviest(case: &CasePlan, find: &FindPlan) -> Option<CasePlan> {
    loaded(case, find, SearchStage::Confirm, find.to_per_s)
}

/// Refuses a search that cannot be made.
pub(super) fn check(plan: &Plan, find: &FindPlan) -> Result<(), PlanError> {
    let wrong = |message: String, hint: &str| Err(InputError::whole(format!("`find`: {message}")).hint(hint));
    if let Err(error) = settings(find).check() {
        return wrong(error, "a search goes e.g. `from: 20k/s` `to: 5M/s` `within: 2%`");
    }
    if find.conditions.is_empty() {
        let message = "without a condition every load passes".to_owned();
        return wrong(message, "write e.g. `while: [writers.response.p99 <= 20ms]`");
    }
    let is_confirmed = find.confirm_trials > 0;
    if find.ramp_ns == 0 || find.trial_ns == 0 || (is_confirmed && find.confirm_ns == 0) {
        return wrong("a trial has no length".to_owned(), "leave the lengths out: the depth chooses them");
    }
    if let Vary::Clients { per_client_per_s } = find.vary
        && find.to_per_s / per_client_per_s > f64::from(CLIENTS_MAX)
    {
        let message = format!(
            "{:.0} clients of {per_client_per_s}/s would be needed at its end; at most {CLIENTS_MAX} are allowed",
            find.to_per_s / per_client_per_s
        );
        return wrong(message, "give each client a higher rate, or lower `to`");
    }
    match plan.cases.iter().find(|case| heaviest(case, find).is_none()) {
        None => Ok(()),
        Some(case) => {
            let producing = case.load.iter().filter(|(_, item)| matches!(item.role, Role::Produce(_)));
            let names: Vec<&str> = producing.map(|(name, _)| name.as_str()).collect();
            let message = format!("no load item {} produces", quoted(&find.item));
            wrong(message, &format!("those that do: {}", names.join(", ")))
        }
    }
}
