//! What a run says while it goes on and at its end: the tool's lines on standard output, all else on standard error.

use super::scenario::ITEM;
use crate::commands::drop_in_driver::DropInClient;
use crate::execution::{PlannedExecution, tell};
use crate::failure::Failure;
use crate::out;
use kdyno_analysis::latencies::measured_latencies;
use kdyno_analysis::live::RECENT_S;
use kdyno_analysis::tool_lines::{self, Acknowledged, Whole};
use kdyno_lab::RunProgress;
use kdyno_model::evidence::TrialEvidence;
use kdyno_model::finding::Value;
use kdyno_model::outcome::TrialOutcome;
use kdyno_model::plan::{Plan, Role};
use kdyno_model::sample::Timing;
use kdyno_model::units::count;
use kdyno_perf_test::producer::{
    LineTotals, ProducerOptions, QuantileLatencies, WindowSecond, Windows, total,
};
use kdyno_report::terminal::trial_warnings;
use std::collections::BTreeMap;

/// The lines of a run.
pub(super) struct ProducerOutput<'a> {
    carrier: &'a DropInClient,
    windows: Windows,
    /// The first second that no window has yet.
    next_second: u32,
    print_metrics: bool,
    /// How many records were requested.
    records: u64,
    /// Whether the steady state has a total of its own.
    has_warmup: bool,
    /// What the client counted of itself, where it is Kafka's.
    metrics: Option<String>,
    outcome: Option<Box<TrialOutcome>>,
    /// What went wrong with standard output, reported when the run is over.
    failure: Option<Failure>,
}

/// What the plan makes of what was typed and its author may not expect.
pub(super) fn remarks(options: &ProducerOptions, planned: &PlannedExecution, carrier: &DropInClient) {
    tell(&planned.remarks);
    if !carrier.is_java() && options.properties.iter().any(|(name, _)| name == "max.block.ms") {
        out::note(
            "`max.block.ms` is not taken: a record that comes due while the buffer is full waits for room",
        );
    }
    if options.transactional_id.is_some() {
        out::note("the transactional id is made of the run, the item and the client's number");
    }
    if options.throughput.is_none() {
        out::note(
            "without a throttle latencies show how full the client's buffer was: records are passed on ready made here, \
             while Kafka's tool makes each before it sends it and so has fewer of them waiting",
        );
    }
    if has_header(&planned.plan) {
        out::note(&format!(
            "each record has a header of {HEADER_BYTES} bytes that Kafka's tool does not send: kdyno's own data find no room \
             in its value"
        ));
    }
}

/// What kdyno's own header adds to a record.
const HEADER_BYTES: u32 = 39;

/// Whether records have it.
fn has_header(plan: &Plan) -> bool {
    let roles = plan.cases.iter().flat_map(|case| case.load.values()).map(|item| &item.role);
    roles
        .filter_map(Role::as_produce)
        .any(|produce| produce.records.bytes_around_value(produce.value_bytes) > 0)
}

impl<'a> ProducerOutput<'a> {
    pub(super) fn new(options: &ProducerOptions, carrier: &'a DropInClient) -> Self {
        Self {
            carrier,
            windows: Windows::new(options.interval_ms, options.warmup_records),
            next_second: 0,
            print_metrics: options.print_metrics,
            records: options.records,
            has_warmup: options.warmup_records > 0,
            metrics: None,
            outcome: None,
            failure: None,
        }
    }

    /// Takes one piece of news.
    pub(super) fn tell(&mut self, progress: RunProgress) {
        match progress {
            RunProgress::Warning(what) => out::note(&format!("warning: {what}")),
            RunProgress::Step(step) => out::note(&step),
            RunProgress::Live(live) => {
                // Older rows are not among the newest; then the end of the run has them.
                let is_gapless = live.complete_until <= self.next_second + RECENT_S;
                if is_gapless && let Err(failure) = self.seconds(&live.recent, live.complete_until) {
                    self.failure.get_or_insert(failure);
                }
            }
            RunProgress::ClientMetrics(text) => self.metrics = Some(text),
            RunProgress::TrialEnded(outcome, _) => self.outcome = Some(outcome),
            RunProgress::TrialStarted { .. } | RunProgress::LiveOfPair(_) => {}
        }
    }

    /// Prints the lines of progress of the seconds before this one.
    fn seconds(&mut self, evidence: &TrialEvidence, until: u32) -> Result<(), Failure> {
        let seconds = tool_lines::seconds(evidence).map_err(Failure::tool)?;
        self.lines(&seconds, until)
    }

