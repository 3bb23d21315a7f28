//! A trial's evidence with all that is made of its rows before anything is stated.

use crate::end_to_end;
use crate::error::AnalysisError;
use crate::evidence::{self, NS_PER_S, Window};
use crate::histogram::LatencyDistribution;
use crate::latencies::measured_latencies;
use crate::tally::ItemTally;
use kdyno_model::event::Subject;
use kdyno_model::evidence::TrialEvidence;
use kdyno_model::finding::Scope;
use kdyno_model::metric;
use kdyno_model::plan::LoadPlan;
use kdyno_model::sample::{NoiseReading, ProbeReading, Timing};
use std::collections::BTreeMap;

/// A trial's evidence with all that was made of its rows.
pub(crate) struct TrialRows<'a> {
    pub(crate) evidence: &'a TrialEvidence,
    pub(crate) window: Option<Window>,
    pub(crate) items: Vec<ItemRows<'a>>,
}

/// A load item with all that was made of its rows.
pub(crate) struct ItemRows<'a> {
    pub(crate) name: &'a str,
    pub(crate) plan: &'a LoadPlan,
    /// The seconds of the window in which its clients were at work.
    pub(crate) window: Option<Window>,
    pub(crate) tally: ItemTally,
    /// By timing, of those that its role has.
    pub(crate) latencies: BTreeMap<Timing, LatencyDistribution>,
    /// Records of the measure phase that were acknowledged on its topic and never handed over to it, where that is known.
    pub(crate) censored: Option<u64>,
}

impl ItemRows<'_> {
    /// Time for which brokers held back answers in the window, divided by the time of its clients.
    pub(crate) fn throttled_share(&self, window: Window) -> f64 {
        let clients_ns = window.seconds() * NS_PER_S as f64 * f64::from(self.plan.clients.max(1));
        self.tally.windowed.throttled_ns as f64 / clients_ns
    }
}

impl<'a> TrialRows<'a> {
    pub(crate) fn new(evidence: &'a TrialEvidence) -> Result<Self, AnalysisError> {
        let window = evidence::window(evidence);
        let item = |(name, plan): (&'a str, &'a LoadPlan)| {
            let window = window.and_then(|window| window.of_item(evidence, plan));
            let tally = ItemTally::of(evidence, name, window);
            let mut latencies = BTreeMap::new();
            for timing in metric::timings(plan.role.kind().subject()) {
                latencies.insert(*timing, measured_latencies(evidence, name, *timing)?);
            }
            let censored =
                end_to_end::censored(evidence, name).filter(|_| end_to_end::is_reported(evidence, name));
            let censored =
                censored.map(|by_second| by_second.values().fold(0, |a: u64, b| a.saturating_add(*b)));
            Ok(ItemRows { name, plan, window, tally, latencies, censored })
        };
        let items = evidence::items(evidence).map(item).collect::<Result<_, AnalysisError>>()?;
        Ok(Self { evidence, window, items })
    }

    /// How late a bare sleep was at a quantile on this host before the trial, in its quiet rounds, ns; `None`: none was tried.
    /// Its median and its p99 are kept; between them it is taken to be late as waits that end by chance are, and beyond p99, which a
    /// second of sleeps does not show, as at p99.
    pub(crate) fn sleep_late_ns(&self, quantile: f64) -> Option<f64> {
        let rank = |quantile: f64| -(1.0 - quantile).ln();
        let share = ((rank(quantile.min(0.99)) - rank(0.5)) / (rank(0.99) - rank(0.5))).max(0.0);
        let of = |noise: &NoiseReading| {
            let (p50, p99) = (noise.sleep_late_ns_p50 as f64, noise.sleep_late_ns_p99 as f64);
            p50 + share * (p99 - p50)
        };
        self.evidence.noise.iter().map(of).reduce(f64::max)
    }

    /// What its findings and caveats speak of.
    pub(crate) fn scope(&self) -> Scope {
        Scope::Trial(self.evidence.start.trial.id)
    }

    /// The workers that carried the load, whether they were probed or not.
    pub(crate) fn workers(&self) -> Vec<Subject> {
        let workers = &self.evidence.start.trial.effective.workers;
        workers.iter().map(|plan| Subject::Worker(plan.worker)).collect()
    }

    /// Workers that use the CPUs of the lab's host.
    pub(crate) fn workers_here(&self) -> Vec<Subject> {
        self.workers().into_iter().filter(|worker| self.is_here(worker)).collect()
    }

    /// Whether a subject is no worker of another host.
    pub(crate) fn is_here(&self, subject: &Subject) -> bool {
        !matches!(subject, Subject::Worker(worker) if self.evidence.start.is_elsewhere(*worker))
    }

    /// Readings of processes and host.
    pub(crate) fn probes(&self) -> &'a [ProbeReading] {
        &self.evidence.probes
    }
}
