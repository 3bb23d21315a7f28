//! The order in which a Java `HashMap` or `HashSet` yields its entries.
//!
//! Java's sticky assignors walk over such maps, so who keeps a partition of two that may, and which partition moves,
//! follows from hash codes. An equal assignment needs the same order: by bucket, and within a bucket as inserted. (From
//! nine entries in one bucket on Java makes a tree of it; that many never meet by chance and would only be ordered
//! in another way.)

use super::TopicPartition;
use std::cmp::Ordering;

/// Buckets of a new map.
const BUCKETS: usize = 16;

/// `hashCode` of text: over its UTF-16 units.
fn hash_text(text: &str) -> u32 {
    text.encode_utf16().fold(0, |hash: u32, unit| hash.wrapping_mul(31).wrapping_add(u32::from(unit)))
}

/// `hashCode` of a `TopicPartition`.
fn hash_partition(partition: &TopicPartition) -> u32 {
    let number = partition.partition.cast_unsigned();
    31u32.wrapping_add(number).wrapping_mul(31).wrapping_add(hash_text(&partition.topic))
}

/// `String.compareTo`: by UTF-16 units, which is not the order of the bytes where units are surrogates.
pub(super) fn compare_text(a: &str, b: &str) -> Ordering {
    if a.is_ascii() && b.is_ascii() { a.cmp(b) } else { a.encode_utf16().cmp(b.encode_utf16()) }
}

/// Buckets of a map that never held more than so many entries.
fn buckets(entries_max: usize) -> usize {
    let mut buckets = BUCKETS;
    while entries_max > buckets / 4 * 3 {
        buckets *= 2;
    }
    buckets
}

fn bucket(hash: u32, buckets: usize) -> usize {
    (hash ^ (hash >> 16)) as usize & (buckets - 1)
}

/// Sorts the keys of a map, given as they were inserted, as the map yields them.
pub(super) fn sort_as_map<'a, T>(inserted: &mut [T], key: impl Fn(&T) -> &'a str) {
    let buckets = buckets(inserted.len());
    inserted.sort_by_key(|entry| bucket(hash_text(key(entry)), buckets));
}

/// A set of partitions whose first one, as Java would yield it, is known.
#[derive(Debug, Default)]
pub(super) struct PartitionSet {
    /// As inserted.
    entries: Vec<TopicPartition>,
    /// A set does not shrink.
    entries_max: usize,
}

impl PartitionSet {
    pub(super) fn insert(&mut self, partition: TopicPartition) {
        self.entries.push(partition);
        self.entries_max = self.entries_max.max(self.entries.len());
    }

    pub(super) fn remove(&mut self, partition: &TopicPartition) {
        self.entries.retain(|entry| entry != partition);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// What its iterator would yield first.
    pub(super) fn first(&self) -> Option<&TopicPartition> {
        let buckets = buckets(self.entries_max);
        // `min_by_key` takes the first of equals.
        self.entries.iter().min_by_key(|entry| bucket(hash_partition(entry), buckets))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand from Java's definitions: "ab" is 97 · 31 + 98.
    #[test]
    fn hash_codes_are_javas() {
        assert_eq!((hash_text(""), hash_text("ab")), (0, 3105));
        // Two units: 0xd83d · 31 + 0xde00.
        assert_eq!(hash_text("😀"), 0xd83d * 31 + 0xde00);
        assert_eq!(hash_partition(&TopicPartition::new("ab", 2)), (31 + 2) * 31 + 3105);
    }

    #[test]
    fn a_map_doubles_when_it_is_three_quarters_full() {
        assert_eq!([0, 12, 13, 24, 25, 49].map(buckets), [16, 16, 32, 32, 64, 128]);
    }

    #[test]
    fn texts_compare_by_their_units() {
        // U+FF61 is one unit above the surrogates of U+1F600.
        assert_eq!(compare_text("\u{ff61}", "😀"), Ordering::Greater);
        assert_eq!(compare_text("a", "b"), Ordering::Less);
    }
}
