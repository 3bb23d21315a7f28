//! What is recorded of clients that connect.

use super::{Recorder, at};
use crate::connecting::Connect;
use crate::histo;
use kdyno_model::sample::{Phase, Timing};

impl Recorder {
    /// A client is ready. What it took belongs to the phase in which it began to dial: before T0 to start-up, which has
    /// no rows of seconds.
    pub fn connected(&mut self, connect: Connect) {
        let took_ns = connect.ready_ns.saturating_sub(connect.dialled_ns);
        if connect.dialled_ns >= self.t0_ns {
            let five = self.slot(connect.dialled_ns).five;
            self.fives[five].timings[at(Timing::Connect)].record(took_ns, 1);
            return;
        }
        let startup = self.totals_by_phase.entry(Phase::Startup).or_default();
        let histogram = startup.timings.entry(Timing::Connect).or_insert_with(|| histo::empty(histo::DIGITS));
        histogram.saturating_record(took_ns);
        startup.sums_ns[at(Timing::Connect)] += u128::from(took_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kdyno_model::plan::PhasesPlan;
    use kdyno_model::sample::{Grain, StreamId};
    use std::collections::BTreeMap;

    const MS: u64 = 1_000_000;

    /// Clients that connect before T0 are in start-up, those that come later in the phase in which they come.
    #[test]
    fn connect_times_are_reported_by_phase() {
        let phases =
            PhasesPlan { warmup_ns: 0, warmup_auto: None, measure_ns: 3_000 * MS, drain_ns: 1_000 * MS };
        let mut recorder = Recorder::new(StreamId::default(), 1_000 * MS, phases);
        recorder.measure_begins(0);
        for (dialled_ms, ready_ms) in [(100, 130), (200, 204), (2_500, 2_501)] {
            recorder.connected(Connect { dialled_ns: dialled_ms * MS, ready_ns: ready_ms * MS });
        }
        recorder.finish();
        let rows = recorder.take_samples();
        let sums: Vec<_> = rows
            .iter()
            .filter(|row| row.grain == Grain::Phase)
            .map(|row| (row.phase, row.sums_ns.clone()))
            .collect();
        let connect = |ms: u64| BTreeMap::from([(Timing::Connect, u128::from(ms * MS))]);
        assert_eq!(sums, [(Phase::Startup, connect(34)), (Phase::Measure, connect(1))]);
    }
}
