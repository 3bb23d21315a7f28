//! Values: their sizes, or which of those that are given comes next.

use super::given::Given;
use rand::RngExt;
use rand_distr::{Distribution, LogNormal};
use rand_pcg::Pcg64;
use std::sync::Arc;

/// What stands for a null value.
pub(super) const NULL: u32 = u32::MAX;

/// The values of a load item's records.
#[derive(Debug)]
pub(super) enum Values {
    /// All have so many bytes.
    Fixed(u32),
    /// Each size between these with the same probability.
    Uniform(u32, u32),
    /// A lognormal size up to a largest one.
    Lognormal(LogNormal<f64>, u32),
    /// Those of a file or a topic, each with the same probability.
    Given(Arc<Given>),
}

impl Values {
    /// A lognormal size; one of the largest where the law is none.
    pub(super) fn lognormal(median_bytes: u32, sigma: f64, bytes_max: u32) -> Self {
        let law = LogNormal::new(f64::from(median_bytes.max(1)).ln(), sigma);
        law.map_or(Self::Fixed(bytes_max), |law| Self::Lognormal(law, bytes_max))
    }

    /// The next value: its size, or of those that are given its number.
    #[inline]
    pub(super) fn draw(&self, rng: &mut Pcg64) -> u32 {
        match self {
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
            _ => value,
        }
    }

    /// Those that are given.
    pub(super) fn given(&self) -> Option<&Given> {
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

    fn draws(values: &Values) -> Vec<u32> {
        let mut rng = Pcg64::seed_from_u64(20_261_122);
        let mut drawn: Vec<u32> = (0..100_000).map(|_| values.draw(&mut rng)).collect();
        drawn.sort_unstable();
        drawn
    }

    /// Median 600 B and 99th percentile 8 KiB; a quantile of 100,000 draws is within a few percent, and the mean is
    /// median × e^(σ²/2).
    #[test]
    fn lognormal_sizes_have_their_median_and_tail() {
        let sigma = (8192.0f64 / 600.0).ln() / 2.326_347_9;
        let sizes = draws(&Values::lognormal(600, sigma, 50_000));
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
        assert_eq!(draws(&Values::lognormal(600, sigma, 5_000)).last(), Some(&5_000), "cut off");
    }

    #[test]
    fn uniform_sizes_have_both_ends_and_all_between_equally() {
        let sizes = draws(&Values::Uniform(10, 19));
        for size in 10..20 {
            let count = sizes.iter().filter(|found| **found == size).count();
            assert!(count.abs_diff(10_000) < 5 * 95, "{size}: {count}");
        }
        assert_eq!((sizes[0], sizes[99_999]), (10, 19));
    }
}
