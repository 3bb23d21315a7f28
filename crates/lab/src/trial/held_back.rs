//! End-to-end latencies whose ends two clocks have measured. They are held back until the end of the trial, when it is known
//! how far these clocks were apart, and stored only where that is little.

use kdyno_model::event::Subject;
use kdyno_model::histogram;
use kdyno_model::plan::RoleKind;
use kdyno_model::run::TrialStart;
use kdyno_model::sample::{Counts, Grain, Phase, ProbeReading, Sample, StreamId, Timing, series};
use std::collections::{BTreeMap, BTreeSet};

/// Most bytes of rows that are held back; beyond them there are none.
const BYTES_MAX: usize = 64 << 20;

/// Most that the error may be of the median.
const ERROR_SHARE_MAX: f64 = 0.1;

/// Added to the running numbers of the rows that what is held back was taken from: they are stored already.
const SEQUENCE_FROM: u64 = 1 << 62;

/// What is held back of a trial.
#[derive(Default)]
pub(super) struct HeldBack {
    items: BTreeMap<String, HeldItem>,
    /// Load items by the streams that consume.
    of: BTreeMap<StreamId, String>,
    bytes: usize,
}

#[derive(Default)]
struct HeldItem {
    /// From the worker that sends to the one that consumes.
    ways: BTreeSet<(u16, u16)>,
    readers: BTreeSet<StreamId>,
    rows: Vec<Sample>,
}

/// What may be stored at the end.
#[derive(Default)]
pub(super) struct KnownWays {
    pub(super) rows: Vec<Sample>,
    /// How far the latencies of an item may be from the truth.
    pub(super) errors: Vec<ProbeReading>,
}

impl HeldBack {
    /// Holds back items whose records may be sent by one clock and consumed by another one.
    pub(super) fn of(start: &TrialStart) -> Self {
        let mut held = Self::default();
        let between = start.trial.effective.load.keys().filter(|item| start.is_between_clocks(item));
        let between: BTreeSet<&String> = between.collect();
        let readers = start.streams.iter().filter(|stream| stream.role == RoleKind::Consume);
        for reader in readers.filter(|reader| between.contains(&reader.name)) {
            let item = held.items.entry(reader.name.clone()).or_default();
            let writers = start.streams.iter().filter(|writer| start.sends_to(writer, reader));
            item.ways.extend(writers.map(|writer| (writer.id.worker, reader.id.worker)));
            item.readers.insert(reader.id);
            held.of.insert(reader.id, reader.name.clone());
        }
        held
    }

    /// Takes out of a sample what two clocks have measured.
    pub(super) fn take(&mut self, sample: &mut Sample) {
        let Some(name) = self.of.get(&sample.id) else { return };
        let is_way = |timing: &Timing| {
            Timing::OF_HANDED.iter().any(|one| one == timing || one.below_zero() == Some(*timing))
        };
        let (histograms, kept) =
            std::mem::take(&mut sample.histograms).into_iter().partition(|(timing, _)| is_way(timing));
        sample.histograms = kept;
        let (sums_ns, kept) =
            std::mem::take(&mut sample.sums_ns).into_iter().partition(|(timing, _)| is_way(timing));
        sample.sums_ns = kept;
        let Some(item) = self.items.get_mut(name) else { return };
        let row = Sample {
            sequence: sample.sequence.saturating_add(SEQUENCE_FROM),
            counts: Counts::default(),
            histograms,
            sums_ns,
            ..*sample
        };
        // A row of a phase says that its stream has ended, also where nothing was consumed.
        if row.histograms.is_empty() && row.grain != Grain::Phase {
            return;
        }
        let own = size_of::<Sample>() + row.histograms.values().map(Vec::len).sum::<usize>();
        self.bytes = self.bytes.saturating_add(own);
        if self.bytes <= BYTES_MAX {
            item.rows.push(row);
        } else {
            self.items.clear();
        }
    }

