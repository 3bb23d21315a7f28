//! The distribution of a part of a phase is the union of its five-second rows.

use crate::fixture::{PER_SECOND, Trial, WRITERS, histogram};
use kdyno_analysis::AnalysisError;
use kdyno_analysis::histogram::Distribution;
use kdyno_analysis::latencies::{measured_latencies, window_latencies};
use kdyno_model::finding::Value;
use kdyno_model::sample::{Grain, Phase, Timing};
use rand::{RngExt, SeedableRng};

/// A trial whose measured records have random latencies, in five-second rows and in the phase's row. The measure
/// phase goes from second 2 to second 12, so its rows are those of seconds 2 to 5, 5 to 10 and 10 to 12.
fn varied() -> Trial {
    let mut trial = Trial::clean();
    let mut random = rand_pcg::Pcg64::seed_from_u64(5);
    let mut all: Vec<(u64, u64)> = Vec::new();
    for (t0_second, seconds) in [(0, 3), (5, 5), (10, 2)] {
        // Of five decades, slower ones later.
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

fn of_window(trial: &Trial, timing: Timing, first: u32, end: u32) -> Distribution {
    window_latencies(trial, "writers", timing, first, end).unwrap()
}

const QUANTILES: [f64; 8] = [0.0, 0.1, 0.5, 0.9, 0.99, 0.999, 0.9999, 1.0];

#[test]
fn the_union_over_the_whole_phase_is_the_phases_own_histogram() {
    let trial = varied();
    let union = of_window(&trial, Timing::Response, 2, 12);
    let whole = measured_latencies(&trial, "writers", Timing::Response).unwrap();
    assert_eq!((union.total(), union.mean()), (whole.total(), whole.mean()));
    for quantile in QUANTILES {
        assert_eq!(union.quantile(quantile), whole.quantile(quantile), "{quantile}");
    }
    // Stages are kept at two digits: the same records, in wider buckets.
    let union = of_window(&trial, Timing::Request, 2, 12);
    let whole = measured_latencies(&trial, "writers", Timing::Request).unwrap();
    assert_eq!(union.mean(), whole.mean());
    let wide = hdrhistogram::Histogram::<u64>::new_with_bounds(1, 1 << 40, 2).unwrap();
    for quantile in QUANTILES {
        let Value::Is(ns) = whole.quantile(quantile) else { panic!("no value at {quantile}") };
        let expected = wide.highest_equivalent(ns as u64) as f64;
        assert_eq!(union.quantile(quantile), Value::Is(expected), "{quantile}");
    }
}

#[test]
fn parts_of_a_phase_are_disjoint_and_make_up_the_whole() {
    let trial = varied();
    let total = |first, end| of_window(&trial, Timing::Response, first, end).total();
    assert_eq!([total(2, 5), total(5, 10), total(10, 12)], [3, 5, 2].map(|s| s * PER_SECOND));
    assert_eq!((total(2, 10), total(5, 12)), (8 * PER_SECOND, 7 * PER_SECOND));
    let p50 = |first, end| match of_window(&trial, Timing::Response, first, end).quantile(0.5) {
        Value::Is(ns) => ns,
        other => panic!("{other:?}"),
    };
    assert!(p50(2, 5) < p50(5, 10) && p50(5, 10) < p50(10, 12));
    // Of the warm-up there is no five-second row.
    assert_eq!(total(0, 2), 0);
}

#[test]
fn records_that_never_came_home_are_those_of_the_window() {
    let mut trial = varied();
    trial.counts(6).unresolved = 40;
    let unfinished = |timing, first, end| of_window(&trial, timing, first, end).unfinished();
    assert_eq!(unfinished(Timing::Response, 5, 10), 40);
    assert_eq!(unfinished(Timing::Response, 10, 12), 0);
    assert_eq!(unfinished(Timing::Request, 5, 10), 0);
}

#[test]
fn a_window_that_cuts_through_rows_is_refused_with_the_nearest() {
    let trial = varied();
    for (asked, wanted) in [
        ((3, 10), (2, 10)),
        ((4, 10), (5, 10)),
        ((2, 6), (2, 5)),
        ((2, 14), (2, 12)),
        ((6, 7), (5, 10)),
        ((11, 12), (10, 12)),
        ((5, 5), (5, 10)),
        ((1, 2), (0, 2)),
        ((14, 15), (12, 15)),
    ] {
        let found = window_latencies(&trial, "writers", Timing::Response, asked.0, asked.1);
        let Err(AnalysisError::CutsRows { nearest, .. }) = found else { panic!("{asked:?}: {found:?}") };
        assert_eq!(nearest, wanted, "{asked:?}");
        let _ = of_window(&trial, Timing::Response, nearest.0, nearest.1);
    }
    let error = window_latencies(&trial, "writers", Timing::Response, 3, 10).unwrap_err();
    assert_eq!(
        error.to_string(),
        "seconds 3 to 10 cut through rows of five seconds; the nearest whole rows are those of seconds 2 to 10"
    );
}

#[test]
fn phases_of_a_damaged_file_have_no_latencies_and_cause_no_panic() {
    let mut trial = varied();
    trial.phases.truncate(2);
    trial.phases[1].start_ns = u64::MAX;
    assert!(window_latencies(&trial, "writers", Timing::Response, 5, 10).is_err());
    trial.phases.clear();
    assert_eq!(of_window(&trial, Timing::Response, 5, 10).total(), 0);
}
