//! The size of record batches of equal records, from counts alone.
//!
//! A record without key and headers, with timestamp delta 0, takes
//! `varint(length) + 1 + 1 + varint(offset delta) + 1 + varint(value length) + value + 1` bytes
//! (<https://kafka.apache.org/documentation/#record>); the offset delta is all that differs.

use crate::records::HEADER_BYTES;

/// Records of one batch that share a size: those whose offset delta takes the same number of bytes.
const CLASS_ENDS: [u64; 5] = [1 << 6, 1 << 13, 1 << 20, 1 << 27, 1 << 31];

/// The common shape of a producer's records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordShape {
    /// Bytes of the value.
    pub value_bytes: u32,
}

/// Length of a non-negative number as a zigzag varint.
fn varint_bytes(value: u64) -> u64 {
    let zigzag = value << 1;
    u64::from((64 - (zigzag | 1).leading_zeros()).div_ceil(7))
}

impl RecordShape {
    /// Bytes of one record whose offset delta is in class `class` (one more byte each).
    fn record_bytes(self, class: usize) -> u64 {
        let value = u64::from(self.value_bytes);
        let content = 4 + class as u64 + 1 + varint_bytes(value) + value;
        varint_bytes(content) + content
    }

    /// Bytes of a batch's records, uncompressed, without the batch header.
    pub fn body_bytes(self, count: u32) -> u64 {
        let (mut total, mut begin) = (0, 0);
        for (class, &end) in CLASS_ENDS.iter().enumerate() {
            let in_class = u64::from(count).min(end) - begin;
            total += in_class * self.record_bytes(class);
            if u64::from(count) <= end {
                break;
            }
            begin = end;
        }
        total
    }

    /// Most records a batch of at most `batch_bytes`, header included, holds; at least 1, because a record
    /// above `batch.size` travels in a batch of its own.
    pub fn capacity(self, batch_bytes: u32) -> u32 {
        let mut left = u64::from(batch_bytes).saturating_sub(HEADER_BYTES as u64);
        let (mut count, mut begin) = (0, 0);
        for (class, &end) in CLASS_ENDS.iter().enumerate() {
            let fit = left / self.record_bytes(class);
            let take = fit.min(end - begin);
            count += take;
            left -= take * self.record_bytes(class);
            if fit < end - begin {
                break;
            }
            begin = end;
        }
        (count as u32).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::encode_record;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn sizes_are_those_of_the_encoding(value_bytes in 0u32..400, count in 1u32..200) {
            let shape = RecordShape { value_bytes };
            let value = vec![7; value_bytes as usize];
            let mut encoded = Vec::new();
            for delta in 0..count {
                encode_record(&mut encoded, delta as i32, 0, None, &value);
            }
            prop_assert_eq!(encoded.len() as u64, shape.body_bytes(count));
        }

        #[test]
        fn a_batch_holds_all_that_fits_and_no_more(value_bytes in 0u32..3000, batch_bytes in 0u32..2_000_000) {
            let shape = RecordShape { value_bytes };
            let count = shape.capacity(batch_bytes);
            prop_assert!(count == 1 || 61 + shape.body_bytes(count) <= u64::from(batch_bytes));
            prop_assert!(61 + shape.body_bytes(count + 1) > u64::from(batch_bytes));
        }
    }

    #[test]
    fn a_record_of_128_bytes_takes_136_in_a_large_batch() {
        let shape = RecordShape { value_bytes: 128 };
        assert_eq!(shape.body_bytes(1), 137);
        assert_eq!(shape.body_bytes(800) - shape.body_bytes(799), 138);
    }
}
