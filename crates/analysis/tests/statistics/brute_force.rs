//! The fast ways against the slow and plain ones.

use kdyno_analysis::statistics::{WalshAverages, critical, family_wise, p_value, signed_ranks};
use proptest::prelude::*;

/// Every flip of the signs of the ranks: in how many of them the lesser rank sum is at most as large.
fn p_by_flips(differences: &[f64]) -> f64 {
    let ranks: Vec<f64> = signed_ranks(differences).iter().map(|rank| rank.abs()).collect();
    let all: f64 = ranks.iter().sum();
    let lesser = |positive: f64| positive.min(all - positive);
    let observed =
        lesser(ranks.iter().zip(differences).map(|(rank, of)| if *of > 0.0 { *rank } else { 0.0 }).sum());
    let flips = 0..1_u32 << differences.len();
    let total = flips.len() as f64;
    let picked =
        |flip: u32| ranks.iter().enumerate().map(move |(at, rank)| f64::from((flip >> at) & 1) * rank).sum();
    flips.filter(|flip| lesser(picked(*flip)) <= observed).count() as f64 / total
}

/// Max-T without step-down, for the metric whose sum is the largest.
fn largest_by_flips(metrics: &[Vec<f64>]) -> f64 {
    let ranks: Vec<Vec<f64>> = metrics.iter().map(|differences| signed_ranks(differences)).collect();
    let units = metrics[0].len();
    let largest = |flip: u32| {
        let sign = |at: usize| if (flip >> at) & 1 == 1 { -1.0 } else { 1.0 };
        let of = |ranks: &Vec<f64>| {
            let sum: f64 = ranks.iter().enumerate().map(|(at, rank)| sign(at) * rank).sum();
            sum.abs() / ranks.iter().map(|rank| rank * rank).sum::<f64>().sqrt()
        };
        ranks.iter().map(of).fold(0.0, f64::max)
    };
    let observed = largest(0) - 1e-9;
    let flips = 0..1_u32 << units;
    let total = flips.len() as f64;
    flips.filter(|flip| largest(*flip) >= observed).count() as f64 / total
}

/// Differences of all sizes, or few sizes, so that some are equal and some 0.
fn differences(most: usize) -> impl Strategy<Value = Vec<f64>> {
    prop_oneof![
        prop::collection::vec(-1.0..1.0, 1..=most),
        prop::collection::vec((-3_i32..=3).prop_map(f64::from), 1..=most),
    ]
}

proptest! {
    #[test]
    fn the_law_is_that_of_all_flips(differences in differences(12)) {
        // For nothing but zeros both are 1.
        let (fast, slow) = (p_value(&differences), p_by_flips(&differences));
        prop_assert!((fast - slow).abs() < 1e-12, "{fast} is not {slow}");
    }

    #[test]
    fn the_interval_holds_what_the_test_does_not_reject(differences in prop::collection::vec(-1.0..1.0, 2..=9), alpha in 0.02..0.6) {
        let walsh = WalshAverages::of(&differences).unwrap();
        let p_of = |centre: f64| p_by_flips(&differences.iter().map(|difference| difference - centre).collect::<Vec<_>>());
        let Some(bounds) = walsh.interval(alpha) else {
            // Not even a centre beyond all differences is rejected.
            prop_assert!(p_of(10.0) > alpha);
            return Ok(());
        };
        let nearest = differences.iter().flat_map(|a| differences.iter().map(move |b| f64::midpoint(*a, *b)));
        let gap = nearest.flat_map(|of| [(of - bounds.low).abs(), (of - bounds.high).abs()]).filter(|gap| *gap > 1e-9);
        let step = gap.fold(1.0, f64::min) / 2.0;
        prop_assert!(p_of(bounds.low - step) <= alpha && p_of(bounds.low + step) > alpha);
        prop_assert!(p_of(bounds.high + step) <= alpha && p_of(bounds.high - step) > alpha);
        prop_assert!((bounds.level - (1.0 - p_of(bounds.low - step))).abs() < 1e-12, "{}", bounds.level);
    }

    #[test]
    fn critical_values_are_the_largest_that_the_level_allows(n in 1..=12_usize, alpha in 0.001..0.9) {
        // W of all flips of n different differences.
        let sums = (0..1_u32 << n).map(|flip| (0..n).map(|at| ((flip >> at) & 1) as usize * (at + 1)).sum::<usize>());
        let sums: Vec<usize> = sums.collect();
        let missed = |most: usize| 2.0 * sums.iter().filter(|sum| **sum <= most).count() as f64 / sums.len() as f64;
        match critical(n, alpha) {
            None => prop_assert!(missed(0) > alpha),
            Some((most, level)) => {
                prop_assert!((missed(most) - level).abs() < 1e-12 && level <= alpha * (1.0 + 1e-9));
                prop_assert!(missed(most + 1) > alpha);
            }
        }
    }

    #[test]
    fn the_most_certain_of_several_metrics_is_tested_against_all(
        metrics in (1..=9_usize).prop_flat_map(|units| prop::collection::vec(prop::collection::vec(-1.0..1.0, units), 1..=4))
    ) {
        let p = family_wise(&metrics, 1);
        let least = p.iter().copied().fold(1.0, f64::min);
        prop_assert!((least - largest_by_flips(&metrics)).abs() < 1e-12);
        for (p, metric) in p.iter().zip(&metrics) {
            prop_assert!(*p >= p_value(metric) - 1e-12, "{p} of the family is below its own");
        }
    }
}
