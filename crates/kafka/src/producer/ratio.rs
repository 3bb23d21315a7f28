//! How well a topic's batches are expected to compress.
//!
//! The size of a compressed batch is unknown before it is compressed, so the Java client fills a batch until its
//! estimated size reaches `batch.size`: the bytes of its records × the ratio expected × 1.05. The ratio moves with
//! each batch: worse at once, better in small steps down to what was found (`CompressionRatioEstimator`).

use crate::records::{Compression, HEADER_BYTES};

/// A batch that compressed better makes the ratio smaller by so much at most.
const IMPROVING_STEP: f32 = 0.005;
/// One that compressed worse makes it larger by so much at least.
const DETERIORATING_STEP: f32 = 0.05;
/// Reserve on top of the ratio expected.
const SAFETY_FACTOR: f32 = 1.05;

/// The ratio expected of the next batches: compressed bytes ÷ bytes of records.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct CompressionRatio {
    compression: Compression,
    expected: f32,
}

impl CompressionRatio {
    /// Nothing is known yet.
    pub(super) fn new(compression: Compression) -> Self {
        Self { compression, expected: 1.0 }
    }

    /// Size of a batch with so many bytes of records, header included.
    pub(super) fn batch_bytes(self, body_bytes: u64) -> u64 {
        let body = match self.compression {
            Compression::None => body_bytes,
            // In the precision of the Java client, where it decides whether one more record fits.
            _ => (body_bytes as f32 * self.expected * SAFETY_FACTOR) as u64,
        };
        HEADER_BYTES as u64 + body
    }

    /// How many records of so many bytes each a batch of this size takes; at least 1.
    pub(super) fn records(self, bytes_max: u64, record_bytes: u64) -> u32 {
        1 + self.records_in(bytes_max.saturating_sub(HEADER_BYTES as u64 + record_bytes), record_bytes)
    }

    /// How many records of so many bytes each are expected to take this room.
    pub(super) fn records_in(self, bytes: u64, record_bytes: u64) -> u32 {
        let record_bytes = record_bytes.max(1);
        match self.compression {
            Compression::None => u32::try_from(bytes / record_bytes).unwrap_or(u32::MAX),
            _ => (bytes as f64 / (record_bytes as f64 * f64::from(self.expected * SAFETY_FACTOR))) as u32,
        }
    }

    /// A batch was compressed.
    pub(super) fn learn(&mut self, body_bytes: u64, compressed_bytes: u64) {
        if self.compression == Compression::None || body_bytes == 0 {
            return;
        }
        let found = compressed_bytes as f32 / body_bytes as f32;
        if found > self.expected {
            self.expected = found.max(self.expected + DETERIORATING_STEP);
        } else if found < self.expected {
            self.expected = found.max(self.expected - IMPROVING_STEP);
        }
    }

    /// A batch of this ratio was too large for the broker: the next ones are not expected to compress at all.
    pub(super) fn reset(&mut self, body_bytes: u64, compressed_bytes: u64) {
        self.expected = (compressed_bytes as f32 / body_bytes.max(1) as f32).max(1.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_gets_better_slowly_and_worse_at_once() {
        let mut ratio = CompressionRatio::new(Compression::Zstd);
        assert_eq!(ratio.batch_bytes(10_000), 61 + 10_500);
        for _ in 0..79 {
            ratio.learn(10_000, 6_000);
        }
        assert!((ratio.expected - 0.605).abs() < 1e-3, "{ratio:?}");
        for _ in 0..20 {
            ratio.learn(10_000, 6_000);
        }
        assert_eq!(ratio.expected, 0.6, "not better than what was found");
        ratio.learn(10_000, 6_400);
        assert!((ratio.expected - 0.65).abs() < 1e-3, "at least a twentieth worse: {ratio:?}");
        ratio.learn(10_000, 9_000);
        assert_eq!(ratio.expected, 0.9, "{ratio:?}");
        ratio.reset(10_000, 9_000);
        assert_eq!(ratio.expected, 1.0);
        ratio.reset(100, 120);
        assert_eq!(ratio.expected, 1.2);
    }

    /// Around 60 %, a little more or less, it goes down in ten steps and up in one.
    #[test]
    fn around_ratios_that_vary_it_is_a_sawtooth() {
        let mut ratio = CompressionRatio::new(Compression::Gzip);
        let mut seen = Vec::new();
        for batch in 0..1_000 {
            ratio.learn(100_000, 59_900 + 200 * (batch % 2));
            seen.push(ratio.expected);
        }
        let late = &seen[500..];
        let least = late.iter().copied().fold(f32::MAX, f32::min);
        let most = late.iter().copied().fold(0.0, f32::max);
        assert!(least >= 0.599 && most < 0.6511, "{least} to {most}");
        assert!(most - least > 0.04);
    }

    #[test]
    fn a_batch_takes_records_until_its_estimate_is_full() {
        let of = |compression| CompressionRatio { compression, expected: 0.5 };
        assert_eq!(of(Compression::None).records(61 + 1_000, 100), 10);
        // 17 that are estimated at 52.5 bytes leave room for one at its full 100.
        assert_eq!(of(Compression::Lz4).records(61 + 1_000, 100), 18);
        assert_eq!(of(Compression::None).records(10, 100), 1);
    }

    #[test]
    fn what_is_not_compressed_has_its_own_size() {
        let mut ratio = CompressionRatio::new(Compression::None);
        ratio.learn(100, 50);
        assert_eq!(ratio.batch_bytes(16_323), 16_384);
    }
}
