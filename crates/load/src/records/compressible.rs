//! Bytes that compress to a stated ratio: some random ones, which no codec makes shorter, then zeros, again and again.
//!
//! How many of them must be random depends on the codec and its level, on how large values are and on how many records a
//! batch has: what surrounds the values compresses too, and every batch starts again. So the share is found by
//! compressing batches of several sizes before the load begins. All shares are tried with the same records: what
//! differs is the share alone, and the compressed size grows nearly in proportion to it.

use super::pool::BytePool;
use kdyno_kafka::records::{self, Compression, Compressor};

/// Length of a stretch of random bytes and zeros: short enough that also small batches have some of both.
const STRETCH_BYTES: usize = 256;
/// A share of all bytes.
pub(super) const WHOLE: u32 = 1 << 16;
/// Shares that are tried between two that lie around the ratio.
const STEPS: u32 = 12;
/// So near to the ratio a share is good enough.
const NEAR: f64 = 0.002;
/// Larger batches have the share of the largest one that is tried.
const TRIED_BYTES_MAX: usize = 128 << 10;
/// Records in all batches of a number of records that is tried, since their sizes may be drawn; fewer of them where
/// they take more than [`ALL_TRIED_BYTES`].
const ALL_TRIED_RECORDS: u32 = 128;
const ALL_TRIED_BYTES: usize = 256 << 10;

/// Which share of a value's bytes is random, by the number of records in its batch.
#[derive(Debug, Default)]
pub(super) struct RandomShares {
    /// From so many records on, of [`WHOLE`].
    from: Vec<(u32, u32)>,
}

impl RandomShares {
    /// Shares with which bodies compress to `ratio`; `body` builds batch number so many, of so many records, with such
    /// a share: the same records whatever the share. Where a ratio cannot be reached it is as near as can be.
    pub(super) fn find(
        ratio: f64,
        compressor: Compressor,
        records_max: u32,
        mut body: impl FnMut(u32, u32, u32) -> Vec<u8>,
    ) -> Self {
        let mut from = Vec::new();
        if compressor.codec() == Compression::None {
            // What brokers or consumers make of it is unknown here: so much of it cannot be compressed.
            from.push((1, (f64::from(WHOLE) / ratio) as u32));
            return Self { from };
        }
        for count in counts().take_while(|count| *count <= records_max) {
            let mut batch_bytes = 0;
            let share = share_for(ratio, |share| {
                let (mut whole, mut compressed) = (0, 0);
                for batch in 0..ALL_TRIED_RECORDS.div_ceil(count) {
                    let body = body(batch, count, share);
                    let mut out = Vec::new();
                    // One that cannot be compressed is sent as it is.
                    let is_compressed = records::compress(compressor, &body, &mut out).is_ok();
                    compressed += if is_compressed { out.len() } else { body.len() };
                    whole += body.len();
                    batch_bytes = body.len();
                    if whole >= ALL_TRIED_BYTES {
                        break;
                    }
                }
                whole as f64 / compressed.max(1) as f64
            });
            from.push((count, share));
            if batch_bytes >= TRIED_BYTES_MAX {
                break;
            }
        }
        Self { from }
    }

    /// The share for a batch of so many records. What each batch has once (a codec's frame, the first of what is
    /// repeated) weighs on a record by one over their number: between two that were tried, shares lie on a line over
    /// that.
    pub(super) fn of(&self, count: u32) -> u32 {
        let after = self.from.partition_point(|(from, _)| *from <= count);
        let Some(&(fewer, share)) = self.from.get(after.saturating_sub(1)) else { return WHOLE };
        let Some(&(more, next)) = self.from.get(after).filter(|_| after > 0) else { return share };
        let [fewer, own, more] = [fewer, count, more].map(|records| 1.0 / f64::from(records));
        let part = (fewer - own) / (fewer - more);
        (f64::from(share) + part * (f64::from(next) - f64::from(share))).round() as u32
    }
}

