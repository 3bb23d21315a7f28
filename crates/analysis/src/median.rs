//! The median of several trials' values, with their range and an interval, where some values are only known to be
//! "at least" something.

use kdyno_model::finding::{Interval, IntervalMethod, NotResolvable, Value};

/// Least probability that an interval holds the true median.
const LEVEL_MIN: f64 = 0.95;

/// Fewest trials from which two of their values reach [`LEVEL_MIN`]: 1 − 2 · 2⁻⁶.
const TRIALS_MIN: u32 = 6;

/// What several values say together.
#[derive(Debug, PartialEq)]
pub(crate) struct Median {
    /// The median; "at least" when it depends on a value that is only known so. [`Value::None`] of no values.
    pub(crate) estimate: Value,
    /// How many values there are.
    pub(crate) n: u32,
    /// Smallest and largest, of two or more.
    pub(crate) range: Option<(Value, Value)>,
    /// Where the median over all trials that could be run lies, see [`ranks`].
    pub(crate) interval: Interval,
}

impl Median {
    /// The median of values in any order; those without a number do not count.
    pub(crate) fn of(values: &[Value]) -> Self {
        let bounds = |bound: fn(Value) -> Option<f64>| {
            let mut bounds: Vec<f64> = values.iter().filter_map(|value| bound(*value)).collect();
            bounds.sort_by(f64::total_cmp);
            bounds
        };
        let sorted = Sorted { lower: bounds(Value::least), upper: bounds(upper_bound) };
        let n = sorted.lower.len();
        let estimate = match n {
            0 => Value::None,
            _ => sorted.between((n - 1) / 2, n / 2),
        };
        Self {
            estimate,
            n: u32::try_from(n).unwrap_or(u32::MAX),
            range: (n > 1).then(|| (sorted.between(0, 0), sorted.between(n - 1, n - 1))),
            interval: sorted.interval(),
        }
    }
}

/// What each value is at least, and at most, each in order.
struct Sorted {
    lower: Vec<f64>,
    upper: Vec<f64>,
}

impl Sorted {
    /// The middle between two places of the order.
    fn between(&self, first: usize, second: usize) -> Value {
        let middle = |sorted: &[f64]| {
            if first == second { sorted[first] } else { sorted[first].midpoint(sorted[second]) }
        };
        let (low, high) = (middle(&self.lower), middle(&self.upper));
        if low == high { Value::Is(low) } else { Value::AtLeast(low) }
    }

    fn interval(&self) -> Interval {
        let n = self.lower.len();
        let why_not = match n {
            0 => NotResolvable::NoValue,
            1 => NotResolvable::OneTrial,
            _ => match ranks(n) {
                None => NotResolvable::TooFewTrials { needed: TRIALS_MIN },
                Some((rank, level)) => {
                    match (self.between(rank - 1, rank - 1), self.between(n - rank, n - rank)) {
                        (Value::Is(low), Value::Is(high)) => {
                            let method = IntervalMethod::OrderStatistics;
                            return Interval::Bounds { low, high, level, method };
                        }
                        _ => NotResolvable::Censored,
                    }
                }
            },
        };
        Interval::NotResolvable(why_not)
    }
}

/// The largest rank r, from 1, for which the r-th smallest and the r-th largest of `n` values enclose the median with
/// a probability of [`LEVEL_MIN`] or more, and that probability; `None` when not even the extremes do.
///
/// Each value lies below the true median with probability ½, whatever their law, so the number of those below it is
/// binomial, and the two miss it when fewer than r lie on one side: the level is 1 − 2 · Σ C(n, i) · 2⁻ⁿ over i < r.
fn ranks(n: usize) -> Option<(usize, f64)> {
    let n_f = n as f64;
    // In logarithms, for 2⁻ⁿ of a thousand trials is no number any more.
    let mut log2_term = -n_f;
    let mut missed = 0.0;
    let mut found = None;
    for rank in 1..=n / 2 {
        missed += 2.0 * log2_term.exp2();
        if 1.0 - missed < LEVEL_MIN {
            break;
        }
        found = Some((rank, 1.0 - missed));
        log2_term += ((n_f - rank as f64 + 1.0) / rank as f64).log2();
    }
    found
}