    fn lines(&mut self, seconds: &BTreeMap<u32, Acknowledged>, until: u32) -> Result<(), Failure> {
        for second in self.next_second..until {
            let acknowledged = seconds.get(&second).copied().unwrap_or_default();
            let second =
                WindowSecond { acknowledged: figures(&acknowledged, 0), accepted: acknowledged.accepted };
            self.windows.add(&second).iter().try_for_each(|text| out::line(text))?;
        }
        self.next_second = self.next_second.max(until);
        Ok(())
    }

    /// Prints what is left of the progress, the totals, and metrics where they are wanted.
    pub(super) fn totals(&mut self, evidence: &TrialEvidence) -> Result<(), Failure> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        let seconds = tool_lines::seconds(evidence).map_err(Failure::tool)?;
        // The last second is not a whole one, and its window is not printed, as the tool prints none that is not full.
        let last = seconds.keys().next_back().copied().unwrap_or(0);
        self.lines(&seconds, last)?;
        let whole = tool_lines::whole(evidence, &QuantileLatencies::SHARES, QuantileLatencies::rank)
            .map_err(Failure::tool)?;
        out::line(&total_of(&whole, false))?;
        let steady = tool_lines::steady(evidence, &QuantileLatencies::SHARES, QuantileLatencies::rank)
            .map_err(Failure::tool)?;
        steady.map_or(Ok(()), |steady| out::line(&total_of(&steady, true)))?;
        if self.print_metrics { self.carrier.print_metrics(self.metrics.as_deref()) } else { Ok(()) }
    }

    /// Prints the outcome of an interrupted run; the tool says nothing then.
    pub(super) fn interrupted(&self, evidence: &TrialEvidence) -> Result<(), Failure> {
        if evidence.totals.is_empty() {
            return Ok(());
        }
        let acknowledged: u64 = evidence.totals.iter().map(|totals| totals.counts.acknowledged).sum();
        out::note(&format!(
            "{} of {} records were acknowledged until it was interrupted",
            count(acknowledged as f64),
            count(self.records as f64)
        ));
        self.corrected(evidence)
    }

    /// Prints what the totals leave out: latencies from the scheduled send times, and what became of all other records.
    pub(super) fn corrected(&self, evidence: &TrialEvidence) -> Result<(), Failure> {
        let response = measured_latencies(evidence, ITEM, Timing::Response).map_err(Failure::tool)?;
        let at = |quantile: f64| match response.quantile(quantile) {
            Value::Is(ns) => format!("{:.2}", ns / 1e6),
            Value::AtLeast(ns) => format!("≥ {:.2}", ns / 1e6),
            Value::None => "–".to_owned(),
        };
        let [p50, p95, p99, p999] = QuantileLatencies::SHARES.map(at);
        let of_all = |records: fn(&kdyno_model::sample::Counts) -> u64| {
            count(evidence.totals.iter().map(|totals| records(&totals.counts)).sum::<u64>() as f64)
        };
        let which = if self.has_warmup { ", all records" } else { "" };
        out::note(&format!(
            "response from the scheduled send time{which}: p50 {p50}, p95 {p95}, p99 {p99}, p99.9 {p999} ms; {} records failed, {} unresolved",
            of_all(|counts| counts.failed.values().sum()),
            of_all(|counts| counts.unresolved)
        ));
        if let Some(outcome) = &self.outcome {
            // Rates are in the totals: those of the findings are of the window's whole seconds, and would look like
            // others.
            let options = out::note_options();
            let warnings = trial_warnings(&outcome.trial, &outcome.caveats, &options);
            if !warnings.is_empty() {
                out::note_painted(warnings.trim_end());
            }
        }
        Ok(())
    }
}

fn figures(of: &Acknowledged, elapsed_ns: u64) -> LineTotals {
    LineTotals {
        records: of.records,
        value_bytes: of.value_bytes,
        elapsed_ns,
        latency_sum_ns: of.service_sum_ns,
        latency_ns_max: of.service_ns_max,
    }
}

fn total_of(whole: &Whole, is_steady: bool) -> String {
    let mut latencies = QuantileLatencies::default();
    latencies.quantiles.iter_mut().zip(&whole.at_ranks).for_each(|(quantile, ns)| *quantile = *ns);
    total(&figures(&whole.acknowledged, whole.span_ns), &latencies, is_steady)
}
