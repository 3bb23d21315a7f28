//! What is recorded of a stream that consumes: what was fetched, what is left, and how long after their scheduled
//! send times records were in the application's hands.

use super::{Recorder, SecondSlot, at};
use crate::histo::Histo;
use kdyno_model::sample::{LATENCY_NS_MAX, Phase, Timing};
use std::ops::Range;

/// Seconds of t0 that are kept open at once: a consumer that is far behind gets many of them in one response.
const SECONDS_MAX: usize = 128;

/// Replaces the t0 of a record that does not have it.
pub const UNREPORTED: u64 = u64::MAX;

/// Records that the application was handed at one instant, of one fetch.
#[derive(Debug, Clone, Copy)]
pub struct HandedOver<'a> {
    /// t7: when the fetch response was there to be read, ns; `None`: unseen, and the latency has no stages.
    pub fetched_ns: Option<u64>,
    /// t8: when the application had them, ns.
    pub handed_ns: u64,
    /// t0 of each, ns, in the order of the log: [`UNTOLD`], or any other instant outside of the trial's load, is of no record
    /// of the trial's own.
    pub intended_ns: &'a [u64],
}

impl Recorder {
    /// So many records were left to fetch when the second ended that [`Self::tick`] cuts next; `None`: not known.
    pub fn lag(&mut self, records: Option<u64>) {
        let last_ns = self.next_deadline() - 1;
        self.slot(last_ns).counts.lag_records = records;
    }

    /// So many bytes of batches were fetched now.
    pub fn fetched_bytes(&mut self, now_ns: u64, bytes: u64) {
        self.slot(now_ns).counts.fetched_bytes += bytes;
    }

    /// An application was handed records now.
    pub fn handed_over(&mut self, now_ns: u64, records: u64) {
        self.slot(now_ns).counts.fetched += records;
    }

    /// Keys and values of the records that were handed over now have so many bytes.
    pub fn handed_over_bytes(&mut self, now_ns: u64, bytes: u64) {
        self.slot(now_ns).counts.handed_over_bytes += bytes;
    }

    /// Offsets were passed over now that are no records of the load's: those of aborted transactions, those that mark the
    /// ends of transactions, and those without any.
    pub fn passed_over(&mut self, now_ns: u64, aborted: u64, control: u64, missing: u64) {
        let counts = &mut self.slot(now_ns).counts;
        counts.aborted_records += aborted;
        counts.control_records += control;
        // Whatever a broker says.
        counts.missing_offsets = counts.missing_offsets.saturating_add(missing);
    }

    /// When records were intended that an application was handed: each of the trial's own is counted and timed in the second
    /// and the phase of its t0.
    pub fn end_to_end(&mut self, records: HandedOver<'_>) {
        let own = self.load_ns(records.handed_ns);
        let mut left = records.intended_ns;
        while let Some(&first) = left.first() {
            if !own.contains(&first) {
                let others = left.iter().position(|t0| own.contains(t0)).unwrap_or(left.len());
                self.slot(records.handed_ns).counts.discarded += others as u64;
                left = &left[others..];
                continue;
            }
            if self.seconds.len() > SECONDS_MAX {
                // Rows of one second add up, however often they are written.
                self.flush_seconds();
                self.flush_fives();
            }
            let slot = self.slot(first);
            let range = slot.start_ns..slot.end_ns.min(own.end);
            let same = left.iter().position(|t0| !range.contains(t0)).unwrap_or(left.len());
            let (mine, rest) = left.split_at(same);
            left = rest;
            self.of_one_second(HandedOver { intended_ns: mine, ..records });
        }
    }

    /// So many more records were handed over now with an unknown scheduled send time.
    pub fn unreported(&mut self, now_ns: u64, records: u64) {
        if records > 0 {
            self.slot(now_ns).counts.discarded += records;
        }
    }

    /// Instants at which a record of this trial may have been intended, ns: from T0 to the end of the load. As long as
    /// that end is unknown, an hour ahead is no instant of ours.
    fn load_ns(&self, now_ns: u64) -> Range<u64> {
        let drain = self.phases.iter().find(|span| span.phase == Phase::Drain);
        let end_ns = drain.map_or(u64::MAX, |span| self.t0_ns.saturating_add(span.start_ns));
        self.t0_ns..end_ns.min(now_ns.saturating_add(LATENCY_NS_MAX))
    }

