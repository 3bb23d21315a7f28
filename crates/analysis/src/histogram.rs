//! Merged latencies: quantiles in which records that were never acknowledged lie above every other.
//!
//! Histograms arrive as HdrHistogram V2 bytes. Merging adds counts of equal buckets, so it loses nothing;
//! a quantile is the largest value that is equivalent, at the digits kept, to the true one (the
//! convention of HdrHistogram): never below the truth, and above it by less than one unit of the last digit.

use crate::error::AnalysisError;
use hdrhistogram::Histogram;
use kdyno_model::finding::Value;
use kdyno_model::histogram;
use kdyno_model::sample::LATENCY_NS_MAX;
use std::collections::BTreeMap;

/// Quantiles are taken in parts of this, so that ranks are exact integers: 0.99 of 100 is 99, not 100.
const QUANTILE_PARTS: u128 = 1_000_000_000;

/// Latencies of a set of records, and how many more of them were never acknowledged.
#[derive(Debug, Clone, Default)]
pub struct LatencyDistribution {
    histogram: Option<Histogram<u64>>,
    /// Magnitudes of those below zero.
    below_zero: Option<Histogram<u64>>,
    /// How many of them waited for at least so many ns.
    unfinished: BTreeMap<u64, u64>,
    sum_ns: u128,
    sum_below_zero_ns: u128,
}

impl LatencyDistribution {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a stored histogram. One with fewer digits than another adds each record with the largest value of its
    /// bucket, so that none lies below the truth.
    ///
    /// # Errors
    /// When the bytes are none, or claim more than one of ours can have: before any memory is taken.
    pub fn add_histogram(&mut self, v2_bytes: &[u8]) -> Result<(), AnalysisError> {
        add(&mut self.histogram, v2_bytes)
    }

    /// Adds a stored histogram of the magnitudes of latencies below zero: those of a clock that is behind the one which
    /// the record was intended by.
    ///
    /// # Errors
    /// As [`Self::add_histogram`].
    pub fn add_below_zero(&mut self, v2_bytes: &[u8]) -> Result<(), AnalysisError> {
        add(&mut self.below_zero, v2_bytes)
    }

    /// Adds to the exact sum of latencies.
    pub fn add_sum(&mut self, sum_ns: u128) {
        self.sum_ns = self.sum_ns.saturating_add(sum_ns);
    }

    /// Adds to the exact sum of the magnitudes of those below zero.
    pub fn add_sum_below_zero(&mut self, sum_ns: u128) {
        self.sum_below_zero_ns = self.sum_below_zero_ns.saturating_add(sum_ns);
    }

    /// Adds records that failed or stayed unresolved, each after `waited_ns` or more: they count as slower than
    /// every quantile.
    pub fn add_unfinished(&mut self, records: u64, waited_ns: u64) {
        if records > 0 {
            let known = self.unfinished.entry(waited_ns).or_default();
            *known = known.saturating_add(records);
        }
    }

    /// Latencies with how many records have them, ns, the quickest first; those below zero are left out.
    pub(crate) fn recorded(&self) -> impl Iterator<Item = (u64, u64)> {
        let steps = self.histogram.iter().flat_map(|histogram| histogram.iter_recorded());
        steps.map(|step| (step.value_iterated_to(), step.count_at_value()))
    }

    /// Quantiles from 0 to 1 and the latencies there, ns, in steps that halve towards 1, `steps` for each half: those of
    /// HdrHistogram's percentile output. Latencies below zero and records without one are left out.
    pub fn quantile_steps(&self, steps: u32) -> Vec<(f64, u64)> {
        let of = |histogram: &Histogram<u64>| -> Vec<(f64, u64)> {
            let at = histogram.iter_quantiles(steps.max(1));
            at.map(|at| (at.quantile_iterated_to(), histogram.highest_equivalent(at.value_iterated_to())))
                .collect()
        };
        self.histogram.as_ref().map_or_else(Vec::new, of)
    }

    /// Records that were acknowledged, or handed over.
    pub fn finished(&self) -> u64 {
        let count = |histogram: &Option<Histogram<u64>>| histogram.as_ref().map_or(0, Histogram::len);
        count(&self.histogram).saturating_add(count(&self.below_zero))
    }

