//! Student's t: for three to five repeats, where no rank test can say anything.
//!
//! For whole degrees of freedom the distribution function is a finite sum of powers (Abramowitz and Stegun, 26.7.3 and
//! 26.7.4), so no crate is needed and nothing is approximated.

use crate::statistics::bounds::Bounds;
use std::f64::consts::PI;

/// The mean of differences with what Student's t says of it: exact where they are independent and normal.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PairedMean {
    /// Their mean.
    pub estimate: f64,
    /// Its standard error.
    pub standard_error: f64,
    degrees: u32,
}

impl PairedMean {
    /// `None` of fewer than two.
    pub fn of(differences: &[f64]) -> Option<Self> {
        let degrees = u32::try_from(differences.len()).unwrap_or(u32::MAX).checked_sub(1)?;
        if degrees == 0 {
            return None;
        }
        let n = differences.len() as f64;
        let estimate = differences.iter().sum::<f64>() / n;
        let squares: f64 = differences.iter().map(|difference| (difference - estimate).powi(2)).sum();
        Some(Self { estimate, standard_error: (squares / (n - 1.0) / n).sqrt(), degrees })
    }

    /// The interval that misses the true mean with probability `alpha`.
    pub fn interval(&self, alpha: f64) -> Bounds {
        let half_width = quantile(self.degrees, 1.0 - alpha) * self.standard_error;
        Bounds { low: self.estimate - half_width, high: self.estimate + half_width, level: 1.0 - alpha }
    }

    /// Two-sided p value of the true mean being 0.
    pub fn p_value(&self) -> f64 {
        if self.estimate == 0.0 {
            1.0
        } else {
            two_sided_p(self.estimate / self.standard_error, self.degrees)
        }
    }
}

/// Degrees of freedom beyond which Student's t is hardly another law.
const DEGREES_MAX: f64 = 100.0;

/// What spreads by two variances, with what Welch's t (1947) says of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WelchMean {
    /// The difference of two means, or a mean.
    pub estimate: f64,
    /// Values of it; of two sides those of the one that has fewer.
    pub n: usize,
    standard_error: f64,
    degrees: f64,
}

impl WelchMean {
    /// The mean of differences on one start, as far as it speaks of starts in general, whose own differences spread by
    /// `starts_sd`; `None` of fewer than two.
    pub fn on_one_start(differences: &[f64], starts_sd: f64) -> Option<Self> {
        let mean = PairedMean::of(differences)?;
        let [of_pairs, of_starts] = [mean.standard_error, starts_sd].map(|sd| sd.powi(2));
        let degrees = (of_pairs + of_starts).powi(2) / (of_pairs.powi(2) / f64::from(mean.degrees));
        Some(Self {
            estimate: mean.estimate,
            n: differences.len(),
            standard_error: (of_pairs + of_starts).sqrt(),
            // Without any spread no degree matters.
            degrees: if degrees.is_finite() { degrees.min(DEGREES_MAX) } else { DEGREES_MAX },
        })
    }

    /// The second mean less the first; their spreads may differ. `None` when a side has fewer than two values.
    pub fn of_two(first: &[f64], second: &[f64]) -> Option<Self> {
        let [a, b] = [PairedMean::of(first)?, PairedMean::of(second)?];
        let [of_a, of_b] = [a, b].map(|mean| mean.standard_error.powi(2));
        let parts = of_a.powi(2) / f64::from(a.degrees) + of_b.powi(2) / f64::from(b.degrees);
        Some(Self {
            estimate: b.estimate - a.estimate,
            n: first.len().min(second.len()),
            standard_error: (of_a + of_b).sqrt(),
            // Without any spread no degree matters.
            degrees: if parts > 0.0 { (of_a + of_b).powi(2) / parts } else { 1.0 },
        })
    }

    /// The interval that misses the true difference with probability `alpha`.
    pub fn interval(&self, alpha: f64) -> Bounds {
        let half_width = self.between(|degrees| quantile(degrees, 1.0 - alpha)) * self.standard_error;
        Bounds { low: self.estimate - half_width, high: self.estimate + half_width, level: 1.0 - alpha }
    }

    /// Two-sided p value of no difference.
    pub fn p_value(&self) -> f64 {
        if self.estimate == 0.0 {
            return 1.0;
        }
        self.between(|degrees| two_sided_p(self.estimate / self.standard_error, degrees))
    }

    /// Degrees of freedom are a fraction here: between those of the adjacent whole numbers.
    fn between(&self, of: impl Fn(u32) -> f64) -> f64 {
        let whole = self.degrees.floor().max(1.0);
        let share = (self.degrees - whole).max(0.0);
        let [below, above] = [whole, whole + 1.0].map(|degrees| of(degrees as u32));
        below + share * (above - below)
    }
}

/// The t that |T| stays below with probability `level`, for `degrees` ≥ 1 of freedom and a level in 0..1.
pub fn quantile(degrees: u32, level: f64) -> f64 {
    let mut high = 1.0;
    while central(high, degrees) < level && high < 1e15 {
        high *= 2.0;
    }
    let mut low = 0.0;
    // To the last bit: each step halves what is left.
    for _ in 0..100 {
        let middle = f64::midpoint(low, high);
        if central(middle, degrees) < level { low = middle } else { high = middle }
    }
    high
}

/// Probability of |T| ≥ |t|.
pub fn two_sided_p(t: f64, degrees: u32) -> f64 {
    (1.0 - central(t.abs(), degrees)).clamp(0.0, 1.0)
}

