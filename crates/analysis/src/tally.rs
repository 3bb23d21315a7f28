//! One load item's counts, its workers added up.

use crate::evidence::{NS_PER_S, Window, streams_of};
use kdyno_model::evidence::TrialEvidence;
use kdyno_model::sample::{ClientTotals, Counts, Grain, Phase};

/// Seconds' worth of offered records that may be in flight at the window's end without a doubt.
const IN_FLIGHT_S: f64 = 0.1;

/// Reasons of failed records that came from waiting too long, not from a broker.
const GIVEN_UP: [&str; 2] = ["max-block", "delivery-timeout"];

/// What was counted of one load item.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ItemTally {
    /// Records whose intended instant lies in the window.
    pub(crate) offered: u64,
    /// Records that were intended before the window and had no outcome when it began.
    pub(crate) queued: u64,
    /// Counts written in the window, whatever phase the records belong to; `offered` of it is not used.
    pub(crate) windowed: Counts,
    /// Counts of the records of the measure phase, whenever they were written.
    pub(crate) measured: Counts,
    /// All counts of all rows.
    pub(crate) all: Counts,
    /// All counts by the streams' own totals; `None` when a stream gave none.
    pub(crate) totals: Option<Counts>,
    /// Each client's whole run, by the same totals.
    pub(crate) clients: Vec<ClientTotals>,
}

impl ItemTally {
    /// Adds up an item. `window` as of [`window`](crate::evidence::window).
    pub(crate) fn of(evidence: &TrialEvidence, item: &str, window: Option<Window>) -> Self {
        let streams = streams_of(evidence, item);
        let mut tally = Self::default();
        let mut resolved = 0u64;
        for row in &evidence.samples {
            if row.grain != Grain::Second || !streams.contains(&row.id) {
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
                resolved =
                    resolved.saturating_add(row.counts.acknowledged.saturating_add(failed(&row.counts)));
            }
        }
        tally.queued = tally.queued.saturating_sub(resolved);
        // In the order of the streams, so that sums of fractions do not depend on who gave them first.
        let given = streams.iter().map(|id| evidence.totals.iter().find(|totals| totals.id == *id));
        if let Some(given) = given.collect::<Option<Vec<_>>>().filter(|given| !given.is_empty()) {
            let mut sum = Counts::default();
            for totals in given {
                sum.add(&totals.counts);
                tally.clients.extend_from_slice(&totals.clients);
            }
            tally.totals = Some(sum);
        }
        tally
    }

    /// Achieved ÷ offered in the window; `None` when nothing was offered.
    pub(crate) fn achieved_share(&self) -> Option<f64> {
        ratio(self.windowed.achieved, self.offered)
    }

    /// Share of the window's offered records that were carried in it: accepted, and acknowledged. `None` when
    /// nothing was offered.
    ///
    /// A client accepts until its buffer is full, so what is accepted shows an overload late or never;
    /// acknowledgements show it at once. Records that a broker refused had their outcome in time; those that the
    /// client gave up waiting for had not. Acknowledgements may be late by [`IN_FLIGHT_S`]: the window begins and ends
    /// with records in flight, not always the same number.
    pub(crate) fn carried_share(&self, window: Window) -> Option<f64> {
        let refused = self.windowed.failed.iter().filter(|(reason, _)| !GIVEN_UP.contains(&reason.as_str()));
        let refused = refused.fold(0u64, |sum, (_, records)| sum.saturating_add(*records));
        let known = self.windowed.acknowledged.saturating_add(refused);
        let missing = self.offered.saturating_sub(known) as f64;
        let in_flight = self.offered as f64 * IN_FLIGHT_S / window.seconds();
        let carried = if missing > in_flight { known } else { self.offered };
        ratio(carried.min(self.windowed.achieved), self.offered)
    }

    /// Seconds' worth of the window's load that were still open when it began.
    pub(crate) fn queued_s(&self, window: Window) -> f64 {
        if self.offered == 0 { 0.0 } else { self.queued as f64 * window.seconds() / self.offered as f64 }
    }

    /// Sum over the clients of each one's average over its own whole run, records per second.
    pub(crate) fn sum_of_client_rates_per_s(&self) -> Option<f64> {
        self.totals.as_ref()?;
        let rates = self.clients.iter().filter(|client| client.span_ns > 0);
        Some(rates.map(|client| client.records as f64 * NS_PER_S as f64 / client.span_ns as f64).sum())
    }
}

/// Records that failed, for whatever reason.
pub(crate) fn failed(counts: &Counts) -> u64 {
    counts.failed.values().fold(0, |sum, records| sum.saturating_add(*records))
}

/// Records that failed or whose outcome stayed open.
pub(crate) fn unfinished(counts: &Counts) -> u64 {
    failed(counts).saturating_add(counts.unresolved)
}

/// `a ÷ b`; `None` when `b` is 0.
pub(crate) fn ratio(a: u64, b: u64) -> Option<f64> {
    (b > 0).then(|| a as f64 / b as f64)
}