/// The share with which something compresses to a ratio, or the end that is nearer to it: false position, since one
/// over the ratio is nearly a straight line over the share.
fn share_for(ratio: f64, mut compresses_to: impl FnMut(u32) -> f64) -> u32 {
    let mut more = (WHOLE, compresses_to(WHOLE));
    if more.1 >= ratio {
        return WHOLE;
    }
    let mut less = (0, compresses_to(0));
    if less.1 <= ratio {
        return 0;
    }
    for step in 0..STEPS {
        let part = (1.0 / ratio - 1.0 / less.1) / (1.0 / more.1 - 1.0 / less.1);
        let between = less.0 + (part * f64::from(more.0 - less.0)) as u32;
        // Where the line is bent, one end would stay where it is for long.
        let share = if step % 3 == 2 { less.0.midpoint(more.0) } else { between };
        let found = compresses_to(share);
        if (found / ratio - 1.0).abs() < NEAR {
            return share;
        }
        if found > ratio {
            less = (share, found);
        } else {
            more = (share, found);
        }
    }
    less.0.midpoint(more.0)
}

/// 1, 2, 3, 4, 6, 8, 12, 16 …
fn counts() -> impl Iterator<Item = u32> {
    let doubled = (1..31).flat_map(|power| [1 << power, (1 << power) + (1 << (power - 1))]);
    std::iter::once(1).chain(doubled)
}

/// Appends so many bytes, such a share of them random; `carry` is what is left of a byte, and starts at 0.
pub(super) fn append(out: &mut Vec<u8>, bytes: usize, share: u32, carry: &mut u32, pool: &mut BytePool) {
    let mut left = bytes;
    while left > 0 {
        let stretch = left.min(STRETCH_BYTES);
        *carry += share * stretch as u32;
        let random = (*carry / WHOLE) as usize;
        *carry %= WHOLE;
        pool.append(out, random);
        out.resize(out.len() + stretch - random, 0);
        left -= stretch;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_lies_between_those_of_the_batches_that_were_tried() {
        assert_eq!(counts().take(9).collect::<Vec<_>>(), [1, 2, 3, 4, 6, 8, 12, 16, 24]);
        let shares = RandomShares { from: vec![(1, 10), (2, 20), (4, 50)] };
        // 1/3 is two thirds of the way from 1/2 to 1/4.
        assert_eq!([1, 2, 3, 4, 900].map(|count| shares.of(count)), [10, 20, 40, 50, 50]);
        assert_eq!(RandomShares::default().of(7), WHOLE);
    }

    /// Along a straight line, a bent one, and one with a step in it.
    #[test]
    fn a_share_is_found_in_few_steps() {
        let part = |share: u32| f64::from(share) / f64::from(WHOLE);
        let lines: [fn(f64) -> f64; 3] = [
            |part| 0.02 + 0.98 * part,
            |part| 0.02 + 0.98 * part.powi(3),
            |part| if part < 0.4 { 0.1 + part / 10.0 } else { 0.3 + 0.7 * part },
        ];
        for (line, smaller) in lines.iter().enumerate() {
            for ratio in [1.5, 2.0, 4.0, 7.0] {
                let mut tries = 0;
                let found = share_for(ratio, |share| {
                    tries += 1;
                    1.0 / smaller(part(share))
                });
                let reached = 1.0 / smaller(part(found));
                // A ratio in the step is not to be had, but the share lies at it.
                let is_in_step = line == 2 && (1.0 / 0.58..1.0 / 0.14).contains(&ratio);
                let reported = format!("line {line}, {ratio}: {reached} in {tries} tries");
                match is_in_step {
                    true => assert!((part(found) - 0.4).abs() < 0.05, "{reported}"),
                    false => assert!((reached / ratio - 1.0).abs() < 0.01, "{reported}"),
                }
                assert!(tries <= 2 + STEPS, "{reported}");
            }
        }
        let ends = [0.5, 1.0, 60.0].map(|ratio| share_for(ratio, |share| 1.0 / lines[0](part(share))));
        assert_eq!(ends, [WHOLE, WHOLE, 0]);
    }

    /// What is compressed at once is bounded, however large values are.
    #[test]
    fn large_values_are_tried_few_at_a_time() {
        let mut built = Vec::new();
        RandomShares::find(2.0, Compression::Lz4.into(), 1_000, |batch, count, share| {
            built.push((batch, count, share));
            vec![0; 300 << 10]
        });
        // Nulls compress to more than that whatever the share, and the first batch is as large as any that is tried.
        assert_eq!(built, [(0, 1, WHOLE)]);
    }
}
