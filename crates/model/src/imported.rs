//! Series that somebody else measured and that were imported into a run: their names and units.
//!
//! They are stored as readings of a [`Subject::Imported`](crate::event::Subject::Imported), whose name starts with
//! `imported-` wherever it is printed, so that they are not mistaken for kdyno's own.

pub use crate::event::IMPORTED;
use crate::metric::{Address, Unit};

/// Units in which a file may hold values: the word, the unit in which they are kept, and how many of these one is.
pub const UNITS: &[(&str, Unit, f64)] = &[
    ("count", Unit::Count, 1.0),
    ("percent", Unit::Percent, 1.0),
    ("ratio", Unit::Ratio, 1.0),
    ("percent-of-core", Unit::PercentOfCore, 1.0),
    ("cores", Unit::PercentOfCore, 100.0),
    ("bytes", Unit::Bytes, 1.0),
    ("kB", Unit::Bytes, 1e3),
    ("KiB", Unit::Bytes, 1024.0),
    ("MB", Unit::Bytes, 1e6),
    ("MiB", Unit::Bytes, 1_048_576.0),
    ("GB", Unit::Bytes, 1e9),
    ("GiB", Unit::Bytes, 1_073_741_824.0),
    ("bytes/s", Unit::MibPerS, 1.0 / 1_048_576.0),
    ("kB/s", Unit::MibPerS, 1e3 / 1_048_576.0),
    ("MB/s", Unit::MibPerS, 1e6 / 1_048_576.0),
    ("KiB/s", Unit::MibPerS, 1.0 / 1024.0),
    ("MiB/s", Unit::MibPerS, 1.0),
    ("records/s", Unit::RecordsPerS, 1.0),
    ("s", Unit::Ns, 1e9),
    ("ms", Unit::Ns, 1e6),
    ("us", Unit::Ns, 1e3),
    ("ns", Unit::Ns, 1.0),
];

/// The unit of a word as typed, and how many of these one is.
pub fn unit(word: &str) -> Option<(Unit, f64)> {
    UNITS.iter().find(|(name, ..)| *name == word).map(|(_, unit, factor)| (*unit, *factor))
}

/// Whether a metric is a series that was imported.
pub fn is_of(address: &Address) -> bool {
    address.subject.starts_with(IMPORTED)
}

/// Name of the series of a column: its unit, then the column as the file calls it.
pub fn series(unit: Unit, column: &str) -> String {
    format!("{}:{column}", unit.described())
}

/// The reverse of [`series`].
pub fn of_series(series: &str) -> Option<(Unit, &str)> {
    let (unit, column) = series.split_once(':')?;
    UNITS
        .iter()
        .map(|(_, known, _)| *known)
        .find(|known| known.described() == unit)
        .map(|unit| (unit, column))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_says_its_unit_and_column() {
        for (_, of, _) in UNITS {
            assert_eq!(of_series(&series(*of, "a: b")), Some((*of, "a: b")));
        }
        assert_eq!((of_series("CPU"), of_series("furlongs:CPU")), (None, None));
        assert_eq!((unit("percent"), unit("parsec")), (Some((Unit::Percent, 1.0)), None));
    }
}