    /// Records that did not.
    pub fn unfinished(&self) -> u64 {
        self.unfinished.values().fold(0, |sum, records| sum.saturating_add(*records))
    }

    /// All records.
    pub fn total(&self) -> u64 {
        self.finished().saturating_add(self.unfinished())
    }

    /// The latency at a quantile from 0 to 1, ns: that of the record with rank ⌈quantile × total⌉, at least
    /// the first. Among records that were never acknowledged: at least the largest that was seen, and at least what
    /// so many of them are known to have waited.
    pub fn quantile(&self, quantile: f64) -> Value {
        if self.total() == 0 {
            return Value::None;
        }
        let rank = self.rank(quantile);
        let mut seen = 0;
        if let Some(below_zero) = &self.below_zero {
            let steps: Vec<_> = below_zero.iter_recorded().collect();
            for step in steps.iter().rev() {
                seen += u128::from(step.count_at_value());
                if seen >= rank {
                    // Not below the truth here either: of a bucket's magnitudes the least.
                    return Value::Is(-(below_zero.lowest_equivalent(step.value_iterated_to()) as f64));
                }
            }
        }
        for step in self.histogram.iter().flat_map(|histogram| histogram.iter_recorded()) {
            seen += u128::from(step.count_at_value());
            if seen >= rank {
                return self.value(step.value_iterated_to());
            }
        }
        let mut waited_ns = 0;
        for (&at_least_ns, &records) in &self.unfinished {
            waited_ns = at_least_ns;
            seen += u128::from(records);
            if seen >= rank {
                break;
            }
        }
        Value::AtLeast(self.max_ns_seen().max(waited_ns) as f64)
    }

    /// Records beyond a quantile from 0 to 1: those of a higher rank.
    pub fn beyond(&self, quantile: f64) -> u64 {
        let beyond = u128::from(self.total()).saturating_sub(self.rank(quantile));
        u64::try_from(beyond).unwrap_or(u64::MAX)
    }

    /// The rank of the record at a quantile, from 1.
    fn rank(&self, quantile: f64) -> u128 {
        // Truncation is meant: a quantile is a share, and its parts are a small whole number.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let parts = (quantile.clamp(0.0, 1.0) * QUANTILE_PARTS as f64).round() as u128;
        (u128::from(self.total()) * parts).div_ceil(QUANTILE_PARTS).max(1)
    }

    /// The mean, ns, from exact sums; records that were never acknowledged count with what they are known to have
    /// waited, and it is at least that.
    pub fn mean(&self) -> Value {
        let total = self.total();
        if total == 0 {
            return Value::None;
        }
        let waits = self.unfinished.iter().map(|(ns, records)| u128::from(*ns) * u128::from(*records));
        let above_ns = waits.fold(self.sum_ns, u128::saturating_add);
        let mean_ns = match above_ns.checked_sub(self.sum_below_zero_ns) {
            Some(sum_ns) => sum_ns as f64,
            None => -((self.sum_below_zero_ns - above_ns) as f64),
        } / total as f64;
        if self.unfinished.is_empty() { Value::Is(mean_ns) } else { Value::AtLeast(mean_ns) }
    }

    /// The mean of those that were acknowledged, or handed over, ns; `None` without any.
    pub fn mean_of_finished(&self) -> Option<f64> {
        let finished = self.finished();
        let sum_ns = self.sum_ns as f64 - self.sum_below_zero_ns as f64;
        (finished > 0).then(|| sum_ns / finished as f64)
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

/// Adds a stored histogram to what is known.
fn add(known: &mut Option<Histogram<u64>>, v2_bytes: &[u8]) -> Result<(), AnalysisError> {
    let mut other = histogram::decode(v2_bytes)?;
    let Some(known) = known else {
        *known = Some(other);
        return Ok(());
    };
    if known.sigfig() < other.sigfig() {
        std::mem::swap(known, &mut other);
    }
    if known.sigfig() > other.sigfig() {
        let coarse = std::mem::replace(&mut other, Histogram::new_from(known));
        for step in coarse.iter_recorded() {
            other.saturating_record_n(step.value_iterated_to(), step.count_at_value());
        }
    }
    Ok(histogram::merge(known, &other)?)
}

#[cfg(test)]
#[path = "histogram_tests.rs"]
mod tests;
