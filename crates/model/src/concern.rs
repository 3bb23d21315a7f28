//! A caveat at its place: which metrics it speaks of.

use crate::caveat::{Caveat, Degree, Question};
use crate::command_metrics::{EXIT_CODE, SUCCEEDED};
use crate::finding::Scope;
use crate::metric::{self, Address, QUANTILES, SubjectKind};
use crate::sample::Timing;
use crate::severity::Severity;
use serde::{Deserialize, Serialize};

/// A caveat with what it concerns and what it does to its figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScopedCaveat {
    /// What it concerns.
    pub scope: Scope,
    /// Whether the figures may be used.
    pub severity: Severity,
    /// Which figures of the scope it speaks of.
    pub concerns: Concern,
    /// The caveat.
    pub caveat: Caveat,
}

/// Which figures of its scope a caveat speaks of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Concern {
    /// All of them.
    Everything,
    /// The latencies of a load item; its rates remain valid.
    Latencies {
        /// Load item.
        item: String,
    },
    /// The rates of a load item, and the cost of written data, which rests on them; latencies and CPU time remain
    /// valid.
    Rates {
        /// Load item.
        item: String,
    },
    /// What a command measured: all of its figures but how it ended.
    Command {
        /// Load item.
        item: String,
        /// Its labels, whose figures are of the same command.
        labels: Vec<String>,
    },
    /// One quantile, and those above it, of a load item's response time, or of its end-to-end latency.
    LatenciesFrom {
        /// Load item.
        item: String,
        /// Name of the quantile, e.g. `p99.9`.
        quantile: String,
    },
    /// One quantile, and those above it, of a load item's service, request and *without generator*.
    ServiceFrom {
        /// Load item.
        item: String,
        /// Name of the quantile, e.g. `p99`.
        quantile: String,
    },
    /// The mean of a load item's response time, and what that is of its mean service time.
    Mean {
        /// Load item.
        item: String,
    },
}

impl Concern {
    /// Whether a metric is one of those that a caveat speaks of.
    pub fn covers(&self, of: &Address) -> bool {
        let is_of = |item: &str| of.subject == item;
        match self {
            Self::Everything => true,
            Self::Latencies { item } => is_of(item) && is_latency(&of.metric),
            Self::Command { item, labels } => {
                let is_how_it_ended = matches!(of.metric.as_str(), SUCCEEDED | EXIT_CODE);
                labels.contains(&of.subject) || is_of(item) && !is_how_it_ended
            }
            Self::Rates { item } => (is_of(item) && is_rate(&of.metric)) || metric::is_cost(&of.metric),
            Self::Mean { item } => {
                is_of(item) && matches!(of.metric.as_str(), "response.mean" | "response_over_service")
            }
            Self::ServiceFrom { item, quantile } => {
                let is_one =
                    |timing| matches!(timing, Timing::Service | Timing::Request | Timing::WithoutGenerator);
                let is_meant = || timing(&of.metric).is_some_and(|(timing, _)| is_one(timing));
                is_of(item) && is_meant() && is_from(&of.metric, quantile)
            }
            Self::LatenciesFrom { item, quantile } => {
                // For an item that sends they start at the same instants, and so do those of what it sent.
                let begins =
                    |timing| matches!(timing, Timing::Response | Timing::EndToEnd | Timing::UntilFetched);
                let is_meant = || timing(&of.metric).is_some_and(|(timing, _)| begins(timing));
                is_of(item) && is_meant() && is_from(&of.metric, quantile)
            }
        }
    }
}

impl ScopedCaveat {
    /// A caveat of all figures of its scope, as heavy as its row says; `None`: it is not reported where that is the
    /// question.
    pub fn new(scope: Scope, question: Question, degree: Degree, caveat: Caveat) -> Option<Self> {
        let severity = caveat.row().weight(degree, question)?;
        Some(Self { scope, severity, concerns: Concern::Everything, caveat })
    }

    /// A caveat of all figures of a comparison.
    pub fn compared(scope: Scope, degree: Degree, caveat: Caveat) -> Option<Self> {
        Self::new(scope, Question::Compare, degree, caveat)
    }

