//! Numbers by given probabilities, each from one random number and one look-up: the alias method (Walker, "An efficient
//! method for generating discrete random variables with general distributions", ACM TOMS 3, 1977), with the table
//! built as Vose does ("A linear algorithm for generating random numbers with a given distribution", IEEE TSE 17, 1991).
//!
//! Every column of the table is as likely as any other. It belongs to its own number up to some share, from there on to
//! another number, its alias. Shares are kept in 32 bits, so a column takes eight bytes. That is all the error there
//! is: no set of numbers is likelier, or less likely, by more than 2⁻³¹ than its weights say.

use std::hint::select_unpredictable;

/// One column.
#[derive(Debug, Clone, Copy)]
struct AliasColumn {
    /// What part of it is its own number's, of 2³².
    own: u32,
    /// Whose the rest is: its own number where the whole is its own.
    alias: u32,
}

/// Numbers from 0 on with a probability each.
#[derive(Debug)]
pub(super) struct AliasTable {
    columns: Box<[AliasColumn]>,
}

impl AliasTable {
    /// A table of weights above 0, at least one of them and fewer than 2³².
    pub(super) fn new(weights: Vec<f64>) -> Self {
        let total: f64 = weights.iter().sum();
        let count = weights.len() as u32;
        // What is left of each number's probability, in columns.
        let mut left: Vec<f64> = weights;
        left.iter_mut().for_each(|weight| *weight *= f64::from(count) / total);
        let mut columns: Box<[AliasColumn]> =
            (0..count).map(|number| AliasColumn { own: 0, alias: number }).collect();
        let (mut less, mut more): (Vec<u32>, Vec<u32>) =
            (0..count).partition(|&number| left[number as usize] < 1.0);
        while let (Some(&giver), Some(number)) = (more.last(), less.pop()) {
            let own = left[number as usize];
            columns[number as usize] =
                AliasColumn { own: (own * 2f64.powi(32)).round() as u32, alias: giver };
            let rest = &mut left[giver as usize];
            *rest -= 1.0 - own;
            if *rest < 1.0 {
                more.pop();
                less.push(giver);
            }
        }
        // The rest have a column for themselves, but for rounding.
        Self { columns }
    }

    /// The number that a random one falls on.
    #[inline]
    pub(super) fn at(&self, random: u64) -> u32 {
        // Above the point is the column, below it where in the column.
        let place = u128::from(random) * self.columns.len() as u128;
        let number = (place >> 64) as u32;
        let AliasColumn { own, alias } = self.columns[number as usize];
        // Either is as likely as not: a branch would be predicted wrongly most of the time.
        select_unpredictable(((place as u64 >> 32) as u32) < own, number, alias)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The probability of each number, by the columns that are its own or alias it.
    fn shares(table: &AliasTable) -> Vec<f64> {
        let count = table.columns.len() as f64;
        let mut shares = vec![0.0; table.columns.len()];
        for (number, column) in table.columns.iter().enumerate() {
            let own = f64::from(column.own) / 2f64.powi(32);
            shares[number] += own / count;
            shares[column.alias as usize] += (1.0 - own) / count;
        }
        shares
    }

    fn zipf(exponent: f64, of: u32) -> Vec<f64> {
        (1..=of).map(|rank| f64::from(rank).powf(-exponent)).collect()
    }

    /// Half of the differences is the most that any set of numbers differs by.
    fn assert_follows(weights: Vec<f64>) {
        let total: f64 = weights.iter().sum();
        let found = shares(&AliasTable::new(weights.clone()));
        let differences = weights.iter().zip(found).map(|(weight, share)| (weight / total - share).abs());
        let most = differences.sum::<f64>() / 2.0;
        assert!(most <= 2f64.powi(-31), "{most:e} of {} weights", weights.len());
    }

    #[test]
    fn large_tables_follow_their_law() {
        for (exponent, of) in [(1.0, 100_000), (1.0, 1 << 20), (0.1, 1 << 20), (3.0, 1 << 20), (1.1, 1)] {
            assert_follows(zipf(exponent, of));
        }
    }

    proptest! {
        #[test]
        fn tables_follow_any_weights(weights in prop::collection::vec(1e-9f64..1e9, 1..300)) {
            assert_follows(weights);
        }

        /// Random numbers at equal distances fall on a number as often as it is likely, but for one at both ends of each
        /// stretch that is its own.
        #[test]
        fn numbers_come_as_often_as_they_are_likely(exponent in 0.1f64..3.0, of in 1u32..40) {
            const STEPS: u32 = 1 << 14;
            let table = AliasTable::new(zipf(exponent, of));
            let mut counts = vec![0u32; of as usize];
            for step in 0..STEPS {
                counts[table.at(u64::from(step) << 50) as usize] += 1;
            }
            prop_assert!(table.at(u64::MAX) < of);
            for (number, (count, share)) in (0..of).zip(counts.iter().zip(shares(&table))) {
                let stretches = 1 + table.columns.iter().filter(|column| column.alias == number).count();
                let expected = share * f64::from(STEPS);
                prop_assert!((f64::from(*count) - expected).abs() <= stretches as f64, "{} {}", number, expected);
            }
        }
    }
}
