//! Settings of clients under the Java client's names: which are acted on, in what unit, and their defaults by
//! Kafka version; what becomes of all others is in the tables of [`known`] and [`reach`].

mod defaults;
mod foreign;
mod group;
mod java;
mod known;
mod reach;

pub use defaults::{consumer_defaults, producer_defaults};
pub use foreign::Foreign;
pub use group::{OF_GROUPS, OF_ONE_PROTOCOL, classic_defaults, group_defaults};
pub use java::{FoundJava, find_java, is_set_by_kdyno};
pub use known::{ClientKind, JavaType, OTHERS, Other, SettingEffect, other, removed_in, since};
pub use reach::{REACH, reach_setting};

use crate::input::{InputError, listed, meant, quoted};
use crate::units::{self, Dimension};
use crate::yaml::Scalar;
use kdyno_model::plan::{Levels, Partitioner};

/// What a Kafka setting's value is, and what a bare number means in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingKind {
    /// Bytes.
    Bytes,
    /// Milliseconds.
    Ms,
    /// A plain number.
    Count,
    /// A level of compression.
    Level(Levels),
    /// Words.
    Words(&'static [&'static str]),
    /// Any text, up to so many bytes as the range says.
    Text,
}

/// One client setting that is acted on.
#[derive(Debug)]
pub struct SupportedSetting {
    /// The Java client's name.
    pub name: &'static str,
    /// What its value is.
    pub kind: SettingKind,
    /// Least and largest value, in the setting's base unit (bytes, ms, number); levels and words say theirs themselves.
    pub range: (u64, u64),
    /// Its default, as the reference prints it.
    pub default: &'static str,
}

const fn setting(
    name: &'static str,
    kind: SettingKind,
    range: (u64, u64),
    default: &'static str,
) -> SupportedSetting {
    SupportedSetting { name, kind, range, default }
}

const fn level_setting(levels: Levels, default: &'static str) -> SupportedSetting {
    setting(levels.setting, SettingKind::Level(levels), (0, 0), default)
}

const MIB: u64 = 1 << 20;
/// Java's `Integer.MAX_VALUE`: its largest size and duration in an int.
const INT_MAX: u64 = i32::MAX as u64;
/// A client's buffer is real memory of the worker.
const BUFFER_BYTES_MAX: u64 = 8 << 30;

const DEFAULTS: SupportedSetting = setting("defaults", SettingKind::Words(&[]), (0, 0), "the newest version");

/// Producer settings that are acted on.
pub const PRODUCER: &[SupportedSetting] = &[
    DEFAULTS,
    setting("acks", SettingKind::Words(&["0", "1", "all", "-1"]), (0, 0), "`1` before 3.0, `all` from 3.0"),
    setting("batch.size", SettingKind::Bytes, (0, 256 * MIB), "16384"),
    setting("linger.ms", SettingKind::Ms, (0, INT_MAX), "0 before 4.0, 5 from 4.0"),
    setting("buffer.memory", SettingKind::Bytes, (1024, BUFFER_BYTES_MAX), "32 MiB, per client"),
    setting("max.request.size", SettingKind::Bytes, (1024, 256 * MIB), "1 MiB"),
    setting("max.in.flight.requests.per.connection", SettingKind::Count, (1, 1000), "5"),
    setting(
        "compression.type",
        SettingKind::Words(&["none", "gzip", "snappy", "lz4", "zstd"]),
        (0, 0),
        "none",
    ),
    level_setting(Levels::GZIP, "-1: zlib's own, 6; clients know it from 3.8 on"),
    level_setting(
        Levels::LZ4,
        "9: the fast compressor; every other level is of the high one; clients know it from 3.8 on",
    ),
    level_setting(Levels::ZSTD, "3; clients know it from 3.8 on"),
    setting("max.block.ms", SettingKind::Ms, (0, INT_MAX), "60 s"),
    setting("request.timeout.ms", SettingKind::Ms, (1, INT_MAX), "30 s"),
    setting("delivery.timeout.ms", SettingKind::Ms, (1, INT_MAX), "120 s"),
    setting("retry.backoff.ms", SettingKind::Ms, (0, INT_MAX), "100 ms"),
    setting(
        "retry.backoff.max.ms",
        SettingKind::Ms,
        (0, INT_MAX),
        "1 s from 3.7; before, the pause does not grow",
    ),
    setting("metadata.max.age.ms", SettingKind::Ms, (100, INT_MAX), "300 s"),
    setting("partitioner.class", SettingKind::Words(PARTITIONERS), (0, 0), "sticky"),
    setting(
        "partitioner.adaptive.partitioning.enable",
        SettingKind::Words(BOOLEAN),
        (0, 0),
        "`false` before 3.3, `true` from 3.3",
    ),
    setting("partitioner.availability.timeout.ms", SettingKind::Ms, (0, INT_MAX), "0: off"),
    setting("transaction.timeout.ms", SettingKind::Ms, (1, INT_MAX), "60 s; of items with `transactions`"),
    setting(
        "partitioner.ignore.keys",
        SettingKind::Words(BOOLEAN),
        (0, 0),
        "`false`: a key says which partition its records go to",
    ),
    setting(
        "enable.idempotence",
        SettingKind::Words(BOOLEAN),
        (0, 0),
        "`true` from 3.0 on, but in 3.0.0 and 3.1.0, with `acks: all` and at most 5 requests in flight",
    ),
];

