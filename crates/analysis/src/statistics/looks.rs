//! When a comparison may be judged, and how much of the error it may spend each time.
//!
//! Who looks after every pair and stops when he likes what he sees finds a difference sooner or later. So the looks are
//! fixed beforehand, and their errors add up to that of a single test (union bound).

/// Probability with which a comparison of two alike sides may find a difference, all looks together; and with which it
/// may call a difference as large as the margin equivalent.
const ALPHA: f64 = 0.05;

/// Fewest units of evidence with which a two-sided rank test can reach 5 %: 2 · 2⁻⁶.
pub const UNITS_MIN: u32 = 6;

/// Fewest units of which a mean is given an interval (Student's t): of two it would be wider than anything it is to show.
pub const MEAN_UNITS_MIN: u32 = 3;

/// A look at the evidence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Look {
    /// After how many units of evidence.
    pub units: u32,
    /// What it may spend of the error.
    pub alpha: f64,
}

/// The looks of a comparison: 5 % for a single one; 1 %, 1.5 % and 2.5 % for three; else in proportion to their
/// units.
pub fn looks(units: &[u32]) -> Vec<Look> {
    let sum: f64 = units.iter().copied().map(f64::from).sum();
    let alpha = |at: usize| match units.len() {
        3 => [0.01, 0.015, 0.025][at],
        _ => ALPHA * f64::from(units[at]) / sum,
    };
    (0..units.len()).map(|at| Look { units: units[at], alpha: alpha(at) }).collect()
}

/// Fewest units with which each of several metrics (or rows) judged together can be told to differ at `alpha`, whatever
/// the others show: `together` · 2 · 2⁻ⁿ ≤ alpha.
pub fn units_least(alpha: f64, together: u32) -> u32 {
    let reaches = |units: &i32| f64::from(together) * 2.0 * 0.5_f64.powi(*units) <= alpha;
    (1..1000).find(reaches).map_or(u32::MAX, i32::unsigned_abs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::signed_rank::critical;

    #[test]
    fn the_errors_of_all_looks_are_those_of_one_test() {
        for units in [&[6][..], &[8, 16], &[8, 16, 24], &[8, 12, 16, 24]] {
            let spent: f64 = looks(units).iter().map(|look| look.alpha).sum();
            assert!((spent - 0.05).abs() < 1e-12, "{units:?}: {spent}");
        }
        let bounds =
            looks(&[8, 16, 24]).into_iter().map(|look| critical(look.units as usize, look.alpha).unwrap());
        let (ranks, spent): (Vec<_>, Vec<_>) = bounds.unzip();
        assert_eq!(ranks, [0, 21, 72]);
        assert!(spent.iter().sum::<f64>() < 0.0461, "{spent:?}");
    }

    #[test]
    fn fewer_units_than_the_least_can_never_differ() {
        assert_eq!(units_least(0.05, 1), UNITS_MIN);
        assert_eq!([2, 3, 4].map(|together| units_least(0.05, together)), [7, 7, 8]);
        assert_eq!(units_least(0.01, 1), 8);
        assert_eq!(units_least(0.0, 1), u32::MAX);
    }
}
