//! The pause before a batch is sent again.

use rand::RngExt;
use rand_pcg::Pcg64;

/// Each pause is a fifth longer or shorter at most.
const JITTER: f64 = 0.2;

/// Pauses that double from `retry.backoff.ms` up to `retry.backoff.max.ms` (KIP-580).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RetryBackoff {
    /// `retry.backoff.ms`, in ns.
    pub(super) first_ns: u64,
    /// `retry.backoff.max.ms`, in ns. Not more than the first: each pause is the first, to the nanosecond.
    pub(super) most_ns: u64,
}

impl RetryBackoff {
    /// The pause after so many attempts, at least 1, that came to nothing, ns.
    pub(super) fn pause_ns(self, attempts: u32, rng: &mut Pcg64) -> u64 {
        if self.most_ns <= self.first_ns {
            return self.first_ns;
        }
        // A first pause of 0 stays 0, as in the Java client.
        let doublings = attempts.saturating_sub(1).min(63);
        let term_ns = (self.first_ns as f64 * 2f64.powi(doublings as i32)).min(self.most_ns as f64);
        let pause_ns = term_ns * rng.random_range(1.0 - JITTER..1.0 + JITTER);
        (pause_ns as u64).min(self.most_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    #[test]
    fn pauses_double_up_to_the_longest_each_with_its_jitter() {
        let mut rng = Pcg64::seed_from_u64(20_261_122);
        let backoff = RetryBackoff { first_ns: 100, most_ns: 1_000 };
        for (attempts, term) in [(1, 100), (2, 200), (3, 400), (4, 800), (5, 1_000), (u32::MAX, 1_000)] {
            let pauses: Vec<u64> = (0..1_000).map(|_| backoff.pause_ns(attempts, &mut rng)).collect();
            let (least, most) = (term * 8 / 10, (term * 12 / 10).min(1_000));
            assert!(pauses.iter().all(|pause| (least..=most).contains(pause)), "{attempts}: {pauses:?}");
            assert!(pauses.iter().any(|pause| *pause < least + term / 20), "{attempts}");
            assert!(pauses.iter().any(|pause| *pause > most - term / 20), "{attempts}");
        }
    }

    #[test]
    fn clients_that_know_no_longest_pause_wait_equally_long() {
        let mut rng = Pcg64::seed_from_u64(20_261_122);
        let backoff = RetryBackoff { first_ns: 100, most_ns: 100 };
        assert!((1..20).all(|attempts| backoff.pause_ns(attempts, &mut rng) == 100));
    }
}
