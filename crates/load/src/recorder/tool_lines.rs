//! What the lines of Kafka's own tool need in addition to the usual rows: the service time of each second, and of the
//! records behind the first ones by themselves. With a client whose inside is hidden that is the time from the call of
//! `send()`, as the tool measures it: such a record was *accepted* at t1 here.

use super::Recorder;
use super::steady::Steady;
use crate::histo::{self, Histo};
use kdyno_model::plan::ToolLines;
use kdyno_model::sample::{Sample, SteadyTotals, Timing};

impl Recorder {
    /// A recorder with what a plan's tool lines need; `latency` is the timing that they print.
    pub fn with_tool_lines(mut self, tool_lines: Option<ToolLines>, latency: Timing) -> Self {
        self.steady = tool_lines.map(|_| Box::new(Steady::new(latency)));
        self
    }

    /// The last record before the steady state was accepted at this instant.
    pub fn steady_after(&mut self, accepted_ns: u64) {
        if let Some(steady) = &mut self.steady {
            steady.begin_after(accepted_ns);
        }
    }

    /// What became of the records behind the first ones; `None` where there are none, or it was not requested.
    pub fn steady(&self) -> Option<SteadyTotals> {
        self.steady.as_ref()?.totals()
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
        let latency = self.steady.as_deref().map_or(Timing::Service, Steady::latency);
        if let Some(bytes) = service.encode(histo::DIGITS_COARSE) {
            sample.histograms.insert(latency, bytes);
            sample.sums_ns.insert(latency, service.sum_ns());
        }
        service.clear();
        self.spare.push(service);
    }
}
