//! When a comparison may be judged, and how much of the error it may spend each time.
//!
//! Who looks after every pair and stops when he likes what he sees finds a difference sooner or later. So the looks are
//! fixed beforehand, and their errors add up to that of a single test (union bound).

/// Probability with which a comparison of two alike sides may find a difference, all looks together; and with which it
/// may call a difference as large as the margin equivalent.
const ALPHA: f64 = 0.05;

/// Most that the first of several looks may spend to be of use: the later ones need the rest.
const FIRST_ALPHA_MAX: f64 = ALPHA / 2.0;

/// Fewest units of evidence with which a two-sided rank test of a single metric can reach 5 %: 2 · 2⁻⁶.
pub const UNITS_MIN: u32 = 6;

/// Fewest units whose mean is given an interval (Student's t): with two it would be wider than anything it is to show.
pub const MEAN_UNITS_MIN: u32 = 3;

/// A look at the evidence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Look {
    /// After how many units of evidence.
    pub units: u32,
    /// What it may spend of the error.
    pub alpha: f64,
}

/// The looks of a comparison that judges so many metrics together: 5 % for a single one; 1 %, 1.5 % and 2.5 % for three;
/// else in proportion to their units.
///
/// The first of several gets as much as one metric needs to be found different there by itself, where half of the error
/// is enough for that; the later ones share the rest.
pub fn looks(units: &[u32], together: u32) -> Vec<Look> {
    let sum: f64 = units.iter().copied().map(f64::from).sum();
    let planned = |at: usize| match units.len() {
        3 => [0.01, 0.015, 0.025][at],
        _ => ALPHA * f64::from(units[at]) / sum,
    };
    let least = units.first().map_or(0.0, |units| p_least(*units, together));
    let is_raised = units.len() > 1 && planned(0) < least && least <= FIRST_ALPHA_MAX;
    let alpha = |at: usize| match at {
        _ if !is_raised => planned(at),
        0 => least,
        _ => planned(at) * (ALPHA - least) / (ALPHA - planned(0)),
    };
    (0..units.len()).map(|at| Look { units: units[at], alpha: alpha(at) }).collect()
}

/// The least p value that one of `together` metrics can have among the others, whatever these show: `together` · 2 · 2⁻ⁿ.
pub(super) fn p_least(units: u32, together: u32) -> f64 {
    f64::from(together.max(1)) * 2.0 * 0.5_f64.powi(i32::try_from(units).unwrap_or(i32::MAX))
}

/// Fewest units with which each of several metrics (or rows) judged together can be found different at `alpha`,
/// whatever the others show.
pub fn units_least(alpha: f64, together: u32) -> u32 {
    (1..1000).find(|units| p_least(*units, together) <= alpha).unwrap_or(u32::MAX)
}

/// The least number of units at the look of a comparison, or at its first one where it has several.
pub fn look_least(looks: usize, together: u32) -> u32 {
    units_least(if looks > 1 { FIRST_ALPHA_MAX } else { ALPHA }, together)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::signed_rank::critical;

    #[test]
    fn the_errors_of_all_looks_are_those_of_one_test() {
        let units = [&[6][..], &[8, 16], &[8, 16, 24], &[8, 12, 16, 24]];
        for (units, together) in units.into_iter().flat_map(|units| [1, 3, 9].map(|many| (units, many))) {
            let spent: f64 = looks(units, together).iter().map(|look| look.alpha).sum();
            assert!((spent - 0.05).abs() < 1e-12, "{units:?}: {spent}");
        }
        let bounds =
            looks(&[8, 16, 24], 1).into_iter().map(|look| critical(look.units as usize, look.alpha).unwrap());
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
        assert_eq!([1, 2, 3, 4, 8].map(|together| look_least(1, together)), [6, 7, 7, 8, 9]);
        assert_eq!([1, 2, 3, 4, 8].map(|together| look_least(3, together)), [7, 8, 8, 9, 10]);
    }

    #[test]
    fn the_first_look_can_tell_one_metric_of_several_to_differ() {
        let alphas = |units: &[u32], together| -> Vec<f64> {
            looks(units, together).iter().map(|look| look.alpha).collect()
        };
        assert_eq!(alphas(&[8, 16, 24], 1), [0.01, 0.015, 0.025]);
        let raised = alphas(&[8, 16, 24], 3);
        assert_eq!(raised[0], 6.0 / 256.0);
        assert!((raised[1] - 0.009_961).abs() < 1e-6 && (raised[2] - 0.016_602).abs() < 1e-6, "{raised:?}");
        assert_eq!(alphas(&[9, 16, 24], 4)[0], 8.0 / 512.0);
        // More than half of the error: too much for what such a look shows.
        assert_eq!(alphas(&[8, 16, 24], 4), [0.01, 0.015, 0.025]);
        assert_eq!(alphas(&[7], 3), [0.05]);
    }
}
