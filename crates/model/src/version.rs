//! Kafka's releases, and all that kdyno knows of their differences: which are supported and tested, which modes
//! each has, which Java it runs on, what writes its log files.

mod defaults;

use crate::plan::{Listeners, Mechanism, Mode};
use crate::words::quoted;

/// The release that `newest` means: the newest one whose parts were all on Maven Central when this was written.
pub const NEWEST: &str = "4.4.0";

/// The releases that `make test-matrix` starts in every mode they have; docs/CLUSTERS.md has the table.
pub const TESTED: &[&str] = &[
    "2.7.2", "2.8.1", "2.8.2", "3.0.2", "3.2.3", "3.5.2", "3.7.2", "3.9.2", "4.0.2", "4.1.2", "4.3.1", NEWEST,
];

/// The releases known when this list was made, from the oldest on. A newer one is tried all the same.
pub const KNOWN: &[&str] = &[
    "2.7.0", "2.7.1", "2.7.2", "2.8.0", "2.8.1", "2.8.2", "3.0.0", "3.0.1", "3.0.2", "3.1.0", "3.1.1",
    "3.1.2", "3.2.0", "3.2.1", "3.2.2", "3.2.3", "3.3.0", "3.3.1", "3.3.2", "3.4.0", "3.4.1", "3.5.0",
    "3.5.1", "3.5.2", "3.6.0", "3.6.1", "3.6.2", "3.7.0", "3.7.1", "3.7.2", "3.8.0", "3.8.1", "3.9.0",
    "3.9.1", "3.9.2", "4.0.0", "4.0.1", "4.0.2", "4.1.0", "4.1.1", "4.1.2", "4.2.0", "4.2.1", "4.3.0",
    "4.3.1", NEWEST,
];

/// Lines of releases by the lowest level of `metadata.version` that came with each: a broker supports levels up to those of
/// its own line. From Kafka's own list (`MetadataVersion`), whose levels never change once released.
const METADATA_LEVELS: [(i16, &str); 16] = [
    (1, "3.0"),
    (2, "3.1"),
    (3, "3.2"),
    (4, "3.3"),
    (8, "3.4"),
    (9, "3.5"),
    (12, "3.6"),
    (15, "3.7"),
    (20, "3.8"),
    (21, "3.9"),
    (22, "4.0"),
    (26, "4.1"),
    (28, "4.2"),
    (30, "4.3"),
    (31, "4.4"),
    (34, "later than 4.4"),
];

/// The line of releases of a broker that supports this level of `metadata.version` at most; `None` of a level that never
/// was.
pub fn line_of_metadata_level(level: i16) -> Option<&'static str> {
    METADATA_LEVELS.iter().rfind(|(first, _)| *first <= level).map(|(_, line)| *line)
}

/// The line of releases of a value of `inter.broker.protocol.version`: `3.7` of `3.7-IV4`.
pub fn line_of_protocol(value: &str) -> Option<String> {
    let numbers = value.split_once('-').map_or(value, |(numbers, _)| numbers);
    let mut parts = numbers.split('.').map(|part| part.parse::<u32>().ok());
    let (major, minor) = (parts.next()??, parts.next()??);
    Some(format!("{major}.{minor}"))
}

/// The oldest release that is started.
const OLDEST: (u32, u32) = (2, 7);
/// First release with a KRaft mode. Kafka declared it ready for production with 3.3.
const KRAFT_FROM: (u32, u32) = (2, 8);
/// First release whose KRaft mode has an authorizer (KIP-801).
const KRAFT_ACLS_FROM: (u32, u32) = (3, 2);
/// First release whose KRaft mode keeps SCRAM users (KIP-900).
const KRAFT_SCRAM_FROM: (u32, u32) = (3, 5);
/// First release without ZooKeeper.
const ZOOKEEPER_BEFORE: (u32, u32) = (4, 0);

/// The release whose KRaft replicas stop at once: a check added in it asks the metadata log's stream for bytes
/// that it cannot count (`DataInputStreamReadable.remaining`). One combined broker reads no replica.
const UNREADABLE_METADATA_LOG: &str = "2.8.2";

/// A Kafka version, e.g. `4.1.1`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// First number.
    pub major: u32,
    /// Second number.
    pub minor: u32,
    /// Third number.
    pub patch: u32,
    /// As written; only here does a suffix such as `-SNAPSHOT` show.
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

/// A release that does not exist, is not supported, or cannot be what a plan asks of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct VersionError {
    /// One sentence that says what is wrong.
    pub message: String,
    /// What to do instead.
    pub hint: String,
    /// What of the cluster would have to change.
    pub cause: VersionCause,
}

/// What of a cluster does not go with the rest of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VersionCause {
    /// The release.
    Release,
    /// How its metadata is kept.
    Mode,
    /// The number of brokers.
    Brokers,
}

