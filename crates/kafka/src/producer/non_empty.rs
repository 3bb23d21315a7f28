//! The partitions in which something waits, so that a request looks at those and not at all of a wide topic.

/// A set of partition numbers, one bit each.
#[derive(Debug, Default)]
pub(super) struct NonEmptyPartitions {
    words: Vec<u64>,
}

impl NonEmptyPartitions {
    /// Room for partitions `0..partitions`, none in it.
    pub(super) fn none(partitions: usize) -> Self {
        Self { words: vec![0; partitions.div_ceil(64)] }
    }

    pub(super) fn insert(&mut self, partition: usize) {
        self.words[partition / 64] |= 1 << (partition % 64);
    }

    pub(super) fn remove(&mut self, partition: usize) {
        self.words[partition / 64] &= !(1 << (partition % 64));
    }

    /// The first one from `partition` on.
    pub(super) fn at_or_after(&self, partition: usize) -> Option<usize> {
        let mut word = partition / 64;
        let mut bits = *self.words.get(word)? & (u64::MAX << (partition % 64));
        while bits == 0 {
            word += 1;
            bits = *self.words.get(word)?;
        }
        Some(word * 64 + bits.trailing_zeros() as usize)
    }

    /// All of them, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        std::iter::successors(self.at_or_after(0), |&partition| self.at_or_after(partition + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn it_is_a_set_in_order(
            changes in prop::collection::vec((0usize..200, any::<bool>()), 0..300),
        ) {
            let (mut waiting, mut set) = (NonEmptyPartitions::none(200), BTreeSet::new());
            for (partition, is_in) in changes {
                if is_in {
                    waiting.insert(partition);
                    set.insert(partition);
                } else {
                    waiting.remove(partition);
                    set.remove(&partition);
                }
            }
            let expected: Vec<usize> = set.iter().copied().collect();
            prop_assert_eq!(waiting.iter().collect::<Vec<_>>(), expected);
            for partition in 0..201 {
                prop_assert_eq!(waiting.at_or_after(partition), set.range(partition..).next().copied());
            }
        }
    }
}
