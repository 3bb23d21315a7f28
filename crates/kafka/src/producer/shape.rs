//! The size of record batches of equal records, from counts and timestamps alone.
//!
//! A record takes `varint(length) + 1 + varint(timestamp delta) + varint(offset delta) + varint(key length) + key +
//! varint(value length) + value + varint(number of headers) + headers` bytes
//! (<https://kafka.apache.org/documentation/#record>); of equal records the two deltas are all that differs. Records
//! that were accepted at the same instant have the same timestamp, so a batch is a few runs and not many records.

use crate::records::HEADER_BYTES;

/// Records of one batch that share a size: those whose offset delta takes the same number of bytes.
const CLASS_ENDS: [u64; 5] = [1 << 6, 1 << 13, 1 << 20, 1 << 27, 1 << 31];

/// What the Java client reserves for a record in addition to key, value and headers: length 5, attributes 1, timestamp
/// delta 10, offset delta 5.
const RECORD_OVERHEAD_BYTES_MAX: u64 = 21;

/// Sizes of a record, or of all of a producer's. A null takes as many bytes as what is empty.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RecordShape {
    /// Bytes of the key.
    pub key_bytes: u32,
    /// Bytes of the value.
    pub value_bytes: u32,
    /// Bytes of the headers, without their number, which must take one byte.
    pub headers_bytes: u32,
    /// Whether each record has the timestamp of its own acceptance; otherwise that of the batch's first one.
    pub has_own_timestamp: bool,
}

/// A record's bytes when its timestamp delta takes one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordLayout {
    /// Size of the record. It ends with its headers and their number before them; the value ends before that.
    pub bytes: usize,
    /// Place of its timestamp delta: behind its length and its attributes.
    pub timestamp_delta_at: usize,
    /// Where its key begins.
    pub key_at: usize,
}

/// Length of a non-negative number as a zigzag varint.
fn varint_bytes(value: u64) -> u64 {
    let zigzag = value << 1;
    u64::from((64 - (zigzag | 1).leading_zeros()).div_ceil(7))
}

impl RecordShape {
    /// Bytes of one record whose offset delta is in class `class` (one more byte each), `delta_ms` after the batch's
    /// first one.
    fn record_bytes(self, class: usize, delta_ms: u64) -> u64 {
        self.bytes_with(class as u64 + 1, delta_ms)
    }

    /// Bytes of one record that comes after `before` others, `delta_ms` after the batch's first one; uncompressed.
    pub fn bytes_after(self, before: u32, delta_ms: u64) -> u64 {
        self.bytes_with(varint_bytes(u64::from(before)), delta_ms)
    }

    fn bytes_with(self, offset_delta_bytes: u64, delta_ms: u64) -> u64 {
        let delta_ms = if self.has_own_timestamp { delta_ms } else { 0 };
        // Attributes and the number of headers take a byte each.
        let content = 2 + varint_bytes(delta_ms) + offset_delta_bytes + self.payload_bytes();
        varint_bytes(content) + content
    }

    /// Key, value and headers, with the lengths of the first two.
    fn payload_bytes(self) -> u64 {
        let sized = |bytes: u32| varint_bytes(u64::from(bytes)) + u64::from(bytes);
        sized(self.key_bytes) + sized(self.value_bytes) + u64::from(self.headers_bytes)
    }

    /// Places in a record that comes after `before` others in a batch and less than 64 ms after the first of them.
    pub fn layout(self, before: u32) -> RecordLayout {
        let class = CLASS_ENDS.iter().take_while(|&&end| end <= u64::from(before)).count();
        let bytes = self.record_bytes(class, 0);
        let length_bytes = (1..=5).find(|&length| varint_bytes(bytes - length) == length).unwrap_or(5);
        let timestamp_delta_at = length_bytes as usize + 1;
        // Its own byte, the offset delta, the length of the key.
        let key_at = timestamp_delta_at + 1 + (class + 1) + varint_bytes(u64::from(self.key_bytes)) as usize;
        RecordLayout { bytes: bytes as usize, timestamp_delta_at, key_at }
    }

    /// Bytes of `count` records of one timestamp, `delta_ms` after that of the batch's first one, that come after
    /// `before` others; uncompressed.
    pub fn run_bytes(self, before: u32, count: u32, delta_ms: u64) -> u64 {
        let (first, end) = (u64::from(before), u64::from(before) + u64::from(count));
        let (mut total, mut begin) = (0, 0);
        for (class, &class_end) in CLASS_ENDS.iter().enumerate() {
            let in_class = end.min(class_end).saturating_sub(first.max(begin));
            total += in_class * self.record_bytes(class, delta_ms);
            if end <= class_end {
                break;
            }
            begin = class_end;
        }
        total
    }

    /// Bytes of a batch's records of one timestamp, uncompressed, without the batch header.
    pub fn body_bytes(self, count: u32) -> u64 {
        self.run_bytes(0, count, 0)
    }

