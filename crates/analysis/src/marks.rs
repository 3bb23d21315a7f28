//! What has to be said beside a number: marks on findings, from caveats and from how many records there are.

use crate::caveats::load::RECORDS_BEYOND_MIN;
use crate::rows::Trial;
use kdyno_model::caveat::{Concern, ScopedCaveat, Severity};
use kdyno_model::finding::{Finding, Mark, Value};
use kdyno_model::metric::{self, Address, QUANTILES, SubjectKind};
use kdyno_model::sample::Timing;

/// Marks the findings that must not be used by the caveats that say so. Only those of the caveat's own scope are
/// touched.
pub fn invalid(findings: &mut [Finding], caveats: &[ScopedCaveat]) {
    for caveat in caveats.iter().filter(|caveat| caveat.severity == Severity::Invalid) {
        for finding in findings.iter_mut().filter(|finding| finding.scope == caveat.scope) {
            if is_concerned(&caveat.concerns, &finding.of) {
                finding.marks.insert(Mark::Invalid);
            }
        }
    }
}

/// Whether a caveat speaks of a metric.
pub fn is_concerned(concerns: &Concern, of: &Address) -> bool {
    match concerns {
        Concern::Everything => true,
        Concern::Latencies { item } => of.subject == *item && is_latency(&of.metric),
        Concern::Rates { item } => {
            (of.subject == *item && is_rate(&of.metric)) || of.metric == metric::COST_PER_GB
        }
        Concern::Mean { item } => {
            of.subject == *item && matches!(of.metric.as_str(), "response.mean" | "response_over_service")
        }
        Concern::LatenciesFrom { item, quantile } => of.subject == *item && is_from(&of.metric, quantile),
    }
}

/// Whether a metric of a load item is made of times of records.
fn is_latency(metric: &str) -> bool {
    timing(metric).is_some() || metric == "response_over_service"
}

/// Whether a metric of a load item that produces is a rate.
fn is_rate(name: &str) -> bool {
    metric::find(SubjectKind::Produce, name).is_some_and(|known| known.unit.is_rate())
}

/// The timing and the statistic of a latency.
fn timing(metric: &str) -> Option<(Timing, &str)> {
    let (timing, statistic) = metric.split_once('.')?;
    Some((timing.parse().ok()?, statistic))
}

/// Whether a metric is the response at a quantile or at a higher one; the largest is the highest.
fn is_from(metric: &str, from: &str) -> bool {
    let rank = |name: &str| match name {
        "max" => Some(1.0),
        _ => QUANTILES.iter().find(|(known, _)| *known == name).map(|(_, quantile)| *quantile),
    };
    let statistic = timing(metric).filter(|(timing, _)| *timing == Timing::Response);
    let own = statistic.and_then(|(_, statistic)| rank(statistic));
    own.zip(rank(from)).is_some_and(|(own, from)| own >= from)
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
