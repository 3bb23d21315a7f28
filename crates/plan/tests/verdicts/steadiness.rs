//! Windows of one point per second in which a cluster stopped for a moment: how often they are said to have several levels
//! or to drift.

use crate::row::{allowed, count, percent, random, show};
use kdyno_analysis::steady::{FigureKind, Penalties, SeriesShape, course};
use rand::RngExt;
use rand_pcg::Pcg64;

/// Autocorrelation and standard deviation of the points, and how many even windows of such noise may be marked, percent
/// (docs/benchmarks.md, "Steady state: what can be seen").
const NOISES: [(f64, f64, f64); 4] = [(0.0, 0.05, 1.0), (0.3, 0.02, 6.0), (0.5, 0.1, 6.0), (0.7, 0.05, 15.0)];

/// By how much the median of the stalled seconds, from the twelfth on, exceeds that of the others.
const STALLS: [(&str, &[f64]); 5] = [
    ("no stall", &[]),
    ("one second stalled", &[300.0]),
    ("two seconds stalled", &[400.0, 120.0]),
    ("three seconds stalled", &[500.0, 250.0, 20.0]),
    ("four seconds stalled", &[600.0, 400.0, 200.0, 30.0]),
];

fn normal(random: &mut Pcg64) -> f64 {
    let (u, v): (f64, f64) = (1.0 - random.random::<f64>(), random.random());
    (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

fn window(random: &mut Pcg64, n: usize, (correlation, sd): (f64, f64), stall: &[f64]) -> Vec<f64> {
    let mut deviate = normal(random);
    let fresh = (1.0_f64 - correlation * correlation).sqrt();
    let mut point = |second: usize| {
        deviate = correlation * deviate + fresh * normal(random);
        let times = second.checked_sub(12).and_then(|at| stall.get(at)).unwrap_or(&1.0);
        5e6 * (1.0 + sd * deviate) * times
    };
    (0..n).map(&mut point).collect()
}

#[test]
fn a_window_with_a_stall_is_not_marked_more_often_than_without() {
    let windows = count(2_000, 300);
    for (stream, (correlation, sd, promised)) in (90_000..).zip(NOISES) {
        for (name, stall) in STALLS {
            let mut random = random(stream);
            for n in [30, 60] {
                let is_marked = |points: &[f64]| {
                    let shape = course(points, FigureKind::Latency, Penalties::MARK).unwrap().shape;
                    matches!(shape, SeriesShape::SeveralLevels(_) | SeriesShape::Drifting { .. })
                };
                let noise = (correlation, sd);
                let marked =
                    (0..windows).filter(|_| is_marked(&window(&mut random, n, noise, stall))).count();
                let marked = percent(u32::try_from(marked).unwrap(), windows);
                let world = format!("steadiness, {n} s, φ {correlation}, CV {sd}, {name}");
                let promise = format!("≤ {promised:.0}");
                show(&world, "several levels or drifting, %", &promise, &format!("{marked:.1}"), "kept");
                assert!(marked <= allowed(promised, windows), "{world}: {marked} %");
            }
        }
    }
}
