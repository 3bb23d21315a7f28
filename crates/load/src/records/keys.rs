//! Keys: which comes next, how it is written, and which partition it belongs to.

use super::alias::AliasTable;
use super::given::ByteStrings;
use kdyno_kafka::producer::partition_of_key;
use kdyno_model::plan::KeyLaw;
use rand::RngExt;
use rand_distr::{Distribution, Zipf};
use rand_pcg::Pcg64;
use std::sync::Arc;

/// Most keys whose partitions, and whose probabilities, are kept in a table: 10 bytes for each.
const TABLE_MAX: u32 = 1 << 20;

/// The keys of a load item's records.
#[derive(Debug)]
pub(super) struct RecordKeys {
    kind: KeyKind,
    law: KeyDistribution,
    /// Partitions of the topic; `None`: keys have no say in where records go.
    partitions: Option<usize>,
    /// Partition of each key, where there are not too many.
    table: Box<[u16]>,
}

#[derive(Debug)]
enum KeyKind {
    /// Decimal numbers below `of`, with zeros in front.
    Numbered {
        of: u32,
        bytes: usize,
        /// Most digits that are not such a zero.
        digits: usize,
    },
    Given(Arc<ByteStrings>),
}

#[derive(Debug)]
enum KeyDistribution {
    Sequential,
    Uniform,
    Table(AliasTable),
    /// More keys than a table is made for.
    Zipf(Zipf<f64>),
}

impl KeyDistribution {
    fn new(law: KeyLaw, of: u32) -> Self {
        let KeyLaw::Zipf { exponent } = law else {
            return if law == KeyLaw::Sequential { Self::Sequential } else { Self::Uniform };
        };
        if of <= TABLE_MAX {
            return Self::Table(AliasTable::new(
                (1..=of).map(|rank| f64::from(rank).powf(-exponent)).collect(),
            ));
        }
        // Plans have an exponent above 0 and a key at least.
        Zipf::new(f64::from(of), exponent).map_or(Self::Uniform, Self::Zipf)
    }
}

impl RecordKeys {
    /// Numbers from 0 on in decimal digits, each of so many bytes.
    pub(super) fn numbered(law: KeyLaw, of: u32, bytes: u32, partitions: Option<usize>) -> Self {
        let of = of.max(1);
        let digits = ((of - 1).checked_ilog10().unwrap_or(0) as usize + 1).min(bytes as usize);
        Self::new(
            KeyKind::Numbered { of, bytes: bytes as usize, digits },
            KeyDistribution::new(law, of),
            partitions,
        )
    }

    /// Keys of a file, each with the same probability.
    pub(super) fn given(given: Arc<ByteStrings>, partitions: Option<usize>) -> Self {
        Self::new(KeyKind::Given(given), KeyDistribution::Uniform, partitions)
    }

    fn new(kind: KeyKind, law: KeyDistribution, partitions: Option<usize>) -> Self {
        let mut keys = Self { kind, law, partitions, table: Box::default() };
        if let (Some(partitions), true) = (partitions, keys.count() <= TABLE_MAX)
            && partitions <= usize::from(u16::MAX)
        {
            let mut key = keys.template();
            let of = |number| partition_of_key(keys.write(number, &mut key), partitions) as u16;
            keys.table = (0..keys.count()).map(of).collect();
        }
        keys
    }

    fn count(&self) -> u32 {
        match &self.kind {
            KeyKind::Numbered { of, .. } => *of,
            KeyKind::Given(given) => given.count(),
        }
    }

    /// The next key of a client; `in_turn` is its next one among all numbers.
    #[inline]
    pub(super) fn draw(&self, rng: &mut Pcg64, in_turn: impl FnOnce() -> u64) -> u32 {
        match &self.law {
            KeyDistribution::Sequential => (in_turn() % u64::from(self.count())) as u32,
            KeyDistribution::Uniform => rng.random_range(0..self.count()),
            KeyDistribution::Table(table) => table.at(rng.random()),
            KeyDistribution::Zipf(zipf) => (zipf.sample(rng) as u32).clamp(1, self.count()) - 1,
        }
    }

