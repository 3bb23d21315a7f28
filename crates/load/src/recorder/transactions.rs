//! What is recorded of transactions: how they ended, how long commits took, the markers that they left in the logs.

use super::{Recorder, at};
use kdyno_kafka::producer::{EndedTransaction, TransactionEnd, TransactionPartitions};
use kdyno_model::sample::Timing;

impl Recorder {
    /// A transaction ended that had begun to end at `asked_ns`.
    pub fn transaction(&mut self, ended: &EndedTransaction) {
        let slot = self.slot(ended.asked_ns);
        let is_commit = ended.end == TransactionEnd::Committed;
        slot.counts.committed += u64::from(is_commit);
        slot.counts.aborted += u64::from(!is_commit);
        slot.counts.markers += u64::from(ended.partitions.sure);
        slot.counts.markers_unsure += u64::from(ended.partitions.unsure);
        let five = slot.five;
        if is_commit {
            self.fives[five].timings[at(Timing::Commit)]
                .record(ended.ended_ns.saturating_sub(ended.asked_ns), 1);
        }
    }

    /// A transaction stayed open that has these partitions.
    pub fn transaction_left(&mut self, now_ns: u64, partitions: TransactionPartitions) {
        if partitions != TransactionPartitions::default() {
            let counts = &mut self.slot(now_ns).counts;
            counts.markers_unsure += u64::from(partitions.sure) + u64::from(partitions.unsure);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kdyno_model::plan::PhasesPlan;
    use kdyno_model::sample::{Grain, StreamId};
    use std::collections::BTreeMap;

    const MS: u64 = 1_000_000;

    /// Ends alone are counted, commits alone are timed, and a marker is sure or it is not.
    #[test]
    fn commits_are_timed_and_every_end_leaves_markers() {
        let phases =
            PhasesPlan { warmup_ns: 0, warmup_auto: None, measure_ns: 3_000 * MS, drain_ns: 1_000 * MS };
        let mut recorder = Recorder::new(StreamId::default(), 0, phases);
        recorder.measure_begins(0);
        let partitions = |sure, unsure| TransactionPartitions { sure, unsure };
        for (end, asked_ms, ended_ms, partitions) in [
            (TransactionEnd::Committed, 500, 507, partitions(3, 0)),
            (TransactionEnd::Committed, 900, 1_005, partitions(1, 0)),
            (TransactionEnd::Aborted, 1_500, 1_600, partitions(2, 0)),
            (TransactionEnd::Failed("delivery-timeout"), 2_500, 2_600, partitions(1, 2)),
        ] {
            let (asked_ns, ended_ns) = (asked_ms * MS, ended_ms * MS);
            recorder.transaction(&EndedTransaction { end, asked_ns, ended_ns, partitions });
        }
        recorder.transaction_left(2_900 * MS, partitions(4, 5));
        recorder.transaction_left(2_900 * MS, TransactionPartitions::default());
        let counts = recorder.finish();
        assert_eq!((counts.committed, counts.aborted), (2, 2));
        assert_eq!((counts.markers, counts.markers_unsure), (7, 11));
        let rows = recorder.take_samples();
        let phases: Vec<_> = rows.iter().filter(|row| row.grain == Grain::Phase).collect();
        assert_eq!(phases.len(), 1);
        assert_eq!(phases[0].sums_ns, BTreeMap::from([(Timing::Commit, u128::from(112 * MS))]));
    }
}
