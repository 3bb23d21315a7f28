//! Stored latencies, read with care: a run file comes from anywhere.
//!
//! Histograms are HdrHistogram V2 bytes. The decoder takes the memory they claim and adds counts without looking
//! for overflow, so both are looked at before it sees them.

use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;

/// Lowest value that a latency histogram resolves, ns.
pub const LATENCY_NS_MIN: u64 = 1;
/// Highest value a latency histogram holds, ns (one hour); larger ones are counted there and flagged.
pub const LATENCY_NS_MAX: u64 = 3_600_000_000_000;

/// Bytes that are not a histogram of ours; holds what is wrong with them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Damaged(String);

/// Most digits a histogram of ours keeps. More would only serve to claim memory.
const DIGITS_MAX: u32 = 3;

/// Bytes before the counts: cookie, payload length, offset, digits, lowest, highest, ratio.
const V2_HEAD_BYTES: usize = 40;

/// Decodes a histogram after checking that its claims stay within what ours can be.
///
/// # Errors
/// When they do not, or the bytes are no histogram.
pub fn decode(v2_bytes: &[u8]) -> Result<Histogram<u64>, Damaged> {
    let refuse = |reason: &str| Err(Damaged(reason.to_owned()));
    if v2_bytes.len() < V2_HEAD_BYTES {
        return refuse("it is cut off");
    }
    let (head, counts) = v2_bytes.split_at(V2_HEAD_BYTES);
    let u32_at = |at: usize| u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    let u64_at = |at: usize| u64::from(u32_at(at)) << 32 | u64::from(u32_at(at + 4));
    if usize::try_from(u32_at(4)) != Ok(counts.len()) {
        return refuse("its length is not the one it claims");
    }
    if u32_at(12) > DIGITS_MAX || u64_at(16) != LATENCY_NS_MIN || u64_at(24) > LATENCY_NS_MAX {
        return refuse("its range or precision is not one of ours");
    }
    check_counts(counts)?;
    Deserializer::new().deserialize(&mut &v2_bytes[..]).map_err(|error| Damaged(error.to_string()))
}

/// Adds the counts of another histogram.
///
/// # Errors
/// When together they are more than can be counted; `into` is unchanged then.
pub fn merge(into: &mut Histogram<u64>, other: &Histogram<u64>) -> Result<(), Damaged> {
    if into.len().checked_add(other.len()).is_none() {
        return Err(Damaged("the counts overflow".to_owned()));
    }
    into.add(other).map_err(|error| Damaged(format!("it does not merge: {error}")))
}

/// The decoder adds counts and skips zeros without looking for overflow, so the numbers are looked at first.
fn check_counts(mut counts: &[u8]) -> Result<(), Damaged> {
    /// More zeros in a row than any histogram of ours has buckets.
    const ZEROS_MAX: u64 = 1 << 20;
    let mut records = 0u64;
    while !counts.is_empty() {
        let (number, used) = varint(counts).ok_or_else(|| Damaged("its counts are cut off".to_owned()))?;
        counts = &counts[used..];
        // Zig-zag: odd numbers are negative and stand for a run of zeros.
        let magnitude = (number >> 1) + (number & 1);
        if number & 1 == 1 {
            if magnitude > ZEROS_MAX {
                return Err(Damaged("it has too many buckets".to_owned()));
            }
        } else {
            records =
                records.checked_add(magnitude).ok_or_else(|| Damaged("the counts overflow".to_owned()))?;
        }
    }
    Ok(())
}

/// One number in LEB128 of at most 9 bytes, the ninth taken whole; the number and its length.
fn varint(bytes: &[u8]) -> Option<(u64, usize)> {
    const LENGTH_MAX: usize = 9;
    let mut number = 0;
    for (index, byte) in bytes.iter().take(LENGTH_MAX).enumerate() {
        let last = index + 1 == LENGTH_MAX;
        let bits = if last { *byte } else { byte & 0x7f };
        number |= u64::from(bits) << (7 * index);
        if last || byte & 0x80 == 0 {
            return Some((number, index + 1));
        }
    }
    None
}

