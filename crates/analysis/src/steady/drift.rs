//! The slope of a series.

/// Theil–Sen slope, per point: the median of the slopes between every two points, which up to 29 % of wild points do
/// not move. `None` of fewer than two points.
pub fn theil_sen(points: &[f64]) -> Option<f64> {
    median(&mut slopes(points))
}

/// The slopes between every two points, per point.
pub(crate) fn slopes(points: &[f64]) -> Vec<f64> {
    let pairs = points.len() * points.len().saturating_sub(1) / 2;
    let mut slopes = Vec::with_capacity(pairs);
    for (at, from) in points.iter().enumerate() {
        let later = points.iter().enumerate().skip(at + 1);
        slopes.extend(later.map(|(to_at, to)| (to - from) / (to_at - at) as f64));
    }
    slopes
}

/// The median; `None` of nothing. Puts the values in order.
pub(crate) fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let n = values.len();
    (n > 0).then(|| values[(n - 1) / 2].midpoint(values[n / 2]))
}
