//! The state of a trial, from its newest rows: for the progress line while it runs.
//!
//! The figures of a second need only that second's rows. How many records are open needs all rows since T0, whose
//! counts alone are kept here: rows are numbered by each stream, in the order in which they are stored, so that a row
//! that was counted is known by its number.

use crate::cpu;
use crate::histogram::LatencyDistribution;
use crate::tally::failed;
use kdyno_model::event::Subject;
use kdyno_model::evidence::TrialEvidence;
use kdyno_model::finding::Value;
use kdyno_model::plan::RoleKind;
use kdyno_model::run::StreamInfo;
use kdyno_model::sample::{Counts, Grain, ProbeReading, Sample, StreamId, Timing};
use kdyno_model::series::LiveFigures;
use std::collections::{BTreeMap, BTreeSet};

/// How many seconds before the one that is shown the newest rows must reach back: what a worker sends later than
/// that is not among the open records.
pub const RECENT_S: u32 = 10;

/// What was counted of a trial since T0.
#[derive(Debug, Default)]
pub struct LiveTally {
    /// Number of the next row of each stream.
    next: BTreeMap<StreamId, u64>,
    offered: u64,
    resolved: u64,
    failed: u64,
    /// What all streams counted up to the end of a second that was shown.
    counted: Counts,
    /// The counts of each second after it.
    after: BTreeMap<u32, Counts>,
}

impl LiveTally {
    /// How all load items together stood in `second`. `recent` holds every row of a second's grain that was written
    /// from [`RECENT_S`] before `second` on, and the readings of that time; rows that were there before are not
    /// counted again.
    pub fn figures(&mut self, recent: &TrialEvidence, second: u32) -> LiveFigures {
        let rows = || recent.samples.iter().filter(|row| row.grain == Grain::Second);
        self.count(rows());
        while let Some(first) = self.after.first_entry().filter(|first| *first.key() <= second) {
            self.counted.add(&Counts { lag_records: None, ..first.remove() });
        }
        let mut written = Counts::default();
        let mut response = LatencyDistribution::new();
        for row in rows().filter(|row| row.written_second == second) {
            written.add(&row.counts);
            if let Some(bytes) = row.histograms.get(&Timing::Response) {
                // What is damaged is reported by the findings; here it is only not shown.
                let _ = response.add_histogram(bytes);
            }
        }
        let intended = rows().filter(|row| row.t0_second == second);
        let consumers = recent.start.streams.iter().any(|stream| stream.role == RoleKind::Consume);
        LiveFigures {
            offered_per_s: intended.fold(0, |sum, row| sum.saturating_add(row.counts.offered)),
            achieved_per_s: written.achieved,
            acknowledged_per_s: written.acknowledged,
            fetched_per_s: consumers.then_some(written.fetched),
            lag_records: lag_records(recent, second, |_| true),
            response_ns_p50: whole_ns(response.quantile(0.5)),
            response_ns_p99: whole_ns(response.quantile(0.99)),
            open_records: self.offered.saturating_sub(self.resolved),
            failed: self.failed,
            brokers_cpu_percent: cpu_percent(&recent.probes, Subject::is_broker),
            workers_cpu_percent: cpu_percent(&recent.probes, cpu::is_worker),
            java_cpu_percent: cpu_percent(&recent.probes, cpu::is_java_client),
        }
    }

    /// What all load items together have counted since T0, up to the end of the second that was requested last.
    pub fn counted(&self) -> &Counts {
        &self.counted
    }

    fn count<'a>(&mut self, rows: impl Iterator<Item = &'a Sample>) {
        let before = self.next.clone();
        for row in rows.filter(|row| before.get(&row.id).is_none_or(|next| row.sequence >= *next)) {
            let next = self.next.entry(row.id).or_default();
            *next = (*next).max(row.sequence.saturating_add(1));
            let counts = &row.counts;
            self.after.entry(row.written_second).or_default().add(counts);
            let failed = failed(counts);
            self.offered = self.offered.saturating_add(counts.offered);
            self.failed = self.failed.saturating_add(failed);
            for resolved in [counts.acknowledged, failed, counts.unresolved] {
                self.resolved = self.resolved.saturating_add(resolved);
            }
        }
    }
}

/// How far all consumers among these streams that wrote rows in a second were from the end of the log when it ended: of several
/// rows of a stream one says so.
pub(crate) fn lag_records(
    recent: &TrialEvidence,
    second: u32,
    is_asked: impl Fn(&StreamInfo) -> bool,
) -> Option<u64> {
    let consumers = recent.start.streams.iter().filter(|stream| stream.role == RoleKind::Consume);
    let consumers = consumers.filter(|stream| is_asked(stream));
    let consumers: BTreeSet<StreamId> = consumers.map(|stream| stream.id).collect();
    let is_of = |row: &&Sample| row.written_second == second && consumers.contains(&row.id);
    let mut reported: BTreeMap<StreamId, Option<u64>> = BTreeMap::new();
    for row in recent.samples.iter().filter(|row| row.grain == Grain::Second).filter(is_of) {
        let lag = reported.entry(row.id).or_default();
        *lag = lag.or(row.counts.lag_records);
    }
    let sum = reported.values().copied().try_fold(0u64, |sum, lag| Some(sum.saturating_add(lag?)));
    sum.filter(|_| !reported.is_empty())
}

/// Latencies are whole numbers of ns far below 2⁵³.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn whole_ns(value: Value) -> Option<u64> {
    value.least().map(|ns| ns as u64)
}

/// Newest CPU time of all subjects of a kind together, percent of one core.
fn cpu_percent(probes: &[ProbeReading], is_one: impl Fn(&Subject) -> bool) -> Option<f64> {
    let subjects = cpu::subjects(probes, is_one);
    let newest = subjects.iter().filter_map(|subject| Some(cpu::course(probes, subject).last()?.percent));
    newest.reduce(|sum, percent| sum + percent)
}
