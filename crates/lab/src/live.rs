//! The newest complete second of a trial, for the progress line. Display only: figures are computed by
//! `analysis` from the stored evidence.

use crate::options::LiveFigures;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use kdyno_model::run::StreamInfo;
use kdyno_model::sample::{Grain, ProbeReading, Sample, Timing, series};
use kdyno_model::series::SeriesRole;
use std::collections::BTreeMap;

/// Seconds kept: a worker writes a second's rows as soon as it is over.
const SECONDS_KEPT: usize = 4;

/// One second of all streams.
#[derive(Default)]
struct SecondTally {
    offered: u64,
    achieved: u64,
    acknowledged: u64,
    fetched: u64,
    response: Option<Histogram<u64>>,
}

/// The newest seconds of all streams together, and the processes' newest processor times.
pub(crate) struct LiveTally {
    consumers: bool,
    seconds: BTreeMap<u32, SecondTally>,
    offered: u64,
    resolved: u64,
    failed: u64,
    cpu: BTreeMap<String, CpuTally>,
}

/// A process's processor time at its newest reading, and what it used since the one before.
#[derive(Default, Clone, Copy)]
struct CpuTally {
    at_ns: i64,
    seconds: f64,
    percent: f64,
}

impl LiveTally {
    /// Nothing seen yet.
    pub(crate) fn new(streams: &[StreamInfo]) -> Self {
        Self {
            consumers: streams.iter().any(|stream| stream.role == SeriesRole::Consume),
            seconds: BTreeMap::new(),
            offered: 0,
            resolved: 0,
            failed: 0,
            cpu: BTreeMap::new(),
        }
    }

    /// Takes a worker's row in.
    pub(crate) fn add(&mut self, sample: &Sample) {
        if sample.grain != Grain::Second {
            return;
        }
        let counts = &sample.counts;
        let failed: u64 = counts.failed.values().sum();
        self.offered += counts.offered;
        self.failed += failed;
        self.resolved += counts.acknowledged + failed + counts.unresolved;
        self.seconds.entry(sample.t0_second).or_default().offered += counts.offered;
        let second = self.seconds.entry(sample.written_second).or_default();
        second.achieved += counts.achieved;
        second.acknowledged += counts.acknowledged;
        second.fetched += counts.fetched;
        if let Some(bytes) = sample.histograms.get(&Timing::Response) {
            merge(&mut second.response, bytes);
        }
        while self.seconds.len() > SECONDS_KEPT {
            self.seconds.pop_first();
        }
    }

    /// Takes one round of probe readings in.
    pub(crate) fn add_probes(&mut self, readings: &[ProbeReading]) {
        let mut totals: BTreeMap<&str, (i64, f64)> = BTreeMap::new();
        for reading in readings {
            if matches!(reading.series.as_str(), series::CPU_USER_S_TOTAL | series::CPU_SYSTEM_S_TOTAL) {
                let total = totals.entry(&reading.subject).or_insert((reading.at_ns, 0.0));
                total.1 += reading.value;
            }
        }
        for (subject, (at_ns, seconds)) in totals {
            let before = self.cpu.get(subject).copied();
            let percent = before
                .filter(|b| at_ns > b.at_ns)
                .map_or(0.0, |b| 100.0 * (seconds - b.seconds).max(0.0) / ((at_ns - b.at_ns) as f64 / 1e9));
            self.cpu.insert(subject.to_owned(), CpuTally { at_ns, seconds, percent });
        }
    }

    /// How all streams together stood in `second`.
    pub(crate) fn figures(&self, second: u32) -> LiveFigures {
        let nothing = SecondTally::default();
        let tally = self.seconds.get(&second).unwrap_or(&nothing);
        let quantile = |q| tally.response.as_ref().map(|h| h.value_at_quantile(q));
        LiveFigures {
            offered_per_s: tally.offered,
            achieved_per_s: tally.achieved,
            acknowledged_per_s: tally.acknowledged,
            fetched_per_s: self.consumers.then_some(tally.fetched),
            response_ns_p50: quantile(0.5),
            response_ns_p99: quantile(0.99),
            open_records: self.offered.saturating_sub(self.resolved),
            failed: self.failed,
        }
    }