fn upper_bound(value: Value) -> Option<f64> {
    match value {
        Value::Is(number) => Some(number),
        Value::AtLeast(_) => Some(f64::INFINITY),
        Value::None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_is_at_least_only_when_it_depends_on_one() {
        let median = |values: &[Value]| Median::of(values).estimate;
        let range = |values: &[Value]| Median::of(values).range;
        let high = [Value::AtLeast(9.0), Value::Is(1.0), Value::Is(2.0)];
        assert_eq!(median(&high), Value::Is(2.0));
        assert_eq!(range(&high), Some((Value::Is(1.0), Value::AtLeast(9.0))));
        assert_eq!(median(&[Value::Is(1.0), Value::AtLeast(9.0)]), Value::AtLeast(5.0));
        // A low bound may be a large value: 2 is no longer known to be the middle.
        let low = [Value::AtLeast(1.0), Value::Is(2.0), Value::Is(3.0)];
        assert_eq!(median(&low), Value::AtLeast(2.0));
        assert_eq!(range(&low), Some((Value::AtLeast(1.0), Value::AtLeast(3.0))));
        assert_eq!(median(&[]), Value::None);
        assert_eq!(median(&[Value::Is(1.0), Value::Is(4.0)]), Value::Is(2.5));
    }

    #[test]
    fn levels_are_those_of_the_binomial_law() {
        // Σ C(n, i) over i < r by hand: 1; 1; 1; 1 + 9; 1 + 10; 1 + 20 + 190 + 1140 + 4845 + 15504.
        let by_hand = [(6, 1, 1), (7, 1, 1), (8, 1, 1), (9, 2, 10), (10, 2, 11), (20, 6, 21_700)];
        for (n, rank, below) in by_hand {
            let (found, level) = ranks(n).unwrap();
            let exact = 1.0 - 2.0 * f64::from(below) / 2f64.powi(n as i32);
            assert_eq!(found, rank, "of {n}");
            assert!((level - exact).abs() < 1e-12, "{level} is not {exact} of {n}");
        }
        assert!((0..TRIALS_MIN as usize).all(|n| ranks(n).is_none()));
        // The normal law for 10,000: 5000 − 1.96 · 50, and a level that is hardly more than requested.
        let (rank, level) = ranks(10_000).unwrap();
        assert!((4901..=4903).contains(&rank) && (0.95..0.952).contains(&level), "{rank}, {level}");
    }

    #[test]
    fn an_interval_lies_between_two_values_or_says_why_not() {
        let first = |n: u32| (1..=n).rev().map(|value| Value::Is(f64::from(value))).collect::<Vec<_>>();
        let interval = |values: &[Value]| Median::of(values).interval;
        let not = Interval::NotResolvable;
        assert_eq!(interval(&[Value::None]), not(NotResolvable::NoValue));
        assert_eq!(interval(&first(1)), not(NotResolvable::OneTrial));
        assert_eq!(interval(&first(5)), not(NotResolvable::TooFewTrials { needed: 6 }));
        let bounds =
            |low, high, level| Interval::Bounds { low, high, level, method: IntervalMethod::OrderStatistics };
        assert_eq!(interval(&first(6)), bounds(1.0, 6.0, 0.96875));
        let mut nine = first(9);
        assert!(matches!(interval(&nine), Interval::Bounds { low: 2.0, high: 8.0, .. }));
        // The largest is no bound of nine, so it need not be known; the next is.
        nine[0] = Value::AtLeast(9.0);
        assert!(matches!(interval(&nine), Interval::Bounds { low: 2.0, high: 8.0, .. }));
        nine[1] = Value::AtLeast(8.0);
        assert_eq!(interval(&nine), not(NotResolvable::Censored));
    }
}
