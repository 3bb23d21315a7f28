//! Merged latencies: quantiles in which records that never came home lie above every other.
//!
//! Histograms arrive as HdrHistogram V2 bytes. Merging adds counts of equal buckets, so it loses nothing;
//! a quantile is the largest value that is equivalent, at the digits kept, to the true one (the
//! convention of HdrHistogram): never below the truth, and above it by less than one unit of the last digit.

use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use kdyno_model::finding::Value;
use kdyno_model::sample::{LATENCY_NS_MAX, LATENCY_NS_MIN};

/// Evidence that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnalysisError {
    /// Bytes that are not a histogram of ours.
    #[error("a stored histogram is damaged: {0}")]
    Histogram(String),
}

/// Most digits a histogram of ours keeps. More would only serve to claim memory.
const DIGITS_MAX: u32 = 3;

/// Bytes before the counts: cookie, payload length, offset, digits, lowest, highest, ratio.
const V2_HEAD_BYTES: usize = 40;

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
        let other = decode(v2_bytes)?;
        match &mut self.histogram {
            None => self.histogram = Some(other),
            Some(histogram) => {
                if histogram.len().checked_add(other.len()).is_none() {
                    return Err(AnalysisError::Histogram("the counts overflow".to_owned()));
                }
                histogram
                    .add(&other)
                    .map_err(|error| AnalysisError::Histogram(format!("it does not merge: {error}")))?;
            }
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

    /// The merged histogram, for exports.
    pub fn histogram(&self) -> Option<&Histogram<u64>> {
        self.histogram.as_ref()
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

/// Decodes a histogram after checking that its claims stay within what ours can be.
pub fn decode(v2_bytes: &[u8]) -> Result<Histogram<u64>, AnalysisError> {
    let refuse = |reason: &str| Err(AnalysisError::Histogram(reason.to_owned()));
    if v2_bytes.len() < V2_HEAD_BYTES {
        return refuse("it is cut off");
    }
    let (head, counts) = v2_bytes.split_at(V2_HEAD_BYTES);
    let u32_at = |at: usize| u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    let u64_at = |at: usize| u64::from(u32_at(at)) << 32 | u64::from(u32_at(at + 4));
    if usize::try_from(u32_at(4)) != Ok(counts.len()) {
        return refuse("its length is not the one it claims");
    }
    if u32_at(12) > DIGITS_MAX || u64_at(16) != LATENCY_NS_MIN || u64_at(24) > LATENCY_NS_MAX {
        return refuse("its range or precision is not one of ours");
    }
    check_counts(counts)?;
    Deserializer::new()
        .deserialize(&mut &v2_bytes[..])
        .map_err(|error| AnalysisError::Histogram(error.to_string()))
}

/// The decoder adds counts and skips zeros without looking for overflow, so the numbers are looked at first.
fn check_counts(mut counts: &[u8]) -> Result<(), AnalysisError> {
    /// More zeros in a row than any histogram of ours has buckets.
    const ZEROS_MAX: u64 = 1 << 20;
    let mut records = 0u64;
    while !counts.is_empty() {
        let (number, used) =
            varint(counts).ok_or_else(|| AnalysisError::Histogram("its counts are cut off".to_owned()))?;
        counts = &counts[used..];
        // Zig-zag: odd numbers are negative and stand for a run of zeros.
        let magnitude = (number >> 1) + (number & 1);
        if number & 1 == 1 {
            if magnitude > ZEROS_MAX {
                return Err(AnalysisError::Histogram("it has too many buckets".to_owned()));
            }
        } else {
            records = records
                .checked_add(magnitude)
                .ok_or_else(|| AnalysisError::Histogram("the counts overflow".to_owned()))?;
        }
    }
    Ok(())
}

/// One number in LEB128 of at most 9 bytes, the ninth taken whole; the number and its length.
fn varint(bytes: &[u8]) -> Option<(u64, usize)> {
    const LENGTH_MAX: usize = 9;
    let mut number = 0;
    for (index, byte) in bytes.iter().take(LENGTH_MAX).enumerate() {
        let last = index + 1 == LENGTH_MAX;
        let bits = if last { *byte } else { byte & 0x7f };
        number |= u64::from(bits) << (7 * index);
        if last || byte & 0x80 == 0 {
            return Some((number, index + 1));
        }
    }
    None
}

#[cfg(test)]
#[path = "histogram_tests.rs"]
mod tests;
