//! How sure the crossing of a fitted line is.

use super::line::{FitPoint, LINE_MIN, SearchLine, fit};
use super::wander;
use kdyno_model::seed::mix;

/// Trials drawn again and again.
const RESAMPLES: u32 = 1000;
/// Probability that the interval is meant to hold the crossing with.
pub const LEVEL: f64 = 0.95;

/// Where the crossing lies: trials are drawn again and again from those near it, with their places kept or drawn twice,
/// and each drawing gives a crossing. Few trials scatter too little about their own line, so the interval is widened by
/// Student's t for so many trials against the normal law, and by what the order of the trials says of capacity that changes
/// ([`super::wander`]): `trials` in their order. `None` of fewer than [`LINE_MIN`] + 1 trials.
pub fn interval(trials: &[FitPoint], line: &SearchLine, seed: u64) -> Option<(f64, f64)> {
    let n = trials.len();
    if line.near <= LINE_MIN {
        return None;
    }
    let mut drawn = 0_u64;
    let mut crossings: Vec<f64> = Vec::new();
    let mut sample = Vec::with_capacity(n);
    for _ in 0..RESAMPLES {
        sample.clear();
        for _ in 0..n {
            sample.push(trials[(mix(seed, drawn) % n as u64) as usize]);
            drawn += 1;
        }
        crossings.extend(fit(&sample).map(|line| line.crossing));
    }
    if crossings.len() < RESAMPLES as usize / 2 {
        return None;
    }
    crossings.sort_by(f64::total_cmp);
    let at = |p: f64| crossings[((crossings.len() - 1) as f64 * p).round() as usize];
    let wider = widening(line.near);
    let wandering = wander::widening(trials, line, LEVEL);
    let tail = (1.0 - LEVEL) / 2.0;
    let (low, high) = (at(tail), at(1.0 - tail));
    let (below, above) = ((line.crossing - low).max(0.0), (high - line.crossing).max(0.0));
    let half = |width: f64| (width * wider).hypot(wandering);
    Some((line.crossing - half(below), line.crossing + half(above)))
}

/// Student's 97.5 % quantile with n − 2 degrees of freedom ÷ the normal one.
fn widening(n: usize) -> f64 {
    let freedom = n as f64 - 2.0;
    let z: f64 = 1.959_964;
    // Cornish–Fisher, three terms; 0.3 % off at 4 degrees of freedom, 3 % at 2.
    let (z3, z5, z7) = (z.powi(3), z.powi(5), z.powi(7));
    let t = z
        + (z3 + z) / (4.0 * freedom)
        + (5.0 * z5 + 16.0 * z3 + 3.0 * z) / (96.0 * freedom.powi(2))
        + (3.0 * z7 + 19.0 * z5 + 17.0 * z3 - 15.0 * z) / (384.0 * freedom.powi(3));
    t / z
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_trials_widen_the_interval_as_students_t_does() {
        // 97.5 % quantiles of 4, 6 and 10 degrees of freedom, from tables.
        for (n, t) in [(6, 2.776), (8, 2.447), (12, 2.228)] {
            assert!((widening(n) * 1.959_964 / t - 1.0).abs() < 0.01, "{n}: {}", widening(n));
        }
    }
}
