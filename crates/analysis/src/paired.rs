//! Two rows, or two sides of a claim, paired repeat by repeat: what differs between repeats of a row (the draw of
//! arrivals, the hour) is then the same for both.

use crate::statistics::{Bounds, PairedMean, UNITS_MIN, WalshAverages, p_value, units_least};
use kdyno_model::finding::{Interval, IntervalMethod, NotResolvable};

/// Probability with which an interval may miss, and with which rows that are alike may be called different, all rows of
/// a column together.
pub(crate) const ALPHA: f64 = 0.05;
/// Fewest repeats whose mean has an interval.
pub const REPEATS_MIN: u32 = 3;

/// Where differences are centred.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Paired {
    /// Hodges–Lehmann estimate, or the mean where that is what the interval is of.
    pub(crate) estimate: f64,
    /// Bounds in the unit of the differences, or why there are none.
    pub(crate) interval: Interval,
    /// Two-sided p value of the centre being 0; `None` where there is no interval.
    pub(crate) p: Option<f64>,
    /// How many there are.
    pub(crate) n: u32,
}

impl Paired {
    /// The test for one finite difference for each repeat; `together` tests are made at once; `None` for none.
    ///
    /// From six on by signed ranks, if so many can detect as many differing rows; three or more else by Student's t.
    pub(crate) fn of(differences: &[f64], together: u32) -> Option<Self> {
        let n = u32::try_from(differences.len()).unwrap_or(u32::MAX);
        let walsh = WalshAverages::of(differences)?;
        if n >= UNITS_MIN.max(units_least(ALPHA, together))
            && let Some(bounds) = walsh.interval(ALPHA)
        {
            let interval = stated(bounds, IntervalMethod::SignedRank);
            return Some(Self { estimate: walsh.estimate(), interval, p: Some(p_value(differences)), n });
        }
        let estimate = differences.iter().sum::<f64>() / f64::from(n);
        let Some(mean) = PairedMean::of(differences).filter(|_| n >= REPEATS_MIN) else {
            let why = if n == 1 {
                NotResolvable::OneTrial
            } else {
                NotResolvable::TooFewTrials { needed: REPEATS_MIN }
            };
            return Some(Self { estimate, interval: Interval::NotResolvable(why), p: None, n });
        };
        let interval = stated(mean.interval(ALPHA), IntervalMethod::StudentT);
        Some(Self { estimate, interval, p: Some(mean.p_value()), n })
    }

    /// As a ratio, where the differences are of logarithms.
    pub(crate) fn exp(self) -> Self {
        let interval = match self.interval {
            Interval::Bounds { low, high, level, method } => {
                Interval::Bounds { low: low.exp(), high: high.exp(), level, method }
            }
            none @ Interval::NotResolvable(_) => none,
        };
        Self { estimate: self.estimate.exp(), interval, ..self }
    }
}

fn stated(bounds: Bounds, method: IntervalMethod) -> Interval {
    let Bounds { low, high, level } = bounds;
    Interval::Bounds { low, high, level, method }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn method(n: usize, together: u32) -> Result<IntervalMethod, NotResolvable> {
        let differences: Vec<f64> = (0..n).map(|at| 0.1 + 0.01 * at as f64).collect();
        match Paired::of(&differences, together).unwrap().interval {
            Interval::Bounds { method, .. } => Ok(method),
            Interval::NotResolvable(why) => Err(why),
        }
    }

    #[test]
    fn ranks_are_used_where_they_can_tell_anything() {
        assert_eq!(method(1, 1), Err(NotResolvable::OneTrial));
        assert_eq!(method(2, 1), Err(NotResolvable::TooFewTrials { needed: 3 }));
        assert_eq!(method(3, 1), Ok(IntervalMethod::StudentT));
        assert_eq!(method(5, 1), Ok(IntervalMethod::StudentT));
        assert_eq!(method(6, 1), Ok(IntervalMethod::SignedRank));
        // With six repeats no two rows can reach 2.5 % by ranks.
        assert_eq!(method(6, 2), Ok(IntervalMethod::StudentT));
        assert_eq!(method(7, 2), Ok(IntervalMethod::SignedRank));
        assert_eq!(Paired::of(&[], 1), None);
        assert_eq!(Paired::of(&[0.1, f64::NAN], 1), None);
    }

    #[test]
    fn ratios_are_of_logarithms() {
        let differences: Vec<f64> = [1.9_f64, 2.0, 2.1].iter().map(|ratio| ratio.ln()).collect();
        let Paired { estimate, interval, n, p } = Paired::of(&differences, 1).unwrap().exp();
        assert!((estimate - (1.9_f64 * 2.0 * 2.1).cbrt()).abs() < 1e-12 && n == 3);
        // t of 2 degrees, standard error of the three logarithms 0.02889.
        let Interval::Bounds { low, high, level, .. } = interval else { panic!("{interval:?}") };
        assert!((low - estimate / (4.302_653 * 0.028_90_f64).exp()).abs() < 1e-3, "{low}");
        assert!((high - estimate * (4.302_653 * 0.028_90_f64).exp()).abs() < 1e-3, "{high}");
        assert!(level == 0.95 && p.unwrap() < 0.01);
    }
}