    /// Most records of one timestamp that a batch of at most `batch_bytes`, header included, holds uncompressed; at
    /// least 1, because a record above `batch.size` travels in a batch of its own.
    pub fn capacity(self, batch_bytes: u32) -> u32 {
        let mut left = u64::from(batch_bytes).saturating_sub(HEADER_BYTES as u64);
        let (mut count, mut begin) = (0, 0);
        for (class, &end) in CLASS_ENDS.iter().enumerate() {
            let fit = left / self.record_bytes(class, 0);
            let take = fit.min(end - begin);
            count += take;
            left -= take * self.record_bytes(class, 0);
            if fit < end - begin {
                break;
            }
            begin = end;
        }
        (count as u32).max(1)
    }

    /// What a batch takes of `buffer.memory`, and the size up to which it is filled: `batch.size`, or the most that a
    /// batch of one such record can take, as the Java client reckons it.
    pub fn buffer_bytes(self, batch_bytes: u32) -> u64 {
        // The number of headers takes a byte.
        let one = HEADER_BYTES as u64 + RECORD_OVERHEAD_BYTES_MAX + self.payload_bytes() + 1;
        one.max(u64::from(batch_bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::{begin_record, encode_headers};
    use proptest::prelude::*;

    fn shape(value_bytes: u32) -> RecordShape {
        RecordShape { value_bytes, has_own_timestamp: true, ..RecordShape::default() }
    }

    proptest! {
        #[test]
        fn sizes_are_those_of_the_encoding(
            (key_bytes, value_bytes, header_bytes) in (0u32..200, 0u32..400, prop::option::of(0u32..200)),
            runs in prop::collection::vec((1u32..100, 0u64..20_000), 1..5),
        ) {
            let of = |bytes: u32| vec![7; bytes as usize];
            let header = header_bytes.map(of);
            let headers = encode_headers(header.iter().map(|value| ("trace", value.as_slice())));
            let headers_bytes = headers.len() as u32 - 1;
            let shape = RecordShape { key_bytes, headers_bytes, ..shape(value_bytes) };
            let (key, value) = (of(key_bytes), of(value_bytes));
            let (mut encoded, mut count, mut bytes) = (Vec::new(), 0, 0);
            for (records, delta_ms) in runs {
                bytes += shape.run_bytes(count, records, delta_ms);
                for delta in count..count + records {
                    let begin = encoded.len();
                    let rest = (Some(value.len()), headers.len());
                    // A null key takes as much room as an empty one.
                    let key = Some(key.as_slice()).filter(|key| !key.is_empty());
                    begin_record(&mut encoded, delta as i32, delta_ms as i64, key, rest);
                    encoded.extend_from_slice(&value);
                    encoded.extend_from_slice(&headers);
                    prop_assert_eq!((encoded.len() - begin) as u64, shape.bytes_after(delta, delta_ms));
                    let layout = shape.layout(delta);
                    if delta_ms < 64 {
                        prop_assert_eq!(encoded.len() - begin, layout.bytes);
                        let at = begin + layout.key_at;
                        prop_assert_eq!(&encoded[at..at + key_bytes as usize], of(key_bytes));
                        prop_assert_eq!(u64::from(encoded[begin + layout.timestamp_delta_at]), delta_ms << 1);
                    }
                }
                count += records;
            }
            prop_assert_eq!(encoded.len() as u64, bytes);
        }

        #[test]
        fn a_batch_holds_all_that_fits_and_no_more(value_bytes in 0u32..3000, batch_bytes in 0u32..2_000_000) {
            let shape = shape(value_bytes);
            let count = shape.capacity(batch_bytes);
            prop_assert!(count == 1 || 61 + shape.body_bytes(count) <= u64::from(batch_bytes));
            prop_assert!(61 + shape.body_bytes(count + 1) > u64::from(batch_bytes));
        }
    }

    #[test]
    fn a_record_of_128_bytes_takes_136_in_a_large_batch() {
        let shape = shape(128);
        assert_eq!(shape.body_bytes(1), 137);
        assert_eq!(shape.body_bytes(800) - shape.body_bytes(799), 138);
        assert_eq!(shape.run_bytes(799, 1, 63), 138);
        assert_eq!(shape.run_bytes(799, 1, 64), 139);
        assert_eq!(RecordShape { has_own_timestamp: false, ..shape }.run_bytes(799, 1, 64), 138);
    }

    /// 61 bytes of header, 21 of a record's own, two lengths, a number of headers and the value.
    #[test]
    fn a_large_record_takes_more_of_the_buffer_than_a_batch() {
        assert_eq!(shape(100).buffer_bytes(16_384), 16_384);
        assert_eq!(shape(20_000).buffer_bytes(16_384), 61 + 21 + 1 + 3 + 20_000 + 1);
        assert_eq!(shape(1).buffer_bytes(1), 86);
    }
}