/// Probability of |T| < t.
fn central(t: f64, degrees: u32) -> f64 {
    let angle = (t / f64::from(degrees).sqrt()).atan();
    let (sin, cos) = angle.sin_cos();
    let square = cos * cos;
    let is_odd = degrees % 2 == 1;
    let mut term = if is_odd { cos } else { 1.0 };
    let mut sum = 0.0;
    // The factors of term k are 2k ÷ (2k + 1) for odd and (2k − 1) ÷ 2k for even degrees.
    for k in 1..=degrees / 2 {
        sum += term;
        let k = 2.0 * f64::from(k);
        term *= square * if is_odd { k / (k + 1.0) } else { (k - 1.0) / k };
    }
    if is_odd { 2.0 / PI * (angle + sin * sum) } else { sin * sum }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        // Two-sided 95 %, 99 %: printed in any table of Student's t.
        let table = [
            (1, 12.706_205, 63.656_741),
            (2, 4.302_653, 9.924_843),
            (3, 3.182_446, 5.840_909),
            (4, 2.776_445, 4.604_095),
            (5, 2.570_582, 4.032_143),
            (7, 2.364_624, 3.499_483),
            (10, 2.228_139, 3.169_273),
            (30, 2.042_272, 2.749_996),
            (99, 1.984_217, 2.626_405),
            (120, 1.979_930, 2.617_421),
        ];
        for (degrees, at_95, at_99) in table {
            assert!((quantile(degrees, 0.95) - at_95).abs() < 1e-6, "{degrees} at 95 %");
            assert!((quantile(degrees, 0.99) - at_99).abs() < 1e-6, "{degrees} at 99 %");
            assert!((two_sided_p(-at_95, degrees) - 0.05).abs() < 1e-7, "p at {degrees}");
        }
        // The normal law.
        assert!((quantile(100_000, 0.95) - 1.959_988).abs() < 1e-5);
        assert_eq!(two_sided_p(0.0, 3), 1.0);
    }

    #[test]
    fn means_of_two_sides_by_hand() {
        // Variances 1 and 4, of three each: standard error √(5 ÷ 3), degrees (5 ÷ 3)² ÷ ((1 ÷ 9 + 16 ÷ 9) ÷ 2) = 2.94.
        let means = WelchMean::of_two(&[1.0, 2.0, 3.0], &[8.0, 10.0, 12.0]).unwrap();
        assert_eq!((means.estimate, means.n), (8.0, 3));
        assert!((means.degrees - 50.0 / 17.0).abs() < 1e-12);
        let bounds = means.interval(0.05);
        // 16 ÷ 17 of the way from t of 2 degrees to that of 3.
        let half_width = (4.302_653 + 3.182_446 * 16.0) / 17.0 * (5.0_f64 / 3.0).sqrt();
        assert!(
            (bounds.high - 8.0 - half_width).abs() < 1e-5 && (bounds.low - 8.0 + half_width).abs() < 1e-5
        );
        let p = |degrees| two_sided_p(8.0 / (5.0_f64 / 3.0).sqrt(), degrees);
        assert!((means.p_value() - (p(2) + 16.0 * p(3)) / 17.0).abs() < 1e-12);
        assert_eq!(WelchMean::of_two(&[1.0], &[1.0, 2.0]), None);
        assert_eq!(WelchMean::of_two(&[1.0, 1.0], &[1.0, 1.0]).unwrap().p_value(), 1.0);
    }

    #[test]
    fn a_mean_on_one_start_reaches_as_far_as_starts_differ() {
        let differences = [0.9, 1.0, 1.1];
        let mean = PairedMean::of(&differences).unwrap();
        let known = |sd| WelchMean::on_one_start(&differences, sd).unwrap();
        // Starts that do not differ: three pairs, as ever.
        let (same, own) = (known(0.0).interval(0.05), mean.interval(0.05));
        assert!((same.low - own.low).abs() < 1e-12 && (same.high - own.high).abs() < 1e-12);
        // Variances 0.01 ÷ 3 and 1: degrees 1.0033² ÷ ((0.01 ÷ 3)² ÷ 2); 100 are enough.
        let wide = known(1.0);
        assert_eq!(wide.degrees, DEGREES_MAX);
        assert!((wide.interval(0.05).high - 1.0 - 1.984 * 1.003_33_f64.sqrt()).abs() < 1e-3);
        assert_eq!(WelchMean::on_one_start(&[1.0], 1.0), None);
        assert!(WelchMean::on_one_start(&[1.0, 1.0], 0.0).unwrap().p_value() < 1e-9, "all alike");
    }

    #[test]
    fn a_mean_has_the_interval_that_is_worked_out_by_hand() {
        let mean = PairedMean::of(&[1.0, 2.0, 3.0, 6.0]).unwrap();
        // Variance (4 + 1 + 0 + 9) ÷ 3.
        let standard_error = (14.0_f64 / 3.0 / 4.0).sqrt();
        assert_eq!((mean.estimate, mean.standard_error), (3.0, standard_error));
        let bounds = mean.interval(0.05);
        assert!((bounds.high - 3.0 - 3.182_446 * standard_error).abs() < 1e-5);
        assert!((bounds.low - 3.0 + 3.182_446 * standard_error).abs() < 1e-5);
        assert!((0.0659..0.0702).contains(&mean.p_value()), "t = 2.777 of 3 degrees: {}", mean.p_value());
        assert_eq!(PairedMean::of(&[1.0]), None);
        assert_eq!(PairedMean::of(&[]), None);
        assert_eq!(PairedMean::of(&[0.0, 0.0]).unwrap().p_value(), 1.0);
        assert_eq!(PairedMean::of(&[1.0, 1.0]).unwrap().p_value(), 0.0);
    }
}
