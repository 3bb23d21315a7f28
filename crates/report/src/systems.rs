//! The systems that were started in a run, each with the trials that it concerns.

use crate::input::{ReportInput, trial_name};
use crate::units;
use kdyno_model::run::TrialStart;
use std::collections::BTreeSet;

/// Most systems that are described.
const LISTED_MAX: usize = 24;

/// Trials on alike systems are described once, by the start of the first of them; and how many starts are left out.
/// Each start has ports and folders of its own, so among those of one case (of one side, where two are compared) the
/// first is described.
pub(crate) fn all<'a>(input: &ReportInput<'a>) -> (Vec<(String, &'a TrialStart)>, usize) {
    let mut groups: Vec<Vec<&TrialStart>> = Vec::new();
    for start in input.trials {
        let alike =
            |other: &TrialStart| other.cluster == start.cluster && other.command_lines == start.command_lines;
        match groups.iter_mut().find(|group| alike(group[0])) {
            Some(group) => group.push(start),
            None => groups.push(vec![start]),
        }
    }
    let concerns = |group: &[&TrialStart]| match groups.len() {
        1 => "all trials".to_owned(),
        _ => group.iter().map(|start| trial_name(&start.trial)).collect::<Vec<_>>().join("; "),
    };
    let mut cases = BTreeSet::new();
    let mut reported = Vec::new();
    for group in &groups {
        let of: Vec<_> =
            group.iter().map(|start| (start.trial.case, start.trial.variant.as_deref())).collect();
        let is_new = of.iter().any(|case| !cases.contains(case));
        cases.extend(of);
        if is_new && reported.len() < LISTED_MAX {
            reported.push((concerns(group), group[0]));
        }
    }
    let left_out = groups.len() - reported.len();
    (reported, left_out)
}

/// The sentence that so many starts are left out.
pub(crate) fn left_out(starts: usize) -> String {
    let (are, other) = if starts == 1 { ("is", "start") } else { ("are", "starts") };
    let starts = units::count(starts as f64);
    format!(
        "Not shown {are} {starts} further {other} of the same systems, with other ports and folders; the run file has them all."
    )
}
