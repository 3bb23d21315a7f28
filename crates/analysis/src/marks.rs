//! The marks of a number: marks on findings, from caveats and from how many records there are.

use crate::analysed::bound_by_queue;
use crate::caveats::load::RECORDS_BEYOND_MIN;
use crate::commands;
use crate::rows::TrialRows;
use kdyno_model::caveat::{Caveat, Concern, ScopedCaveat, Severity};
use kdyno_model::concern::timing;
use kdyno_model::finding::{Finding, Mark, Scope, Value};
use kdyno_model::metric::QUANTILES;
use kdyno_model::sample::Timing;
use std::collections::BTreeMap;

/// Marks the findings that must not be used by the caveats that say so. Only those of the caveat's own scope are
/// touched.
pub fn invalid(findings: &mut [Finding], caveats: &[ScopedCaveat]) {
    for caveat in caveats.iter().filter(|caveat| caveat.severity == Severity::Invalid) {
        for finding in findings.iter_mut().filter(|finding| finding.scope == caveat.scope) {
            if caveat.concerns.covers(&finding.of) {
                finding.marks.insert(Mark::Invalid);
            }
        }
    }
}

/// States the figures of trials as reports show them, as a case states those of its trials: "at least" where the load queued
/// and nothing else speaks against a figure. `caveats` are those of the same trials.
///
/// A run file keeps what was measured, for a comparison and a search judge that; so this follows whenever findings leave
/// analysis for a report, and files from before it was stated here read the same.
pub fn at_least(findings: &mut [Finding], caveats: &[ScopedCaveat]) {
    let mut invalid: BTreeMap<Scope, Vec<&ScopedCaveat>> = BTreeMap::new();
    for caveat in caveats.iter().filter(|caveat| caveat.severity == Severity::Invalid) {
        invalid.entry(caveat.scope).or_default().push(caveat);
    }
    let is_of_trial = |one: &&mut Finding| matches!(one.scope, Scope::Trial(_)) && one.is_invalid();
    for finding in findings.iter_mut().filter(is_of_trial) {
        let of_scope = invalid.get(&finding.scope).into_iter().flatten();
        let causes =
            of_scope.filter(|caveat| caveat.concerns.covers(&finding.of)).map(|caveat| &caveat.caveat);
        finding.estimate = bound_by_queue(finding.estimate, causes).unwrap_or(finding.estimate);
    }
}

/// Marks the end-to-end latencies that must not be used since the latencies of who writes to the topic must not be.
pub(crate) fn invalid_behind(findings: &mut [Finding], caveats: &[ScopedCaveat], trial: &TrialRows<'_>) {
    let of_item = |caveat: &ScopedCaveat| match &caveat.concerns {
        Concern::Latencies { item } if caveat.severity == Severity::Invalid => {
            trial.items.iter().find(|own| own.name == item.as_str()).map(|own| own.plan.topic.as_str())
        }
        _ => None,
    };
    let topics: Vec<&str> = caveats.iter().filter_map(of_item).collect();
    for item in trial.items.iter().filter(|item| topics.contains(&item.plan.topic.as_str())) {
        for finding in findings.iter_mut().filter(|finding| finding.of.subject == item.name) {
            if timing(&finding.of.metric).is_some_and(|(timing, _)| Timing::OF_HANDED.contains(&timing)) {
                finding.marks.insert(Mark::Invalid);
            }
        }
    }
}

/// Marks the quantiles that hold what the load generator sent at once after it had stood still.
pub(crate) fn backlog(findings: &mut [Finding], caveats: &[ScopedCaveat]) {
    for caveat in caveats.iter().filter(|caveat| matches!(caveat.caveat, Caveat::StoodStill(_))) {
        for finding in findings.iter_mut().filter(|finding| caveat.concerns.covers(&finding.of)) {
            finding.marks.insert(Mark::Backlog);
        }
    }
}

/// Marks the quantiles of a trial that fewer than [`RECORDS_BEYOND_MIN`] records lie beyond.
pub(crate) fn few_records(findings: &mut [Finding], trial: &TrialRows<'_>) {
    for finding in findings.iter_mut().filter(|finding| finding.estimate != Value::None) {
        let Some((timing, statistic)) = timing(&finding.of.metric) else { continue };
        let Some((_, quantile)) = QUANTILES.iter().find(|(name, _)| *name == statistic) else { continue };
        let beyond = match trial.items.iter().find(|item| item.name == finding.of.subject) {
            Some(item) => item.latencies.get(&timing).map(|times| times.beyond(*quantile)),
            None => commands::responses(trial.evidence, &finding.of.subject)
                .map(|requests| commands::beyond(requests, *quantile)),
        };
        if beyond.is_some_and(|beyond| beyond < RECORDS_BEYOND_MIN) {
            finding.marks.insert(Mark::FewRecords);
        }
    }
}
