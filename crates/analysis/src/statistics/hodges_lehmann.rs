//! The Hodges–Lehmann estimate: the median of all means of two differences, and the interval that belongs to the
//! signed-rank test.

use crate::statistics::bounds::Bounds;
use crate::statistics::signed_rank::critical;

/// The means of every two differences, each with itself too, in order.
#[derive(Debug, Clone, PartialEq)]
pub struct WalshAverages {
    differences: usize,
    sorted: Vec<f64>,
}

impl WalshAverages {
    /// `None` when there are no differences, or one of them is not finite.
    pub fn of(differences: &[f64]) -> Option<Self> {
        if differences.is_empty() || differences.iter().any(|difference| !difference.is_finite()) {
            return None;
        }
        let pairs = (0..differences.len())
            .flat_map(|first| (first..differences.len()).map(move |second| (first, second)));
        let mut sorted: Vec<f64> =
            pairs.map(|(first, second)| differences[first].midpoint(differences[second])).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        Some(Self { differences: differences.len(), sorted })
    }

    /// Their median: where the differences are centred.
    pub fn estimate(&self) -> f64 {
        let n = self.sorted.len();
        self.sorted[(n - 1) / 2].midpoint(self.sorted[n / 2])
    }

    /// The widest-levelled interval that misses the centre with a probability of at most `alpha`, with the level it
    /// really has; `None` when there are too few differences for it.
    pub fn interval(&self, alpha: f64) -> Option<Bounds> {
        let (rank, missed) = critical(self.differences, alpha)?;
        Some(self.between(rank, missed))
    }

    /// From the `rank`-th average to the one as far from the end, counted from 0, which misses the centre with a known
    /// probability. `rank` is at most that of the middle.
    pub(super) fn between(&self, rank: usize, missed: f64) -> Bounds {
        let high = self.sorted.len() - 1 - rank;
        Bounds { low: self.sorted[rank], high: self.sorted[high], level: 1.0 - missed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_differences_by_hand() {
        // 1, 1.5, 2, 3, 3.5, 5 of 1, 2, 5.
        let walsh = WalshAverages::of(&[5.0, 1.0, 2.0]).unwrap();
        assert_eq!(walsh.estimate(), 2.5);
        assert_eq!(walsh.interval(0.25), Some(Bounds { low: 1.0, high: 5.0, level: 0.75 }));
        assert_eq!(walsh.interval(0.5), Some(Bounds { low: 1.5, high: 3.5, level: 0.5 }));
        assert_eq!(walsh.interval(0.05), None);
        assert_eq!(WalshAverages::of(&[]), None);
        assert_eq!(WalshAverages::of(&[1.0, f64::NAN]), None);
        assert_eq!(WalshAverages::of(&[1.0, f64::INFINITY]), None);
    }
}
