//! What a caveat's words are made of.

use crate::{digits, units};
use kdyno_model::metric::Unit;

/// All that reports say of one caveat, or of several that say the same of different trials.
pub(super) struct Described {
    /// Load item, process or setting it is of: caveats of one kind and of the same are told together.
    pub(super) of: String,
    /// Its numbers, which may differ from trial to trial.
    pub(super) numbers: Vec<f64>,
    pub(super) sentence: String,
    pub(super) remedy: &'static str,
}

/// One entry of a group's table.
pub(super) fn told(of: &str, numbers: &[f64], sentence: String, remedy: &'static str) -> Option<Described> {
    Some(Described { of: of.to_owned(), numbers: numbers.to_vec(), sentence, remedy })
}

/// Smallest and largest of a number over several caveats.
pub(super) type Range = (f64, f64);

/// The numbers of one caveat, or of several, as printed: `90 %`, `90 % to 95 %`.
pub(super) struct Numbers<'a> {
    pub(super) ranges: &'a [Range],
    /// How many caveats are told together.
    pub(super) together: usize,
}

impl Numbers<'_> {
    /// Of a caveat whose sentence is not wanted.
    pub(super) const NONE: Self = Self { ranges: &[], together: 1 };

    /// What one caveat says in words of its own; of several told together the first one's.
    pub(super) fn first(&self, detail: &str) -> String {
        if self.together > 1 { format!("the first: {detail}") } else { detail.to_owned() }
    }

    fn text(&self, index: usize, print: fn(f64) -> String) -> String {
        self.ranges.get(index).map_or_else(String::new, |range| range_text(*range, print))
    }

    /// Whether one is above 0 in none of the caveats.
    pub(super) fn are_nothing(&self, index: usize) -> bool {
        self.ranges.get(index).is_some_and(|(_, high)| *high <= 0.0)
    }

    pub(super) fn count(&self, index: usize) -> String {
        self.text(index, units::count)
    }

    /// A share of 1 in percent.
    pub(super) fn percent(&self, index: usize) -> String {
        self.text(index, |share| format!("{} %", units::significant(share * 100.0)))
    }

    /// Percent of one core.
    pub(super) fn cores(&self, index: usize) -> String {
        self.text(index, |percent| units::number(percent, Unit::PercentOfCore))
    }

    /// A time in ns.
    pub(super) fn ns(&self, index: usize) -> String {
        self.text(index, units::nanoseconds)
    }

    /// A time in seconds.
    pub(super) fn seconds(&self, index: usize) -> String {
        self.text(index, |seconds| units::nanoseconds(seconds * 1e9))
    }

    /// A quantile by its rank, e.g. 0.99 as `p99`.
    pub(super) fn quantile(&self, index: usize) -> String {
        self.text(index, |rank| format!("p{}", digits::named(100.0 * rank)))
    }

    /// A ratio.
    pub(super) fn ratio(&self, index: usize) -> String {
        self.text(index, units::significant)
    }
}

fn range_text((low, high): Range, print: fn(f64) -> String) -> String {
    let (low, high) = (print(low), print(high));
    if low == high { low } else { format!("{low} to {high}") }
}

/// What follows the first reason where it is that of others too: `, and so 24 more`.
pub(crate) fn likewise(more: u32) -> String {
    if more == 0 { String::new() } else { format!(", and so {more} more") }
}
