//! How much a series of per-second points varies by chance.

use super::levels::LEVEL_MIN;

/// Share of the squared differences, from the smallest, that the noise is read from: a step, a sawtooth's reset or a
/// stalled second is a difference that says nothing of chance.
const KEPT: f64 = 0.8;

/// Mean of the smallest 80 % of squared standard normal deviates: 1 − 2 z φ(z) ÷ 0.8 with z = 1.2816, the 90 % point.
const KEPT_MEAN: f64 = 0.437_7;

/// Autocorrelation that a series is taken to have before it is seen, and how many points that is worth: twenty points
/// alone do not distinguish 0 from 0.5.
const PRIOR: (f64, f64) = (0.3, 20.0);

/// Bounds of the autocorrelation. A negative one (an open loop makes up for what it was short of) would make means
/// look surer than a few points can show.
const CORRELATION: (f64, f64) = (0.0, 0.8);

/// Noise of a series about its course.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Noise {
    /// Standard deviation of one point.
    pub sd: f64,
    /// Autocorrelation of neighbours.
    pub correlation: f64,
    /// n × the variance of the mean of many points: what autocorrelation leaves of them. `sd² (1 + φ) ÷ (1 − φ)`.
    pub long_run_variance: f64,
}

impl Noise {
    /// The noise of a series with level shifts and drift that it does not know: from differences of points one and two
    /// seconds apart, which for an autocorrelation φ have the variances `2 sd² (1 − φ)` and `2 sd² (1 − φ²)`. `sd_min`
    /// is the least standard deviation that is believed, for values come in grains. `None` of fewer than 6 points.
    pub fn of(points: &[f64], sd_min: f64) -> Option<Self> {
        if points.len() < 6 {
            return None;
        }
        let (near, far) = (difference_variance(points, 1), difference_variance(points, 2));
        let seen = if near > 0.0 { far / near - 1.0 } else { PRIOR.0 };
        let n = points.len() as f64;
        let (low, high) = CORRELATION;
        let correlation =
            ((seen.clamp(low - 1.0, high) * n + PRIOR.0 * PRIOR.1) / (n + PRIOR.1)).clamp(low, high);
        let sd = (near / (2.0 * (1.0 - correlation))).sqrt().max(sd_min);
        Some(Self { sd, correlation, long_run_variance: sd * sd * (1.0 + correlation) / (1.0 - correlation) })
    }
}

/// Variance of the differences of points so many places apart, without the largest.
fn difference_variance(points: &[f64], apart: usize) -> f64 {
    let mut squares: Vec<f64> = points.iter().zip(&points[apart..]).map(|(a, b)| (b - a).powi(2)).collect();
    squares.sort_by(f64::total_cmp);
    let kept = ((squares.len() as f64 * KEPT).round() as usize).max(1);
    squares[..kept].iter().sum::<f64>() / kept as f64 / KEPT_MEAN
}

/// Points around each that its place is judged by: of whatever lasts as long as a level they hold more than half, of what is
/// shorter less.
const AROUND: usize = 2 * LEVEL_MIN - 1;

/// Points with what lies more than three standard deviations from the median of the nine around it put at that median: some
/// seconds in which a cluster stopped are no level, while the edge of a step stays where it is.
pub(super) fn without_outliers(points: &[f64], sd: f64) -> Vec<f64> {
    let around = |at: usize| {
        let first = at.saturating_sub(AROUND / 2).min(points.len().saturating_sub(AROUND));
        let mut around = points[first..points.len().min(first + AROUND)].to_vec();
        around.sort_by(f64::total_cmp);
        around[around.len() / 2]
    };
    let moved = points.iter().enumerate().map(|(at, point)| {
        let middle = around(at);
        if (point - middle).abs() > 3.0 * sd { middle } else { *point }
    });
    moved.collect()
}
