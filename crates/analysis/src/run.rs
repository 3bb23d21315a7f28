//! What the trials of a run say together: of each case the median over its trials, the ratios of its rows, what a
//! comparison, claims and contrasts come to.
//!
//! Nothing that is compared spans two sessions: a case's figures come from the session with most of its trials, the
//! newest of several, a ratio is stated only of rows of one session, and a pair whose trials ran in two is lost.

pub use crate::analysed::AnalysedTrial;
use crate::cases::Case;
use crate::{claims, comparison, row_ratios};
use kdyno_model::finding::{Judgement, TrialOutcome};
use kdyno_model::plan::{Plan, Strategy};
use std::collections::BTreeMap;

/// Everything that a run's trials say, each with the number of its session: of each trial, and of all together.
pub fn all(plan: &Plan, outcomes: Vec<(TrialOutcome, u32)>) -> Judgement {
    let trials: Vec<AnalysedTrial<'_>> =
        outcomes.iter().map(|(outcome, session)| AnalysedTrial::of(outcome, *session)).collect();
    let mut all = judge(plan, &trials);
    for (outcome, _) in outcomes {
        all.findings.extend(outcome.findings);
        all.caveats.extend(outcome.caveats);
        all.conclusions.extend(outcome.conclusions);
    }
    all
}

/// Findings of every case that has a trial, in the order of the plan, then ratios; which rows each column tells apart,
/// then the verdicts of a comparison and the claims.
///
/// A case states each metric that one of its trials states, without a value where none of them has one. In a comparison
/// a case is its side A.
pub fn judge(plan: &Plan, trials: &[AnalysedTrial<'_>]) -> Judgement {
    let cases: BTreeMap<u32, Case<'_>> =
        (0u32..).zip(&plan.cases).filter_map(|(index, _)| Some((index, Case::of(index, trials)?))).collect();
    let (ratios, conclusions) = row_ratios::of(plan, &cases);
    let claims = claims::judge(plan, &cases);
    let found = cases.into_values().flat_map(|case| case.findings).chain(ratios).collect();
    let mut found = Judgement { findings: found, caveats: Vec::new(), conclusions };
    let compared = match &plan.strategy {
        Strategy::Compare(settings) => comparison::verdicts(plan, settings, trials),
        Strategy::List(_) | Strategy::Find(_) => Judgement::default(),
    };
    for further in [compared, claims] {
        found.findings.extend(further.findings);
        found.caveats.extend(further.caveats);
        found.conclusions.extend(further.conclusions);
    }
    found
}
