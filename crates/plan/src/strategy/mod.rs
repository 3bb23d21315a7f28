//! Which trial comes next, given what came of those before. Pure.
//!
//! A strategy is asked after every trial and names one more, with all that it runs and why, or stops. Because it is a
//! function of the outcomes alone, an interrupted run goes on where it was.

mod compare;
mod find;
mod list;

pub(crate) use list::{list, seed_of};

use crate::PlanError;
use kdyno_model::outcome::TrialOutcome;
use kdyno_model::plan::{
    CasePlan, Conditioning, Fill, PhasesPlan, Plan, Rate, Role, Strategy, SystemPlan, WarmupAuto,
};
use kdyno_model::seed::mix;
use kdyno_model::trial::{Trial, TrialId, TrialReason};
use std::borrow::Cow;

/// Measured window of a trial that only conditions a cluster: a trial has one, and nothing is drawn from this.
const CONDITIONING_WINDOW_NS: u64 = 1_000_000_000;

/// What a strategy says.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// Run this one.
    Trial(Box<Trial>),
    /// The question is answered as far as it will be.
    Stop,
}

/// The next trial of a run of the plan, or its end. `outcomes` are those of its trials so far, in order, of all sessions;
/// `session` is the one that goes on: clusters of earlier ones are gone.
pub fn next(plan: &Plan, outcomes: &[TrialOutcome], session: u32) -> Next {
    match &plan.strategy {
        Strategy::List(list) => list::next(plan, list, outcomes, session),
        Strategy::Compare(comparison) => compare::next(plan, comparison, outcomes, session),
        Strategy::Find(search) => find::next(plan, search, outcomes, session),
    }
}

/// What the trials after the first `done` will run, as far as that is known: of a comparison up to its last look, of a
/// search as many as it typically takes. Trials that condition a cluster are among them, and counted by `done`.
pub fn upcoming(plan: &Plan, done: usize) -> Box<dyn Iterator<Item = Upcoming<'_>> + '_> {
    match &plan.strategy {
        Strategy::List(list) => Box::new(list::upcoming(plan, list).skip(done)),
        Strategy::Compare(comparison) => Box::new(compare::upcoming(plan, comparison).skip(done)),
        Strategy::Find(search) => Box::new(find::upcoming(plan, search).skip(done)),
    }
}

/// What the trials of a comparison run until its first look, with nothing lost: the shortest way to a verdict. `None`: the
/// plan compares nothing.
pub(crate) fn until_first_look(plan: &Plan) -> Option<impl Iterator<Item = Upcoming<'_>>> {
    let Strategy::Compare(comparison) = &plan.strategy else { return None };
    Some(compare::up_to(plan, comparison, comparison.looks.iter().copied().min()?))
}

/// The heaviest load that a plan may put on each of its cases.
pub(crate) fn heaviest(plan: &Plan) -> impl Iterator<Item = Cow<'_, CasePlan>> {
    plan.cases.iter().map(|case| {
        let found = match &plan.strategy {
            Strategy::Find(search) => find::heaviest(case, search),
            Strategy::List(_) | Strategy::Compare(_) => None,
        };
        found.map_or(Cow::Borrowed(case), Cow::Owned)
    })
}

/// Refuses a question that no trial can answer.
pub(crate) fn check(plan: &Plan) -> Result<(), PlanError> {
    match &plan.strategy {
        Strategy::Find(search) => find::check(plan, search),
        Strategy::List(_) | Strategy::Compare(_) => Ok(()),
    }
}

/// A trial that will run.
#[derive(Debug, Clone)]
pub struct Upcoming<'a> {
    /// What it runs.
    pub case: Cow<'a, CasePlan>,
    /// On which start of its cluster.
    pub start: u32,
    /// It only conditions its cluster.
    pub is_conditioning: bool,
}

/// The trial that conditions the cluster of a case and start, if the plan wants one and none has run yet in the session
/// that goes on.
fn conditioning(
    plan: &Plan,
    case: u32,
    effective: &CasePlan,
    start: u32,
    outcomes: &[TrialOutcome],
    session: u32,
) -> Option<Trial> {
    let conditioned = conditioned(plan, effective)?;
    let has_run = |outcome: &TrialOutcome| {
        let trial = &outcome.trial;
        let is_of_start = trial.start == start && outcome.session == session;
        trial.is_conditioning() && is_of_start && trial.effective.system == effective.system
    };
    if outcomes.iter().any(has_run) {
        return None;
    }
    Some(Trial {
        id: next_id(outcomes),
        case,
        variant: None,
        pair: None,
        repeat: 1,
        start,
        label: "conditioning".to_owned(),
        reason: TrialReason::Conditioning,
        seed: mix(plan.seed, u64::from(start)),
        effective: conditioned,
    })
}

/// What conditions a case's cluster: its own load as fast as it goes, until it has settled. `None`: the plan wants no
/// conditioning, or the cluster is somebody's.
fn conditioned(plan: &Plan, case: &CasePlan) -> Option<CasePlan> {
    conditioned_by(plan.conditioning?, case)
}

/// The same, of a plan in the making.
pub(crate) fn conditioned_by(how: Conditioning, case: &CasePlan) -> Option<CasePlan> {
    let Conditioning { least_ns, most_ns } = how;
    if matches!(case.system, SystemPlan::Attached(_)) {
        return None;
    }
    let mut case = case.clone();
    for item in case.load.values_mut() {
        if let Role::Produce(produce) = &mut item.role {
            produce.rate = Rate::Max { fill: Fill::InFlight };
            produce.records_max = None;
        }
    }
    case.phases = PhasesPlan {
        warmup_ns: most_ns,
        warmup_auto: Some(WarmupAuto { least_ns, records_min: 0 }),
        measure_ns: CONDITIONING_WINDOW_NS,
        drain_ns: case.phases.drain_ns,
    };
    Some(case)
}

/// The number of the trial after these.
fn next_id(outcomes: &[TrialOutcome]) -> TrialId {
    TrialId(u32::try_from(outcomes.len() + 1).unwrap_or(u32::MAX))
}

/// The outcomes that answer something: all but those of trials that condition a cluster.
fn reported(outcomes: &[TrialOutcome]) -> impl Iterator<Item = &TrialOutcome> {
    outcomes.iter().filter(|outcome| !outcome.trial.is_conditioning())
}

/// The seed of a trial's arrivals: the same for all cases of a repeat and both sides of a pair, so that what differs
/// between them is not the draw.
fn trial_seed(plan_seed: u64, repeat: u32) -> u64 {
    mix(plan_seed, u64::from(repeat.saturating_sub(1)))
}

/// Draws from a seed, one after the other.
struct Draw {
    seed: u64,
    drawn: u64,
}

impl Draw {
    fn next(&mut self) -> u64 {
        self.drawn += 1;
        mix(self.seed, self.drawn - 1)
    }

    /// Fisher–Yates. The bias of the remainder is below 2^-50 for the few items there are.
    fn shuffle<T>(&mut self, items: &mut [T]) {
        for end in (1..items.len()).rev() {
            let at = (self.next() % (end as u64 + 1)) as usize;
            items.swap(end, at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn seeds_repeat_for_the_same_repeat_and_differ_between_repeats() {
        let mut seen = BTreeSet::new();
        for repeat in 1..=20 {
            assert_eq!(trial_seed(7, repeat), trial_seed(7, repeat));
            assert!(seen.insert(trial_seed(7, repeat)));
            assert!(seen.insert(trial_seed(8, repeat)));
        }
    }
}