    /// Its next ones: the same as one by one.
    pub(super) fn draw_all<const COUNT: usize>(
        &self,
        rng: &mut Pcg64,
        mut in_turn: impl FnMut() -> u64,
    ) -> [u32; COUNT] {
        match &self.law {
            KeyDistribution::Table(table) => {
                let random: [u64; COUNT] = std::array::from_fn(|_| rng.random());
                random.map(|random| table.at(random))
            }
            _ => std::array::from_fn(|_| self.draw(rng, &mut in_turn)),
        }
    }

    /// Partitions among which keys choose, if they do.
    pub(super) fn partitions(&self) -> Option<usize> {
        self.partitions
    }

    /// The partition of a key, where keys have a say in it.
    #[inline]
    pub(super) fn partition(&self, number: u32) -> Option<u32> {
        match self.table.get(number as usize) {
            Some(&partition) => Some(u32::from(partition)),
            None => self.partition_without_table(number),
        }
    }

    /// The partition of a key that no table has.
    #[inline(never)]
    fn partition_without_table(&self, number: u32) -> Option<u32> {
        let partitions = self.partitions?;
        Some(partition_of_key(self.write(number, &mut self.template()), partitions) as u32)
    }

    /// Bytes of a key.
    #[inline]
    pub(super) fn bytes(&self, number: u32) -> u32 {
        match &self.kind {
            KeyKind::Numbered { bytes, .. } => *bytes as u32,
            KeyKind::Given(given) => given.get(number).len() as u32,
        }
    }

    /// Bytes of a key in the mean.
    pub(super) fn mean_bytes(&self) -> u32 {
        match &self.kind {
            KeyKind::Numbered { bytes, .. } => *bytes as u32,
            KeyKind::Given(given) => given.mean_bytes(),
        }
    }

    /// Whether all keys have the same size.
    pub(super) fn are_equal(&self) -> bool {
        matches!(self.kind, KeyKind::Numbered { .. })
    }

    /// What numbers are written into.
    pub(super) fn template(&self) -> Vec<u8> {
        match &self.kind {
            KeyKind::Numbered { bytes, .. } => vec![b'0'; *bytes],
            KeyKind::Given(_) => Vec::new(),
        }
    }

    /// The bytes of a key; a number's are written over those of another one, or of a [`Self::template`].
    #[inline]
    pub(super) fn write<'k>(&'k self, number: u32, key: &'k mut [u8]) -> &'k [u8] {
        match &self.kind {
            KeyKind::Numbered { bytes, digits, .. } => {
                match key.last_chunk_mut() {
                    Some(end) if *digits <= end.len() => *end = eight_digits(number),
                    _ => {
                        let mut rest = number;
                        for digit in key[bytes - digits..].iter_mut().rev() {
                            *digit = b'0' + (rest % 10) as u8;
                            rest /= 10;
                        }
                    }
                }
                key
            }
            KeyKind::Given(given) => given.get(number),
        }
    }
}

