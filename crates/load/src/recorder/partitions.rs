//! What is counted once per batch that is acknowledged: its bytes, and its records among those of its partition.

use super::Recorder;
use kdyno_model::sample::{PartitionTotals, Phase};

impl Recorder {
    /// With a place for each of so many partitions.
    #[must_use]
    pub fn with_partitions(mut self, count: usize) -> Self {
        self.partitions = vec![PartitionTotals::default(); count];
        self
    }

    /// A batch of a partition was acknowledged now, with so many records that took so many bytes, uncompressed and as they
    /// were sent. Partitions count in the measure phase.
    pub fn batch(
        &mut self,
        known_ns: u64,
        (partition, records): (i32, u32),
        (record_bytes, sent_bytes): (u64, u64),
    ) {
        let slot = self.slot(known_ns);
        slot.counts.record_bytes += record_bytes;
        slot.counts.sent_bytes += sent_bytes;
        if slot.phase != Phase::Measure {
            return;
        }
        let Ok(place) = usize::try_from(partition) else { return };
        if place >= self.partitions.len() {
            // The topic has got more of them.
            self.partitions.resize(place + 1, PartitionTotals::default());
        }
        let counted = &mut self.partitions[place];
        counted.records += u64::from(records);
        counted.bytes += record_bytes;
    }

    /// What was counted of them, by number.
    pub fn take_partitions(&mut self) -> Vec<PartitionTotals> {
        std::mem::take(&mut self.partitions)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kdyno_model::plan::PhasesPlan;
    use kdyno_model::sample::StreamId;

    const MS: u64 = 1_000_000;

    #[test]
    fn batches_of_the_measure_phase_are_counted_by_partition() {
        let phases = PhasesPlan {
            warmup_ns: 1_000 * MS,
            warmup_auto: None,
            measure_ns: 2_000 * MS,
            drain_ns: 1_000 * MS,
        };
        let mut recorder = Recorder::new(StreamId::default(), 0, phases).with_partitions(2);
        recorder.measure_begins(1_000 * MS);
        // The third partition came later; the first and the last batch are of other phases.
        for (at_ms, partition, records) in
            [(999, 0, 100), (1_000, 0, 5), (1_500, 2, 7), (2_999, 0, 1), (3_000, 1, 100)]
        {
            recorder.batch(at_ms * MS, (partition, records), (u64::from(records) * 10, 1));
        }
        let of = |records| PartitionTotals { records, bytes: records * 10 };
        assert_eq!(recorder.take_partitions(), [of(6), of(0), of(7)]);
        let counts = recorder.finish();
        assert_eq!((counts.record_bytes, counts.sent_bytes), (2_130, 5));
    }
}
