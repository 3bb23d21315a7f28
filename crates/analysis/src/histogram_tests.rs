//! Accuracy 12: merged shards against the sorted raw values; records that were never acknowledged.

use super::*;
use hdrhistogram::serialization::{Serializer, V2Serializer};
use kdyno_model::sample::LATENCY_NS_MIN;
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};

const DIGITS: u8 = 3;

fn encode(values: &[u64], digits: u8) -> Vec<u8> {
    let mut histogram = Histogram::<u64>::new_with_bounds(LATENCY_NS_MIN, LATENCY_NS_MAX, digits).unwrap();
    for value in values {
        histogram.saturating_record(*value);
    }
    let mut bytes = Vec::new();
    V2Serializer::new().serialize(&histogram, &mut bytes).unwrap();
    bytes
}

fn merged(shards: &[Vec<u64>], digits: u8) -> LatencyDistribution {
    let mut distribution = LatencyDistribution::new();
    for shard in shards {
        distribution.add_histogram(&encode(shard, digits)).unwrap();
        distribution.add_sum(shard.iter().map(|value| u128::from(*value)).sum());
    }
    distribution
}

/// The value of the record with rank ⌈q × n⌉, by sorting.
fn raw_quantile(sorted: &[u64], parts_per_million: u64) -> u64 {
    let rank = (sorted.len() as u64 * parts_per_million).div_ceil(1_000_000).max(1);
    sorted[rank as usize - 1]
}

fn assert_quantiles(shards: &[Vec<u64>], digits: u8) {
    let distribution = merged(shards, digits);
    let mut sorted: Vec<u64> = shards.concat();
    sorted.sort_unstable();
    let unit = 10f64.powi(-i32::from(digits));
    for parts in [0, 250_000, 500_000, 750_000, 900_000, 950_000, 990_000, 999_000, 999_900, 1_000_000] {
        let truth = raw_quantile(&sorted, parts) as f64;
        let Value::Is(found) = distribution.quantile(parts as f64 / 1e6) else {
            panic!("no value at {parts}");
        };
        assert!(found >= truth && found <= truth * (1.0 + unit) + 1.0, "{parts}: {found} for {truth}");
    }
    let sum: u128 = sorted.iter().map(|value| u128::from(*value)).sum();
    assert_eq!(distribution.mean(), Value::Is(sum as f64 / sorted.len() as f64));
}

#[test]
fn sixty_four_shards_merge_to_the_quantiles_of_the_raw_values() {
    let mut random = rand_pcg::Pcg64::seed_from_u64(12);
    // Log-uniform over six decades: every bucket width is met.
    let mut value = || 10f64.powf(2.0 + 6.0 * random.random::<f64>()) as u64;
    let shards: Vec<Vec<u64>> = (0..64).map(|_| (0..2_000).map(|_| value()).collect()).collect();
    assert_quantiles(&shards, 3);
    assert_quantiles(&shards, 2);
}

proptest! {
    #[test]
    fn merging_in_any_split_keeps_the_quantiles(
        shards in prop::collection::vec(prop::collection::vec(1u64..LATENCY_NS_MAX / 2, 1..40), 1..64)
    ) {
        assert_quantiles(&shards, DIGITS);
    }

    #[test]
    fn unfinished_records_lie_above_every_quantile(
        values in prop::collection::vec(1u64..1 << 40, 1..200), unfinished in 1u64..200
    ) {
        let mut distribution = merged(std::slice::from_ref(&values), DIGITS);
        distribution.add_unfinished(unfinished, 0);
        let finished = values.len() as u64;
        let total = finished + unfinished;
        for parts in (0..=1_000_000u64).step_by(50_000) {
            let at_least = matches!(distribution.quantile(parts as f64 / 1e6), Value::AtLeast(_));
            let rank = (total * parts).div_ceil(1_000_000).max(1);
            prop_assert_eq!(at_least, rank > finished, "{} of {}", rank, finished);
        }
        prop_assert!(matches!(distribution.mean(), Value::AtLeast(_)));
    }
}

