//! What comes of the run: the tool's lines on standard output, kdyno's own on standard error.

use super::plan::ITEM;
use crate::commands::drop_in_driver::{DropInClient, tell_client};
use crate::failure::Failure;
use crate::progress::Printer;
use crate::{moment, out};
use kdyno_lab::{LiveTrial, RunProgress};
use kdyno_model::event::{EventKind, Subject};
use kdyno_model::evidence::TrialEvidence;
use kdyno_model::sample::{Counts, Grain};
use kdyno_model::units;
use kdyno_perf_test::consumer::{Consumed, ConsumerOptions, IntervalRows, timeout_warning};
use kdyno_perf_test::java_format::fixed;
use kdyno_store::RunFile;
use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::path::Path;

const NS_PER_MS: u64 = 1_000_000;
const MS_PER_S: u64 = 1_000;
const BYTES_PER_MIB: f64 = 1_048_576.0;

/// Prints while the run goes on, and at its end.
pub(super) struct ConsumerOutput<'a> {
    options: &'a ConsumerOptions,
    carrier: &'a DropInClient,
    printer: Printer,
    intervals: IntervalRows,
    /// What the client counted of itself, where it is Kafka's.
    metrics: Option<String>,
}

impl<'a> ConsumerOutput<'a> {
    pub(super) fn new(options: &'a ConsumerOptions, carrier: &'a DropInClient) -> Self {
        // Rows come second by second: an interval ends with a whole one.
        let interval_ms = options.reporting_interval_ms.div_ceil(MS_PER_S).saturating_mul(MS_PER_S);
        if options.shows_intervals && interval_ms != options.reporting_interval_ms {
            out::note(&format!("intervals are whole seconds here: rows come {interval_ms} ms apart"));
        }
        let (printer, intervals) = (Printer::new(false, None), IntervalRows::new(interval_ms));
        Self { options, carrier, printer, intervals, metrics: None }
    }

    /// Takes one piece of news.
    pub(super) fn tell(&mut self, progress: RunProgress) {
        match progress {
            RunProgress::Live(live) => {
                self.tell_rows(&live);
                if std::io::stderr().is_terminal() && !self.options.shows_intervals {
                    self.printer.tell(RunProgress::Live(live));
                }
            }
            RunProgress::Warning(_) => self.printer.tell(progress),
            // The row has the rates: those of the findings are of the window's whole seconds, and would look like others.
            RunProgress::TrialEnded(outcome, _) => self.printer.warnings_of(&outcome),
            // Its client may have to be fetched, and takes a while to be made ready.
            RunProgress::Step(_) if self.carrier.is_java() => self.printer.tell(progress),
            RunProgress::ClientMetrics(text) => self.metrics = Some(text),
            RunProgress::Step(_) | RunProgress::TrialStarted { .. } | RunProgress::LiveOfPair(_) => {}
        }
    }

    fn tell_rows(&mut self, live: &LiveTrial) {
        let t0_ms = to_ms(moment::now_unix_ns().saturating_sub(live.elapsed_ns));
        self.tell_row((t0_ms, to_ms(live.counted_ns)), &live.counted);
    }

    /// The load begins with T0, from which seconds are counted.
    fn tell_row(&mut self, (t0_ms, since_ms): (u64, u64), counted: &Counts) {
        if !self.options.shows_intervals {
            return;
        }
        let consumed = (counted.handed_over_bytes, counted.fetched);
        let options = self.options;
        let time = || time(options, (t0_ms + since_ms).cast_signed());
        let line = self.intervals.row(since_ms, consumed, to_ms(counted.unassigned_ns), time);
        if let Some(line) = line {
            // A reader that is gone is reported at the end.
            let _ = out::line(&line);
        }
    }

    /// The last lines, from the evidence.
    pub(super) fn finish(mut self, run_file: &Path) -> Result<(), Failure> {
        let evidence = evidence(run_file)?;
        let t0_ms = to_ms(evidence.start.t0_unix_ns);
        let (began_ns, ended_ns) = ends(&evidence)?;
        self.tell_rows_left(t0_ms, to_ms(ended_ns), &evidence);
        let mut counts = Counts::default();
        evidence.totals.iter().for_each(|totals| counts.add(&totals.counts));
        let is_short = i64::try_from(counts.fetched).unwrap_or(i64::MAX) < self.options.records;
        if is_short {
            out::line(&timeout_warning(self.options.timeout_ms))?;
        }
        let at_ms = |since_ns: u64| (t0_ms + to_ms(since_ns)).cast_signed();
        let consumed = Consumed {
            start_ms: at_ms(began_ns),
            end_ms: at_ms(ended_ns),
            bytes: counts.handed_over_bytes,
            records: counts.fetched,
            rebalance_ms: to_ms(counts.unassigned_ns).cast_signed(),
        };
        if !self.options.shows_intervals {
            out::line(&consumed.row(|unix_ms| time(self.options, unix_ms)))?;
        }
        if self.options.prints_metrics {
            self.carrier.print_metrics(self.metrics.as_deref())?;
        }
        out::note(&self.summary(&evidence, &consumed, is_short));
        tell_client(&evidence);
        out::note(&format!("run     {}", run_file.display()));
        Ok(())
    }