    /// Whether it speaks of a metric of its scope: where too few records lie beyond a quantile, of that and those above it
    /// of any timing.
    pub fn speaks_of(&self, of: &Address) -> bool {
        match &self.caveat {
            Caveat::FewRecords { item, quantile, .. } => of.subject == *item && is_from(&of.metric, quantile),
            _ => self.concerns.covers(of),
        }
    }

    /// Whether it speaks of some metrics alone.
    pub fn is_of_some(&self) -> bool {
        self.concerns != Concern::Everything || matches!(self.caveat, Caveat::FewRecords { .. })
    }
}

/// The timing and the statistic of a latency: `response` and `p99`.
pub fn timing(metric: &str) -> Option<(Timing, &str)> {
    let (timing, statistic) = metric.split_once('.')?;
    Some((timing.parse().ok()?, statistic))
}

/// Which share of the records lies below a statistic: 0.99 of `p99`, 1 of `max`; `None`: it is no quantile.
pub fn rank(statistic: &str) -> Option<f64> {
    match statistic {
        "max" => Some(1.0),
        _ => QUANTILES.iter().find(|(known, _)| *known == statistic).map(|(_, quantile)| *quantile),
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

/// Whether a metric is a timing at a quantile or at a higher one; the largest is the highest.
fn is_from(metric: &str, from: &str) -> bool {
    let own = timing(metric).and_then(|(_, statistic)| rank(statistic));
    own.zip(rank(from)).is_some_and(|(own, from)| own >= from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::caveat::Severity;
    use crate::finding::Scope;

    fn of(name: &str) -> Address {
        Address::parse(name).expect("an address")
    }

    #[test]
    fn of_a_command_that_failed_all_is_concerned_but_how_it_ended() {
        let failed = Concern::Command { item: "jmeter".to_owned(), labels: vec!["check-out".to_owned()] };
        let covered =
            ["jmeter.duration", "jmeter.response.p95", "check-out.response.p95", "check-out.requests"];
        assert!(covered.iter().all(|name| failed.covers(&of(name))));
        let others = ["jmeter.exit_code", "jmeter.succeeded", "check-in.response.p95", "brokers.cpu_percent"];
        assert!(!others.iter().any(|name| failed.covers(&of(name))));
    }

    #[test]
    fn a_concern_covers_its_own_metrics_alone() {
        let item = || "writers".to_owned();
        let from = Concern::LatenciesFrom { item: item(), quantile: "p99".to_owned() };
        for (name, from_p99, mean, rates, latencies) in [
            ("writers.response.p50", false, false, false, true),
            ("writers.response.p99", true, false, false, true),
            ("writers.response.max", true, false, false, true),
            ("writers.service.p99.9", false, false, false, true),
            ("writers.response.mean", false, true, false, true),
            ("writers.response_over_service", false, true, false, true),
            ("writers.acked_per_s", false, false, true, false),
            ("readers.response.p99", false, false, false, false),
            ("brokers.cost_per_gb", false, false, true, false),
            ("brokers.cpu_us_per_record", false, false, false, false),
        ] {
            let concerns = [
                &from,
                &Concern::Mean { item: item() },
                &Concern::Rates { item: item() },
                &Concern::Latencies { item: item() },
            ];
            let covered = concerns.map(|one| one.covers(&of(name)));
            assert_eq!(covered, [from_p99, mean, rates, latencies], "{name}");
            assert!(Concern::Everything.covers(&of(name)));
        }
    }

    #[test]
    fn too_few_records_speak_of_that_quantile_of_any_timing() {
        let item = "writers".to_owned();
        let caveat = ScopedCaveat {
            scope: Scope::Run,
            severity: Severity::Note,
            concerns: Concern::Everything,
            caveat: Caveat::FewRecords { item, quantile: "p99".to_owned(), beyond: 7 },
        };
        let spoken_of =
            ["writers.service.p99", "writers.response.p99.9", "writers.response.p50", "brokers.cpu_percent"]
                .map(|name| caveat.speaks_of(&of(name)));
        assert_eq!(spoken_of, [true, true, false, false]);
        assert!(caveat.is_of_some());
        let other = ScopedCaveat { caveat: Caveat::MemoryStorage, ..caveat };
        assert!(other.speaks_of(&of("brokers.cpu_percent")) && !other.is_of_some());
    }
}
