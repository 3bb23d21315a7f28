//! The trials of a run by case, of a comparison by case and side.

use crate::input::ReportInput;
use kdyno_model::finding::Scope;
use kdyno_model::plan::{ComparePlan, Strategy};
use kdyno_model::trial::{Trial, TrialId};

/// A case, or a side of one, with its trials.
pub struct TrialGroup<'a> {
    /// What it is called; empty where there is one.
    pub name: String,
    /// What its findings are of.
    pub scope: Scope,
    /// In the order in which they ran.
    pub trials: Vec<&'a Trial>,
}

/// Every case that has a trial; in a comparison each side of it. A search, whose trials have a load each, has none.
pub fn groups<'a>(input: &ReportInput<'a>) -> Vec<TrialGroup<'a>> {
    let is_compared = match input.plan().strategy {
        Strategy::List(_) => false,
        Strategy::Compare(_) => true,
        Strategy::Find(_) => return Vec::new(),
    };
    let sides = if is_compared { ComparePlan::SIDES.len() } else { 1 };
    let cases = input.plan().case_numbers();
    let mut found: Vec<TrialGroup<'a>> = Vec::new();
    for (case, side) in cases.flat_map(|case| (0..sides).map(move |side| (case, side))) {
        let is_of = |trial: &&Trial| {
            let is_b = trial.variant.as_deref() == Some(ComparePlan::SIDES[1]);
            trial.case == case && is_b == (side == 1)
        };
        let trials: Vec<&Trial> = input.reported().filter(is_of).collect();
        let scope = if side == 1 { Scope::SideB { case } } else { Scope::Case(case) };
        if !trials.is_empty() {
            found.push(TrialGroup { name: input.side_label(case, side), scope, trials });
        }
    }
    found
}

/// Which group a trial is of.
pub fn of_trial(groups: &[TrialGroup<'_>], id: TrialId) -> Option<usize> {
    groups.iter().position(|group| group.trials.iter().any(|trial| trial.id == id))
}