/// For serde's `with`: bytes as base64 text (RFC 4648 with padding).
pub(crate) mod base64_bytes {
    use base64::{Engine, engine::general_purpose::STANDARD};
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(bytes))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        let text = String::deserialize(deserializer)?;
        STANDARD.decode(text).map_err(|error| D::Error::custom(format!("no base64 text: {error}")))
    }
}

/// For serde's `with`: histograms by what they time, as base64 text (RFC 4648 with padding).
pub(crate) mod base64_map {
    use crate::sample::Timing;
    use base64::{Engine, engine::general_purpose::STANDARD};
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};
    use std::collections::BTreeMap;

    pub(crate) fn serialize<S: Serializer>(
        histograms: &BTreeMap<Timing, Vec<u8>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer
            .collect_map(histograms.iter().map(|(timing, v2_bytes)| (timing, STANDARD.encode(v2_bytes))))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<BTreeMap<Timing, Vec<u8>>, D::Error> {
        let texts = BTreeMap::<Timing, String>::deserialize(deserializer)?;
        let decoded = texts.into_iter().map(|(timing, text)| Ok((timing, STANDARD.decode(text)?)));
        decoded
            .collect::<Result<_, base64::DecodeError>>()
            .map_err(|error| D::Error::custom(format!("a histogram is not base64 text: {error}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::serialization::{Serializer, V2Serializer};
    use proptest::prelude::*;

    fn encode(values: &[u64]) -> Vec<u8> {
        let bounds = Histogram::<u64>::new_with_bounds(LATENCY_NS_MIN, LATENCY_NS_MAX, DIGITS_MAX as u8);
        let mut histogram = bounds.expect("valid bounds");
        values.iter().for_each(|value| histogram.saturating_record(*value));
        let mut bytes = Vec::new();
        V2Serializer::new().serialize(&histogram, &mut bytes).expect("a vector takes all");
        bytes
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_decoder_panic(
            values in prop::collection::vec(1u64..1 << 50, 0..50),
            flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
            keep in any::<prop::sample::Index>(),
        ) {
            let mut bytes = encode(&values);
            for (at, byte) in flips {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            let _ = decode(&bytes);
            bytes.truncate(keep.index(bytes.len()));
            let _ = decode(&bytes);
        }

        #[test]
        fn no_counts_make_the_decoder_panic(
            counts in prop::collection::vec(prop_oneof![any::<u8>(), Just(0xff), Just(0x80)], 0..200)
        ) {
            let mut bytes = encode(&[])[..V2_HEAD_BYTES].to_vec();
            bytes[4..8].copy_from_slice(&(counts.len() as u32).to_be_bytes());
            bytes.extend_from_slice(&counts);
            let _ = decode(&bytes);
        }
    }

    #[test]
    fn claims_beyond_our_range_are_refused_before_they_take_memory() {
        let whole = encode(&[1, 2, 3]);
        let with = |at: usize, byte: u8| {
            let mut bytes = whole.clone();
            bytes[at] = byte;
            decode(&bytes)
        };
        assert!(decode(&whole).is_ok());
        // In order: cookie, length, offset, digits, lowest, highest, ratio.
        for at in [0, 4, 11, 15, 16, 24, 32] {
            assert!(with(at, 5).is_err(), "byte {at}");
        }
        assert!(decode(&whole[..30]).is_err());
    }

    #[test]
    fn counts_that_do_not_fit_together_are_not_merged() {
        let mut all = Histogram::<u64>::new(3).expect("valid digits");
        all.record_n(5, u64::MAX - 1).expect("within range");
        let two = decode(&encode(&[1, 2])).expect("a histogram of ours");
        assert_eq!(merge(&mut all, &two), Err(Damaged("the counts overflow".to_owned())));
        let one = decode(&encode(&[1])).expect("a histogram of ours");
        assert_eq!(merge(&mut all, &one), Ok(()));
    }
}
