//! A robust slope of points at even distances, and where the true one lies.

use crate::steady::{median, slopes};

/// Fewest points for which an interval is stated: below, Kendall's law is no normal one.
pub const SEN_MIN: usize = 8;

/// Normal deviate of 95 %.
const DEVIATE: f64 = 1.959_964;

/// The level that it is for.
pub const SEN_LEVEL: f64 = 0.95;

/// A slope per point with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SenSlope {
    /// The median of the slopes between every two points (Theil–Sen).
    pub slope: f64,
    /// Lower and upper bound of 95 %; `None` of too few points.
    pub bounds: Option<[f64; 2]>,
}

/// The slope of finite points, and Sen's interval: the order statistics of the slopes between every two points that Kendall's
/// law names. Errors must be exchangeable, of whatever law: neighbours that depend on each other are to be taken together
/// before. `None` of fewer than two points.
#[must_use]
pub fn sen_slope(points: &[f64]) -> Option<SenSlope> {
    let mut slopes = slopes(points);
    // Which puts them in order.
    let slope = median(&mut slopes)?;
    let n = points.len();
    if n < SEN_MIN {
        return Some(SenSlope { slope, bounds: None });
    }
    let many = n as f64;
    // Variance of Kendall's statistic without ties; with ties it is less, and the interval too wide.
    let half = DEVIATE * (many * (many - 1.0) * (2.0 * many + 5.0) / 18.0).sqrt();
    let pairs = slopes.len() as f64;
    let low = (((pairs - half) / 2.0).floor().max(1.0) as usize) - 1;
    Some(SenSlope { slope, bounds: Some([slopes[low], slopes[slopes.len() - 1 - low]]) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use kdyno_model::seed::mix;

    /// Evenly spread from −0.5 to 0.5.
    fn noise(seed: u64) -> f64 {
        mix(seed, 7) as f64 / u64::MAX as f64 - 0.5
    }

    #[test]
    fn a_line_has_its_slope_and_few_points_no_interval() {
        let line: Vec<f64> = (0..20).map(|at| 3.0 + 0.5 * f64::from(at)).collect();
        assert_eq!(sen_slope(&line), Some(SenSlope { slope: 0.5, bounds: Some([0.5, 0.5]) }));
        assert_eq!(sen_slope(&line[..7]), Some(SenSlope { slope: 0.5, bounds: None }));
        assert_eq!(sen_slope(&line[..1]), None);
    }

    /// A textbook size (Gilbert 1987): of ten points the bounds are the 11th smallest and the 11th largest of 45 slopes.
    #[test]
    fn the_bounds_are_the_order_statistics_of_kendalls_law() {
        let points: Vec<f64> = (0..10).map(|at| f64::from(at * at)).collect();
        let mut slopes: Vec<f64> = Vec::new();
        for from in 0..10u8 {
            slopes.extend((from + 1..10).map(|to| f64::from(from + to)));
        }
        slopes.sort_by(f64::total_cmp);
        let found = sen_slope(&points).expect("a slope");
        assert_eq!(found.bounds, Some([slopes[10], slopes[34]]));
    }

    #[test]
    fn intervals_hold_the_true_slope_about_as_often_as_they_say() {
        let runs = 2_000u64;
        let held = (0..runs).filter(|run| {
            let points: Vec<f64> = (0..20u64).map(|at| 0.1 * at as f64 + noise(run * 1_000 + at)).collect();
            let [low, high] = sen_slope(&points).expect("a slope").bounds.expect("an interval");
            (low..=high).contains(&0.1)
        });
        let share = held.count() as f64 / runs as f64;
        assert!((0.94..0.975).contains(&share), "{share}");
    }
}
