//! Which trial comes next, given what came of those before. Pure.
//!
//! A strategy is asked after every trial and names one more, with all that it runs and why, or stops. Because it is a
//! function of the outcomes alone, an interrupted run goes on where it was.

mod compare;
mod find;
mod list;
mod trials;

pub(crate) use compare::up_to;
pub(crate) use find::{Extent, loaded as searched_at, trials as searched};
pub(crate) use list::{list, listed, seed_of};
pub(crate) use trials::{ConditioningPace, TrialBasis, conditioned_by};
pub use trials::{Next, Upcoming};

use crate::choices::PlanError;
use kdyno_model::outcome::TrialOutcome;
use kdyno_model::plan::{CasePlan, Plan, Strategy};
use std::borrow::Cow;

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
        Strategy::List(list) => Box::new(listed(TrialBasis::of_plan(plan), list).skip(done)),
        Strategy::Compare(comparison) => Box::new(compare::upcoming(plan, comparison).skip(done)),
        Strategy::Find(search) => {
            Box::new(find::trials(TrialBasis::of_plan(plan), search, Extent::Typical).skip(done))
        }
    }
}

/// The most that the plan may run: of a search its longest course, every trial at the highest load.
pub(crate) fn at_most(plan: &Plan) -> Box<dyn Iterator<Item = Upcoming<'_>> + '_> {
    match &plan.strategy {
        Strategy::List(_) | Strategy::Compare(_) => upcoming(plan, 0),
        Strategy::Find(search) => Box::new(find::trials(TrialBasis::of_plan(plan), search, Extent::Longest)),
    }
}

/// What the trials of a comparison run until its first look, with nothing lost: the shortest way to a verdict. `None`: the
/// plan compares nothing.
pub(crate) fn until_first_look(plan: &Plan) -> Option<impl Iterator<Item = Upcoming<'_>>> {
    let Strategy::Compare(comparison) = &plan.strategy else { return None };
    Some(up_to(TrialBasis::of_plan(plan), comparison, comparison.looks.iter().copied().min()?))
}

/// The heaviest load that a plan may put on each of its cases.
pub(crate) fn heaviest(plan: &Plan) -> impl Iterator<Item = Cow<'_, CasePlan>> {
    plan.every_case().map(|case| {
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