/// Consumer settings that are acted on.
pub const CONSUMER: &[SupportedSetting] = &[
    DEFAULTS,
    setting("fetch.min.bytes", SettingKind::Bytes, (0, INT_MAX), "1"),
    setting("fetch.max.bytes", SettingKind::Bytes, (1024, 256 * MIB), "50 MiB"),
    setting("max.partition.fetch.bytes", SettingKind::Bytes, (1024, 256 * MIB), "1 MiB"),
    setting("fetch.max.wait.ms", SettingKind::Ms, (0, INT_MAX), "500 ms"),
    setting("request.timeout.ms", SettingKind::Ms, (1, INT_MAX), "30 s"),
    setting("retry.backoff.ms", SettingKind::Ms, (0, INT_MAX), "100 ms"),
    setting(
        "isolation.level",
        SettingKind::Words(&["read_uncommitted", "read_committed"]),
        (0, 0),
        "`read_uncommitted`: records of open and of aborted transactions too",
    ),
    setting("max.poll.records", SettingKind::Count, (1, INT_MAX), "500; of items with `work`"),
    setting("client.rack", SettingKind::Text, (0, TEXT_BYTES_MAX), "none: records are fetched from leaders"),
    setting(
        "group.protocol",
        SettingKind::Words(&["classic", "consumer"]),
        (0, 0),
        "`classic`; of items with `group`",
    ),
    setting(
        "partition.assignment.strategy",
        SettingKind::Text,
        (1, TEXT_BYTES_MAX),
        "`range` before 3.0, `range, cooperative-sticky` from 3.0; also `roundrobin` and `sticky`, or Java's classes",
    ),
    setting("group.remote.assignor", SettingKind::Text, (1, TEXT_BYTES_MAX), "the brokers' first: `uniform`"),
    setting(
        "group.instance.id",
        SettingKind::Text,
        (1, TEXT_BYTES_MAX),
        "none; otherwise begins each client's own: its number follows",
    ),
    setting("session.timeout.ms", SettingKind::Ms, (1, INT_MAX), "10 s before 3.0, 45 s from 3.0"),
    setting("heartbeat.interval.ms", SettingKind::Ms, (1, INT_MAX), "3 s"),
    setting("max.poll.interval.ms", SettingKind::Ms, (1, INT_MAX), "300 s"),
    setting(
        "enable.auto.commit",
        SettingKind::Words(BOOLEAN),
        (0, 0),
        "`true`; with `false` nothing is committed: a new owner begins at `from`",
    ),
    setting("auto.commit.interval.ms", SettingKind::Ms, (1, INT_MAX), "5 s"),
];

