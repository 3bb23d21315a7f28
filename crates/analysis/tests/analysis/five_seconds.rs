//! Rows of five seconds, taken together, say what the row of their phase says.

use crate::fixture::{PER_SECOND, TrialFixture, WRITERS, histogram};
use kdyno_analysis::latencies::measured_latencies;
use kdyno_model::finding::Value;
use kdyno_model::sample::{Grain, Phase, Timing};
use rand::{RngExt, SeedableRng};

/// A trial whose measured records have random latencies, in five-second rows and in the phase's row. The measure
/// phase goes from second 2 to second 12, so its rows are those of seconds 2 to 5, 5 to 10 and 10 to 12.
fn varied() -> TrialFixture {
    let mut trial = TrialFixture::clean();
    let mut random = rand_pcg::Pcg64::seed_from_u64(5);
    let mut all: Vec<(u64, u64)> = Vec::new();
    for (t0_second, seconds) in [(0, 3), (5, 5), (10, 2)] {
        // Latencies of five decades, slower ones later.
        let floor = f64::from(t0_second) / 5.0;
        let values: Vec<(u64, u64)> = (0..seconds * PER_SECOND)
            .map(|_| (10f64.powf(2.0 + floor + 3.0 * random.random::<f64>()) as u64, 1))
            .collect();
        let row = trial.push(WRITERS, Grain::FiveSeconds, Phase::Measure, t0_second, t0_second + 4);
        let sum: u128 = values.iter().map(|(ns, _)| u128::from(*ns)).sum();
        for (timing, digits) in [(Timing::Response, 3), (Timing::Request, 2)] {
            row.histograms.insert(timing, histogram(&values, digits));
            row.sums_ns.insert(timing, sum);
        }
        all.extend(values);
    }
    let sum: u128 = all.iter().map(|(ns, _)| u128::from(*ns)).sum();
    let whole = trial.samples.iter_mut().find(|row| row.grain == Grain::Phase && row.phase == Phase::Measure);
    let whole = whole.unwrap();
    for timing in [Timing::Response, Timing::Request] {
        whole.histograms.insert(timing, histogram(&all, 3));
        whole.sums_ns.insert(timing, sum);
    }
    trial
}

const QUANTILES: [f64; 8] = [0.0, 0.1, 0.5, 0.9, 0.99, 0.999, 0.9999, 1.0];

/// The trial as a worker leaves it that ends before it wrote the row of its phase.
fn without_row_of_the_phase(mut trial: TrialFixture) -> TrialFixture {
    trial.samples.retain(|row| row.grain != Grain::Phase);
    trial
}

#[test]
fn the_union_of_five_second_rows_is_the_phases_own_histogram() {
    let parts = without_row_of_the_phase(varied());
    let union = measured_latencies(&parts, "writers", Timing::Response).unwrap();
    let whole = measured_latencies(&varied(), "writers", Timing::Response).unwrap();
    assert_eq!((union.total(), union.mean()), (whole.total(), whole.mean()));
    for quantile in QUANTILES {
        assert_eq!(union.quantile(quantile), whole.quantile(quantile), "{quantile}");
    }
    // Stages are kept at two digits: the same records, in wider buckets.
    let union = measured_latencies(&parts, "writers", Timing::Request).unwrap();
    let whole = measured_latencies(&varied(), "writers", Timing::Request).unwrap();
    assert_eq!(union.mean(), whole.mean());
    let wide = hdrhistogram::Histogram::<u64>::new_with_bounds(1, 1 << 40, 2).unwrap();
    for quantile in QUANTILES {
        let Value::Is(ns) = whole.quantile(quantile) else { panic!("no value at {quantile}") };
        let expected = wide.highest_equivalent(ns as u64) as f64;
        assert_eq!(union.quantile(quantile), Value::Is(expected), "{quantile}");
    }
}
