//! The rows of all kinds of caveats, by groups. That one is missing, or there twice, does not compile.

mod comparison;
mod generator;
mod groups;
mod host;
mod loss;
mod plan;
mod records;
mod trial;

use super::row::CaveatRow;
use super::{Caveat, CaveatKind};
use strum::EnumCount;

/// In the order of the documentation.
const GROUPS: [&[CaveatRow]; 8] = [
    loss::ROWS,
    trial::ROWS,
    comparison::ROWS,
    records::ROWS,
    groups::ROWS,
    generator::ROWS,
    host::ROWS,
    plan::ROWS,
];

/// In the order of [`CaveatKind`].
static BY_KIND: [&CaveatRow; CaveatKind::COUNT] = by_kind();

const fn by_kind() -> [&'static CaveatRow; CaveatKind::COUNT] {
    let mut rows: [Option<&'static CaveatRow>; CaveatKind::COUNT] = [None; CaveatKind::COUNT];
    let mut group = 0;
    while group < GROUPS.len() {
        let mut at = 0;
        while at < GROUPS[group].len() {
            let row = &GROUPS[group][at];
            assert!(rows[row.kind as usize].is_none(), "a kind of caveat has two rows");
            assert!(row.has_words(), "a row's last words have to fit always");
            rows[row.kind as usize] = Some(row);
            at += 1;
        }
        group += 1;
    }
    let mut all = [&loss::ROWS[0]; CaveatKind::COUNT];
    let mut kind = 0;
    while kind < all.len() {
        all[kind] = rows[kind].expect("a kind of caveat has no row");
        kind += 1;
    }
    all
}

impl CaveatKind {
    /// Its row.
    pub fn row(self) -> &'static CaveatRow {
        BY_KIND[self as usize]
    }
}

impl Caveat {
    /// The row of its kind.
    pub fn row(&self) -> &'static CaveatRow {
        CaveatKind::from(self).row()
    }
}

impl CaveatRow {
    /// Every row, in the order of the documentation.
    pub fn all() -> impl Iterator<Item = &'static Self> {
        GROUPS.into_iter().flatten()
    }
}
