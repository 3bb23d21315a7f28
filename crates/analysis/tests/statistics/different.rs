//! Test 15: B is 1, 2 or 5 % above A.

use crate::world::FigureModel;
use kdyno_analysis::statistics::{Decision, Margin, WalshAverages, looks};

const COMPARISONS: u32 = 4_000;

/// What became of the comparisons of one effect.
struct Power {
    different_percent: f64,
    material_percent: f64,
    wrong_sign: u32,
    pairs_mean: f64,
    /// Error of the estimate when it stopped, percent.
    bias_when_stopped: f64,
}

fn power(effect: f64, margin: f64, disturbed: f64) -> Power {
    let looks = looks(&[8, 16, 24], 1);
    let mut world = FigureModel::new(0.01, effect.ln_1p(), (effect * 1000.0) as u64);
    world.disturbed = disturbed;
    let (mut different, mut material, mut wrong_sign, mut pairs, mut sum) = (0, 0, 0, 0, 0.0);
    for _ in 0..COMPARISONS {
        let (units, compared) = world.comparison(&looks, Margin::of(margin), None);
        pairs += units;
        sum += compared.estimate.exp();
        if let Decision::Different { .. } | Decision::MaybeMaterial { .. } = compared.decision {
            different += 1;
            material += u32::from(compared.decision == Decision::Different { material: true });
            wrong_sign += u32::from(compared.estimate * effect < 0.0);
        }
    }
    let share = |of: u32| 100.0 * f64::from(of) / f64::from(COMPARISONS);
    Power {
        different_percent: share(different),
        material_percent: share(material),
        wrong_sign,
        pairs_mean: f64::from(pairs) / f64::from(COMPARISONS),
        bias_when_stopped: 100.0 * (sum / f64::from(COMPARISONS) / (1.0 + effect) - 1.0),
    }
}

#[test]
fn differences_are_found_sized_and_signed() {
    println!("B above A | disturbed runs | margin | different | material | pairs, mean | bias when stopped");
    for (effect, least) in [(0.01, 60.0), (0.015, 0.0), (0.02, 97.0), (0.05, 100.0)] {
        for (disturbed, margin) in [(0.0, 0.0), (0.05, 0.0), (0.05, 0.03)] {
            let found = power(effect, margin, disturbed);
            println!(
                "{:>7.1} % | {:>12.0} % | {:>4.0} % | {:>7.1} % | {:>6.1} % | {:>11.1} | {:+.3} %",
                100.0 * effect,
                100.0 * disturbed,
                100.0 * margin,
                found.different_percent,
                found.material_percent,
                found.pairs_mean,
                found.bias_when_stopped
            );
            assert!(
                effect < 0.05 || found.wrong_sign == 0,
                "+{effect}: {} of the wrong sign",
                found.wrong_sign
            );
            // What is promised of runs whose spread is 1 %, all in all.
            let is_promised = margin == 0.0 && disturbed == 0.0;
            assert!(
                !is_promised || found.different_percent >= least,
                "+{effect}: {}",
                found.different_percent
            );
            assert!(margin == 0.0 || effect > 0.02 || found.material_percent < 1.0, "+{effect} is no margin");
        }
    }
}

#[test]
fn the_estimate_of_a_fixed_number_of_pairs_has_no_bias() {
    for effect in [0.01, 0.02, 0.05] {
        let mut world = FigureModel::new(0.01, f64::ln_1p(effect), 150 + (effect * 100.0) as u64);
        let estimate = |_| WalshAverages::of(&world.pairs(24)).unwrap().estimate().exp();
        let mean = (0..COMPARISONS).map(estimate).sum::<f64>() / f64::from(COMPARISONS);
        let bias = 100.0 * (mean / (1.0 + effect) - 1.0);
        println!("+{:.0} %, 24 pairs: bias {bias:+.4} %", 100.0 * effect);
        assert!(bias.abs() <= 0.1, "{bias}");
    }
}
