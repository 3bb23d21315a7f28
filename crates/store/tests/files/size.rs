//! How large run files become: a stream of 20,000 records/s, laid down as the recorder does.

use crate::common::{STREAMS, TRIAL, header, session};
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2Serializer};
use kdyno_model::sample::{Counts, Grain, LATENCY_NS_MAX, LATENCY_NS_MIN, Phase, Sample, Timing};
use kdyno_store::RunWriter;
use rand::{RngExt, SeedableRng};
use std::collections::BTreeMap;

const RECORDS_PER_S: u64 = 20_000;
const SECONDS: u32 = 100;

/// The aim is about 7 MB per stream-hour. What a histogram takes grows with the spread of the latencies.
/// Measured, with the spread of the logarithm: 0.15 → 5 MB, 0.3 → 9 MB, 0.6 → 12 MB. About 0.9 MB of that is
/// SQLite's; the deflated histograms are 1.7 times what an ideal coder would leave.
const STREAM_HOUR_BYTES_MAX: f64 = 9.5e6;

/// A steady cluster, where the 99th percentile is twice the median: exp(2.33 × 0.3) = 2.
const SIGMA: f64 = 0.3;

struct Rows {
    random: rand_pcg::Pcg64,
    sequence: u64,
    sigma: f64,
}

impl Rows {
    /// Latencies around 3 ms, as a steady cluster gives them: log-normal.
    fn latency_ns(&mut self, scale: f64) -> u64 {
        let (u, v): (f64, f64) = (self.random.random(), self.random.random());
        let normal = (-2.0 * (1.0 - u).ln()).sqrt() * (std::f64::consts::TAU * v).cos();
        (3e6 * scale * (self.sigma * normal).exp()) as u64
    }

    fn histogram(&mut self, scale: f64, seconds: u64, digits: u8) -> (Vec<u8>, u128) {
        let mut histogram =
            Histogram::<u64>::new_with_bounds(LATENCY_NS_MIN, LATENCY_NS_MAX, digits).unwrap();
        let mut sum = 0;
        for _ in 0..RECORDS_PER_S * seconds {
            let latency_ns = self.latency_ns(scale);
            sum += u128::from(latency_ns);
            histogram.saturating_record(latency_ns);
        }
        let mut bytes = Vec::new();
        V2Serializer::new().serialize(&histogram, &mut bytes).unwrap();
        (bytes, sum)
    }

    fn row(&mut self, grain: Grain, second: u32, timings: &[Timing]) -> Sample {
        let mut row = Sample {
            id: STREAMS[0],
            sequence: self.sequence,
            grain,
            phase: Phase::Measure,
            t0_second: second,
            written_second: second,
            counts: Counts::default(),
            histograms: BTreeMap::new(),
            sums_ns: BTreeMap::new(),
        };
        self.sequence += 1;
        for timing in timings {
            let fine = grain == Grain::FiveSeconds && matches!(timing, Timing::Response | Timing::Service);
            let (scale, digits) = if fine { (1.0, 3) } else { (0.2, 2) };
            let seconds = if grain == Grain::FiveSeconds { 5 } else { 1 };
            // As long as the buffer has room no caller waits for it.
            let scale = if *timing == Timing::Block { 0.0 } else { scale };
            let (bytes, sum) = self.histogram(scale, seconds, digits);
            row.histograms.insert(*timing, bytes);
            row.sums_ns.insert(*timing, sum);
        }
        row
    }
}

fn stream_hour_bytes(sigma: f64) -> f64 {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.kdyno");
    let bytes = |path: &std::path::Path| std::fs::metadata(path).unwrap().len() as f64;
    let empty = folder.path().join("empty.kdyno");
    RunWriter::create(&empty, &header(), &session(1)).unwrap().finish(crate::common::end()).unwrap();

    let writer = RunWriter::create(&path, &header(), &session(1)).unwrap();
    writer.trial_started(&crate::common::trial_start()).unwrap();
    let mut rows = Rows { random: rand_pcg::Pcg64::seed_from_u64(7), sequence: 0, sigma };
    for second in 0..SECONDS {
        let mut row = rows.row(Grain::Second, second, &[Timing::Response]);
        row.counts = Counts {
            offered: RECORDS_PER_S,
            achieved: RECORDS_PER_S,
            acknowledged: RECORDS_PER_S,
            acknowledged_bytes: RECORDS_PER_S * 128,
            requests: 1234,
            request_bytes: RECORDS_PER_S * 140,
            batches: 1300,
            ..Counts::default()
        };
        writer.sample(TRIAL, row).unwrap();
        if second % 5 == 4 {
            // Clients connect once, not every five seconds.
            let timings = Timing::OF_PRODUCERS.into_iter().filter(|timing| *timing != Timing::Connect);
            let row = rows.row(Grain::FiveSeconds, second - 4, &timings.collect::<Vec<_>>());
            writer.sample(TRIAL, row).unwrap();
        }
    }
    writer.finish(crate::common::end()).unwrap();
    (bytes(&path) - bytes(&empty)) * 3600.0 / f64::from(SECONDS)
}

#[test]
fn a_stream_hour_takes_less_than_ten_megabytes() {
    let bytes = stream_hour_bytes(SIGMA);
    assert!(bytes < STREAM_HOUR_BYTES_MAX, "{bytes} bytes per stream-hour");
    println!("{:.1} MB per stream-hour", bytes / 1e6);
}
