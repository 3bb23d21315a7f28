//! What is recorded of records that a client sent whose inside is hidden: each has instants of its own, and nothing is
//! known of what happened between the client's acceptance and the outcome.

use super::{Recorder, at};
use crate::records::Weight;
use kdyno_model::sample::Timing;

/// The instants of one record that was acknowledged, ns, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordInstants {
    /// t0: intended.
    pub intended_ns: u64,
    /// t1: handed to the client.
    pub handed_ns: u64,
    /// t2: accepted.
    pub accepted_ns: u64,
    /// t6: its outcome was known.
    pub known_ns: u64,
}

impl Recorder {
    /// A record was acknowledged. Without the load generator it took from t1 to t6, for t5 is not seen.
    #[inline]
    pub fn sent(&mut self, record: RecordInstants, weight: Weight) {
        let RecordInstants { intended_ns, handed_ns, accepted_ns, known_ns } = record;
        self.note_acknowledged(known_ns);
        let slot = self.slot(intended_ns);
        slot.counts.acknowledged += 1;
        slot.counts.acknowledged_bytes += weight.value_bytes;
        slot.counts.header_trailers += weight.header_trailers;
        slot.headline.record(known_ns.saturating_sub(intended_ns), 1);
        let five = slot.five;
        // Kafka's own tool begins to count just before it calls `send()`.
        self.note_service(handed_ns.min(known_ns), known_ns, (1, weight.value_bytes));
        let timings = &mut self.fives[five].timings;
        for (timing, from_ns, to_ns) in [
            (Timing::ScheduleDelay, intended_ns, handed_ns),
            (Timing::Block, handed_ns, accepted_ns),
            (Timing::Service, accepted_ns, known_ns),
            (Timing::WithoutGenerator, handed_ns, known_ns),
        ] {
            timings[at(timing)].record(to_ns.saturating_sub(from_ns), 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kdyno_model::plan::PhasesPlan;
    use kdyno_model::sample::{Grain, Phase, StreamId};
    use std::collections::BTreeMap;

    const MS: u64 = 1_000_000;

    /// Delay, block and service sum to the response; unseen stages have no values at all.
    #[test]
    fn what_is_seen_from_outside_sums_to_the_response() {
        let phases =
            PhasesPlan { warmup_ns: 0, warmup_auto: None, measure_ns: 3_000 * MS, drain_ns: 1_000 * MS };
        let mut recorder = Recorder::new(StreamId::default(), 0, phases);
        recorder.measure_begins(0);
        for at_ms in [100, 2_900] {
            let at = |ms: u64| (at_ms + ms) * MS;
            let record =
                RecordInstants { intended_ns: at(0), handed_ns: at(2), accepted_ns: at(5), known_ns: at(25) };
            recorder.sent(record, Weight { value_bytes: 10, header_trailers: 1 });
        }
        let counts = recorder.finish();
        assert_eq!((counts.acknowledged, counts.acknowledged_bytes, counts.header_trailers), (2, 20, 2));
        let rows = recorder.take_samples();
        let phase = rows.iter().find(|row| row.grain == Grain::Phase && row.phase == Phase::Measure);
        let of = |timing, ms: u64| (timing, u128::from(2 * ms * MS));
        let expected = BTreeMap::from([
            of(Timing::Response, 25),
            of(Timing::ScheduleDelay, 2),
            of(Timing::Block, 3),
            of(Timing::Service, 20),
            of(Timing::WithoutGenerator, 23),
        ]);
        assert_eq!(phase.expect("its row").sums_ns, expected);
    }
}