/// Longer than any name of a rack, an assignor or an instance.
const TEXT_BYTES_MAX: u64 = 1000;

/// Java's class for one record to each partition in turn.
pub const ROUND_ROBIN: &str = Partitioner::ROUND_ROBIN_CLASS;
const BOOLEAN: &[&str] = &["true", "false"];
/// Java's class for records that stick to a partition whatever their keys: today's default that ignores keys.
pub const UNIFORM_STICKY: &str = Partitioner::UNIFORM_STICKY_CLASS;
/// Java's default before 3.3, as a class.
pub const DEFAULT_PARTITIONER: &str = "org.apache.kafka.clients.producer.internals.DefaultPartitioner";
const PARTITIONERS: &[&str] = &["sticky", ROUND_ROBIN, UNIFORM_STICKY, DEFAULT_PARTITIONER];

const OF_TOPICS: &str = "is a setting of topics";
const OF_BROKERS: &str = "is a setting of brokers";
const IN_TOPIC: &str = "put it into `config` of the topic";
const IN_BROKERS: &str = "put it into `config` of the `system`";

/// Settings of others than clients that are often meant together with theirs: what they are, and what to do.
const ELSEWHERE: &[(&str, &str, &str)] = &[
    ("min.insync.replicas", OF_TOPICS, IN_TOPIC),
    ("retention.ms", OF_TOPICS, IN_TOPIC),
    ("retention.bytes", OF_TOPICS, IN_TOPIC),
    ("segment.bytes", OF_TOPICS, IN_TOPIC),
    ("cleanup.policy", OF_TOPICS, IN_TOPIC),
    ("max.message.bytes", OF_TOPICS, IN_TOPIC),
    ("message.max.bytes", OF_BROKERS, IN_BROKERS),
    ("replication.factor", OF_TOPICS, "write `replicas` of the topic"),
    ("num.partitions", OF_BROKERS, "write `partitions` of the topic"),
    ("num.io.threads", OF_BROKERS, IN_BROKERS),
    ("num.network.threads", OF_BROKERS, IN_BROKERS),
    ("num.replica.fetchers", OF_BROKERS, IN_BROKERS),
    ("log.segment.bytes", OF_BROKERS, IN_BROKERS),
    ("log.retention.ms", OF_BROKERS, IN_BROKERS),
    ("log.flush.interval.messages", OF_BROKERS, IN_BROKERS),
];

/// Whose settings are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientSide {
    /// Producers.
    Produce,
    /// Consumers.
    Consume,
}

impl ClientSide {
    fn other(self) -> Self {
        match self {
            Self::Produce => Self::Consume,
            Self::Consume => Self::Produce,
        }
    }

    /// Its clients.
    pub fn client(self) -> ClientKind {
        match self {
            Self::Produce => ClientKind::Producer,
            Self::Consume => ClientKind::Consumer,
        }
    }

    /// The settings of this side that are acted on.
    pub fn settings(self) -> &'static [SupportedSetting] {
        match self {
            Self::Produce => PRODUCER,
            Self::Consume => CONSUMER,
        }
    }
}

