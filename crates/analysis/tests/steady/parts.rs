//! The parts, against what can be worked out by hand.

use crate::made::{Chance, LEVEL, Maker};
use kdyno_analysis::steady::{Noise, theil_sen, truncation, truncation_max};

#[test]
fn the_median_of_all_slopes_is_not_moved_by_wild_points() {
    assert_eq!(theil_sen(&[1.0]), None);
    assert_eq!(theil_sen(&[1.0, 4.0]), Some(3.0));
    // Slopes 1, 1, 1, 49, 24.5, 16⅓ …: the wild point is in 4 of the 10.
    assert_eq!(theil_sen(&[0.0, 1.0, 2.0, 3.0, 400.0]), Some(1.0));
    // −1, −0.5, 0, 0, 0.5, 1 of three pairs more: the middle of the two in the middle.
    assert_eq!(theil_sen(&[1.0, 0.0, 0.0, 1.0]), Some(0.0));
}

#[test]
fn the_truncation_is_the_one_of_least_error() {
    // Batches 9, 1, 1, 1: leaving one out leaves no spread.
    let points: Vec<f64> = [9.0, 1.0, 1.0, 1.0].iter().flat_map(|value| [*value; 5]).collect();
    assert_eq!(truncation(&points), 5);
    // Batches 0, 2, 0, 2: errors 4 ÷ 16, (8 ÷ 3) ÷ 9, 2 ÷ 4: the whole of it.
    let points: Vec<f64> = [0.0, 2.0, 0.0, 2.0].iter().flat_map(|value| [*value; 5]).collect();
    assert_eq!(truncation(&points), 0);
    // It changes up to the end: at the bound.
    let points: Vec<f64> = (0..42).map(f64::from).collect();
    assert_eq!((truncation(&points), truncation_max(42)), (20, 20));
    // With two batches none can be left out: one alone has no spread.
    assert_eq!(truncation(&[[9.0; 5], [1.0; 5]].concat()), 0);
    assert_eq!((truncation(&[5.0, 1.0, 1.0]), truncation(&[]), truncation_max(9)), (0, 0, 0));
}

/// Test 13: what is left has the mean of what it settles at, within half a percent of it.
#[test]
fn a_truncated_decay_has_the_mean_of_what_it_settles_at() {
    for (correlation, sd) in [(0.0, 0.02), (0.5, 0.02), (0.0, 0.05), (0.5, 0.05)] {
        for amplitude in [0.5, -0.3] {
            let shape = |at: f64| 1.0 + amplitude * (-at / 10.0).exp();
            let step = |at: f64| if at < 45.0 { 1.0 + amplitude } else { 1.0 };
            for shape in [&shape as &dyn Fn(f64) -> f64, &step] {
                let mut maker = Maker::new();
                let mut bias = 0.0;
                for _ in 0..1000 {
                    let from = truncation(&maker.series(120, Chance::of(correlation, sd), shape));
                    let kept = (from..120).map(|at| shape(at as f64) - 1.0);
                    bias += kept.sum::<f64>() / (120 - from) as f64 / 1000.0;
                }
                println!("{amplitude} with sd {sd}, {correlation}: bias {bias:.5}");
                assert!(bias.abs() <= 0.005, "{bias} for {amplitude} with {sd}, {correlation}");
            }
        }
    }
}

#[test]
fn noise_is_read_from_differences_whatever_the_course() {
    for (correlation, sd) in [(0.0, 0.05), (0.3, 0.02), (0.6, 0.05)] {
        let mut maker = Maker::new();
        let (mut found_sd, mut found_correlation) = (0.0, 0.0);
        for _ in 0..200 {
            // Two steps and a drift, which are none of its business.
            let shape =
                |at: f64| 1.0 + 0.2 * at / 600.0 + if (200.0..350.0).contains(&at) { 0.5 } else { 0.0 };
            let points = maker.series(600, Chance::of(correlation, sd), shape);
            let logs: Vec<f64> = points.iter().map(|point| (point / LEVEL).ln()).collect();
            let noise = Noise::of(&logs, 0.0).unwrap();
            found_sd += noise.sd / 200.0;
            found_correlation += noise.correlation / 200.0;
            let ratio = (1.0 + noise.correlation) / (1.0 - noise.correlation);
            assert!((noise.long_run_variance / noise.sd.powi(2) / ratio - 1.0).abs() < 1e-12);
        }
        assert!((found_sd / sd - 1.0).abs() < 0.06, "{found_sd} is not {sd}");
        assert!((found_correlation - correlation).abs() < 0.05, "{found_correlation} is not {correlation}");
    }
    assert_eq!(Noise::of(&[1.0; 5], 0.0), None);
    let still = Noise::of(&[1.0; 20], 0.01).unwrap();
    assert_eq!((still.sd, still.correlation), (0.01, 0.3));
}
