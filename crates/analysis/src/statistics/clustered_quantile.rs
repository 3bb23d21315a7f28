//! An interval for a quantile pooled over runs (Woodruff, 1952), with the run as the cluster.
//!
//! Latencies of one run resemble each other: a garbage collection makes thousands of records late at once. An interval
//! that takes records for independent holds the truth in 12 % of cases, not 95 %. The runs are independent.

use crate::statistics::student;
use kdyno_model::finding::NotResolvable;

/// What the interval holds of simulated bursty runs when it is made at [`NOMINAL`]: docs/benchmarks.md has the table.
const LEVEL: f64 = 0.90;
/// Level of Student's t that goes in.
const NOMINAL: f64 = 0.95;
/// Fewest runs: with fewer their spread is hardly known.
const RUNS_MIN: usize = 5;
/// Fewest records beyond the quantile, all runs together.
const BEYOND_MIN: f64 = 100.0;

/// Between which quantiles of the pooled records the true one lies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClusteredQuantile {
    /// Look the pooled records up at this quantile, 0 to 1, for the lower bound.
    pub low: f64,
    /// And at this one for the upper bound.
    pub high: f64,
    /// Probability that the two hold the true quantile.
    pub level: f64,
}

/// The bounds of the `quantile` (0 to 1) that was found in the records of all runs together. `beyond` holds, for each run,
/// the share of its records above what was found; `records` is how many there are in all.
///
/// # Errors
/// There are too few runs, or too few records beyond the quantile.
pub fn clustered_quantile(
    quantile: f64,
    beyond: &[f64],
    records: u64,
) -> Result<ClusteredQuantile, NotResolvable> {
    if beyond.len() < 2 {
        return Err(if beyond.is_empty() { NotResolvable::NoValue } else { NotResolvable::OneTrial });
    }
    if beyond.len() < RUNS_MIN {
        return Err(NotResolvable::TooFewTrials { needed: RUNS_MIN as u32 });
    }
    if records as f64 * (1.0 - quantile) < BEYOND_MIN {
        return Err(NotResolvable::Censored);
    }
    let n = beyond.len() as f64;
    let mean = beyond.iter().sum::<f64>() / n;
    let variance = beyond.iter().map(|share| (share - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let degrees = u32::try_from(beyond.len() - 1).unwrap_or(u32::MAX);
    let half_width = student::quantile(degrees, NOMINAL) * (variance / n).sqrt();
    let high = quantile + half_width;
    // Beyond the largest record nothing is known.
    if high >= 1.0 {
        return Err(NotResolvable::Censored);
    }
    Ok(ClusteredQuantile { low: (quantile - half_width).max(0.0), high, level: LEVEL })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_by_hand_and_what_is_refused() {
        let bounds = clustered_quantile(0.9, &[0.08, 0.09, 0.10, 0.11, 0.12], 10_000).unwrap();
        // Standard deviation √(0.001 ÷ 4), of 5 runs, t of 4 degrees 2.776.
        let half_width = 2.776_445 * (0.001_f64 / 4.0 / 5.0).sqrt();
        assert!(
            (bounds.low - (0.9 - half_width)).abs() < 1e-7 && (bounds.high - (0.9 + half_width)).abs() < 1e-7
        );
        let refused = |beyond: &[f64], records| clustered_quantile(0.9, beyond, records).unwrap_err();
        assert_eq!(refused(&[], 10_000), NotResolvable::NoValue);
        assert_eq!(refused(&[0.1], 10_000), NotResolvable::OneTrial);
        assert_eq!(refused(&[0.1; 4], 10_000), NotResolvable::TooFewTrials { needed: 5 });
        assert_eq!(refused(&[0.1; 5], 999), NotResolvable::Censored);
        assert!(clustered_quantile(0.9, &[0.1; 5], 1001).is_ok());
        assert_eq!(refused(&[0.0, 0.0, 0.0, 0.0, 0.5], 10_000), NotResolvable::Censored);
    }
}