/// A setting that a load item's `client` may have.
#[derive(Debug, Clone, Copy)]
pub enum ClientSetting {
    /// It is acted on.
    ActedOn(&'static SupportedSetting),
    /// It has no effect here, or only values that are what is done anyway.
    Other(&'static Other),
}

/// The setting of a name.
///
/// # Errors
/// A name that is unknown, of somebody else's setting, or of one that is not supported whatever its value.
pub fn find(side: ClientSide, name: &Scalar) -> Result<ClientSetting, InputError> {
    if let Some(setting) = side.settings().iter().find(|setting| setting.name == name.text) {
        return Ok(ClientSetting::ActedOn(setting));
    }
    if let Some(row) = other(side.client(), &name.text) {
        return match row.rule {
            SettingEffect::Always([], why) => Err(not_supported(name, why)),
            _ => Ok(ClientSetting::Other(row)),
        };
    }
    if let Some((what, hint)) = elsewhere(side, &name.text) {
        return Err(InputError::at(name.place, format!("`{}` {what}", name.text)).hint(hint));
    }
    if let Some(foreign) = foreign(&name.text) {
        return Err(InputError::at(name.place, foreign.message(&name.text)).hint(foreign.hint));
    }
    let own = side.settings().iter().map(|setting| setting.name);
    // Among all that Kafka knows: the nearest of those that are acted on alone may mean something else.
    let hint = match meant(&name.text, names()) {
        Some(near) => match (other(side.client(), near).map(|row| row.rule), elsewhere(side, near)) {
            (Some(SettingEffect::Always([], why)), _) => {
                format!("Kafka knows `{near}`, which is not supported: {why}")
            }
            (_, Some((what, hint))) => format!("Kafka knows `{near}`, which {what}: {hint}"),
            _ => format!("did you mean `{near}`?"),
        },
        None => format!("allowed here: {}", listed(own)),
    };
    Err(InputError::at(name.place, format!("{} is not a known client setting", quoted(&name.text)))
        .hint(hint))
}

fn not_supported(name: &Scalar, why: &str) -> InputError {
    InputError::at(name.place, format!("client setting `{}` is not supported", name.text)).hint(why)
}

/// Every name that is known, of clients and of others.
fn names() -> impl Iterator<Item = &'static str> + Clone {
    let acted_on = PRODUCER.iter().chain(CONSUMER).map(|setting| setting.name);
    let others = OTHERS.iter().chain(REACH).map(|row| row.name);
    acted_on.chain(others).chain(ELSEWHERE.iter().map(|(known, ..)| *known))
}

/// Whether it is the name of a setting of any of Kafka's clients.
pub fn is_known(name: &str) -> bool {
    names().any(|known| known == name) && !ELSEWHERE.iter().any(|(known, ..)| *known == name)
}

/// What is known of a name that no client of Kafka has.
pub fn foreign(name: &str) -> Option<Foreign> {
    foreign::find(name, is_known)
}

/// Whether it is the name of a setting of this side's clients.
pub fn is_of(side: ClientSide, name: &str) -> bool {
    side.settings().iter().any(|setting| setting.name == name) || other(side.client(), name).is_some()
}

/// The setting of Kafka's clients that was meant by another name.
pub fn nearest_known(name: &str) -> Option<&'static str> {
    meant(name, names().filter(|known| is_known(known)))
}

/// What it is, as the end of a sentence, when it is not a setting of this side's clients; and what to do.
fn elsewhere(side: ClientSide, name: &str) -> Option<(&'static str, &'static str)> {
    if is_of(side, name) {
        return None;
    }
    if reach_setting(name).is_some() {
        let hint = "put it into the properties file of the target's `client`";
        return Some(("says how a cluster is reached, not what load it gets", hint));
    }
    if is_of(side.other(), name) {
        return Some(match side {
            ClientSide::Produce => {
                ("is a setting of consumers", "put it into `client` of an item that consumes")
            }
            ClientSide::Consume => {
                ("is a setting of producers", "put it into `client` of an item that produces")
            }
        });
    }
    if other(ClientKind::Admin, name).is_some() {
        return Some(("is a setting of admin clients", "leave it out: kdyno's own makes and deletes topics"));
    }
    let (_, whose, hint) = ELSEWHERE.iter().find(|(known, ..)| *known == name)?;
    Some((whose, hint))
}

