//! Several metrics or rows at once: the more is asked, the more is found by chance.

use crate::statistics::signed_rank::signed_ranks;
use kdyno_model::seed::mix;

/// Up to so many units every flip of signs is tried.
const ENUMERATED_MAX: usize = 20;
/// With more units so many are drawn.
const FLIPS_DRAWN: u64 = 100_000;
/// Standardised sums that differ by less are equal.
const EQUAL: f64 = 1e-9;

/// Step-down max-T p values (Westfall and Young, 1993) of several metrics of the same units: for each metric the
/// probability, with random signs that are the same for all metrics, that the largest standardised signed-rank sum among
/// it and those with smaller ones reaches its own. Metrics that move together are so not punished for being many.
///
/// Each inner slice holds one metric's differences, unit by unit. All 2ⁿ flips are tried up to 20 units; from there on
/// 100,000 are drawn from the seed, and p counts the observed one among them. A metric whose number of units differs
/// from the first one's has p 1.
pub fn family_wise(metrics: &[Vec<f64>], seed: u64) -> Vec<f64> {
    let units = metrics.first().map_or(0, Vec::len);
    let mut scores: Vec<Scores> = metrics
        .iter()
        .enumerate()
        .filter(|(_, differences)| differences.len() == units)
        .map(|(metric, differences)| Scores::of(metric, differences))
        .collect();
    scores.sort_by(|a, b| b.observed.total_cmp(&a.observed));
    let mut reached = vec![0_u64; scores.len()];
    let total = if units == 0 {
        1
    } else if units <= ENUMERATED_MAX {
        enumerate(&mut scores, units, &mut reached)
    } else {
        draw(&scores, units, seed, &mut reached)
    };
    p_values(&scores, &reached, total, metrics.len())
}

/// A metric with a smaller sum is not more certain than one with a larger.
fn p_values(scores: &[Scores], reached: &[u64], total: u64, metrics: usize) -> Vec<f64> {
    let mut p = vec![1.0; metrics];
    let mut least: f64 = 0.0;
    for (scores, reached) in scores.iter().zip(reached).filter(|(scores, _)| scores.observed > 0.0) {
        least = least.max(*reached as f64 / total as f64);
        p[scores.metric] = least;
    }
    p
}

/// Signed ranks of one metric.
struct Scores {
    metric: usize,
    ranks: Vec<f64>,
    norm: f64,
    observed: f64,
    /// Sum under the present signs.
    sum: f64,
}

impl Scores {
    fn of(metric: usize, differences: &[f64]) -> Self {
        let ranks = signed_ranks(differences);
        let norm = ranks.iter().map(|rank| rank * rank).sum::<f64>().sqrt().max(f64::MIN_POSITIVE);
        let sum: f64 = ranks.iter().sum();
        Self { metric, ranks, norm, observed: sum.abs() / norm, sum }
    }
}

/// Adds one to each metric whose observed sum the largest of its own and those after it reaches.
fn count(scores: &[Scores], sum_of: impl Fn(usize, &Scores) -> f64, reached: &mut [u64]) {
    let mut largest: f64 = 0.0;
    for ((at, scores), reached) in scores.iter().enumerate().zip(reached).rev() {
        largest = largest.max(sum_of(at, scores).abs() / scores.norm);
        *reached += u64::from(largest >= scores.observed - EQUAL);
    }
}

/// All flips but those of the first unit, whose sign changes no absolute sum; each differs from the one before by one
/// sign (Gray code). Ranks are halves at the finest, so the sums stay exact.
fn enumerate(scores: &mut [Scores], units: usize, reached: &mut [u64]) -> u64 {
    let total = 1_u64 << (units - 1);
    count(scores, |_, scores| scores.sum, reached);
    for step in 1..total {
        let unit = step.trailing_zeros() as usize + 1;
        for scores in scores.iter_mut() {
            scores.ranks[unit] = -scores.ranks[unit];
            scores.sum += 2.0 * scores.ranks[unit];
        }
        count(scores, |_, scores| scores.sum, reached);
    }
    total
}

fn draw(scores: &[Scores], units: usize, seed: u64, reached: &mut [u64]) -> u64 {
    let words = units.div_ceil(64) as u64;
    let parts: Vec<FlipSums> = scores.iter().map(|scores| FlipSums::of(&scores.ranks)).collect();
    // The observed signs are one of the draws, else p could be 0.
    count(scores, |_, scores| scores.sum, reached);
    let mut signs = Vec::new();
    for flip in 0..FLIPS_DRAWN {
        signs.clear();
        signs.extend((0..words).flat_map(|word| mix(seed, flip * words + word).to_le_bytes()));
        count(scores, |at, _| parts[at].sum(&signs), reached);
    }
    FLIPS_DRAWN + 1
}

/// Sums of every eight signed ranks under each of their 256 flips.
struct FlipSums(Vec<Vec<f64>>);

impl FlipSums {
    fn of(ranks: &[f64]) -> Self {
        let signed =
            |flip: usize, (at, rank): (usize, &f64)| if (flip >> at) & 1 == 1 { -rank } else { *rank };
        let sums = |eight: &[f64]| {
            (0..256).map(|flip| eight.iter().enumerate().map(|rank| signed(flip, rank)).sum()).collect()
        };
        Self(ranks.chunks(8).map(sums).collect())
    }

    fn sum(&self, signs: &[u8]) -> f64 {
        self.0.iter().zip(signs).map(|(sums, flip)| sums[usize::from(*flip)]).sum()
    }
}