impl Version {
    /// Reads `3.7.2`, `4.1.0-SNAPSHOT` or the word `newest`.
    ///
    /// # Errors
    /// Not of that form, or older than the oldest release that is started.
    pub fn parse(text: &str) -> Result<Self, VersionError> {
        let text = if text == "newest" { NEWEST } else { text };
        let wrong = |message, hint| VersionError { message, hint, cause: VersionCause::Release };
        let too_old = || {
            let (major, minor) = OLDEST;
            let message = format!("Kafka {text} is too old: {major}.{minor} is the oldest that is started");
            wrong(message, format!("nearest known: `{}`", nearest(text)))
        };
        // Before 1.0 a release had four numbers.
        let parts: Vec<_> = text.split('.').map(str::parse::<u16>).collect();
        if matches!(parts.as_slice(), [Ok(0), Ok(_), Ok(_), Ok(_)]) {
            return Err(too_old());
        }
        let version = Self::numbers(text).ok_or_else(|| {
            let hint = format!("a release has three numbers, e.g. `{}`, or is `newest`", nearest(text));
            wrong(format!("{} is not a Kafka version", quoted(text)), hint)
        })?;
        if (version.major, version.minor) < OLDEST {
            return Err(too_old());
        }
        Ok(version)
    }

    /// The version of [`NEWEST`].
    pub fn newest() -> Self {
        Self::numbers(NEWEST).unwrap_or(Self { major: 4, minor: 0, patch: 0, text: NEWEST.to_owned() })
    }

    fn numbers(text: &str) -> Option<Self> {
        let plain = text.split_once('-').map_or(text, |(numbers, _)| numbers);
        let number = |part: &str| {
            let digits = (1..=3).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
            if digits { part.parse::<u32>().ok() } else { None }
        };
        let mut parts = plain.split('.').map(number);
        let (major, minor, patch) = (parts.next()??, parts.next()??, parts.next()??);
        parts.next().is_none().then(|| Self { major, minor, patch, text: text.to_owned() })
    }

