//! A straight line through the use of a resource at several loads, and where it meets all of it.

use crate::statistics;

/// Probability that an interval of the crossing is meant to hold it with.
pub(super) const LEVEL: f64 = 0.95;

/// The least-squares line through points (load, share used). What does not depend on the load is its height at no load.
#[derive(Debug, Clone, Copy)]
pub(super) struct LeastSquaresLine {
    n: f64,
    mean_x: f64,
    mean_y: f64,
    /// Sum of the squares of x − mean.
    spread: f64,
    pub(super) slope: f64,
    /// Student's t × the standard deviation of points about the line; `None`: two points are a line without scatter.
    scatter: Option<f64>,
}

impl LeastSquaresLine {
    /// `None` of fewer than two points, and where all have one load.
    pub(super) fn through(points: &[(f64, f64)]) -> Option<Self> {
        let n = points.len() as f64;
        let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / n;
        let (mean_x, mean_y) = (mean(|point| point.0), mean(|point| point.1));
        let spread: f64 = points.iter().map(|point| (point.0 - mean_x).powi(2)).sum();
        if points.len() < 2 || spread <= 0.0 {
            return None;
        }
        let slope = points.iter().map(|point| (point.0 - mean_x) * (point.1 - mean_y)).sum::<f64>() / spread;
        let left: f64 =
            points.iter().map(|point| (point.1 - mean_y - slope * (point.0 - mean_x)).powi(2)).sum();
        let freedom = points.len() - 2;
        let scatter = u32::try_from(freedom)
            .ok()
            .filter(|freedom| *freedom > 0)
            .map(|freedom| statistics::student_quantile(freedom, LEVEL) * (left / f64::from(freedom)).sqrt());
        Some(Self { n, mean_x, mean_y, spread, slope, scatter })
    }

    /// The most that the share may be at a load, as far as the scatter of the points shows.
    pub(super) fn most_at(&self, x: f64) -> f64 {
        let apart = x - self.mean_x;
        let height = self.mean_y + self.slope * apart;
        height + self.scatter.unwrap_or(0.0) * (1.0 / self.n + apart * apart / self.spread).sqrt()
    }

    /// The load at which all is used; `None` where the line does not rise.
    pub(super) fn crossing(&self) -> Option<f64> {
        (self.slope > 0.0).then(|| self.mean_x + (1.0 - self.mean_y) / self.slope)
    }

    /// The loads between which it lies: those at which the level lies within the line's own bounds (Fieller). Without an
    /// upper end where the scatter does not exclude that the line is level; `None` without scatter, or where nothing is
    /// excluded.
    pub(super) fn crossing_between(&self) -> Option<(f64, f64)> {
        let scatter = self.scatter?;
        let left = 1.0 - self.mean_y;
        let a = self.slope * self.slope - scatter * scatter / self.spread;
        let b = left * self.slope;
        let c = left * left - scatter * scatter / self.n;
        let root = (b * b - a * c).max(0.0).sqrt();
        if a <= 0.0 {
            // From the two ends of what is excluded the one above the points is the lowest load that is not.
            let low = (b - root) / a;
            return (c > 0.0 && low > 0.0).then_some((self.mean_x + low, f64::INFINITY));
        }
        Some((self.mean_x + (b - root) / a, self.mean_x + (b + root) / a))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, wanted: f64) {
        assert!((found - wanted).abs() < 1e-6 * wanted.abs().max(1.0), "{found} is not {wanted}");
    }

    #[test]
    fn a_line_meets_the_level_where_it_does() {
        let line = LeastSquaresLine::through(&[(1.0, 0.3), (2.0, 0.5), (3.0, 0.7)]).unwrap();
        close(line.crossing().unwrap(), 4.5);
        close(line.most_at(4.5), 1.0);
        let two = LeastSquaresLine::through(&[(1.0, 0.3), (2.0, 0.5)]).unwrap();
        assert_eq!(two.crossing_between(), None, "two points do not scatter");
        assert!(
            LeastSquaresLine::through(&[(1.0, 0.3)]).is_none()
                && LeastSquaresLine::through(&[(1.0, 0.3), (1.0, 0.5)]).is_none()
        );
        assert_eq!(
            LeastSquaresLine::through(&[(1.0, 0.5), (2.0, 0.5)]).unwrap().crossing(),
            None,
            "it is level"
        );
    }

    #[test]
    fn bounds_are_the_loads_where_the_level_is_within_the_lines_own() {
        let points = [(1.0, 0.22), (2.0, 0.41), (3.0, 0.58), (4.0, 0.82)];
        let line = LeastSquaresLine::through(&points).unwrap();
        let (low, high) = line.crossing_between().unwrap();
        close(line.most_at(low), 1.0);
        assert!(low < line.crossing().unwrap() && line.crossing().unwrap() < high, "{low} {high}");
        // At the upper end the least that the share may be is 1.
        let apart = high - line.mean_x;
        close(2.0 * (line.mean_y + line.slope * apart) - line.most_at(high), 1.0);
    }

    #[test]
    fn points_that_scatter_more_than_they_rise_have_no_upper_bound() {
        let line = LeastSquaresLine::through(&[(1.0, 0.30), (2.0, 0.36), (3.0, 0.28), (4.0, 0.37)]).unwrap();
        let (low, high) = line.crossing_between().unwrap();
        close(line.most_at(low), 1.0);
        assert!(low > 4.0 && high == f64::INFINITY, "{low} {high}");
    }
}
