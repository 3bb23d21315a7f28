//! What the trials of a run say together: of each case the median over its trials, the ratios of its rows, what a
//! comparison, claims and contrasts come to.
//!
//! Nothing that is compared spans two sessions: a case's figures come from the session with most of its trials, the
//! newest of several, a ratio is stated only of rows of one session, and a pair whose trials ran in two is lost.

pub use crate::analysed::AnalysedTrial;
use crate::cases::CaseFigures;
use crate::{claims, comparison, demand, row_ratios, search};
use kdyno_model::conclusion::Conclusion;
use kdyno_model::finding::Finding;
use kdyno_model::outcome::{Judgement, TrialOutcome};
use kdyno_model::plan::{Plan, Strategy};
use kdyno_model::run::{Session, TrialStart};
use std::collections::BTreeMap;

/// Everything that a run's trials say: of each trial, and of all together. `starts`, `sessions` and `is_out_of_time` as
/// in [`judge`].
pub fn all(
    plan: &Plan,
    outcomes: Vec<TrialOutcome>,
    starts: &[TrialStart],
    sessions: &[Session],
    is_out_of_time: bool,
) -> Judgement {
    let trials: Vec<AnalysedTrial<'_>> = outcomes.iter().map(AnalysedTrial::of).collect();
    let mut all = judge(plan, &trials, starts, sessions, is_out_of_time);
    for outcome in outcomes {
        let TrialOutcome { findings, caveats, conclusions, .. } = outcome;
        all.extend(Judgement { findings, caveats, conclusions });
    }
    all
}

/// What side B of each compared case comes to, as a case states its side A; nothing outside of comparisons.
pub fn side_b(plan: &Plan, trials: &[AnalysedTrial<'_>]) -> Vec<Finding> {
    let sides = plan.case_numbers().filter_map(|case| CaseFigures::of_side_b(case, trials));
    sides.flat_map(|side| side.findings).collect()
}

/// Findings of every case that has a trial, in the order of the plan, then those of each side B, then ratios; which rows
/// differ in each column, what records take of each resource, then the verdicts of a comparison and the claims.
///
/// A case states each metric that one of its trials states, without a value where none of them has one. In a comparison
/// a case is its side A ([`side_b`] states the other), in a search the trials that represent the load that was found.
/// `starts` are what was known when these trials began: the settings that were in force, and when that was. `sessions` are
/// those of the run, with their hosts.
pub fn judge(
    plan: &Plan,
    trials: &[AnalysedTrial<'_>],
    starts: &[TrialStart],
    sessions: &[Session],
    is_out_of_time: bool,
) -> Judgement {
    let answer = match &plan.strategy {
        Strategy::List(_) => Judgement::default(),
        Strategy::Compare(settings) => {
            let mut found = match is_out_of_time {
                true => comparison::verdicts_out_of_time(plan, settings, trials),
                false => comparison::verdicts(plan, settings, trials),
            };
            found.extend(comparison::settings(plan, settings, starts));
            found.extend(comparison::hosts(plan, settings, trials, sessions));
            comparison::void(&mut found);
            comparison::time_units(settings, starts, &mut found);
            found
        }
        Strategy::Find(find) => search::result(plan, find, trials),
    };
    let in_table: Vec<AnalysedTrial<'_>> =
        trials.iter().filter(|of| search::is_in_table(&answer.conclusions, of.trial)).copied().collect();
    let cases: BTreeMap<u32, CaseFigures<'_>> = (0u32..)
        .zip(&plan.cases)
        .filter_map(|(index, _)| Some((index, CaseFigures::of(index, &in_table)?)))
        .collect();
    let (ratios, mut conclusions) = row_ratios::of(plan, &cases);
    conclusions.extend(demand::of(plan, trials).into_iter().map(Conclusion::Demand));
    let claims = claims::judge(plan, &cases);
    let of_cases = cases.into_values().flat_map(|case| case.findings);
    let findings = of_cases.chain(side_b(plan, trials)).chain(ratios).collect();
    let mut found = Judgement { findings, caveats: Vec::new(), conclusions };
    found.extend(answer);
    found.extend(claims);
    found
}
