//! Kafka releases: which exist, which are tested, what each needs (Java, modes, parts, log backend).

use crate::error::TestbedError;
use kdyno_model::plan::Mode;
use kdyno_model::version::{LONE_KRAFT, cannot_replicate_metadata};

/// What the word `newest` stands for; scenarios say so already when they are planned.
pub const NEWEST: &str = kdyno_model::version::NEWEST;

/// The releases that `make test-matrix` starts in every mode they have; docs/CLUSTERS.md has the table.
pub const TESTED: &[&str] =
    &["2.7.2", "2.8.1", "2.8.2", "3.0.2", "3.2.3", "3.5.2", "3.7.2", "3.9.2", "4.0.2", "4.1.2", NEWEST];

/// The releases known when this list was made. A newer one is tried all the same.
const KNOWN: &[&str] = &[
    "2.7.0", "2.7.1", "2.7.2", "2.8.0", "2.8.1", "2.8.2", "3.0.0", "3.0.1", "3.0.2", "3.1.0", "3.1.1",
    "3.1.2", "3.2.0", "3.2.1", "3.2.2", "3.2.3", "3.3.0", "3.3.1", "3.3.2", "3.4.0", "3.4.1", "3.5.0",
    "3.5.1", "3.5.2", "3.6.0", "3.6.1", "3.6.2", "3.7.0", "3.7.1", "3.7.2", "3.8.0", "3.8.1", "3.9.0",
    "3.9.1", "3.9.2", "4.0.0", "4.0.1", "4.0.2", "4.1.0", "4.1.1", "4.1.2", "4.2.0", "4.2.1", "4.3.0",
    NEWEST,
];

/// Oldest release that is supported: (major, minor).
const OLDEST: (u32, u32) = (2, 7);

/// A Kafka version. Ordered by its numbers; a suffix such as `-SNAPSHOT` is kept for printing only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// First number.
    pub major: u32,
    /// Second number.
    pub minor: u32,
    /// Third number.
    pub patch: u32,
    /// As written.
    pub text: String,
}

/// What writes a broker's log files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogBackend {
    /// log4j 1.2 or reload4j: `log4j.properties`.
    Log4j1,
    /// log4j 2: `log4j2.yaml`.
    Log4j2,
}

impl Version {
    /// Reads `3.7.2`, `4.1.0-SNAPSHOT` or the word `newest`.
    ///
    /// # Errors
    /// Not of that form, or older than 2.7.
    pub fn parse(text: &str) -> Result<Self, TestbedError> {
        let text = if text == "newest" { NEWEST } else { text };
        let version = Self::numbers(text).ok_or_else(|| TestbedError::Version {
            message: format!("\"{text}\" is not a Kafka version"),
            hint: format!("write a release as in {NEWEST}, or \"newest\"; nearest known: {}", nearest(text)),
        })?;
        if (version.major, version.minor) < OLDEST {
            return Err(TestbedError::Version {
                message: format!("Kafka {text} is too old: 2.7 is the oldest release that kdyno starts"),
                hint: format!("nearest known: {}", nearest(text)),
            });
        }
        Ok(version)
    }

    fn numbers(text: &str) -> Option<Self> {
        let plain = text.split_once('-').map_or(text, |(numbers, _)| numbers);
        let mut parts = plain.split('.').map(|part| part.parse::<u32>().ok());
        let (major, minor, patch) = (parts.next()??, parts.next()??, parts.next()??);
        parts.next().is_none().then(|| Self { major, minor, patch, text: text.to_string() })
    }

    /// Whether this release is at least that one.
    #[must_use]
    pub fn at_least(&self, major: u32, minor: u32) -> bool {
        (self.major, self.minor) >= (major, minor)
    }

    /// Oldest and newest Java major version that a broker of this release runs on. The upper bound of 2.x and
    /// 3.x comes from the Security Manager, whose calls fail from Java 24 on; newer Javas than those listed are
    /// accepted for 4.x.
    #[must_use]
    pub fn java_range(&self) -> (u32, u32) {
        if self.at_least(4, 0) { (17, u32::MAX) } else { (8, 23) }
    }

    /// What writes its log files.
    #[must_use]
    pub fn log_backend(&self) -> LogBackend {
        if self.at_least(4, 0) { LogBackend::Log4j2 } else { LogBackend::Log4j1 }
    }

    /// Whether a KRaft controller needs the features that `kafka-storage format` writes (`bootstrap.checkpoint`).
    #[must_use]
    pub fn has_bootstrap_features(&self) -> bool {
        self.at_least(3, 3)
    }