    /// Major and minor number, e.g. `4.1`: modes are the same in all of its releases, and so are defaults but for
    /// [`Version::has_idempotence_by_default`].
    pub fn line(&self) -> String {
        format!("{}.{}", self.major, self.minor)
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

    /// Whether a KRaft controller needs the features that `kafka-storage format` writes.
    #[must_use]
    pub fn has_bootstrap_features(&self) -> bool {
        self.at_least(3, 3)
    }

    /// Whether these features are the first snapshot of the metadata log (KIP-1170) and not a file next to it.
    #[must_use]
    pub fn bootstraps_in_log(&self) -> bool {
        self.at_least(4, 4)
    }

    /// Whether `meta.properties` carries a `directory.id`.
    #[must_use]
    pub fn has_directory_ids(&self) -> bool {
        self.at_least(3, 7)
    }

    /// Whether this release can run in that mode with that many brokers.
    ///
    /// # Errors
    /// ZooKeeper with 4.x, KRaft before 2.8 or with replicas in 2.8.2, or a number of ZooKeeper nodes or
    /// controllers that is not offered.
    pub fn check_mode(&self, mode: Mode, brokers: u32) -> Result<(), VersionError> {
        let wrong =
            |cause, message: String, hint: &str| Err(VersionError { message, hint: hint.to_owned(), cause });
        let (line, own) = (self.line(), (self.major, self.minor));
        check_nodes(mode)?;
        match mode {
            Mode::Zookeeper { .. } if own >= ZOOKEEPER_BEFORE => wrong(
                VersionCause::Mode,
                format!(
                    "Kafka {line} has no ZooKeeper mode; {}.{} removed it",
                    ZOOKEEPER_BEFORE.0, ZOOKEEPER_BEFORE.1
                ),
                "use `mode: kraft`, or a release before 4.0",
            ),
            Mode::KraftCombined | Mode::KraftControllers { .. } if own < KRAFT_FROM => wrong(
                VersionCause::Mode,
                format!("Kafka {line} has no KRaft mode; it came with {}.{}", KRAFT_FROM.0, KRAFT_FROM.1),
                "use `mode: {zookeeper: 1}`, or a release from 2.8 on",
            ),
            Mode::KraftControllers { .. } | Mode::KraftCombined
                if self.cannot_replicate_metadata(mode, brokers) =>
            {
                let cause =
                    if mode == Mode::KraftCombined { VersionCause::Brokers } else { VersionCause::Mode };
                wrong(
                    cause,
                    format!(
                        "the KRaft mode of Kafka {} works with a single combined broker only: its replicas cannot \
                         read the metadata log",
                        self.text
                    ),
                    "use 2.8.1 or 3.x, or `mode: {zookeeper: 1}`",
                )
            }
            _ => Ok(()),
        }
    }

    /// Whether brokers of this release can have such listeners in that mode: those of ZooKeeper always could.
    ///
    /// # Errors
    /// SCRAM or ACLs with KRaft before it had them.
    pub fn check_listeners(&self, mode: Mode, listeners: &Listeners) -> Result<(), VersionError> {
        let mechanism = listeners.clients.mechanism;
        let is_scram = matches!(mechanism, Some(Mechanism::ScramSha256 | Mechanism::ScramSha512));
        let needs =
            [(is_scram, "SCRAM users", KRAFT_SCRAM_FROM), (listeners.authorizer, "ACLs", KRAFT_ACLS_FROM)];
        let own = (self.major, self.minor);
        let lacks = needs.into_iter().find(|(is_asked, _, from)| *is_asked && own < *from);
        match lacks.filter(|_| !matches!(mode, Mode::Zookeeper { .. })) {
            None => Ok(()),
            Some((_, what, (major, minor))) => Err(VersionError {
                message: format!(
                    "Kafka {} has no {what} in its KRaft mode; they came with {major}.{minor}",
                    self.line()
                ),
                hint: format!("use a release from {major}.{minor} on, or `mode: {{zookeeper: 1}}`"),
                cause: VersionCause::Release,
            }),
        }
    }

    fn cannot_replicate_metadata(&self, mode: Mode, brokers: u32) -> bool {
        self.text == UNREADABLE_METADATA_LOG && (mode != Mode::KraftCombined || brokers > 1)
    }
}

/// Whether so many nodes in addition to the brokers are offered, in whichever release.
///
/// # Errors
/// A number of ZooKeeper nodes or controllers that is not offered.
pub fn check_nodes(mode: Mode) -> Result<(), VersionError> {
    let wrong = |message: &str, hint: &str| {
        Err(VersionError { message: message.to_owned(), hint: hint.to_owned(), cause: VersionCause::Mode })
    };
    match mode {
        Mode::Zookeeper { nodes: 2 } => {
            wrong("two ZooKeeper nodes carry no failure that one does not", "use 1 or 3 nodes")
        }
        Mode::Zookeeper { nodes } if nodes != 1 && nodes != 3 => {
            wrong("so many ZooKeeper nodes are not offered", "use 1 or 3 nodes")
        }
        Mode::KraftControllers { controllers: 0 } => {
            wrong("a KRaft cluster needs at least one controller", "use 1 or 3 controllers")
        }
        _ => Ok(()),
    }
}

/// What is untested in a release, a lowercase sentence with the nearest tested one; `None` for one of [`TESTED`].
#[must_use]
pub fn untested(text: &str) -> Option<String> {
    if TESTED.contains(&text) {
        return None;
    }
    if let Some(unknown) = unknown(text) {
        return Some(unknown);
    }
    let tested = nearest_by_number(text, TESTED).unwrap_or(NEWEST);
    Some(format!(
        "Kafka {text} is not among the releases that kdyno is tested with (the nearest of them: {tested})"
    ))
}

/// Why a release of brokers or clients is unknown, a sentence with the nearest known one; `None` for a known one.
#[must_use]
pub fn unknown(text: &str) -> Option<String> {
    (!KNOWN.contains(&text)).then(|| {
        format!(
            "Kafka {text} was no known release when this kdyno was made; it is tried all the same (the nearest known: {})",
            nearest(text)
        )
    })
}

/// The release of a list whose numbers are nearest to those of `text`; `None` where that has none.
fn nearest_by_number(text: &str, list: &[&'static str]) -> Option<&'static str> {
    let numbers = |text: &str| Version::numbers(text).map(|v| (v.major, v.minor, v.patch));
    let (major, minor, patch) = numbers(text)?;
    if numbers(NEWEST) < Some((major, minor, patch)) {
        return Some(NEWEST);
    }
    let distance = |listed: &str| {
        let (a, b, c) = numbers(listed).unwrap_or((0, 0, 0));
        (a.abs_diff(major), b.abs_diff(minor), c.abs_diff(patch))
    };
    list.iter().rev().copied().min_by_key(|listed| distance(listed))
}

/// The known release that looks most like `text`.
#[must_use]
pub fn nearest(text: &str) -> &'static str {
    if let Some(release) = nearest_by_number(text, KNOWN) {
        return release;
    }
    // Hostile text must not cost time.
    let text: String = text.chars().take(20).collect();
    KNOWN.iter().rev().min_by_key(|known| strsim::levenshtein(known, &text)).unwrap_or(&NEWEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kafka_version_follows_from_metadata_level_or_protocol() {
        for (level, line) in [
            (0, None),
            (7, Some("3.3")),
            (14, Some("3.6")),
            (19, Some("3.7")),
            (25, Some("4.0")),
            (27, Some("4.1")),
            (30, Some("4.3")),
            (33, Some("4.4")),
            (40, Some("later than 4.4")),
        ] {
            assert_eq!(line_of_metadata_level(level), line, "{level}");
        }
        assert_eq!(line_of_protocol("3.7-IV4").as_deref(), Some("3.7"));
        assert_eq!(line_of_protocol("2.8").as_deref(), Some("2.8"));
        assert_eq!((line_of_protocol(""), line_of_protocol("x.y")), (None, None));
    }

    #[test]
    fn every_listed_release_parses() {
        for text in KNOWN.iter().chain(TESTED) {
            assert_eq!(Version::parse(text).expect("listed").text, *text);
            assert_eq!(nearest(text), *text);
        }
        assert_eq!(Version::parse("newest").expect("newest"), Version::newest());
    }

    #[test]
    fn rubbish_and_old_releases_are_refused_with_the_nearest_known() {
        for text in ["4", "4.1", "4.x.1", "4.1.1.1", "", "-1.2.3", "4.+1.1", "4.1.1000"] {
            assert!(Version::parse(text).is_err(), "{text}");
        }
        let error = Version::parse("3.72").expect_err("no such form");
        assert!(error.hint.contains("`3.7.2`"), "{error:?}");
        for text in ["2.4.1", "0.10.2.1"] {
            assert!(Version::parse(text).expect_err("too old").message.contains("too old"), "{text}");
        }
        assert_eq!((nearest("3.7.9"), nearest("9.0.0")), ("3.7.2", NEWEST));
    }

    #[test]
    fn an_untested_release_is_refused_with_the_nearest_tested_one() {
        assert!(TESTED.iter().all(|text| untested(text).is_none()));
        let reported = |text: &str| untested(text).expect("not tested");
        assert!(
            reported("4.1.1").ends_with("is tested with (the nearest of them: 4.1.2)"),
            "{}",
            reported("4.1.1")
        );
        for (text, near) in [("4.31.0", NEWEST), ("3.7.9", "3.7.2"), ("4.1.0-SNAPSHOT", "4.1.0")] {
            let words = format!("Kafka {text} was no known release");
            assert!(
                reported(text).starts_with(&words) && reported(text).ends_with(&format!("known: {near})")),
                "{text}"
            );
        }
    }

    #[test]
    fn modes_follow_the_release() {
        let fits = |text, mode, brokers| {
            Version::parse(text).expect("version").check_mode(mode, brokers).map_err(|error| error.cause)
        };
        let controllers = |controllers| Mode::KraftControllers { controllers };
        let zookeeper = |nodes| Mode::Zookeeper { nodes };
        assert_eq!(fits("4.0.0", zookeeper(1), 1), Err(VersionCause::Mode));
        assert_eq!(fits("3.9.1", zookeeper(3), 1), Ok(()));
        assert_eq!(fits("3.9.1", zookeeper(2), 1), Err(VersionCause::Mode));
        assert_eq!(fits("2.7.2", Mode::KraftCombined, 1), Err(VersionCause::Mode));
        assert_eq!(fits("2.8.1", controllers(3), 1), Ok(()));
        assert_eq!(fits("2.8.2", controllers(1), 1), Err(VersionCause::Mode));
        assert_eq!(fits("2.8.2", Mode::KraftCombined, 1), Ok(()));
        assert_eq!(fits("2.8.2", Mode::KraftCombined, 2), Err(VersionCause::Brokers));
        assert_eq!(fits("2.8.2", zookeeper(1), 3), Ok(()));
        assert_eq!(fits("4.1.1", controllers(0), 1), Err(VersionCause::Mode));
    }

    #[test]
    fn kraft_came_to_users_and_acls_later_than_zookeeper() {
        let refused = |text, mode, mechanism, authorizer| {
            let mut listeners = Listeners { authorizer, ..Listeners::default() };
            listeners.clients.mechanism = mechanism;
            let version = Version::parse(text).expect("version");
            version.check_listeners(mode, &listeners).err().map(|error| error.message)
        };
        let (kraft, zookeeper) = (Mode::KraftCombined, Mode::Zookeeper { nodes: 1 });
        let scram = Some(Mechanism::ScramSha256);
        let reported = refused("3.4.1", kraft, scram, true).expect("too old");
        assert_eq!(reported, "Kafka 3.4 has no SCRAM users in its KRaft mode; they came with 3.5");
        let reported = refused("3.1.2", kraft, Some(Mechanism::Plain), true).expect("too old");
        assert_eq!(reported, "Kafka 3.1 has no ACLs in its KRaft mode; they came with 3.2");
        for (text, mode, mechanism) in
            [("3.5.2", kraft, scram), ("3.2.3", kraft, Some(Mechanism::Plain)), ("2.7.2", zookeeper, scram)]
        {
            assert_eq!(refused(text, mode, mechanism, true), None, "{text}");
        }
    }
}
