//! Pauses between attempts that fail: they grow, and no two clients pause alike.

use rand::{Rng, RngExt};

const NS_PER_MS: u64 = 1_000_000;

/// By what share a pause is longer or shorter than its formula at most, at random.
const JITTER: f64 = 0.2;

/// A time that doubles with each attempt that failed, as the Java client's of the same name:
/// `first · 2^attempts`, at most `max`, times a random factor between 0.8 and 1.2, at most `max` again. Where
/// `max` is not above `first` it is `max`, always.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExponentialBackoff {
    /// After the first attempt, ns.
    pub first_ns: u64,
    /// The longest, ns.
    pub max_ns: u64,
}

impl ExponentialBackoff {
    /// Java's `reconnect.backoff.ms` and `reconnect.backoff.max.ms`.
    pub const RECONNECT: Self = Self { first_ns: 50 * NS_PER_MS, max_ns: 1_000 * NS_PER_MS };
    /// Java's `socket.connection.setup.timeout.ms` and `socket.connection.setup.timeout.max.ms`.
    pub const SETUP_TIMEOUT: Self = Self { first_ns: 10_000 * NS_PER_MS, max_ns: 30_000 * NS_PER_MS };
    /// Java's `retry.backoff.max.ms`, ns.
    pub const RETRY_MAX_NS: u64 = 1_000 * NS_PER_MS;

    /// The time after so many attempts that failed before the latest one, ns.
    pub fn after(self, attempts: u32, random: &mut impl Rng) -> u64 {
        if self.max_ns <= self.first_ns {
            return self.max_ns;
        }
        // After 64 doublings nothing but `max_ns` is left.
        let doubled = self.first_ns as f64 * 2f64.powi(attempts.min(64) as i32);
        let factor = random.random_range(1.0 - JITTER..1.0 + JITTER);
        ((doubled.min(self.max_ns as f64) * factor) as u64).min(self.max_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_pcg::Pcg64;

    #[test]
    fn pauses_double_up_to_the_longest_and_differ_by_a_fifth() {
        let backoff = ExponentialBackoff { first_ns: 100, max_ns: 1_000 };
        let mut random = Pcg64::seed_from_u64(20_261_122);
        for (attempts, least, most) in [
            (0, 80, 120),
            (1, 160, 240),
            (2, 320, 480),
            (3, 640, 960),
            (4, 800, 1_000),
            (u32::MAX, 800, 1_000),
        ] {
            let drawn: Vec<u64> = (0..1_000).map(|_| backoff.after(attempts, &mut random)).collect();
            let (min, max) = (drawn.iter().min().copied(), drawn.iter().max().copied());
            assert!(min >= Some(least) && max <= Some(most), "{attempts}: {min:?} to {max:?}");
            // The whole range is drawn from.
            assert!(min <= Some(least + least / 20) && max >= Some(most - most / 20), "{attempts}");
        }
    }

    #[test]
    fn a_longest_pause_that_is_not_longer_is_the_only_one() {
        let mut random = Pcg64::seed_from_u64(1);
        for backoff in [(100, 100), (100, 30), (0, 0)] {
            let backoff = ExponentialBackoff { first_ns: backoff.0, max_ns: backoff.1 };
            assert_eq!([0, 9].map(|attempts| backoff.after(attempts, &mut random)), [backoff.max_ns; 2]);
        }
        let none = ExponentialBackoff { first_ns: 0, max_ns: 1_000 };
        assert_eq!(none.after(9, &mut random), 0, "as in Java, nothing doubled is nothing");
    }
}
