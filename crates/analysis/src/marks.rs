//! What has to be said beside a number: marks on findings, from caveats and from how many records there are.

use crate::caveats::load::RECORDS_BEYOND_MIN;
use crate::commands;
use crate::rows::Trial;
use kdyno_model::caveat::{Caveat, Concern, ScopedCaveat, Severity};
use kdyno_model::concern::timing;
use kdyno_model::finding::{Finding, Mark, Value};
use kdyno_model::metric::QUANTILES;
use kdyno_model::sample::Timing;

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

/// Marks the end-to-end latencies that must not be used since the latencies of who writes to the topic must not be.
pub(crate) fn invalid_behind(findings: &mut [Finding], caveats: &[ScopedCaveat], trial: &Trial<'_>) {
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
pub(crate) fn few_records(findings: &mut [Finding], trial: &Trial<'_>) {
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
