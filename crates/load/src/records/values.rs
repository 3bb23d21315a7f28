//! Values: their sizes, or which of those that are given comes next.

use super::given::ByteStrings;
use rand::RngExt;
use rand_distr::{Distribution, LogNormal};
use rand_pcg::Pcg64;
use std::sync::Arc;

/// Means a null value.
pub(super) const NULL: u32 = u32::MAX;

/// The values of a load item's records.
#[derive(Debug)]
pub(super) enum RecordValues {
    /// All have so many bytes.
    Fixed(u32),
    /// Each size between these with the same probability.
    Uniform(u32, u32),
    /// A lognormal size up to a largest one.
    Lognormal(LogNormal<f64>, u32),
    /// Decimal numbers, each client's one after the other.
    Numbered,
    /// Values of a file, a topic or a schema, each with the same probability.
    Given(Arc<ByteStrings>),
}

impl RecordValues {
    /// A lognormal size; one of the largest where the law is none.
    pub(super) fn lognormal(median_bytes: u32, sigma: f64, bytes_max: u32) -> Self {
        let law = LogNormal::new(f64::from(median_bytes.max(1)).ln(), sigma);
        law.map_or(Self::Fixed(bytes_max), |law| Self::Lognormal(law, bytes_max))
    }

    /// The next value: its size; or the number that it is, in which `in_turn` come, or that it has among those given.
    #[inline]
    pub(super) fn draw(&self, rng: &mut Pcg64, in_turn: impl FnOnce() -> u32) -> u32 {
        match self {
            Self::Numbered => in_turn(),
            Self::Fixed(bytes) => *bytes,
            Self::Uniform(least, most) => rng.random_range(*least..=*most),
            Self::Lognormal(law, most) => (law.sample(rng).round() as u32).min(*most),
            Self::Given(given) => rng.random_range(0..given.count()),
        }
    }

    /// Bytes of a value.
    #[inline]
    pub(super) fn bytes(&self, value: u32) -> u32 {
        match self {
            _ if value == NULL => 0,
            Self::Given(given) => given.get(value).len() as u32,
            Self::Numbered => value.checked_ilog10().unwrap_or(0) + 1,
            _ => value,
        }
    }

    /// Appends a value that is more than a size; returns whether it is.
    #[inline]
    pub(super) fn append(&self, value: u32, out: &mut Vec<u8>) -> bool {
        match self {
            Self::Given(given) => out.extend_from_slice(given.get(value)),
            Self::Numbered => {
                let (first, mut rest) = (out.len(), value);
                for _ in 0..self.bytes(value) {
                    out.push(b'0' + (rest % 10) as u8);
                    rest /= 10;
                }
                out[first..].reverse();
            }
            Self::Fixed(_) | Self::Uniform(..) | Self::Lognormal(..) => return false,
        }
        true
    }

    /// Whether a value can have room for what is kdyno's own.
    pub(super) fn are_ours(&self) -> bool {
        !matches!(self, Self::Given(_) | Self::Numbered)
    }

    /// Given values.
    pub(super) fn given(&self) -> Option<&ByteStrings> {
        match self {
            Self::Given(given) => Some(given),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    fn draws(values: &RecordValues) -> Vec<u32> {
        let mut rng = Pcg64::seed_from_u64(20_261_122);
        let mut drawn: Vec<u32> = (0..100_000).map(|_| values.draw(&mut rng, || 0)).collect();
        drawn.sort_unstable();
        drawn
    }

    /// Median 600 B and 99th percentile 8 KiB; a quantile of 100,000 draws is within a few percent, and the mean is
    /// median × e^(σ²/2).
    #[test]
    fn lognormal_sizes_have_their_median_and_tail() {
        let sigma = (8192.0f64 / 600.0).ln() / 2.326_347_9;
        let sizes = draws(&RecordValues::lognormal(600, sigma, 50_000));
        let near = |found: u32, wanted: f64| (f64::from(found) / wanted - 1.0).abs() < 0.05;
        assert!(
            near(sizes[50_000], 600.0) && near(sizes[99_000], 8192.0),
            "{} {}",
            sizes[50_000],
            sizes[99_000]
        );
        // A standard error of 0.5 %.
        let mean = sizes.iter().map(|size| f64::from(*size)).sum::<f64>() / 1e5;
        assert!((mean / (600.0 * (sigma * sigma / 2.0).exp()) - 1.0).abs() < 5.0 * 0.005, "{mean}");
        assert_eq!(draws(&RecordValues::lognormal(600, sigma, 5_000)).last(), Some(&5_000), "cut off");
    }

    #[test]
    fn numbers_count_up_in_as_few_digits_as_they_need() {
        let mut rng = Pcg64::seed_from_u64(1);
        for (number, text) in [(0, "0"), (9, "9"), (10, "10"), (100, "100"), (NULL - 1, "4294967294")] {
            let value = RecordValues::Numbered.draw(&mut rng, || number);
            let mut out = b"x".to_vec();
            assert!(RecordValues::Numbered.append(value, &mut out));
            assert_eq!(out, format!("x{text}").as_bytes());
            assert_eq!(RecordValues::Numbered.bytes(value) as usize, text.len());
        }
        assert!(!RecordValues::Fixed(3).append(3, &mut Vec::new()) && !RecordValues::Numbered.are_ours());
    }

    #[test]
    fn uniform_sizes_have_both_ends_and_all_between_equally() {
        let sizes = draws(&RecordValues::Uniform(10, 19));
        for size in 10..20 {
            let count = sizes.iter().filter(|found| **found == size).count();
            assert!(count.abs_diff(10_000) < 5 * 95, "{size}: {count}");
        }
        assert_eq!((sizes[0], sizes[99_999]), (10, 19));
    }
}
