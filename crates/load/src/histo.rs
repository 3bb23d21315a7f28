//! The histogram of the hot path: a flat array with HdrHistogram's own bucket layout.
//!
//! `hdrhistogram::Histogram::record_n` checks for resizing and keeps minimum, maximum and total on every
//! call; at millions of records per second that is most of the recording. This array does one addition per
//! value and is turned into an HdrHistogram (3 digits) when it is flushed, bucket for bucket, so nothing
//! is quantised twice.

use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2Serializer};
use kdyno_model::sample::{LATENCY_NS_MAX, LATENCY_NS_MIN};

/// Digits kept by [`Histo`].
pub const DIGITS: u8 = 3;
/// Digits of the per-second headline and of the five-second stages.
pub const DIGITS_COARSE: u8 = 2;

/// log2 of the half of the sub-buckets that 3 digits need (2 · 10³ rounded up to 2048, halved).
const HALF_BITS: u32 = 10;
const MASK: u64 = (2 << HALF_BITS) - 1;
const LENGTH: usize = index_of(LATENCY_NS_MAX) + 1;

/// Position of a value: HdrHistogram's bucket index and sub-bucket index in one.
#[inline]
const fn index_of(value_ns: u64) -> usize {
    let bucket = u64::BITS - (value_ns | MASK).leading_zeros() - (HALF_BITS + 1);
    ((bucket as usize) << HALF_BITS) + (value_ns >> bucket) as usize
}

/// Lowest value at a position.
const fn value_at(index: usize) -> u64 {
    if index < 2 << HALF_BITS {
        return index as u64;
    }
    let bucket = (index >> HALF_BITS) - 1;
    (((index & ((1 << HALF_BITS) - 1)) + (1 << HALF_BITS)) as u64) << bucket
}

/// Counts of latencies in ns, 3 digits, up to [`LATENCY_NS_MAX`].
#[derive(Debug, Clone)]
pub struct Histo {
    counts: Box<[u32]>,
    /// Lowest and highest position in use; empty when low > high.
    low: usize,
    high: usize,
    /// Values above the range, counted at its end.
    clamped: u64,
    /// Exact sum of all values.
    sum_ns: u128,
}

impl Default for Histo {
    fn default() -> Self {
        Self { counts: vec![0; LENGTH].into(), low: LENGTH, high: 0, clamped: 0, sum_ns: 0 }
    }
}

impl Histo {
    /// Counts a value `n` times.
    #[inline]
    pub fn record(&mut self, value_ns: u64, n: u32) {
        let mut index = index_of(value_ns);
        if index >= LENGTH {
            index = LENGTH - 1;
            self.clamped += u64::from(n);
        }
        self.low = self.low.min(index);
        self.high = self.high.max(index);
        self.counts[index] = self.counts[index].saturating_add(n);
        self.sum_ns += u128::from(value_ns) * u128::from(n);
    }

    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.low > self.high
    }

    /// Values above the range so far.
    pub fn clamped(&self) -> u64 {
        self.clamped
    }

    /// Exact sum of all values.
    pub fn sum_ns(&self) -> u128 {
        self.sum_ns
    }

    /// Adds what was counted to an HdrHistogram of any precision.
    pub fn add_to(&self, histogram: &mut Histogram<u64>) {
        if self.is_empty() {
            return;
        }
        for (offset, &count) in self.counts[self.low..=self.high].iter().enumerate() {
            if count > 0 {
                histogram.saturating_record_n(value_at(self.low + offset), u64::from(count));
            }
        }
    }

    /// Adds what another counted.
    pub fn merge(&mut self, other: &Self) {
        if other.is_empty() {
            return;
        }
        let range = other.low..=other.high;
        for (mine, theirs) in self.counts[range.clone()].iter_mut().zip(&other.counts[range]) {
            *mine = mine.saturating_add(*theirs);
        }
        self.low = self.low.min(other.low);
        self.high = self.high.max(other.high);
        self.clamped += other.clamped;
        self.sum_ns += other.sum_ns;
    }

    /// Forgets everything, keeps the memory.
    pub fn clear(&mut self) {
        if !self.is_empty() {
            self.counts[self.low..=self.high].fill(0);
        }
        (self.low, self.high, self.clamped, self.sum_ns) = (LENGTH, 0, 0, 0);
    }

    /// HdrHistogram V2 bytes at `digits` digits; `None` when empty.
    pub fn encode(&self, digits: u8) -> Option<Vec<u8>> {
        if self.is_empty() {
            return None;
        }
        let mut histogram = empty(digits);
        self.add_to(&mut histogram);
        Some(encode(&histogram))
    }
}

/// An empty HdrHistogram over the latency range.
pub fn empty(digits: u8) -> Histogram<u64> {
    Histogram::new_with_bounds(LATENCY_NS_MIN, LATENCY_NS_MAX, digits)
        .expect("the latency range and at most five digits are valid bounds")
}

/// HdrHistogram V2 bytes.
pub fn encode(histogram: &Histogram<u64>) -> Vec<u8> {
    let mut bytes = Vec::new();
    V2Serializer::new()
        .serialize(histogram, &mut bytes)
        .expect("writing a histogram of bounded range to memory cannot fail");
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn agrees_with_hdrhistogram(values in prop::collection::vec((0u64..=LATENCY_NS_MAX, 1u32..1000), 1..200)) {
            let mut ours = Histo::default();
            let mut reference = empty(DIGITS);
            for &(value, n) in &values {
                ours.record(value, n);
                reference.record_n(value, u64::from(n)).unwrap();
            }
            let mut turned = empty(DIGITS);
            ours.add_to(&mut turned);
            prop_assert_eq!(turned.len(), reference.len());
            for q in [0.0, 0.1, 0.5, 0.9, 0.99, 0.999, 1.0] {
                prop_assert_eq!(turned.value_at_quantile(q), reference.value_at_quantile(q));
            }
            let exact: u128 = values.iter().map(|&(v, n)| u128::from(v) * u128::from(n)).sum();
            prop_assert_eq!(ours.sum_ns(), exact);
        }

        #[test]
        fn every_value_lies_in_its_bucket(value in 0u64..=LATENCY_NS_MAX) {
            let index = index_of(value);
            prop_assert!(value_at(index) <= value);
            prop_assert!(index + 1 == LENGTH || value < value_at(index + 1));
            prop_assert!(value - value_at(index) <= value / 1000);
        }
    }

    #[test]
    fn values_above_an_hour_are_clamped_and_counted() {
        let mut histo = Histo::default();
        histo.record(u64::MAX, 3);
        assert_eq!(histo.clamped(), 3);
        let mut turned = empty(DIGITS);
        histo.add_to(&mut turned);
        assert_eq!(turned.len(), 3);
        histo.clear();
        assert!(histo.is_empty() && histo.encode(3).is_none());
    }
}
