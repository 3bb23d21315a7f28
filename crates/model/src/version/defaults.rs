//! Whose defaults clients take: those of a release, or of a line of releases.

use super::{KNOWN, OLDEST, Version, VersionCause, VersionError};
use crate::words::quoted;

impl Version {
    /// Reads `4.1` or `4.1.1`: a version whose client defaults are wanted. A line of releases means its newest known
    /// one.
    ///
    /// # Errors
    /// Not of that form, or outside of what is known.
    pub fn of_client(text: &str) -> Result<Self, VersionError> {
        let newest = Self::newest();
        let version = Self::numbers(text).or_else(|| {
            let of_line = Self::numbers(&format!("{text}.0"))?;
            let mut known = KNOWN.iter().rev().filter_map(|known| Self::numbers(known));
            let newest = known.find(|known| known.line() == of_line.line());
            Some(newest.unwrap_or(of_line))
        });
        let known = OLDEST..=(newest.major, newest.minor);
        let is_known = |version: &Self| {
            // After these the next release was the next major one.
            let last = match version.major {
                2 => 8,
                3 => 9,
                _ => u32::MAX,
            };
            version.minor <= last && known.contains(&(version.major, version.minor))
        };
        version.filter(is_known).ok_or_else(|| {
            let (major, minor) = OLDEST;
            VersionError {
                message: format!("{} is not a Kafka version whose defaults are known", quoted(text)),
                hint: format!("from {major}.{minor} to {}, e.g. `\"4.1\"`", newest.line()),
                cause: VersionCause::Release,
            }
        })
    }

    /// Whether producers of this release are idempotent by default. In 3.0.0 and 3.1.0 the setting's default says so, and
    /// nothing acts on it (KAFKA-13598).
    #[must_use]
    pub fn has_idempotence_by_default(&self) -> bool {
        self.at_least(3, 0) && !matches!((self.major, self.minor, self.patch), (3, 0 | 1, 0))
    }

    /// Whose defaults these are, e.g. `4.1`: the line, or the release where later ones of its line have others.
    #[must_use]
    pub fn of_defaults(&self) -> String {
        let is_as_its_line = !self.at_least(3, 0) || self.has_idempotence_by_default();
        if is_as_its_line { self.line() } else { self.text.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_of_a_version_with_two_numbers_or_three() {
        let line = |text| Version::of_client(text).map(|version| version.line());
        assert_eq!((line("4.1"), line("3.9.1")), (Ok("4.1".to_owned()), Ok("3.9".to_owned())));
        // A line is its newest release, and a release is itself.
        for (text, patch, of) in
            [("3.1", 2, "3.1"), ("3.1.0", 0, "3.1.0"), ("3.1.1", 1, "3.1"), ("2.7.0", 0, "2.7")]
        {
            let version = Version::of_client(text).expect("known");
            assert_eq!((version.patch, version.of_defaults().as_str()), (patch, of), "{text}");
            assert_eq!(Version::of_client(of).expect("known").of_defaults(), of);
        }
        for text in ["2.6", "9.9", "4", "four"] {
            assert!(line(text).is_err(), "{text}");
        }
    }
}