    /// Whether `meta.properties` carries a `directory.id`.
    #[must_use]
    pub fn has_directory_ids(&self) -> bool {
        self.at_least(3, 7)
    }

    /// Whether this release can run in that mode with that many brokers.
    ///
    /// # Errors
    /// ZooKeeper with 4.x, KRaft before 2.8, or a number of ZooKeeper nodes or controllers that is not offered.
    pub fn check_mode(&self, mode: Mode, brokers: u32) -> Result<(), TestbedError> {
        let wrong =
            |message: String, hint: &str| Err(TestbedError::Version { message, hint: hint.to_string() });
        match mode {
            Mode::Zookeeper { nodes } if self.at_least(4, 0) => wrong(
                format!("Kafka {} has no ZooKeeper mode (asked for with {nodes} nodes)", self.text),
                "use mode: kraft, or a release up to 3.9",
            ),
            Mode::Zookeeper { nodes } if nodes != 1 && nodes != 3 => {
                wrong(format!("ZooKeeper with {nodes} nodes is not offered"), "use 1 or 3 nodes")
            }
            Mode::KraftCombined | Mode::KraftControllers { .. } if !self.at_least(2, 8) => wrong(
                format!("Kafka {} has no KRaft mode", self.text),
                "use mode: {zookeeper: 1}, or a release from 2.8 on",
            ),
            _ if cannot_replicate_metadata(&self.text, mode, brokers) => {
                wrong(LONE_KRAFT.0.to_string(), LONE_KRAFT.1)
            }
            Mode::KraftControllers { controllers: 0 } => {
                wrong("a KRaft cluster needs at least one controller".to_string(), "use controllers: 1 or 3")
            }
            _ => Ok(()),
        }
    }
}

/// The known release that looks most like `text`.
#[must_use]
pub fn nearest(text: &str) -> &'static str {
    let numbers = |text: &str| Version::numbers(text).map(|v| (v.major, v.minor, v.patch));
    if let Some((major, minor, patch)) = numbers(text) {
        let distance = |known: &str| {
            let (a, b, c) = numbers(known).unwrap_or((0, 0, 0));
            (a.abs_diff(major), b.abs_diff(minor), c.abs_diff(patch))
        };
        if numbers(NEWEST) < Some((major, minor, patch)) {
            return NEWEST;
        }
        return KNOWN.iter().min_by_key(|known| distance(known)).unwrap_or(&NEWEST);
    }
    KNOWN.iter().min_by_key(|known| strsim::levenshtein(known, text)).unwrap_or(&NEWEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_listed_release_parses() {
        for text in KNOWN.iter().chain(TESTED) {
            assert_eq!(Version::parse(text).expect("listed").text, *text);
            assert_eq!(nearest(text), *text);
        }
        assert_eq!(Version::parse("newest").expect("newest").text, NEWEST);
    }

    #[test]
    fn rubbish_and_old_releases_are_refused_with_the_nearest_known() {
        let error = Version::parse("3.72").expect_err("no such form");
        assert!(error.hint().expect("hint").contains("3.7.2"), "{error:?}");
        let error = Version::parse("2.4.1").expect_err("too old");
        assert!(error.to_string().contains("too old"));
        assert_eq!(nearest("3.7.9"), "3.7.2");
        assert_eq!(nearest("9.0.0"), NEWEST);
    }

    #[test]
    fn modes_follow_the_release() {
        let v = |text| Version::parse(text).expect("version");
        assert!(v("4.0.0").check_mode(Mode::Zookeeper { nodes: 1 }, 1).is_err());
        assert!(v("3.9.1").check_mode(Mode::Zookeeper { nodes: 3 }, 1).is_ok());
        assert!(v("3.9.1").check_mode(Mode::Zookeeper { nodes: 2 }, 1).is_err());
        assert!(v("2.7.2").check_mode(Mode::KraftCombined, 1).is_err());
        assert!(v("2.8.1").check_mode(Mode::KraftControllers { controllers: 3 }, 1).is_ok());
        assert!(v("2.8.2").check_mode(Mode::KraftControllers { controllers: 3 }, 1).is_err());
        assert!(v("2.8.2").check_mode(Mode::KraftCombined, 1).is_ok());
        assert!(v("2.8.2").check_mode(Mode::KraftCombined, 2).is_err());
        assert!(v("4.1.1").check_mode(Mode::KraftControllers { controllers: 0 }, 1).is_err());
    }
}
