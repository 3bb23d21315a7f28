//! Wilcoxon's signed-rank test with its exact law.
//!
//! If a coin decided which of two alike trials is called A, every difference is as likely to be positive as negative,
//! whatever drifts meanwhile. W, the lesser of the rank sums of either sign, then has a law that only depends on how many
//! differences there are. With equal differences their ranks are shared, and the law is that of the shared ranks.

use crate::statistics::student;

/// Up to so many differences the law is computed; beyond, Student's t replaces it (docs/METHOD.md, Comparing A and B).
const EXACT_MAX: usize = 100;

/// Largest T for which an interval from the (T+1)-th smallest to the (T+1)-th largest Walsh average of `n` differences
/// misses their centre with a probability of at most `alpha`, and that probability; `None` when there is no such
/// interval.
pub fn critical(n: usize, alpha: f64) -> Option<(usize, f64)> {
    if n > EXACT_MAX {
        let n_f = n as f64;
        let sd = (n_f * (n_f + 1.0) * (2.0 * n_f + 1.0) / 24.0).sqrt();
        let half_width = student::quantile(degrees(n), 1.0 - alpha) * sd;
        // T + ½: the law is one of whole numbers.
        let least = (n_f * (n_f + 1.0) / 4.0 - half_width - 0.5).floor();
        return (least >= 0.0).then_some((least as usize, alpha));
    }
    // The law is symmetric, and no interval begins beyond its middle.
    let law = law(&(1..=n).collect::<Vec<_>>(), n * (n + 1) / 4);
    let mut missed = 0.0;
    let mut found = None;
    for (sum, probability) in law.iter().enumerate() {
        missed += 2.0 * probability;
        // Probabilities are sums of 2⁻ⁿ, exact up to n = 52; beyond, an ulp must not decide.
        if missed > alpha * (1.0 + 1e-12) {
            break;
        }
        found = Some((sum, missed));
    }
    found
}

/// Two-sided p value of the differences' centre being 0: the probability of a W as small as theirs or smaller under
/// random signs. 1 when there is nothing but zeros.
pub fn p_value(differences: &[f64]) -> f64 {
    let ranks = signed_ranks(differences);
    // Ranks may be halves.
    let doubled = ranks.iter().map(|rank| (2.0 * rank.abs()) as usize).filter(|rank| *rank > 0);
    let doubled: Vec<usize> = doubled.collect();
    let of_sign = |sign: f64| ranks.iter().map(|rank| (rank * sign).max(0.0)).sum::<f64>();
    let least = of_sign(1.0).min(of_sign(-1.0));
    if doubled.len() > EXACT_MAX {
        let total: f64 = doubled.iter().map(|rank| *rank as f64 / 2.0).sum();
        let squares: f64 = doubled.iter().map(|rank| (*rank as f64 / 2.0).powi(2)).sum();
        let distance = (total / 2.0 - least - 0.5).max(0.0);
        return student::two_sided_p(distance / (squares.sqrt() / 2.0), degrees(doubled.len()));
    }
    let below: f64 = law(&doubled, (2.0 * least) as usize).iter().sum();
    (2.0 * below).min(1.0)
}

/// Each difference's rank by its size, from 1, with its sign. Equal sizes share the mean of their ranks; a difference of
/// 0 has rank 0 and takes none from the others.
pub fn signed_ranks(differences: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..differences.len()).filter(|at| differences[*at] != 0.0).collect();
    order.sort_by(|a, b| differences[*a].abs().total_cmp(&differences[*b].abs()));
    let mut ranks = vec![0.0; differences.len()];
    let mut before = 0;
    for alike in order.chunk_by(|a, b| differences[*a].abs() == differences[*b].abs()) {
        let rank = before as f64 + (alike.len() as f64 + 1.0) / 2.0;
        for at in alike {
            ranks[*at] = rank.copysign(differences[*at]);
        }
        before += alike.len();
    }
    ranks
}

/// The probability of each sum, up to `most`, of those scores that a coin each picks.
fn law(scores: &[usize], most: usize) -> Vec<f64> {
    let mut law = vec![0.0; most + 1];
    law[0] = 1.0;
    let mut reached = 0;
    for score in scores {
        reached = (reached + score).min(most);
        for sum in (0..=reached).rev() {
            law[sum] = f64::midpoint(law[sum], sum.checked_sub(*score).map_or(0.0, |rest| law[rest]));
        }
    }
    law
}

fn degrees(n: usize) -> u32 {
    u32::try_from(n - 1).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn critical_values_are_those_of_the_tables() {
        // Two-sided 5 % and 10 %, as printed in any table of the test.
        let table = [(6, 0), (7, 2), (8, 3), (10, 8), (12, 13), (16, 29), (20, 52), (24, 81), (50, 434)];
        for (n, expected) in table {
            assert_eq!(critical(n, 0.05).unwrap().0, expected, "n = {n}, 5 %");
        }
        let table = [(5, 0), (8, 5), (10, 10), (12, 17), (16, 35), (20, 60), (24, 91), (50, 466)];
        for (n, expected) in table {
            assert_eq!(critical(n, 0.10).unwrap().0, expected, "n = {n}, 10 %");
        }
        assert_eq!(critical(5, 0.05), None);
        assert_eq!(critical(0, 0.05), None);
        assert_eq!(critical(6, 2.0 / 64.0), Some((0, 2.0 / 64.0)), "the level itself is allowed");
    }

    #[test]
    fn beyond_the_exact_law_the_interval_hardly_grows() {
        // The formula where the exact law is still known.
        let (exact, _) = critical(100, 0.05).unwrap();
        let (approximate, _) = critical(101, 0.05).unwrap();
        // Each further difference moves T by about n/2 less what the spread takes: 1955 of 100, by the tables.
        assert_eq!(exact, 1955);
        assert!((1975..=2000).contains(&approximate), "{approximate}");
        let alternating =
            |n: i32| (1..=n).map(|i| f64::from(if i % 3 == 0 { -i } else { i })).collect::<Vec<_>>();
        let (exact, approximate) = (p_value(&alternating(99)), p_value(&alternating(102)));
        assert!(
            (0.0005..0.01).contains(&exact) && (0.4..2.0).contains(&(approximate / exact)),
            "{exact} {approximate}"
        );
    }

    #[test]
    fn equal_sizes_share_ranks_and_zeros_have_none() {
        assert_eq!(signed_ranks(&[0.3, -0.1, 0.0, 0.1, -0.2]), [4.0, -1.5, 0.0, 1.5, -3.0]);
        assert_eq!(p_value(&[0.0, 0.0]), 1.0);
        assert_eq!(p_value(&[]), 1.0);
        // Eight alike: all of one sign, 2 of 256 flips.
        assert_eq!(p_value(&[0.5; 8]), 2.0 / 256.0);
        assert_eq!(p_value(&[0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.0]), 2.0 / 256.0);
    }
}