    /// Times records of the last slot's second.
    fn of_one_second(&mut self, records: HandedOver<'_>) {
        let HandedOver { fetched_ns, handed_ns, intended_ns } = records;
        let SecondSlot { counts, headline, below_zero, five, .. } = &mut self.seconds[self.last_slot];
        counts.end_to_end += intended_ns.len() as u64;
        let timings = &mut self.fives[*five].timings;
        if let Some(fetched_ns) = fetched_ns {
            let count = intended_ns.len() as u32;
            timings[at(Timing::HandOver)].record(handed_ns.saturating_sub(fetched_ns), count);
        }
        let (until, below) = (at(Timing::UntilFetched), at(Timing::UntilFetchedBelowZero));
        // Records that were sent at once, as in a closed loop, have one t0.
        for same in intended_ns.chunk_by(|a, b| a == b) {
            let (t0_ns, count) = (same[0], same.len() as u32);
            record_signed([headline, below_zero], (handed_ns, t0_ns), count);
            let Some(fetched_ns) = fetched_ns else { continue };
            match fetched_ns.checked_sub(t0_ns) {
                Some(ns) => timings[until].record(ns, count),
                None => timings[below].record(t0_ns - fetched_ns, count),
            }
        }
    }
}

/// Counts the time from `t0_ns` to an instant: above zero, or its magnitude below.
#[inline]
fn record_signed([above, below]: [&mut Histo; 2], (instant_ns, t0_ns): (u64, u64), count: u32) {
    match instant_ns.checked_sub(t0_ns) {
        Some(ns) => above.record(ns, count),
        None => below.record(t0_ns - instant_ns, count),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::histo;
    use hdrhistogram::Histogram;
    use kdyno_model::plan::PhasesPlan;
    use kdyno_model::sample::{Counts, Grain, Sample, StreamId};

    const MS: u64 = 1_000_000;
    const SECOND: u64 = 1_000 * MS;

    /// A recorder whose measure phase is from 1 s to 3 s after its T0, which lies at 10 s.
    fn recorder() -> Recorder {
        let phases =
            PhasesPlan { warmup_ns: SECOND, warmup_auto: None, measure_ns: 2 * SECOND, drain_ns: SECOND };
        let mut recorder = Recorder::of_consumer(StreamId::default(), 10 * SECOND, phases);
        recorder.measure_begins(SECOND);
        recorder
    }

    fn ended(mut recorder: Recorder) -> (Counts, Vec<Sample>) {
        let counts = recorder.finish();
        (counts, recorder.take_samples())
    }

    fn merged(rows: &[Sample], grain: Grain, timing: Timing) -> Histogram<u64> {
        let mut sum = histo::empty(3);
        for row in rows.iter().filter(|row| row.grain == grain && row.phase == Phase::Measure) {
            if let Some(bytes) = row.histograms.get(&timing) {
                sum.add(kdyno_model::histogram::decode(bytes).expect("a histogram")).expect("added");
            }
        }
        sum
    }

    fn sum_ns(rows: &[Sample], timing: Timing) -> u128 {
        let of_phases = rows.iter().filter(|row| row.grain == Grain::Phase && row.phase == Phase::Measure);
        of_phases.filter_map(|row| row.sums_ns.get(&timing)).sum()
    }

    #[test]
    fn records_belong_to_the_second_and_phase_of_their_t0() {
        let mut recorder = recorder();
        let at = |ms: u64| 10 * SECOND + ms * MS;
        // Before T0, in the warm-up, twice in each second of the measure phase, and behind the load.
        let intended_ns = [
            at(0) - 1,
            at(999),
            at(1_000),
            at(1_999),
            at(2_000),
            at(2_999),
            at(3_000),
            UNREPORTED,
            UNREPORTED,
        ];
        let (fetched_ns, handed_ns) = (at(3_500), at(3_507));
        let fetched_ns = Some(fetched_ns);
        recorder.end_to_end(HandedOver { fetched_ns, handed_ns, intended_ns: &intended_ns });
        let (counts, rows) = ended(recorder);
        assert_eq!((counts.end_to_end, counts.discarded), (5, 4));
        let seconds = rows.iter().filter(|row| row.grain == Grain::Second && row.counts.end_to_end > 0);
        let seconds: Vec<_> = seconds.map(|row| (row.phase, row.t0_second, row.counts.end_to_end)).collect();
        assert_eq!(seconds, [(Phase::Warmup, 0, 1), (Phase::Measure, 1, 2), (Phase::Measure, 2, 2)]);
        let latencies: u64 = [2_507, 1_508, 1_507, 508].into_iter().sum();
        assert_eq!(sum_ns(&rows, Timing::EndToEnd), u128::from(latencies * MS));
        let stages = [Timing::UntilFetched, Timing::HandOver].map(|timing| sum_ns(&rows, timing));
        assert_eq!(stages, [u128::from((latencies - 4 * 7) * MS), u128::from(4 * 7 * MS)]);
    }

    /// The clock of another host: what is below zero is kept with its sign, and sums stay exact.
    #[test]
    fn what_lies_below_zero_is_neither_lost_nor_clipped() {
        let mut recorder = recorder();
        let at = |ms: u64| 10 * SECOND + ms * MS;
        let intended_ns = [at(1_090), at(1_104), at(1_130), at(1_130), at(2_200)];
        recorder.end_to_end(HandedOver {
            fetched_ns: Some(at(1_100)),
            handed_ns: at(1_105),
            intended_ns: &intended_ns,
        });
        let (counts, rows) = ended(recorder);
        assert_eq!((counts.end_to_end, counts.discarded), (5, 0));
        for grain in [Grain::Second, Grain::FiveSeconds, Grain::Phase] {
            let (above, below) = (Timing::EndToEnd, Timing::EndToEndBelowZero);
            assert_eq!([above, below].map(|timing| merged(&rows, grain, timing).len()), [2, 3], "{grain:?}");
        }
        let signed = |above, below| sum_ns(&rows, above) as i128 - sum_ns(&rows, below) as i128;
        let end_to_end = signed(Timing::EndToEnd, Timing::EndToEndBelowZero);
        assert_eq!(end_to_end, (15 + 1 - 25 - 25 - 1_095) * i128::from(MS));
        let until_fetched = signed(Timing::UntilFetched, Timing::UntilFetchedBelowZero);
        assert_eq!(end_to_end, until_fetched + sum_ns(&rows, Timing::HandOver) as i128);
    }

    /// A response may hold records of an hour: slots stay few, and rows add up to the same.
    #[test]
    fn a_long_backlog_in_one_response_is_kept_in_few_slots() {
        let phases =
            PhasesPlan { warmup_ns: 0, warmup_auto: None, measure_ns: 4_000 * SECOND, drain_ns: SECOND };
        let mut recorder = Recorder::of_consumer(StreamId::default(), 0, phases);
        recorder.measure_begins(0);
        let intended_ns: Vec<u64> = (0..7_000).map(|half| half * SECOND / 2).collect();
        let handed_ns = 3_900 * SECOND;
        for intended_ns in intended_ns.chunks(3_000) {
            let fetched_ns = Some(handed_ns);
            recorder.end_to_end(HandedOver { fetched_ns, handed_ns, intended_ns });
            assert!(recorder.seconds.len() <= SECONDS_MAX + 1 && recorder.fives.len() <= SECONDS_MAX);
        }
        let (counts, rows) = ended(recorder);
        assert_eq!((counts.end_to_end, counts.discarded), (7_000, 0));
        let expected: u128 = intended_ns.iter().map(|t0| u128::from(handed_ns - t0)).sum();
        assert_eq!(sum_ns(&rows, Timing::EndToEnd), expected);
        for grain in [Grain::Second, Grain::FiveSeconds, Grain::Phase] {
            assert_eq!(merged(&rows, grain, Timing::EndToEnd).len(), 7_000, "{grain:?}");
        }
    }
}
