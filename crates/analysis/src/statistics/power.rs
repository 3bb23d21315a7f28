//! The smallest difference that a comparison would find, told before it begins.

use crate::statistics::looks::{MEAN_UNITS_MIN, UNITS_MIN, looks};
use crate::statistics::signed_rank::{critical, signed_ranks};
use crate::statistics::student::PairedMean;
use kdyno_model::seed::mix;

/// A difference of this size is found in four comparisons of five.
const POWER: f64 = 0.8;
/// Comparisons that are simulated; the same for every question.
const DRAWN: usize = 1_000;
const SEED: u64 = 20_261_122;
/// Steps of the bisection: to 16 ÷ 2¹², far below what so many comparisons tell.
const STEPS: u32 = 12;
/// A difference of so many spreads is found by any comparison that finds any.
const SPREADS_MAX: f64 = 16.0;

/// The smallest change, as a share, that a comparison with these looks finds with a probability of 80 % when ln(B ÷ A) of its
/// units spreads by `sd` and nothing disturbs them; `None` when its looks cannot find any. Three to five units are judged
/// by Student's t, as a quick look judges them, more by signed ranks.
pub fn smallest_visible(units: &[u32], sd: f64) -> Option<f64> {
    let judged = looks(units).into_iter().filter_map(|look| {
        let units = look.units as usize;
        let rule = match look.units {
            MEAN_UNITS_MIN..UNITS_MIN => Rule::Mean { alpha: look.alpha },
            _ => Rule::Ranks { most: critical(units, look.alpha)?.0 as f64 },
        };
        Some((units, rule))
    });
    let judged: Vec<(usize, Rule)> = judged.collect();
    let last = judged.iter().map(|(units, _)| *units).max()?;
    let noise: Vec<Vec<f64>> = (0..DRAWN).map(|draw| normals(draw, last)).collect();
    let (mut low, mut high) = (0.0, SPREADS_MAX);
    for _ in 0..STEPS {
        let middle = f64::midpoint(low, high);
        let found = noise.iter().filter(|noise| is_found(noise, middle, &judged)).count();
        if (found as f64) < POWER * DRAWN as f64 { low = middle } else { high = middle }
    }
    Some((high * sd).exp_m1())
}

/// What finds a difference at a look.
#[derive(Debug, Clone, Copy)]
enum Rule {
    /// A p value of at most this, by Student's t.
    Mean { alpha: f64 },
    /// A lesser rank sum of at most this.
    Ranks { most: f64 },
}

/// Whether any look finds a difference.
fn is_found(noise: &[f64], effect: f64, judged: &[(usize, Rule)]) -> bool {
    judged.iter().any(|(units, rule)| {
        let differences: Vec<f64> = noise[..*units].iter().map(|noise| noise + effect).collect();
        match rule {
            Rule::Mean { alpha } => PairedMean::of(&differences).is_some_and(|mean| mean.p_value() <= *alpha),
            Rule::Ranks { most } => {
                let ranks = signed_ranks(&differences);
                let below: f64 = ranks.iter().filter(|rank| **rank < 0.0).map(|rank| -rank).sum();
                let above: f64 = ranks.iter().filter(|rank| **rank > 0.0).sum();
                below.min(above) <= *most
            }
        }
    })
}

/// Normal deviates by Box and Muller.
fn normals(draw: usize, count: usize) -> Vec<f64> {
    let uniform = |place: usize| {
        let drawn = mix(SEED, (draw * 2 * count + place) as u64) >> 11;
        (drawn as f64 + 0.5) / (1_u64 << 53) as f64
    };
    let normal = |at: usize| {
        (-2.0 * uniform(2 * at).ln()).sqrt() * (std::f64::consts::TAU * uniform(2 * at + 1)).cos()
    };
    (0..count).map(normal).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_six_pairs_can_see_is_known_exactly() {
        // All six must have one sign: Φ(δ)⁶ = 0.8 at δ = 1.793 spreads. The density there is 0.08, so 5 standard
        // errors of 1,000 comparisons are 0.063 ÷ (6 · 0.83 · 0.08) = 0.16.
        let spreads = smallest_visible(&[6], 0.001).unwrap().ln_1p() / 0.001;
        assert!((spreads - 1.793).abs() < 0.16, "{spreads}");
        assert_eq!(smallest_visible(&[2], 0.01), None);
        assert_eq!(smallest_visible(&[], 0.01), None);
    }

    #[test]
    fn what_fewer_pairs_can_see_is_that_of_a_t_test() {
        // By the noncentral t the power is 0.8 at 3.264, 2.128 and 1.682 spreads, and rises there by 0.191, 0.330 and
        // 0.438 with each spread; 5 standard errors of 0.8 in 1,000 comparisons are 0.063.
        for (units, truth, slope) in [(3, 3.264, 0.191), (4, 2.128, 0.330), (5, 1.682, 0.438)] {
            let spreads = smallest_visible(&[units], 0.001).unwrap().ln_1p() / 0.001;
            assert!((spreads - truth).abs() < 0.063 / slope, "{units} pairs: {spreads}, not {truth}");
        }
    }

    #[test]
    fn more_pairs_see_smaller_differences_and_noise_hides_them() {
        let visible = |units: &[u32], sd| smallest_visible(units, sd).unwrap();
        assert!(visible(&[24], 0.01) < visible(&[16], 0.01) && visible(&[16], 0.01) < visible(&[8], 0.01));
        // A t test of 24 pairs would take (2.07 + 0.86) ÷ √24 = 0.60 spreads, a rank test a little more.
        let spreads = visible(&[24], 0.001).ln_1p() / 0.001;
        assert!((0.54..0.70).contains(&spreads), "{spreads}");
        let spreads = visible(&[8, 16, 24], 0.001).ln_1p() / 0.001;
        assert!((0.62..0.76).contains(&spreads), "{spreads}");
        let (quiet, noisy) = (visible(&[8, 16, 24], 0.01), visible(&[8, 16, 24], 0.1));
        assert!((quiet.ln_1p() * 10.0 - noisy.ln_1p()).abs() < 1e-9);
    }
}
