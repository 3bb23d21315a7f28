//! What has to be said beside a number: marks on findings, from caveats and from how many records there are.

use crate::caveats::load::RECORDS_BEYOND_MIN;
use crate::rows::Trial;
use kdyno_model::caveat::{ScopedCaveat, Severity};
use kdyno_model::concern::timing;
use kdyno_model::finding::{Finding, Mark, Value};
use kdyno_model::metric::QUANTILES;

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

/// Marks the quantiles of a trial that fewer than [`RECORDS_BEYOND_MIN`] records lie beyond.
pub(crate) fn few_records(findings: &mut [Finding], trial: &Trial<'_>) {
    for finding in findings.iter_mut().filter(|finding| finding.estimate != Value::None) {
        let item = trial.items.iter().find(|item| item.name == finding.of.subject);
        let times = timing(&finding.of.metric)
            .and_then(|(timing, statistic)| Some((item?.latencies.get(&timing)?, statistic)));
        let Some((times, statistic)) = times else { continue };
        let quantile = QUANTILES.iter().find(|(name, _)| *name == statistic);
        if quantile.is_some_and(|(_, quantile)| times.beyond(*quantile) < RECORDS_BEYOND_MIN) {
            finding.marks.insert(Mark::FewRecords);
        }
    }
}