    /// What may be stored, `way_error_ns` being how far a way from a worker to another one may be from the truth, ns: of items
    /// where that is at most a tenth of the median and no value lies further below zero, both of the whole way and of the part
    /// of it that also has its ends on two clocks.
    pub(super) fn known(self, way_error_ns: impl Fn(u16, u16) -> Option<u64>) -> KnownWays {
        let mut known = KnownWays::default();
        for (name, item) in self.items {
            let errors: Option<Vec<u64>> =
                item.ways.iter().map(|(from, to)| way_error_ns(*from, *to)).collect();
            let Some(error_ns) = errors.and_then(|errors| errors.into_iter().max()) else { continue };
            let is_known_of = |of| item.is_little(error_ns, of);
            let has_part = item.has(Timing::UntilFetched);
            if !is_known_of(Timing::EndToEnd) || has_part && !is_known_of(Timing::UntilFetched) {
                continue;
            }
            known.rows.extend(item.rows);
            known.errors.push(ProbeReading {
                at_ns: 0,
                subject: Subject::Item(name),
                series: series::CLOCK_ERROR_S.to_owned(),
                value: error_ns as f64 / 1e9,
            });
        }
        known
    }
}

impl HeldItem {
    /// Whether any row has this timing.
    fn has(&self, of: Timing) -> bool {
        self.rows
            .iter()
            .flat_map(|row| row.histograms.keys())
            .any(|has| *has == of || Some(*has) == of.below_zero())
    }

    /// Whether an error of so much is little for this timing.
    fn is_little(&self, error_ns: u64, of: Timing) -> bool {
        self.median_and_lowest_ns(of).is_some_and(|(median_ns, below_ns)| {
            error_ns as f64 <= ERROR_SHARE_MAX * median_ns as f64 && below_ns <= error_ns
        })
    }