/// A numeric setting's value in its base unit: bytes, milliseconds or a number.
///
/// # Errors
/// One sentence: a wrong unit, a fraction, a value outside the setting's range.
pub fn number(setting: &SupportedSetting, text: &str) -> Result<u64, String> {
    let value = match setting.kind {
        SettingKind::Bytes => kafka_number(text, Dimension::Bytes, 1.0)?,
        SettingKind::Ms => kafka_number(text, Dimension::Ns, 1e6)?,
        SettingKind::Count | SettingKind::Level(_) | SettingKind::Words(_) | SettingKind::Text => {
            units::whole(text, Dimension::Plain)?
        }
    };
    let (least, most) = setting.range;
    if (least..=most).contains(&value) {
        return Ok(value);
    }
    Err(format!("{} is outside {least} to {most}", quoted(text)))
}

/// A level of compression.
///
/// # Errors
/// One sentence: no whole number, a level that the codec does not have.
pub fn level(levels: Levels, text: &str) -> Result<i32, String> {
    let shown = quoted(text.trim());
    let level = text.trim().parse().map_err(|_| format!("{shown} is no whole number of 32 bits"))?;
    if levels.has(level) {
        return Ok(level);
    }
    let Levels { least, most, default, .. } = levels;
    let or_default =
        if (least..=most).contains(&default) { String::new() } else { format!(" and not {default}") };
    Err(format!("{shown} is outside {least} to {most}{or_default}"))
}

/// A number in Kafka's unit, or with a suffix of the dimension; in Kafka's unit, whole.
///
/// # Errors
/// One sentence that says what the text is and what is allowed.
pub fn kafka_number(text: &str, dimension: Dimension, kafka_unit: f64) -> Result<u64, String> {
    let bare = units::parse(text).filter(|quantity| quantity.dimension == Dimension::Plain);
    let value = match bare {
        Some(quantity) => quantity.value,
        None => units::parse_as(text, dimension)? / kafka_unit,
    };
    if value < 0.0 || value.fract() != 0.0 || value >= units::EXACT_MAX {
        return Err(format!("{} is not a whole number in Kafka's own unit", quoted(text)));
    }
    Ok(value as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn bare_numbers_are_in_kafkas_unit() {
        let setting = |name: &str| PRODUCER.iter().find(|setting| setting.name == name).unwrap();
        assert_eq!(number(setting("linger.ms"), "5"), Ok(5));
        assert_eq!(number(setting("linger.ms"), "1s"), Ok(1000));
        assert_eq!(number(setting("batch.size"), "16KiB"), Ok(16384));
        assert!(number(setting("linger.ms"), "16KiB").is_err());
        assert!(number(setting("linger.ms"), "200us").unwrap_err().contains("whole number"));
        assert!(number(setting("max.in.flight.requests.per.connection"), "0").is_err());
    }

    #[test]
    fn levels_are_those_of_kafkas_producer() {
        for (levels, least, most) in
            [(Levels::GZIP, 1, 9), (Levels::LZ4, 1, 17), (Levels::ZSTD, -131_072, 22)]
        {
            for good in [least, most, levels.default] {
                assert_eq!(level(levels, &format!(" {good}")), Ok(good), "{}", levels.setting);
            }
            for bad in [least - 1, most + 1] {
                assert!(level(levels, &bad.to_string()).unwrap_err().contains("is outside"), "{bad}");
            }
        }
        let reported = |text: &str| level(Levels::GZIP, text).unwrap_err();
        assert_eq!(reported("0"), "`0` is outside 1 to 9 and not -1");
        for text in ["", "6.5", "fast", "2147483648", "9k"] {
            assert!(reported(text).contains("no whole number of 32 bits"), "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_level_is_taken_where_kafka_takes_it(level_given in any::<i32>(), near in -20i32..30) {
            for typed in [level_given, near] {
                let takes = |levels| level(levels, &typed.to_string()) == Ok(typed);
                prop_assert_eq!(takes(Levels::GZIP), (1..=9).contains(&typed) || typed == -1);
                prop_assert_eq!(takes(Levels::LZ4), (1..=17).contains(&typed));
                prop_assert_eq!(takes(Levels::ZSTD), (-131_072..=22).contains(&typed));
            }
        }
    }
}
