//! The figures shown for every trial, whatever the scenario: rates with their cost, latencies, outcomes.

use crate::figures::{Figures, trial_label};
use crate::input::TrialCaveat;
use crate::units;
use kdyno_model::finding::Caveat;
use kdyno_model::plan::{LoadPlan, Plan, Role, TrialRef};

/// One figure of a trial's stream.
#[derive(Debug, Clone, Copy)]
pub struct Shown {
    /// Head lines.
    pub head: [&'static str; 2],
    /// `None`: the stream itself; otherwise `brokers` or `workers`.
    pub subject: Option<&'static str>,
    /// Metric name.
    pub metric: &'static str,
}

const fn own(top: &'static str, bottom: &'static str, metric: &'static str) -> Shown {
    Shown { head: [top, bottom], subject: None, metric }
}

const fn of(subject: &'static str, top: &'static str, bottom: &'static str, metric: &'static str) -> Shown {
    Shown { head: [top, bottom], subject: Some(subject), metric }
}

/// A producer's rates, and beside them what they cost.
pub const PRODUCE_RATES: &[Shown] = &[
    own("", "offered", "offered_per_s"),
    own("", "achieved", "achieved_per_s"),
    own("", "acknowledged", "acked_per_s"),
    of("brokers", "broker CPU", "per record", "cpu_us_per_record"),
    of("workers", "worker CPU", "per record", "cpu_us_per_record"),
    own("records", "per batch", "records_per_batch"),
    own("bytes per", "request", "bytes_per_request"),
];

/// A producer's latencies.
pub const PRODUCE_LATENCIES: &[Shown] = &[
    own("response", "p50", "response.p50"),
    own("response", "p99", "response.p99"),
    own("response", "p99.9", "response.p99.9"),
    own("response", "p99.99", "response.p99.99"),
    own("response", "max", "response.max"),
    own("service", "p50", "service.p50"),
    own("service", "p99", "service.p99"),
    own("response", "÷ service", "response_over_service"),
];

/// What became of a producer's records.
pub const PRODUCE_OUTCOMES: &[Shown] = &[own("", "failed", "failed"), own("", "unresolved", "unresolved")];

/// A consumer's rates, and beside them what they cost.
pub const CONSUME_RATES: &[Shown] = &[
    own("", "fetched", "fetched_per_s"),
    own("", "fetched", "fetched_mib_per_s"),
    of("brokers", "broker CPU", "per record", "cpu_us_per_record"),
    of("workers", "worker CPU", "per record", "cpu_us_per_record"),
    own("records", "per batch", "records_per_batch"),
    own("bytes per", "request", "bytes_per_request"),
];

/// One stream of one trial.
#[derive(Debug, Clone)]
pub struct StreamRow<'a> {
    /// Which trial.
    pub trial: TrialRef,
    /// Its label.
    pub label: String,
    /// The load item's address.
    pub stream: &'a str,
    /// What it does.
    pub load: &'a LoadPlan,
}

impl StreamRow<'_> {
    /// Whether it sends.
    #[must_use]
    pub fn produces(&self) -> bool {
        matches!(self.load.role, Role::Produce(_))
    }

    /// Whether nobody answers it (`acks=0`), so that acknowledged means written to the socket.
    #[must_use]
    pub fn unanswered(&self) -> bool {
        matches!(&self.load.role, Role::Produce(produce) if produce.client.acks == 0)
    }

    /// One figure, printed.
    #[must_use]
    pub fn text(&self, figures: &Figures<'_>, shown: &Shown) -> String {
        figures.text(self.trial, shown.subject.unwrap_or(self.stream), shown.metric)
    }

    /// Failed records by reason, e.g. `MESSAGE_TOO_LARGE 12`; empty when none failed.
    #[must_use]
    pub fn failures(&self, caveats: &[TrialCaveat]) -> String {
        let reasons =
            caveats.iter().filter(|(trial, _, _)| *trial == self.trial).filter_map(|(_, _, caveat)| {
                match caveat {
                    Caveat::Failures { item, reason, records } if item == self.stream => {
                        Some(format!("{reason} {}", units::count(*records as f64)))
                    }
                    _ => None,
                }
            });
        reasons.collect::<Vec<_>>().join(", ")
    }
}

/// Every stream of every trial of which something was found out, by case and repeat.
#[must_use]
pub fn stream_rows<'a>(plan: &'a Plan, figures: &Figures<'_>) -> Vec<StreamRow<'a>> {
    let mut trials = plan.order.clone();
    trials.sort();
    let mut rows = Vec::new();
    for trial in trials.into_iter().filter(|trial| figures.has(*trial)) {
        let Some(case) = plan.cases.get(trial.case as usize) else { continue };
        for (stream, load) in &case.load {
            rows.push(StreamRow { trial, label: trial_label(plan, trial), stream, load });
        }
    }
    rows
}