    /// The median of the measure phase, and the largest magnitude below zero, ns; `None`: a stream has no row of the phase, or
    /// the median itself lies below zero.
    fn median_and_lowest_ns(&self, of: Timing) -> Option<(u64, u64)> {
        let is_of_phase = |row: &&Sample| row.grain == Grain::Phase && row.phase == Phase::Measure;
        let rows = || self.rows.iter().filter(is_of_phase);
        if !self.readers.iter().all(|reader| rows().any(|row| row.id == *reader)) {
            return None;
        }
        let merged = |timing: Timing| {
            let mut bytes = rows().filter_map(|row| row.histograms.get(&timing));
            let Some(first) = bytes.next() else { return Some(None) };
            let mut into = histogram::decode(first).ok()?;
            for other in bytes {
                histogram::merge(&mut into, &histogram::decode(other).ok()?).ok()?;
            }
            Some(Some(into))
        };
        let above = merged(of)??;
        let below = merged(of.below_zero()?)?;
        let (below_count, below_ns) = below.map_or((0, 0), |below| (below.len(), below.max()));
        let rank = above.len().saturating_add(below_count).div_ceil(2).saturating_sub(below_count);
        let quantile = rank as f64 / above.len() as f64;
        (rank > 0).then(|| (above.value_at_quantile(quantile), below_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::Histogram;
    use hdrhistogram::serialization::{Serializer, V2Serializer};
    use kdyno_model::histogram::{LATENCY_NS_MAX, LATENCY_NS_MIN};

    const MS: u64 = 1_000_000;
    const READER: StreamId = StreamId { worker: 1, stream: 0 };

    fn bytes(ns: u64, records: u64) -> Vec<u8> {
        let mut histogram =
            Histogram::<u64>::new_with_bounds(LATENCY_NS_MIN, LATENCY_NS_MAX, 3).expect("bounds");
        histogram.record_n(ns, records).expect("within bounds");
        let mut bytes = Vec::new();
        V2Serializer::new().serialize(&histogram, &mut bytes).expect("bytes");
        bytes
    }

    /// A reader elsewhere than its writer.
    fn held() -> HeldBack {
        let (ways, readers) = (BTreeSet::from([(0, 1)]), BTreeSet::from([READER]));
        let item = HeldItem { ways, readers, rows: Vec::new() };
        let of = BTreeMap::from([(READER, "readers".to_owned())]);
        HeldBack { items: BTreeMap::from([("readers".to_owned(), item)]), of, bytes: 0 }
    }

    fn sample(id: StreamId, grain: Grain, histograms: &[(Timing, Vec<u8>)]) -> Sample {
        Sample {
            id,
            sequence: 5,
            grain,
            phase: Phase::Measure,
            t0_second: 3,
            written_second: 4,
            counts: Counts { end_to_end: 10, ..Counts::default() },
            histograms: histograms.iter().cloned().collect(),
            sums_ns: histograms.iter().map(|(timing, _)| (*timing, 7)).collect(),
        }
    }

    #[test]
    fn what_two_clocks_measured_is_stored_where_the_error_is_small() {
        let ways = [(Timing::EndToEnd, bytes(6 * MS, 10)), (Timing::HandOver, bytes(MS, 10))];
        let connect = (Timing::Connect, bytes(MS, 1));
        let all = [&ways[..], std::slice::from_ref(&connect)].concat();
        let known = |error_ns: Option<u64>, grain| {
            let mut held = held();
            let mut row = sample(READER, grain, &all);
            held.take(&mut row);
            assert_eq!(row.histograms.keys().collect::<Vec<_>>(), [&Timing::Connect]);
            assert_eq!((row.sums_ns.len(), row.counts.end_to_end, row.sequence), (1, 10, 5));
            held.known(|from, to| error_ns.filter(|_| (from, to) == (0, 1)))
        };
        let found = known(Some(6 * MS / 10), Grain::Phase);
        assert_eq!((found.errors.len(), found.errors[0].value), (1, 6e-4));
        let row = &found.rows[0];
        assert_eq!((row.sequence, &row.counts), (SEQUENCE_FROM + 5, &Counts::default()));
        assert_eq!((row.histograms.len(), row.sums_ns.len(), row.t0_second), (2, 2, 3));
        for (error_ns, grain) in [(Some(MS), Grain::Phase), (None, Grain::Phase), (Some(1), Grain::Second)] {
            let found = known(error_ns, grain);
            assert!(found.rows.is_empty() && found.errors.is_empty(), "{error_ns:?} {grain:?}");
        }
    }

    #[test]
    fn the_shorter_part_until_fetched_needs_a_small_error_too() {
        const ERROR_NS: u64 = MS / 2;
        let below = |ns| (Timing::UntilFetchedBelowZero, bytes(ns, 2));
        let until_fetched = |ns| (Timing::UntilFetched, bytes(ns, 10));
        for (part, is_known) in [
            (vec![until_fetched(5 * MS)], true),
            (vec![until_fetched(MS)], false),
            (vec![until_fetched(5 * MS), below(MS / 10)], true),
            (vec![until_fetched(5 * MS), below(MS)], false),
            (vec![below(MS / 10)], false),
        ] {
            let mut held = held();
            let all = [part.as_slice(), &[(Timing::EndToEnd, bytes(6 * MS, 10))]].concat();
            held.take(&mut sample(READER, Grain::Phase, &all));
            let found = held.known(|_, _| Some(ERROR_NS));
            let of: Vec<_> = part.iter().map(|(timing, _)| timing).collect();
            assert_eq!(found.rows.len(), usize::from(is_known), "{of:?}");
        }
    }

    #[test]
    fn values_below_zero_by_more_than_the_error_refute_it() {
        for (below_ns, is_known) in [(MS / 10, true), (2 * MS, false)] {
            let mut held = held();
            let below = (Timing::EndToEndBelowZero, bytes(below_ns, 2));
            held.take(&mut sample(READER, Grain::Phase, &[(Timing::EndToEnd, bytes(6 * MS, 10)), below]));
            assert_eq!(held.known(|_, _| Some(MS / 2)).rows.len(), usize::from(is_known), "{below_ns}");
        }
        // Others are left as they are.
        let mut other =
            sample(StreamId { worker: 0, stream: 0 }, Grain::Phase, &[(Timing::EndToEnd, bytes(MS, 1))]);
        held().take(&mut other);
        assert_eq!(other.histograms.len(), 1);
    }
}