/// The decimal digits of a number below 10⁸, with zeros in front: keys are written once per record, so the number is
/// divided side by side, into two halves of four digits, into four pairs, into eight digits. A multiplication and a shift
/// divide exactly here: x · 5243 / 2¹⁹ by 100 below 10⁴, x · 103 / 2¹⁰ by 10 below 100.
fn eight_digits(number: u32) -> [u8; 8] {
    let number = u64::from(number);
    let halves = (number / 10_000) | ((number % 10_000) << 32);
    let hundreds = ((halves * 5243) >> 19) & 0x0000_007f_0000_007f;
    let pairs = hundreds | ((halves - 100 * hundreds) << 16);
    let tens = ((pairs * 103) >> 10) & 0x000f_000f_000f_000f;
    let digits = tens | ((pairs - 10 * tens) << 8);
    (digits | u64::from_ne_bytes([b'0'; 8])).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand::SeedableRng;

    const SEED: u64 = 20_261_122;

    fn draws(keys: &RecordKeys, count: u32) -> Vec<u32> {
        let mut rng = Pcg64::seed_from_u64(SEED);
        (0..count).map(|turn| keys.draw(&mut rng, || u64::from(turn))).collect()
    }

    #[test]
    fn keys_drawn_together_are_those_that_are_drawn_one_by_one() {
        let laws = [KeyLaw::Sequential, KeyLaw::Uniform, KeyLaw::Zipf { exponent: 1.0 }];
        for keys in laws.map(|law| RecordKeys::numbered(law, 1_000, 8, Some(6))) {
            let (mut rng, mut turns) = (Pcg64::seed_from_u64(SEED), 0..);
            let mut next = || turns.next().unwrap_or(0);
            let together =
                [keys.draw_all::<64>(&mut rng, &mut next), keys.draw_all(&mut rng, &mut next)].concat();
            assert_eq!(together, draws(&keys, 128), "{:?}", keys.law);
        }
    }

    proptest! {
        #[test]
        fn a_key_is_its_number_and_has_the_partition_of_its_bytes(
            (of, bytes) in prop_oneof![
                (1u32..5_000, 4u32..40),
                (TABLE_MAX + 1..3_000_000, 7u32..40),
                (90_000_000..u32::MAX, 10u32..40),
            ],
            partitions in 1usize..300,
            share in 0.0f64..1.0,
        ) {
            let keys = RecordKeys::numbered(KeyLaw::Uniform, of, bytes, Some(partitions));
            let number = (f64::from(of) * share) as u32;
            let mut key = keys.template();
            keys.write(of - 1, &mut key);
            let text = format!("{number:0width$}", width = bytes as usize);
            prop_assert_eq!(keys.write(number, &mut key), text.as_bytes(), "written over another key");
            prop_assert_eq!(keys.partition(number), Some(partition_of_key(text.as_bytes(), partitions) as u32));
        }
    }

    #[test]
    fn keys_in_turn_come_again_when_all_were_there() {
        let keys = RecordKeys::numbered(KeyLaw::Sequential, 4, 1, None);
        assert_eq!(draws(&keys, 6), [0, 1, 2, 3, 0, 1]);
        assert_eq!(keys.partition(3), None, "keys have no say in it");
    }

    #[test]
    fn uniform_keys_come_equally_often() {
        let counts = counted(&RecordKeys::numbered(KeyLaw::Uniform, 10, 2, None), 10, 100_000);
        // 10,000 each with a standard deviation of 95.
        assert!(counts.iter().all(|count| count.abs_diff(10_000) < 5 * 95), "{counts:?}");
    }

    /// Both ways of drawing follow the same law: each of the first keys within five standard deviations.
    #[test]
    fn zipf_keys_come_by_their_rank() {
        for (exponent, of) in [(1.1, 1_000), (0.8, 1_000), (1.0, TABLE_MAX + 1), (1.3, TABLE_MAX + 1)] {
            let keys = RecordKeys::numbered(KeyLaw::Zipf { exponent }, of, 7, None);
            assert_eq!(matches!(keys.law, KeyDistribution::Table(_)), of <= TABLE_MAX);
            let counts = counted(&keys, 10, 200_000);
            let all: f64 = (1..=of).map(|rank| f64::from(rank).powf(-exponent)).sum();
            for (rank, count) in (1u32..).zip(counts) {
                let share = f64::from(rank).powf(-exponent) / all;
                let (mean, deviation) = (2e5 * share, (2e5 * share * (1.0 - share)).sqrt());
                let found = f64::from(count);
                assert!(
                    (found - mean).abs() < 5.0 * deviation,
                    "{exponent} {of}: rank {rank} {found} {mean}"
                );
            }
        }
    }

    /// How often each of the first keys was drawn.
    fn counted(keys: &RecordKeys, first: usize, count: u32) -> Vec<u32> {
        let mut counts = vec![0; first];
        for number in draws(keys, count) {
            assert!(number < keys.count());
            if let Some(count) = counts.get_mut(number as usize) {
                *count += 1;
            }
        }
        counts
    }

    #[test]
    fn keys_of_a_file_are_its_pieces() {
        let given = Arc::new(ByteStrings::new([&b"foobar"[..], b"abc"]).expect("some"));
        let keys = RecordKeys::given(given, Some(10));
        assert_eq!((keys.write(1, &mut []), keys.bytes(0), keys.are_equal()), (&b"abc"[..], 6, false));
        assert_eq!(keys.partition(0), Some(6));
        let counts = counted(&keys, 2, 10_000);
        assert!(counts[0].abs_diff(5_000) < 250, "{counts:?}");
    }
}