    /// What an interrupted run has come to; the tool says nothing then.
    pub(super) fn interrupted(&self, run_file: &Path) {
        // Before its trial began there is nothing to print.
        let Ok(evidence) = evidence(run_file) else { return };
        if evidence.totals.is_empty() {
            return;
        }
        let (mut counts, reading_ms) = (Counts::default(), reading_ms(&evidence));
        evidence.totals.iter().for_each(|totals| counts.add(&totals.counts));
        out::note(&format!(
            "{} of {} records were read until it was interrupted, in {reading_ms} ms from the first to the last{}",
            units::count(counts.fetched as f64),
            units::count(self.options.records as f64),
            rates((counts.handed_over_bytes, counts.fetched), reading_ms)
        ));
    }

    /// Rows of intervals that were over before the end and not printed before it.
    fn tell_rows_left(&mut self, t0_ms: u64, ended_ms: u64, evidence: &TrialEvidence) {
        let mut by_second: BTreeMap<u64, Counts> = BTreeMap::new();
        for row in evidence.samples.iter().filter(|row| row.grain == Grain::Second) {
            by_second.entry(row.written_second.into()).or_default().add(&row.counts);
        }
        let mut counted = Counts::default();
        for second in 0..ended_ms / MS_PER_S {
            if let Some(counts) = by_second.get(&second) {
                counted.add(counts);
            }
            self.tell_row((t0_ms, (second + 1) * MS_PER_S), &counted);
        }
    }

    /// What the row leaves out: how fast it was while there was something to read.
    fn summary(&self, evidence: &TrialEvidence, consumed: &Consumed, is_short: bool) -> String {
        let reading_ms = reading_ms(evidence);
        let elapsed_ms = (consumed.end_ms - consumed.start_ms).max(0).cast_unsigned();
        if consumed.records == 0 {
            return format!("no record came in {elapsed_ms} ms");
        }
        let idle_ms = if is_short { u64::try_from(self.options.timeout_ms).unwrap_or(0) } else { 0 };
        let before_ms = elapsed_ms.saturating_sub(reading_ms).saturating_sub(idle_ms);
        let joined_ms = consumed.rebalance_ms;
        let rate = rates((consumed.bytes, consumed.records), reading_ms);
        let idle =
            if is_short { format!("; {idle_ms} ms without a record at the end") } else { String::new() };
        format!(
            "{} records in {reading_ms} ms from the first to the last{rate}; {before_ms} ms before the first, {joined_ms} ms \
             without partitions{idle}",
            consumed.records
        )
    }
}

/// From the first record to the last, ms.
fn reading_ms(evidence: &TrialEvidence) -> u64 {
    let clients = evidence.totals.iter().flat_map(|totals| &totals.clients);
    clients.map(|client| to_ms(client.span_ns)).max().unwrap_or(0)
}

/// How fast so many bytes and records came in so many ms, as the end of a sentence; empty where they came at once.
fn rates((bytes, records): (u64, u64), ms: u64) -> String {
    if ms == 0 {
        return String::new();
    }
    let per_s = |amount: f64| fixed(amount * 1000.0 / ms as f64, 1);
    let mib = bytes as f64 / BYTES_PER_MIB;
    format!(", {} records/s and {} MiB/s", per_s(records as f64), per_s(mib))
}

/// A moment in words, ms since 1970.
fn time(options: &ConsumerOptions, unix_ms: i64) -> String {
    options.date_format.format(moment::local(unix_ms))
}

fn to_ms(ns: u64) -> u64 {
    ns / NS_PER_MS
}

/// What the one trial left.
fn evidence(run_file: &Path) -> Result<TrialEvidence, Failure> {
    let file = RunFile::open(run_file)?;
    let start = file.trials()?.into_iter().next();
    let start = start.ok_or_else(|| Failure::tool(format!("{} holds no trial", run_file.display())))?;
    Ok(file.evidence(start.trial.id)?)
}

/// When the client began to connect and when its load was over, ns from T0.
fn ends(evidence: &TrialEvidence) -> Result<(u64, u64), Failure> {
    let of_item = |subject: &Subject| matches!(subject, Subject::Item(item) if item == ITEM);
    let at = |kind: EventKind| {
        let mut events = evidence.events.iter().filter(|event| event.kind == kind && of_item(&event.subject));
        events.find_map(|event| u64::try_from(event.at_ns?).ok())
    };
    let missing = || Failure::tool("the run does not show when its load began and ended");
    Ok((at(EventKind::ItemBegan).ok_or_else(missing)?, at(EventKind::ItemEnded).ok_or_else(missing)?))
}
