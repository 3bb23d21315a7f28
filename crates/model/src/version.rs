//! Kafka versions as far as kdyno must tell them apart.

use crate::plan::Mode;

/// The release that `newest` means: the newest one whose parts were all on Maven Central when this was
/// written (4.4.0 was listed there, but `kafka-tools-api` 4.4.0 was not).
pub const NEWEST: &str = "4.3.1";
/// The oldest release that is started.
pub const OLDEST: Version = Version { major: 2, minor: 7 };
/// First release with a KRaft mode. Kafka declared it ready for production with 3.3.
pub const KRAFT_FROM: Version = Version { major: 2, minor: 8 };
/// First release without ZooKeeper.
pub const ZOOKEEPER_BEFORE: Version = Version { major: 4, minor: 0 };

/// The release whose KRaft replicas stop at once: a check added in it asks the metadata log's stream for bytes
/// that it cannot count (`DataInputStreamReadable.remaining`). One combined broker reads no replica.
const UNREADABLE_METADATA_LOG: &str = "2.8.2";

/// Whether that release cannot run so many brokers in that mode although it has the mode.
pub fn cannot_replicate_metadata(release: &str, mode: Mode, brokers: u32) -> bool {
    let replicas = match mode {
        Mode::Zookeeper { .. } => false,
        Mode::KraftControllers { .. } => true,
        Mode::KraftCombined => brokers > 1,
    };
    replicas && release == UNREADABLE_METADATA_LOG
}

/// What [`cannot_replicate_metadata`] means, and what to do.
pub const LONE_KRAFT: (&str, &str) = (
    "the KRaft mode of Kafka 2.8.2 works with a single combined broker only: its replicas cannot read the \
     metadata log",
    "use 2.8.1 or 3.x, or `mode: {zookeeper: 1}`",
);

/// Major and minor number: what defaults and modes depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// First number.
    pub major: u32,
    /// Second number.
    pub minor: u32,
}

impl Version {
    /// Reads `4.1` or `4.1.1`.
    pub fn parse(text: &str) -> Option<Self> {
        let parts: Vec<&str> = text.split('.').collect();
        if !(2..=3).contains(&parts.len()) {
            return None;
        }
        let numbers: Option<Vec<u32>> = parts.iter().map(|part| number(part)).collect();
        let numbers = numbers?;
        Some(Self { major: numbers[0], minor: numbers[1] })
    }

    /// The version of [`NEWEST`].
    pub fn newest() -> Self {
        Self::parse(NEWEST).unwrap_or(ZOOKEEPER_BEFORE)
    }
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// A release as Maven names it: three numbers.
pub fn is_release(text: &str) -> bool {
    text.split('.').count() == 3 && Version::parse(text).is_some()
}

fn number(text: &str) -> Option<u32> {
    let plain = (1..=3).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    if plain { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_release_runs_a_lone_kraft_broker_only() {
        let cannot = |release, mode, brokers| cannot_replicate_metadata(release, mode, brokers);
        assert!(cannot("2.8.2", Mode::KraftCombined, 2));
        assert!(cannot("2.8.2", Mode::KraftControllers { controllers: 1 }, 1));
        assert!(!cannot("2.8.2", Mode::KraftCombined, 1));
        assert!(!cannot("2.8.2", Mode::Zookeeper { nodes: 1 }, 3));
        assert!(!cannot("2.8.1", Mode::KraftCombined, 3));
    }

    #[test]
    fn versions_order_as_numbers() {
        assert!(Version::parse("3.10.0") > Version::parse("3.9.1"));
        assert_eq!(Version::parse("4.1"), Version::parse("4.1.1"));
        for text in ["4", "4.", "4.x", "4.1.1.1", "", "-1.2", "4.1-rc0"] {
            assert_eq!(Version::parse(text), None, "{text}");
        }
        assert!(is_release(NEWEST) && !is_release("4.1"));
    }
}
