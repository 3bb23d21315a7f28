//! The records behind the first ones of a load, by themselves: what Kafka's own tool calls the steady state.

use crate::histo::{self, DIGITS};
use hdrhistogram::Histogram;
use kdyno_model::sample::{SteadyTotals, Timing};

/// The records behind the first ones.
#[derive(Debug)]
pub(super) struct Steady {
    /// What their latency is among the timings.
    latency: Timing,
    /// What was accepted later than this is one of them, ns; `None`: none is yet.
    after_ns: Option<u64>,
    /// When the first of them was accepted, ns.
    first_ns: Option<u64>,
    /// When the outcome of the last one was known, ns.
    last_ns: u64,
    records: u64,
    value_bytes: u64,
    service: Histogram<u64>,
    service_sum_ns: u128,
}

impl Steady {
    /// None yet. `latency` says which timing their service time is.
    pub(super) fn new(latency: Timing) -> Self {
        Self {
            latency,
            after_ns: None,
            first_ns: None,
            last_ns: 0,
            records: 0,
            value_bytes: 0,
            service: histo::empty(DIGITS),
            service_sum_ns: 0,
        }
    }

    /// What their latency is among the timings.
    pub(super) fn latency(&self) -> Timing {
        self.latency
    }

    /// Records that were accepted at one instant were acknowledged at another.
    pub(super) fn acknowledged(&mut self, accepted_ns: u64, known_ns: u64, (count, value_bytes): (u32, u64)) {
        if self.after_ns.is_none_or(|after_ns| accepted_ns <= after_ns) {
            return;
        }
        self.first_ns = Some(self.first_ns.map_or(accepted_ns, |first_ns| first_ns.min(accepted_ns)));
        self.last_ns = self.last_ns.max(known_ns);
        self.records += u64::from(count);
        self.value_bytes += value_bytes;
        // A long run has more records than a `Histo` counts.
        self.service.saturating_record_n(known_ns - accepted_ns, u64::from(count));
        self.service_sum_ns += u128::from(known_ns - accepted_ns) * u128::from(count);
    }

    /// The last record before them was accepted at this instant.
    pub(super) fn begin_after(&mut self, accepted_ns: u64) {
        self.after_ns = Some(accepted_ns);
    }

    /// What became of them; `None` where there are none.
    pub(super) fn totals(&self) -> Option<SteadyTotals> {
        self.after_ns?;
        Some(SteadyTotals {
            records: self.records,
            value_bytes: self.value_bytes,
            span_ns: self.last_ns.saturating_sub(self.first_ns.unwrap_or(self.last_ns)),
            service: if self.records > 0 { histo::encode(&self.service) } else { Vec::new() },
            service_sum_ns: self.service_sum_ns,
        })
    }
}
