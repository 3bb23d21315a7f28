//! Merged latencies: quantiles in which records that never came home lie above every other.
//!
//! Histograms arrive as HdrHistogram V2 bytes. Merging adds counts of equal buckets, so it loses nothing;
//! a quantile is the largest value that is equivalent, at the digits kept, to the true one (the
//! convention of HdrHistogram): never below the truth, and above it by less than one unit of the last digit.

use hdrhistogram::Histogram;
use kdyno_model::finding::Value;
use kdyno_model::histogram::{self, Damaged};
use kdyno_model::sample::LATENCY_NS_MAX;

/// Evidence that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnalysisError {
    /// Bytes that are not a histogram of ours.
    #[error("a stored histogram is damaged: {0}")]
    Histogram(#[from] Damaged),
}

/// Quantiles are taken in parts of this, so that ranks are exact integers: 0.99 of 100 is 99, not 100.
const QUANTILE_PARTS: u128 = 1_000_000_000;

/// Latencies of a set of records, and how many more of them never came home.
#[derive(Debug, Clone, Default)]
pub struct Distribution {
    histogram: Option<Histogram<u64>>,
    unfinished: u64,
    sum_ns: u128,
}

impl Distribution {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a stored histogram. Bytes that claim more than a histogram of ours can have are refused before
    /// any memory is taken.
    pub fn add_histogram(&mut self, v2_bytes: &[u8]) -> Result<(), AnalysisError> {
        let other = histogram::decode(v2_bytes)?;
        match &mut self.histogram {
            None => self.histogram = Some(other),
            Some(histogram) => histogram::merge(histogram, &other)?,
        }
        Ok(())
    }

    /// Adds to the exact sum of latencies.
    pub fn add_sum(&mut self, sum_ns: u128) {
        self.sum_ns = self.sum_ns.saturating_add(sum_ns);
    }

    /// Adds records that failed or stayed unresolved: they lie above every quantile.
    pub fn add_unfinished(&mut self, records: u64) {
        self.unfinished = self.unfinished.saturating_add(records);
    }

    /// Records that came home.
    pub fn finished(&self) -> u64 {
        self.histogram.as_ref().map_or(0, Histogram::len)
    }

    /// Records that did not.
    pub fn unfinished(&self) -> u64 {
        self.unfinished
    }

    /// All records.
    pub fn total(&self) -> u64 {
        self.finished().saturating_add(self.unfinished)
    }

    /// The latency at a quantile from 0 to 1, ns: that of the record with rank ⌈quantile × total⌉, at least
    /// the first. Among records that never came home: at least the largest that was seen.
    pub fn quantile(&self, quantile: f64) -> Value {
        let total = u128::from(self.total());
        if total == 0 {
            return Value::None;
        }
        // Truncation is meant: a quantile is a share, and its parts are a small whole number.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let parts = (quantile.clamp(0.0, 1.0) * QUANTILE_PARTS as f64).round() as u128;
        let rank = (total * parts).div_ceil(QUANTILE_PARTS).max(1);
        let mut seen = 0;
        for step in self.histogram.iter().flat_map(|histogram| histogram.iter_recorded()) {
            seen += u128::from(step.count_at_value());
            if seen >= rank {
                return self.value(step.value_iterated_to());
            }
        }
        Value::AtLeast(self.max_ns_seen() as f64)
    }

    /// The mean, ns, from exact sums; with records that never came home it is at least that of the others.
    pub fn mean(&self) -> Value {
        match (self.finished(), self.unfinished) {
            (0, 0) => Value::None,
            (0, _) => Value::AtLeast(0.0),
            (finished, 0) => Value::Is(self.sum_ns as f64 / finished as f64),
            (finished, _) => Value::AtLeast(self.sum_ns as f64 / finished as f64),
        }
    }

    /// The largest, ns.
    pub fn max(&self) -> Value {
        self.quantile(1.0)
    }

    fn max_ns_seen(&self) -> u64 {
        self.histogram.as_ref().map_or(0, Histogram::max).min(LATENCY_NS_MAX)
    }

    /// A bucket's value; what reaches the end of the range was clamped there.
    fn value(&self, bucket_ns: u64) -> Value {
        let highest = self.histogram.as_ref().map_or(bucket_ns, |known| known.highest_equivalent(bucket_ns));
        if highest >= LATENCY_NS_MAX {
            Value::AtLeast(LATENCY_NS_MAX as f64)
        } else {
            Value::Is(highest as f64)
        }
    }
}

#[cfg(test)]
#[path = "histogram_tests.rs"]
mod tests;
