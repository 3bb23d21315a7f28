//! The best division of a series into stretches of one level each, and its best straight line.

/// Fewest points of a level.
pub(super) const LEVEL_MIN: usize = 5;

/// Prefix sums, from which the cost of any stretch follows at once.
struct PrefixSums {
    values: Vec<f64>,
    squares: Vec<f64>,
}

impl PrefixSums {
    fn of(points: &[f64]) -> Self {
        let (mut values, mut squares) = (vec![0.0], vec![0.0]);
        let (mut value, mut square) = (0.0, 0.0);
        // About the first point, so that squares of large values do not cancel.
        let origin = points.first().copied().unwrap_or(0.0);
        for point in points {
            value += point - origin;
            square += (point - origin).powi(2);
            values.push(value);
            squares.push(square);
        }
        Self { values, squares }
    }

    /// Squared deviations from the mean of the points in `from..to`.
    fn deviations(&self, from: usize, to: usize) -> f64 {
        let value = self.values[to] - self.values[from];
        let square = self.squares[to] - self.squares[from];
        (square - value * value / (to - from) as f64).max(0.0)
    }
}

/// A division and what it costs.
pub(super) struct Division {
    /// First point of every level; the first is 0.
    pub(super) starts: Vec<usize>,
    /// Squared deviations from the levels ÷ variance, plus the penalty of every level after the first.
    pub(super) cost: f64,
}

/// The division of least cost, exactly: optimal partitioning (Jackson et al. 2005), of which PELT (Killick et al.
/// 2012) is the faster form for series much longer than the points of a window.
pub(super) fn best_division(points: &[f64], variance: f64, penalty: f64) -> Division {
    let n = points.len();
    let sums = PrefixSums::of(points);
    // Least cost of the first `to` points and where its last level begins.
    let mut best: Vec<(f64, usize)> = vec![(f64::INFINITY, 0); n + 1];
    best[0] = (-penalty, 0);
    for to in LEVEL_MIN..=n {
        for from in 0..=to - LEVEL_MIN {
            // Infinite where so few points cannot be divided.
            let cost = best[from].0 + sums.deviations(from, to) / variance + penalty;
            if cost < best[to].0 {
                best[to] = (cost, from);
            }
        }
    }
    let mut starts = Vec::new();
    let mut at = n;
    while at > 0 {
        at = best[at].1;
        starts.push(at);
    }
    starts.reverse();
    Division { starts, cost: best[n].0 }
}

/// Squared deviations from the straight line that fits best.
pub(super) fn deviations_from_line(points: &[f64]) -> f64 {
    let n = points.len() as f64;
    let (middle, mean) = ((n - 1.0) / 2.0, points.iter().sum::<f64>() / n);
    let (mut xx, mut xy, mut yy) = (0.0, 0.0, 0.0);
    for (at, point) in points.iter().enumerate() {
        let (x, y) = (at as f64 - middle, point - mean);
        xx += x * x;
        xy += x * y;
        yy += y * y;
    }
    if xx > 0.0 { (yy - xy * xy / xx).max(0.0) } else { 0.0 }
}