#[test]
fn ranks_are_exact() {
    // 0.99 × 100 in floating point is 99.00000000000001 on some ways to compute it; the rank is 99.
    let values: Vec<u64> = (1..=100).collect();
    let distribution = merged(&[values], DIGITS);
    assert_eq!(distribution.quantile(0.99), Value::Is(99.0));
    assert_eq!(distribution.quantile(0.07), Value::Is(7.0));
    assert_eq!(distribution.quantile(0.0), Value::Is(1.0));
    assert_eq!(distribution.max(), Value::Is(100.0));
}

#[test]
fn nothing_counted_has_no_value() {
    assert_eq!(LatencyDistribution::new().quantile(0.5), Value::None);
    assert_eq!(LatencyDistribution::new().mean(), Value::None);
    let mut lost = LatencyDistribution::new();
    lost.add_unfinished(3, 0);
    assert_eq!((lost.quantile(0.5), lost.mean()), (Value::AtLeast(0.0), Value::AtLeast(0.0)));
}

#[test]
fn what_unfinished_records_waited_is_a_bound() {
    let mut distribution = merged(&[vec![10, 20]], DIGITS);
    distribution.add_unfinished(1, 0);
    distribution.add_unfinished(5, 1000);
    distribution.add_unfinished(2, 7000);
    let quantile = |parts: u32| distribution.quantile(f64::from(parts) / 10.0);
    assert_eq!((quantile(1), quantile(2)), (Value::Is(10.0), Value::Is(20.0)));
    // The third waited for nothing that is known, but no less than those that were acknowledged.
    assert_eq!(quantile(3), Value::AtLeast(20.0));
    assert_eq!((quantile(4), quantile(8)), (Value::AtLeast(1000.0), Value::AtLeast(1000.0)));
    assert_eq!((quantile(9), distribution.max()), (Value::AtLeast(7000.0), Value::AtLeast(7000.0)));
    assert_eq!(distribution.mean(), Value::AtLeast(1903.0));
}

#[test]
fn clamped_values_are_at_least_the_end_of_the_range() {
    let distribution = merged(&[vec![5, LATENCY_NS_MAX + 7]], DIGITS);
    assert_eq!(distribution.quantile(0.5), Value::Is(5.0));
    assert_eq!(distribution.max(), Value::AtLeast(LATENCY_NS_MAX as f64));
}

proptest! {
    /// Latencies of a clock that was behind: quantiles, mean and largest are those of all values with their signs.
    #[test]
    fn values_below_zero_keep_their_place_and_their_sign(
        values in prop::collection::vec(-50_000_000i64..50_000_000, 1..300),
        missing in 0u64..20,
    ) {
        let part = |is_below: bool| -> Vec<u64> {
            values.iter().filter(|value| (**value < 0) == is_below).map(|value| value.unsigned_abs()).collect()
        };
        let (above, below) = (part(false), part(true));
        let sum = |part: &[u64]| part.iter().map(|value| u128::from(*value)).sum();
        let mut distribution = LatencyDistribution::new();
        distribution.add_histogram(&encode(&above, DIGITS)).unwrap();
        distribution.add_below_zero(&encode(&below, DIGITS)).unwrap();
        distribution.add_sum(sum(&above));
        distribution.add_sum_below_zero(sum(&below));
        prop_assert_eq!(distribution.finished(), values.len() as u64);
        let mean = values.iter().sum::<i64>() as f64 / values.len() as f64;
        let Value::Is(reported) = distribution.mean() else { panic!("a mean") };
        prop_assert!((reported - mean).abs() <= 1e-6 * mean.abs().max(1.0), "{} for {}", reported, mean);
        distribution.add_unfinished(missing, 0);
        let mut sorted = values.clone();
        sorted.sort_unstable();
        let total = values.len() as u64 + missing;
        for ppm in [0, 10_000, 250_000, 500_000, 900_000, 990_000, 1_000_000] {
            let rank = (total * ppm).div_ceil(1_000_000).max(1) as usize;
            let reported = distribution.quantile(ppm as f64 / 1e6);
            match (sorted.get(rank - 1), reported) {
                (Some(truth), Value::Is(reported)) => {
                    let off = reported - *truth as f64;
                    prop_assert!((0.0..=truth.unsigned_abs() as f64 / 1e3 + 1.0).contains(&off), "{} for {}", reported, truth);
                }
                (None, Value::AtLeast(_)) => {}
                (truth, reported) => prop_assert!(false, "{:?} for {:?}", reported, truth),
            }
        }
    }
}