    /// Processor time in the newest second of all subjects that begin so, percent of one core.
    pub(crate) fn cpu_percent(&self, prefix: &str) -> Option<f64> {
        let mut percents =
            self.cpu.iter().filter(|(subject, _)| subject.starts_with(prefix)).map(|(_, cpu)| cpu.percent);
        let first = percents.next()?;
        Some(percents.fold(first, |sum, percent| sum + percent))
    }
}

/// Adds V2 bytes to a histogram; bytes that are none are left out, the store keeps them anyway.
fn merge(into: &mut Option<Histogram<u64>>, bytes: &[u8]) {
    let Ok(read) = Deserializer::new().deserialize::<u64, _>(&mut &bytes[..]) else {
        return;
    };
    match into {
        Some(histogram) => {
            // Fails only beyond the range that all workers' histograms share.
            let _ = histogram.add(&read);
        }
        None => *into = Some(read),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::serialization::{Serializer, V2Serializer};
    use kdyno_model::sample::{Counts, LATENCY_NS_MAX, Phase};

    fn info(name: &str, role: SeriesRole) -> StreamInfo {
        StreamInfo { stream: 0, name: name.into(), topic: "t".into(), role, clients: 1, value_bytes: 1 }
    }

    fn sample(t0_second: u32, written_second: u32, offered: u64, acknowledged: u64) -> Sample {
        Sample {
            worker: 0,
            stream: 0,
            sequence: 0,
            grain: Grain::Second,
            phase: Phase::Measure,
            t0_second,
            written_second,
            counts: Counts { offered, acknowledged, ..Counts::default() },
            histograms: BTreeMap::new(),
            sums_ns: BTreeMap::new(),
        }
    }

    fn cpu(subject: &str, at_s: i64, seconds: f64) -> ProbeReading {
        ProbeReading {
            at_ns: at_s * 1_000_000_000,
            subject: subject.into(),
            series: series::CPU_USER_S_TOTAL.into(),
            value: seconds,
        }
    }

    #[test]
    fn offered_counts_by_the_intended_second_and_acknowledged_by_the_written_one() {
        let mut tally = LiveTally::new(&[info("writers", SeriesRole::Produce)]);
        tally.add(&sample(1, 2, 30, 20));
        tally.add(&sample(2, 2, 40, 35));
        let second = tally.figures(2);
        assert_eq!((second.offered_per_s, second.acknowledged_per_s), (40, 55));
        assert_eq!(second.open_records, 15);
        assert_eq!(second.fetched_per_s, None);
        assert_eq!(tally.figures(1).offered_per_s, 30);
        assert_eq!(tally.figures(9).acknowledged_per_s, 0);
    }

    #[test]
    fn histograms_of_one_second_are_merged_and_garbage_is_left_out() {
        let mut histogram = Histogram::<u64>::new_with_bounds(1, LATENCY_NS_MAX, 2).expect("bounds");
        histogram.record(1_000_000).expect("in range");
        let mut bytes = Vec::new();
        V2Serializer::new().serialize(&histogram, &mut bytes).expect("serialise");
        let mut tally = LiveTally::new(&[info("writers", SeriesRole::Produce)]);
        for bytes in [bytes.clone(), vec![1, 2, 3], bytes] {
            let mut row = sample(1, 1, 1, 1);
            row.histograms.insert(Timing::Response, bytes);
            tally.add(&row);
        }
        let p99 = tally.figures(1).response_ns_p99.expect("two values");
        assert!((990_000..=1_010_000).contains(&p99), "{p99}");
    }

    #[test]
    fn only_the_newest_seconds_are_kept() {
        let mut tally = LiveTally::new(&[info("writers", SeriesRole::Produce)]);
        (0..1000).for_each(|second| tally.add(&sample(second, second, 1, 1)));
        assert!(tally.seconds.len() <= SECONDS_KEPT);
    }

    #[test]
    fn processor_time_of_all_brokers_is_summed() {
        let mut tally = LiveTally::new(&[]);
        assert_eq!(tally.cpu_percent("broker-"), None);
        tally.add_probes(&[cpu("broker-0", 1, 10.0), cpu("broker-1", 1, 5.0), cpu("host", 1, 50.0)]);
        tally.add_probes(&[cpu("broker-0", 2, 10.5), cpu("broker-1", 2, 5.25), cpu("host", 2, 51.0)]);
        assert_eq!(tally.cpu_percent("broker-"), Some(75.0));
    }
}
