//! What the lines of Kafka's own tool take beside the usual rows: the service time of each second, and of the records
//! behind the first ones by themselves.

use super::{DIGITS_COARSE, Recorder};
use crate::histo::{self, DIGITS, Histo};
use hdrhistogram::Histogram;
use kdyno_model::plan::ToolLines;
use kdyno_model::sample::{Sample, SteadyTotals, Timing};

/// The records behind the first ones.
#[derive(Debug)]
pub(super) struct Steady {
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
    fn new() -> Self {
        Self {
            after_ns: None,
            first_ns: None,
            last_ns: 0,
            records: 0,
            value_bytes: 0,
            service: histo::empty(DIGITS),
            service_sum_ns: 0,
        }
    }

    /// Records that were accepted at one instant were acknowledged at another.
    fn acknowledged(&mut self, accepted_ns: u64, known_ns: u64, (count, value_bytes): (u32, u64)) {
        if self.after_ns.is_none_or(|after_ns| accepted_ns <= after_ns) {
            return;
        }
        self.first_ns = Some(self.first_ns.map_or(accepted_ns, |first_ns| first_ns.min(accepted_ns)));
        self.last_ns = self.last_ns.max(known_ns);
        self.records += u64::from(count);
        self.value_bytes += value_bytes;
        // Of a long run there are more records than a `Histo` counts.
        self.service.saturating_record_n(known_ns - accepted_ns, u64::from(count));
        self.service_sum_ns += u128::from(known_ns - accepted_ns) * u128::from(count);
    }
}

impl Recorder {
    /// The same with what a plan's tool lines take.
    pub fn with_tool_lines(mut self, tool_lines: Option<ToolLines>) -> Self {
        self.steady = tool_lines.map(|_| Box::new(Steady::new()));
        self
    }

    /// The last record before the steady state was accepted at this instant.
    pub fn steady_after(&mut self, accepted_ns: u64) {
        if let Some(steady) = &mut self.steady {
            steady.after_ns = Some(accepted_ns);
        }
    }

    /// What became of the records behind the first ones; `None` where there are none, or nobody asked.
    pub fn steady(&self) -> Option<SteadyTotals> {
        let steady = self.steady.as_ref().filter(|steady| steady.after_ns.is_some())?;
        Some(SteadyTotals {
            records: steady.records,
            value_bytes: steady.value_bytes,
            span_ns: steady.last_ns.saturating_sub(steady.first_ns.unwrap_or(steady.last_ns)),
            service: if steady.records > 0 { histo::encode(&steady.service) } else { Vec::new() },
            service_sum_ns: steady.service_sum_ns,
        })
    }

    /// Takes note of the service time of records of the latest slot.
    #[inline]
    pub(super) fn note_service(&mut self, accepted_ns: u64, known_ns: u64, records: (u32, u64)) {
        let Some(steady) = &mut self.steady else { return };
        if let Some(service) = &mut self.seconds[self.last_slot].service {
            service.record(known_ns - accepted_ns, records.0);
        }
        steady.acknowledged(accepted_ns, known_ns, records);
    }

    /// Writes the service times of a second into its row. The five seconds have them already.
    pub(super) fn add_service(&mut self, sample: &mut Sample, service: Option<Histo>) {
        let Some(mut service) = service else { return };
        if let Some(bytes) = service.encode(DIGITS_COARSE) {
            sample.histograms.insert(Timing::Service, bytes);
            sample.sums_ns.insert(Timing::Service, service.sum_ns());
        }
        service.clear();
        self.spare.push(service);
    }
}
