//! A robust line through ln(metric ÷ limit) over ln(load), and where it crosses zero.
//!
//! The slope is the weighted median of the slopes between all pairs of trials (Theil–Sen; a pair weighs as much as its
//! loads lie apart), the height the median of all averages of two residuals (Hodges–Lehmann), so that a disturbed trial
//! in ten moves the crossing by a fraction of the noise. The curve is convex, so the height comes from trials near the
//! crossing only. How near follows the slope: on a steep curve only close loads look like a line.

/// Excesses are cut off here: a factor of 4.5 off the limit says as much as a factor of 1000.
pub const EXCESS_MAX: f64 = 1.5;
/// Trials whose expected excess is within this count for the height.
const NEAR_EXCESS: f64 = 0.6;
/// And within this for the slope,
const WIDE_EXCESS: f64 = 1.5;
/// which needs loads that lie this far apart, ln(load).
const WIDE_MIN: f64 = 0.1;
/// Trials this many standard deviations off do not count.
const OUTLIER: f64 = 3.0;
/// A crossing so far beyond all loads that were tried is none, ln(load).
const BEYOND: f64 = 0.1;
/// Closest and farthest that these windows reach, ln(load).
const WINDOW: (f64, f64) = (0.01, 0.5);
/// Fewest trials for a line.
pub const LINE_MIN: usize = 3;

/// A trial as the fit sees it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FitPoint {
    /// ln(records/s).
    pub ln_load: f64,
    /// ln(metric ÷ limit).
    pub excess: f64,
    /// A whole trial. Short ones of the ramp help with the slope only.
    pub is_whole: bool,
}

/// The line.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchLine {
    /// d ln(metric) / d ln(load).
    pub slope: f64,
    /// ln(load) where the excess is zero.
    pub crossing: f64,
    /// Scatter of trials about the line: standard deviation of the excess, from the median deviation.
    pub scatter: f64,
    /// Trials that the height rests on.
    pub near: usize,
}

impl SearchLine {
    /// How far from the crossing trials still count for the height, ln(load).
    pub fn window(&self) -> f64 {
        window(NEAR_EXCESS, self.slope)
    }
}

fn window(excess: f64, slope: f64) -> f64 {
    (excess / slope).clamp(WINDOW.0, WINDOW.1)
}

/// The line through trials at two or more loads; `None` of fewer than [`LINE_MIN`] whole ones, when it does not rise,
/// and when it crosses zero far from every load that was tried.
pub fn fit(trials: &[FitPoint]) -> Option<SearchLine> {
    let usable: Vec<FitPoint> = trials.iter().copied().filter(|at| at.excess.abs() < EXCESS_MAX).collect();
    let whole: Vec<FitPoint> = usable.iter().copied().filter(|at| at.is_whole).collect();
    if whole.len() < LINE_MIN {
        return None;
    }
    let mut slope = rising(&usable)?;
    let mut near = whole.clone();
    let mut crossing = crossing(&near, slope);
    // Which trials are near follows the line, and the line follows them: three rounds settle it.
    for _ in 0..3 {
        let wide = nearest(&usable, crossing, window(WIDE_EXCESS, slope).max(WIDE_MIN));
        slope = rising(&wide).unwrap_or(slope);
        near = nearest(&whole, crossing, window(NEAR_EXCESS, slope));
        crossing = self::crossing(&near, slope);
    }
    let tried = || usable.iter().map(|at| at.ln_load);
    let (low, high) = (tried().fold(f64::INFINITY, f64::min), tried().fold(f64::NEG_INFINITY, f64::max));
    if crossing < low - BEYOND || crossing > high + BEYOND {
        return None;
    }
    let mut deviations: Vec<f64> =
        near.iter().map(|at| (at.excess - slope * (at.ln_load - crossing)).abs()).collect();
    // 1.4826: a normal law's standard deviation by its median deviation.
    let scatter = 1.4826 * median(&mut deviations);
    Some(SearchLine { slope, crossing, scatter, near: near.len() })
}

/// Points within `window` of `centre`, but at least the nearest [`LINE_MIN`].
fn nearest(trials: &[FitPoint], centre: f64, window: f64) -> Vec<FitPoint> {
    let mut sorted = trials.to_vec();
    sorted.sort_by(|a, b| (a.ln_load - centre).abs().total_cmp(&(b.ln_load - centre).abs()));
    let inside = sorted.iter().filter(|at| (at.ln_load - centre).abs() <= window).count();
    sorted.truncate(inside.max(LINE_MIN));
    sorted
}

/// Weighted median of the slopes between pairs, if it rises.
fn rising(trials: &[FitPoint]) -> Option<f64> {
    if trials.len() < LINE_MIN {
        return None;
    }
    let mut slopes: Vec<(f64, f64)> = Vec::new();
    for (at, first) in trials.iter().enumerate() {
        for second in &trials[at + 1..] {
            let apart = second.ln_load - first.ln_load;
            if apart != 0.0 {
                slopes.push(((second.excess - first.excess) / apart, apart.abs()));
            }
        }
    }
    slopes.sort_by(|a, b| a.0.total_cmp(&b.0));
    let half = slopes.iter().map(|slope| slope.1).sum::<f64>() / 2.0;
    let mut weight = 0.0;
    let at = slopes.iter().position(|slope| {
        weight += slope.1;
        weight >= half
    })?;
    Some(slopes[at].0).filter(|slope| slope.is_finite() && *slope > 0.0)
}

/// Where a line of this slope crosses zero: each trial names a place, and theirs is the median of the averages of two.
fn crossing(trials: &[FitPoint], slope: f64) -> f64 {
    let mut places: Vec<f64> = trials.iter().map(|at| at.ln_load - at.excess / slope).collect();
    let middle = median(&mut places.clone());
    let mut apart: Vec<f64> = places.iter().map(|place| (place - middle).abs()).collect();
    let far = OUTLIER * 1.4826 * median(&mut apart);
    places.retain(|place| (place - middle).abs() <= far);
    let mut averages = Vec::with_capacity(places.len() * (places.len() + 1) / 2);
    for (at, first) in places.iter().enumerate() {
        averages.extend(places[at..].iter().map(|second| first.midpoint(*second)));
    }
    median(&mut averages)
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        n => values[(n - 1) / 2].midpoint(values[n / 2]),
    }
}
