//! One load item's counts and latencies, its workers added up.

use crate::evidence::{NS_PER_S, TrialEvidence, Window};
use crate::histogram::{AnalysisError, Distribution};
use kdyno_model::sample::{ClientTotals, Counts, Grain, Phase, Sample, Timing};

/// Seconds' worth of offered records that may be in flight at the window's end without a doubt.
pub const IN_FLIGHT_S: f64 = 0.1;

/// Reasons of failed records that came from waiting too long, not from a broker.
const GIVEN_UP: [&str; 2] = ["max-block", "delivery-timeout"];

/// What was counted of one load item.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ItemTally {
    /// Records whose intended instant lies in the window.
    pub offered: u64,
    /// Records that were intended before the window and had no outcome when it began.
    pub queued: u64,
    /// Counts written in the window, whatever phase the records belong to; `offered` of it is not used.
    pub windowed: Counts,
    /// Counts of the records of the measure phase, whenever they were written.
    pub measured: Counts,
    /// All counts of all rows.
    pub all: Counts,
    /// All counts by the streams' own accounts; `None` when a stream gave none.
    pub totals: Option<Counts>,
    /// Each client's whole run, by the same accounts.
    pub clients: Vec<ClientTotals>,
}

impl ItemTally {
    /// Adds up an item. `window` as of [`TrialEvidence::window`].
    pub fn of(evidence: &TrialEvidence<'_>, item: &str, window: Option<Window>) -> Self {
        let streams = evidence.streams_of(item);
        let mut tally = Self::default();
        let mut settled = 0u64;
        for row in evidence.samples {
            if row.grain != Grain::Second || !streams.contains(&row.stream) {
                continue;
            }
            tally.all.add(&row.counts);
            if row.phase == Phase::Measure {
                tally.measured.add(&row.counts);
            }
            if window.is_some_and(|window| window.holds(row.t0_second)) {
                tally.offered = tally.offered.saturating_add(row.counts.offered);
            }
            if window.is_some_and(|window| window.holds(row.written_second)) {
                tally.windowed.add(&row.counts);
            }
            if window.is_some_and(|window| row.t0_second < window.first_second) {
                tally.queued = tally.queued.saturating_add(row.counts.offered);
            }
            if window.is_some_and(|window| row.written_second < window.first_second) {
                settled = settled.saturating_add(row.counts.acknowledged.saturating_add(failed(&row.counts)));
            }
        }
        tally.queued = tally.queued.saturating_sub(settled);
        let accounts: Vec<_> =
            evidence.totals.iter().filter(|totals| streams.contains(&totals.stream)).collect();
        if !streams.is_empty() && accounts.len() == streams.len() {
            let mut totals = Counts::default();
            for account in accounts {
                totals.add(&account.counts);
                tally.clients.extend_from_slice(&account.clients);
            }
            tally.totals = Some(totals);
        }
        tally
    }

    /// Achieved ÷ offered in the window; `None` when nothing was offered.
    pub fn achieved_share(&self) -> Option<f64> {
        ratio(self.windowed.achieved, self.offered)
    }

    /// Share of the window's offered records that were carried in it: accepted, and acknowledged. `None` when
    /// nothing was offered.
    ///
    /// A client accepts until its buffer is full, so what is accepted shows an overload late or never;
    /// acknowledgements show it at once. Records that a broker refused had their outcome in time; those that the
    /// client gave up waiting for had not. Acknowledgements may lag by [`IN_FLIGHT_S`]: the window begins and ends
    /// with records in flight, not always the same number.
    pub fn carried_share(&self, window: Window) -> Option<f64> {
        let refused = self.windowed.failed.iter().filter(|(reason, _)| !GIVEN_UP.contains(&reason.as_str()));
        let refused = refused.fold(0u64, |sum, (_, records)| sum.saturating_add(*records));
        let known = self.windowed.acknowledged.saturating_add(refused);
        let missing = self.offered.saturating_sub(known) as f64;
        let in_flight = self.offered as f64 * IN_FLIGHT_S / window.seconds();
        let carried = if missing > in_flight { known } else { self.offered };
        ratio(carried.min(self.windowed.achieved), self.offered)
    }

    /// Seconds' worth of the window's load that were still open when it began.
    pub fn queued_s(&self, window: Window) -> f64 {
        if self.offered == 0 { 0.0 } else { self.queued as f64 * window.seconds() / self.offered as f64 }
    }

    /// Sum over the clients of each one's average over its own whole run, records per second.
    pub fn sum_of_client_rates_per_s(&self) -> Option<f64> {
        self.totals.as_ref()?;
        let rates = self.clients.iter().filter(|client| client.span_ns > 0);
        Some(rates.map(|client| client.records as f64 * NS_PER_S as f64 / client.span_ns as f64).sum())
    }
}

/// Latencies of an item's measured records.
///
/// Each stream's coarsest rows are taken: those of the whole phase; for a stream that was cut off before
/// it wrote them, those of five seconds, else of one. Records that never came home count in response and
/// service, which end with the outcome; the stages are of those that came home.
pub fn measured_latencies(
    evidence: &TrialEvidence<'_>,
    item: &str,
    timing: Timing,
) -> Result<Distribution, AnalysisError> {
    let mut merged = Distribution::new();
    for stream in evidence.streams_of(item) {
        let measured = |grain| {
            evidence.samples.iter().filter(move |row: &&Sample| {
                row.stream == stream && row.phase == Phase::Measure && row.grain == grain
            })
        };
        let grain = [Grain::Phase, Grain::FiveSeconds, Grain::Second]
            .into_iter()
            .find(|grain| measured(*grain).any(|row| !row.histograms.is_empty()));
        if matches!(timing, Timing::Response | Timing::Service) {
            measured(Grain::Second)
                .for_each(|row| merged.add_unfinished(unfinished(&row.counts), waited_ns(row)));
        }
        for row in grain.into_iter().flat_map(measured) {
            if let Some(bytes) = row.histograms.get(&timing) {
                merged.add_histogram(bytes)?;
            }
            merged.add_sum(row.sums_ns.get(&timing).copied().unwrap_or(0));
        }
    }
    Ok(merged)
}

/// What the records of a row waited at least for the outcome that it tells, ns: from the end of the second in
/// which they were intended to the beginning of the one in which it was written.
pub(crate) fn waited_ns(row: &Sample) -> u64 {
    u64::from(row.written_second.saturating_sub(row.t0_second).saturating_sub(1)) * NS_PER_S
}

/// Records that failed, for whatever reason.
pub fn failed(counts: &Counts) -> u64 {
    counts.failed.values().fold(0, |sum, records| sum.saturating_add(*records))
}

/// Records that failed or whose outcome stayed open.
pub fn unfinished(counts: &Counts) -> u64 {
    failed(counts).saturating_add(counts.unresolved)
}

/// `a ÷ b`; `None` when `b` is 0.
pub(crate) fn ratio(a: u64, b: u64) -> Option<f64> {
    (b > 0).then(|| a as f64 / b as f64)
}
