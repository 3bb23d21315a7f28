//! Which metrics a comparison speaks of and how important each is, which direction of each is better, and what change of it matters.

use crate::analysed::AnalysedTrial;
use kdyno_model::conclusion::MetricRole;
use kdyno_model::finding::Finding;
use kdyno_model::imported;
use kdyno_model::metric::{self, Address, QUANTILES, Unit};
use kdyno_model::plan::{Better, ComparePlan, Judge, Plan};
use kdyno_model::sample::Timing;
use std::collections::BTreeSet;

/// What a record costs is reported before how fast it went.
const EFFICIENCY: [(&str, &str); 2] = [("brokers", "cpu_us_per_record"), ("workers", "cpu_us_per_record")];

/// Beginnings of names of metrics where more is better; for everything else less is.
const MORE_IS_BETTER: [&str; 16] = [
    "acked_",
    "achieved_",
    "fetched_",
    "offered_",
    "records_per_s",
    "records_per_batch",
    "bytes_per_request",
    "compression_ratio",
    "committed",
    "caught_up_per_s",
    "target_reached",
    "requests",
    "told_mib_per_s",
    "transactions_per_s",
    "succeeded",
    "quietest_partition_share",
];

/// Share of false ones among the metrics that were not named beforehand and are called different, on average.
pub(super) const FALSE_SHARE: f64 = 0.10;

/// The smallest change of a latency that matters when nothing else was said.
const LATENCY_MARGIN: f64 = 0.10;
/// Metrics of rates, CPU time and the rest.
const MARGIN: f64 = 0.03;

/// Which direction of a metric is better by default.
pub fn better(of: &Address) -> Better {
    let more = MORE_IS_BETTER.iter().any(|beginning| of.metric.starts_with(beginning));
    if more { Better::Higher } else { Better::Lower }
}

/// The default of the smallest change that matters, as a share: 10 % of latencies, 3 % of anything else.
pub fn margin(unit: Unit) -> f64 {
    if unit == Unit::Ns { LATENCY_MARGIN } else { MARGIN }
}

fn efficiency() -> [Address; 2] {
    EFFICIENCY.map(|(subject, metric)| Address { subject: subject.to_owned(), metric: metric.to_owned() })
}

/// Every metric in which stored runs are compared: CPU time per record, then the columns of the table; and by
/// themselves the series that were imported into any of them.
pub(super) fn compared_runs<'a>(
    plan: &Plan,
    findings: impl Iterator<Item = &'a Finding>,
) -> [(MetricRole, Vec<Address>); 2] {
    let columns = outcomes_shown(plan).filter(|of| !efficiency().contains(of)).cloned();
    let own = efficiency().into_iter().chain(columns).collect();
    [(MetricRole::Exploratory, own), (MetricRole::Imported, imported_of(findings).into_iter().collect())]
}

/// The columns of the table, as far as one side can be better in them.
fn outcomes_shown(plan: &Plan) -> impl Iterator<Item = &Address> {
    plan.show.columns.iter().filter(|of| metric::is_outcome(&of.metric))
}

/// The series that were imported, by name.
fn imported_of<'a>(findings: impl Iterator<Item = &'a Finding>) -> BTreeSet<Address> {
    findings.map(|finding| &finding.of).filter(|of| imported::is_of(of)).cloned().collect()
}

/// Timings whose quantiles say by how much a whole distribution is shifted.
const SHIFTED: [Timing; 2] = [Timing::Response, Timing::EndToEnd];

/// Whether it is a quantile of such a timing.
pub(super) fn is_of_shift(of: &Address) -> bool {
    let Some((timing, statistic)) = of.metric.split_once('.') else { return false };
    let is_quantile = QUANTILES.iter().any(|(name, _)| *name == statistic);
    is_quantile && timing.parse::<Timing>().is_ok_and(|timing| SHIFTED.contains(&timing))
}

/// A metric that is compared.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ComparedMetric {
    pub(super) of: Address,
    /// As the plan wants it judged; `None`: it was not named beforehand.
    pub(super) judge: Option<Judge>,
}

impl ComparedMetric {
    pub(super) fn role(&self) -> MetricRole {
        match &self.judge {
            Some(_) => MetricRole::Judged,
            None if imported::is_of(&self.of) => MetricRole::Imported,
            None => MetricRole::Exploratory,
        }
    }
}

/// Every metric that is compared: CPU time per record, those to be judged, the other columns of the table, and
/// what was imported into the trials.
pub(super) fn compared(
    plan: &Plan,
    settings: &ComparePlan,
    trials: &[AnalysedTrial<'_>],
) -> Vec<ComparedMetric> {
    let efficiency = efficiency();
    let judged = settings.judge.iter().map(|judge| judge.of.clone());
    let mut found: Vec<ComparedMetric> = Vec::new();
    let imported = imported_of(trials.iter().flat_map(|trial| trial.findings));
    for of in efficiency.into_iter().chain(judged).chain(outcomes_shown(plan).cloned()).chain(imported) {
        if !found.iter().any(|known| known.of == of) {
            let judge = settings.judge.iter().find(|judge| judge.of == of).cloned();
            found.push(ComparedMetric { of, judge });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use kdyno_model::metric::{SubjectKind, all};

    #[test]
    fn more_of_every_rate_of_what_is_loaded_is_better() {
        use SubjectKind::{Command, Consume, Database, Label, Produce};
        let of_items = [Produce, Consume, Command, Label, Database];
        let rates = all()
            .filter(|known| known.unit.is_rate() && known.kinds.iter().any(|kind| of_items.contains(kind)));
        let less_is: Vec<&str> = rates
            .map(|known| known.name)
            .filter(|name| {
                let of = Address { subject: "item".to_owned(), metric: (*name).to_owned() };
                better(&of) == Better::Lower
            })
            .collect();
        assert!(less_is.is_empty(), "{less_is:?}");
        let requests = Address { subject: "users".to_owned(), metric: "requests".to_owned() };
        assert_eq!(better(&requests), Better::Higher);
    }
}
