//! Bytes that compress to a stated ratio: some random ones, which no codec makes shorter, then zeros, again and again.
//!
//! How many of them must be random depends on the codec, on how large values are and on how many records a batch has:
//! what stands around the values compresses too, and every batch begins anew. So the share is found by compressing
//! batches of several sizes before the load begins, each by halving.

use super::Pool;
use kdyno_kafka::records::{self, Compression};

/// Length of a stretch of random bytes and zeros: short enough that also small batches have some of both.
const STRETCH_BYTES: usize = 256;
/// A share of all bytes.
pub(super) const WHOLE: u32 = 1 << 16;
/// How often the share is halved: to 1/16,384.
const HALVINGS: u32 = 14;
/// Larger batches have the share of the largest one that is tried.
const TRIED_BYTES_MAX: usize = 128 << 10;
/// Records in all batches of a number of records that is tried: their sizes may be drawn.
const TRIED_RECORDS: u32 = 16;

/// Which share of a value's bytes is random, by the number of records in its batch.
#[derive(Debug, Default)]
pub(super) struct Shares {
    /// From so many records on, of [`WHOLE`].
    from: Vec<(u32, u32)>,
}

impl Shares {
    /// Those with which bodies compress to `ratio`; `body` builds one of so many records with such a share. Where a
    /// ratio cannot be reached it is as near as can be.
    pub(super) fn find(
        ratio: f64,
        codec: Compression,
        records_max: u32,
        mut body: impl FnMut(u32, u32) -> Vec<u8>,
    ) -> Self {
        let mut from = Vec::new();
        if codec == Compression::None {
            // What brokers or consumers make of it nobody knows here: so much of it cannot be compressed.
            from.push((1, (f64::from(WHOLE) / ratio) as u32));
            return Self { from };
        }
        for count in counts().take_while(|count| *count <= records_max) {
            let mut tried_bytes = 0;
            let mut compresses_to = |share| {
                let (mut whole, mut compressed) = (0, 0);
                for _ in 0..TRIED_RECORDS.div_ceil(count) {
                    let body = body(count, share);
                    let mut out = Vec::new();
                    // One that cannot be compressed is sent as it is.
                    let _ = records::compress(codec, &body, &mut out);
                    (whole, compressed) = (whole + body.len(), compressed + out.len());
                    tried_bytes = body.len();
                }
                whole as f64 / compressed.max(1) as f64
            };
            let (mut less, mut more) = (0, WHOLE);
            if compresses_to(WHOLE) >= ratio {
                less = WHOLE;
            } else if compresses_to(0) <= ratio {
                more = 0;
            }
            for _ in 0..HALVINGS {
                let middle = less.midpoint(more);
                if compresses_to(middle) > ratio {
                    less = middle;
                } else {
                    more = middle;
                }
            }
            from.push((count, less.midpoint(more)));
            if tried_bytes >= TRIED_BYTES_MAX {
                break;
            }
        }
        Self { from }
    }

    /// Of a batch of so many records.
    pub(super) fn of(&self, count: u32) -> u32 {
        let after = self.from.partition_point(|(from, _)| *from <= count);
        self.from.get(after.saturating_sub(1)).map_or(WHOLE, |(_, share)| *share)
    }
}

/// 1, 2, 3, 4, 6, 8, 12, 16 …: between two of them a share changes little.
fn counts() -> impl Iterator<Item = u32> {
    let doubled = (1..31).flat_map(|power| [1 << power, (1 << power) + (1 << (power - 1))]);
    std::iter::once(1).chain(doubled)
}

/// Appends so many bytes, of which such a share is random; `carry` is what is left of a byte, and starts at 0.
pub(super) fn append(out: &mut Vec<u8>, bytes: usize, share: u32, carry: &mut u32, pool: &mut Pool) {
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
    fn a_share_is_that_of_the_next_smaller_batch_that_was_tried() {
        assert_eq!(counts().take(9).collect::<Vec<_>>(), [1, 2, 3, 4, 6, 8, 12, 16, 24]);
        let shares = Shares { from: vec![(1, 10), (2, 20), (3, 30)] };
        assert_eq!([1, 2, 3, 900].map(|count| shares.of(count)), [10, 20, 30, 30]);
    }
}