/// Benjamini and Hochberg's adjusted p values (1995): who calls those below q found has a share of at most q of false
/// ones among them, on average.
pub fn benjamini_hochberg(p: &[f64]) -> Vec<f64> {
    let order = ascending(p);
    let mut adjusted = vec![1.0; p.len()];
    let mut least: f64 = 1.0;
    for (rank, at) in order.iter().enumerate().rev() {
        least = least.min(p[*at] * p.len() as f64 / (rank as f64 + 1.0));
        adjusted[*at] = least;
    }
    adjusted
}

/// Holm's adjusted p values (1979): who calls those below α found has any false one among them with a probability of at
/// most α, whatever binds the p values together.
pub fn holm(p: &[f64]) -> Vec<f64> {
    let order = ascending(p);
    let mut adjusted = vec![1.0; p.len()];
    let mut most: f64 = 0.0;
    for (rank, at) in order.iter().enumerate() {
        most = most.max((p[*at] * (p.len() - rank) as f64).min(1.0));
        adjusted[*at] = most;
    }
    adjusted
}

fn ascending(p: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|a, b| p[*a].total_cmp(&p[*b]));
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::signed_rank::p_value;

    fn close(found: &[f64], expected: &[f64]) {
        assert_eq!(found.len(), expected.len());
        assert!(
            found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12),
            "{found:?} is not {expected:?}"
        );
    }

    #[test]
    fn one_metric_has_the_p_value_of_its_own_test() {
        let metric = vec![0.3, -0.1, 0.25, 0.4, 0.05, 0.6, -0.02, 0.33];
        close(&family_wise(std::slice::from_ref(&metric), 1), &[p_value(&metric)]);
        let with_ties = vec![0.3, -0.3, 0.25, 0.3, 0.0, 0.6, -0.02, 0.25];
        close(&family_wise(std::slice::from_ref(&with_ties), 1), &[p_value(&with_ties)]);
    }

    #[test]
    fn correlated_metrics_cost_nothing_and_others_their_number() {
        let up: Vec<f64> = (1..=8).map(f64::from).collect();
        let down: Vec<f64> = up.iter().map(|difference| -2.0 * difference).collect();
        close(&family_wise(&[up.clone(), down, up.clone()], 1), &[2.0 / 256.0; 3]);
        // Signs of its own: under the flips that make these alike it is as extreme as the first: 4 of 256. Alone it is
        // tested against itself only, once the first is found.
        let mixed = vec![1.0, -2.0, 3.0, -4.0, 5.0, -6.0, 7.0, -8.0];
        let p = family_wise(&[mixed.clone(), up.clone()], 1);
        close(&p, &[p_value(&mixed), 4.0 / 256.0]);
        // A single rank always reaches its sum of 1; the other's 0.84 is so no more certain, though alone it would be.
        let single = vec![1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
        let slight = vec![1.0, -2.0, 3.0, -4.0, 5.0, -6.0, 7.0, 8.0];
        close(&family_wise(&[slight.clone(), single], 1), &[1.0, 1.0]);
        assert!(p_value(&slight) < 0.5);
        // What says nothing, or is of other units, is not found.
        close(&family_wise(&[up.clone(), vec![0.0; 8], vec![1.0; 7]], 1), &[2.0 / 256.0, 1.0, 1.0]);
        assert!(family_wise(&[], 1).is_empty());
        close(&family_wise(&[vec![]], 1), &[1.0]);
    }

    #[test]
    fn drawn_flips_tell_nearly_what_all_flips_tell() {
        let metric = |n: usize, phase: f64| -> Vec<f64> {
            (0..n).map(|i| 0.25 + (i as f64 * 2.4 + phase).sin()).collect()
        };
        let metrics = [metric(20, 0.0), metric(20, 1.0)];
        let enumerated = family_wise(&metrics, 1);
        let mut scores: Vec<Scores> = metrics.iter().enumerate().map(|(at, of)| Scores::of(at, of)).collect();
        scores.sort_by(|a, b| b.observed.total_cmp(&a.observed));
        let mut reached = vec![0; 2];
        let total = draw(&scores, 20, 20_261_122, &mut reached);
        for (drawn, exact) in p_values(&scores, &reached, total, 2).iter().zip(enumerated) {
            let standard_error = (exact * (1.0 - exact) / FLIPS_DRAWN as f64).sqrt();
            assert!((0.01..0.9).contains(&exact), "{exact}");
            assert!((drawn - exact).abs() < 5.0 * standard_error, "{drawn} is not {exact}");
        }
        let wide = family_wise(&[metric(70, 0.0)], 1)[0];
        let alone = p_value(&metric(70, 0.0));
        assert!(
            (wide - alone).abs() < 5.0 * (alone / FLIPS_DRAWN as f64).sqrt() + 1e-5,
            "{wide} is not {alone}"
        );
    }

    #[test]
    fn adjusted_p_values_by_hand() {
        close(&benjamini_hochberg(&[0.01, 0.5, 0.02, 0.04]), &[0.04, 0.5, 0.04, 0.16 / 3.0]);
        close(&holm(&[0.01, 0.5, 0.02, 0.04]), &[0.04, 0.5, 0.06, 0.08]);
        close(&holm(&[0.03, 0.02, 0.9]), &[0.06, 0.06, 0.9]);
        close(&benjamini_hochberg(&[]), &[]);
    }
}
