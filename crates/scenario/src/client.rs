//! Settings of clients under the Java client's names: which are known, in what unit, and their defaults by
//! Kafka version.

use crate::input::{InputError, listed, meant, quoted};
use crate::units::{self, Dimension};
use crate::yaml::Typed;
use kdyno_model::plan::{Compression, ConsumePlan, Partitioner, ProducerSettings, StartOffset};
use kdyno_model::version::Version;

/// What a Kafka setting's value is, and what a bare number means in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingKind {
    /// Bytes.
    Bytes,
    /// Milliseconds.
    Ms,
    /// A plain number.
    Count,
    /// Words.
    Words(&'static [&'static str]),
}

/// One client setting that is acted on.
#[derive(Debug)]
pub struct Setting {
    /// The Java client's name.
    pub name: &'static str,
    /// What its value is.
    pub kind: SettingKind,
    /// Least and largest value, in the setting's base unit (bytes, ms, number).
    pub range: (u64, u64),
    /// Its default, as the reference prints it.
    pub default: &'static str,
}

const fn setting(name: &'static str, kind: SettingKind, range: (u64, u64), default: &'static str) -> Setting {
    Setting { name, kind, range, default }
}

const MIB: u64 = 1 << 20;
/// Java's `Integer.MAX_VALUE`: its largest size and duration in an int.
const INT_MAX: u64 = i32::MAX as u64;
/// A client's buffer is real memory of the worker.
const BUFFER_BYTES_MAX: u64 = 8 << 30;

const DEFAULTS: Setting = setting("defaults", SettingKind::Words(&[]), (0, 0), "the newest version");

/// Producer settings that are acted on.
pub const PRODUCER: &[Setting] = &[
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
    setting(
        "enable.idempotence",
        SettingKind::Words(BOOLEAN),
        (0, 0),
        "`true` from 3.0 with `acks: all` and at most 5 requests in flight",
    ),
];

/// Consumer settings that are acted on.
pub const CONSUMER: &[Setting] = &[
    DEFAULTS,
    setting("fetch.min.bytes", SettingKind::Bytes, (0, INT_MAX), "1"),
    setting("fetch.max.bytes", SettingKind::Bytes, (1024, 256 * MIB), "50 MiB"),
    setting("max.partition.fetch.bytes", SettingKind::Bytes, (1024, 256 * MIB), "1 MiB"),
    setting("fetch.max.wait.ms", SettingKind::Ms, (0, INT_MAX), "500 ms"),
    setting("request.timeout.ms", SettingKind::Ms, (1, INT_MAX), "30 s"),
    setting("retry.backoff.ms", SettingKind::Ms, (0, INT_MAX), "100 ms"),
];

/// Java's class for one record to each partition in turn.
pub const ROUND_ROBIN: &str = "org.apache.kafka.clients.producer.RoundRobinPartitioner";
const BOOLEAN: &[&str] = &["true", "false"];
const PARTITIONERS: &[&str] = &["sticky", ROUND_ROBIN];

const ONLY_PLAINTEXT: &str = "clients and brokers speak plaintext";
const BY_KDYNO: &str = "kdyno sets it itself";
const NO_TRANSACTIONS: &str = "there are no transactions yet";
const NO_GROUPS: &str = "partition p is assigned to client p mod clients";
const NO_DESERIALIZER: &str = "keys and values are bytes made and read by kdyno";

/// Settings of the Java clients that are known and not acted on, each with the reason.
pub const OTHERS: &[(&str, &str)] = &[
    ("bootstrap.servers", BY_KDYNO),
    ("client.id", BY_KDYNO),
    ("key.serializer", NO_DESERIALIZER),
    ("value.serializer", NO_DESERIALIZER),
    ("key.deserializer", NO_DESERIALIZER),
    ("value.deserializer", NO_DESERIALIZER),
    ("transactional.id", NO_TRANSACTIONS),
    ("transaction.timeout.ms", NO_TRANSACTIONS),
    ("isolation.level", NO_TRANSACTIONS),
    ("group.id", NO_GROUPS),
    ("group.instance.id", NO_GROUPS),
    ("group.protocol", NO_GROUPS),
    ("partition.assignment.strategy", NO_GROUPS),
    ("session.timeout.ms", NO_GROUPS),
    ("heartbeat.interval.ms", NO_GROUPS),
    ("max.poll.interval.ms", NO_GROUPS),
    ("max.poll.records", "a fetched response is taken as a whole"),
    ("enable.auto.commit", NO_GROUPS),
    ("auto.commit.interval.ms", NO_GROUPS),
    ("auto.offset.reset", "use `from: latest` or `from: earliest` of the load item"),
    ("client.rack", "records are fetched from the leader"),
    ("check.crcs", "checksums are always checked"),
    ("retries", "a record is sent again until `delivery.timeout.ms`"),
    ("compression.gzip.level", "the codec's usual level is used"),
    ("compression.lz4.level", "the codec's usual level is used"),
    ("compression.zstd.level", "the codec's usual level is used"),
    ("partitioner.ignore.keys", "records have no key"),
    ("interceptor.classes", "there is no Java here"),
    ("metric.reporters", "there is no Java here"),
    ("metrics.sample.window.ms", "there is no Java here"),
    ("enable.metrics.push", "there is no Java here"),
    ("metadata.max.idle.ms", "metadata is renewed every `metadata.max.age.ms`"),
    ("connections.max.idle.ms", "connections stay open for the whole trial"),
    ("reconnect.backoff.ms", "the pause before connecting again is fixed"),
    ("reconnect.backoff.max.ms", "the pause before connecting again is fixed"),
    ("socket.connection.setup.timeout.ms", "the limit is fixed"),
    ("send.buffer.bytes", "the system's own default is used"),
    ("receive.buffer.bytes", "the system's own default is used"),
    ("security.protocol", ONLY_PLAINTEXT),
    ("security.providers", ONLY_PLAINTEXT),
];

const IN_TOPIC: &str = "put it into `config` of the topic";
const IN_BROKERS: &str = "put it into `config` of the `system`";

/// Settings of others than clients that are often meant together with theirs: whose they are, and what to do.
const ELSEWHERE: &[(&str, &str, &str)] = &[
    ("min.insync.replicas", "topics", IN_TOPIC),
    ("retention.ms", "topics", IN_TOPIC),
    ("retention.bytes", "topics", IN_TOPIC),
    ("segment.bytes", "topics", IN_TOPIC),
    ("cleanup.policy", "topics", IN_TOPIC),
    ("max.message.bytes", "topics", IN_TOPIC),
    ("message.max.bytes", "brokers", IN_BROKERS),
    ("replication.factor", "topics", "write `replicas` of the topic"),
    ("num.partitions", "brokers", "write `partitions` of the topic"),
    ("num.io.threads", "brokers", IN_BROKERS),
    ("num.network.threads", "brokers", IN_BROKERS),
    ("num.replica.fetchers", "brokers", IN_BROKERS),
    ("log.segment.bytes", "brokers", IN_BROKERS),
    ("log.retention.ms", "brokers", IN_BROKERS),
    ("log.flush.interval.messages", "brokers", IN_BROKERS),
];

/// Whose settings are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Producers.
    Produce,
    /// Consumers.
    Consume,
}

impl Side {
    fn other(self) -> Self {
        match self {
            Self::Produce => Self::Consume,
            Self::Consume => Self::Produce,
        }
    }

    /// The settings of this side.
    pub fn settings(self) -> &'static [Setting] {
        match self {
            Self::Produce => PRODUCER,
            Self::Consume => CONSUMER,
        }
    }
}

/// The setting of a name.
///
/// # Errors
/// A name that is unknown, or known and not acted on.
pub fn find(side: Side, name: &Typed) -> Result<&'static Setting, InputError> {
    if let Some(setting) = side.settings().iter().find(|setting| setting.name == name.text) {
        return Ok(setting);
    }
    if name.text.starts_with("ssl.") || name.text.starts_with("sasl.") {
        let what = format!("client setting {}", quoted(&name.text));
        return Err(InputError::later(name.place, &what, ONLY_PLAINTEXT));
    }
    if let Some(what) = not_acted_on(side, &name.text) {
        return Err(match what {
            NotActedOn::Later(reason) => {
                InputError::later(name.place, &format!("client setting `{}`", name.text), reason)
            }
            NotActedOn::Elsewhere(whose, hint) => {
                InputError::at(name.place, format!("`{}` is a setting of {whose}", name.text)).hint(hint)
            }
        });
    }
    let own = side.settings().iter().map(|setting| setting.name);
    let others = OTHERS.iter().map(|(known, _)| *known).chain(ELSEWHERE.iter().map(|(known, ..)| *known));
    // Of all that Kafka knows: the nearest of those that are acted on alone may mean something else.
    let hint = match meant(
        &name.text,
        own.clone().chain(side.other().settings().iter().map(|s| s.name)).chain(others),
    ) {
        Some(near) => match not_acted_on(side, near) {
            None => format!("did you mean `{near}`?"),
            Some(NotActedOn::Later(reason)) => {
                format!("Kafka knows `{near}`, which is not in this version yet: {reason}")
            }
            Some(NotActedOn::Elsewhere(whose, hint)) => {
                format!("Kafka knows `{near}`, a setting of {whose}: {hint}")
            }
        },
        None => format!("allowed here: {}", listed(own)),
    };
    Err(InputError::at(name.place, format!("{} is not a known client setting", quoted(&name.text)))
        .hint(hint))
}

/// Why a setting that Kafka knows cannot stand there.
enum NotActedOn {
    /// For this reason.
    Later(&'static str),
    /// It is a setting of these, and what to do.
    Elsewhere(&'static str, &'static str),
}

fn not_acted_on(side: Side, name: &str) -> Option<NotActedOn> {
    if side.settings().iter().any(|setting| setting.name == name) {
        return None;
    }
    if side.other().settings().iter().any(|setting| setting.name == name) {
        return Some(match side {
            Side::Produce => {
                NotActedOn::Elsewhere("consumers", "put it into `client` of an item that consumes")
            }
            Side::Consume => {
                NotActedOn::Elsewhere("producers", "put it into `client` of an item that produces")
            }
        });
    }
    let later = OTHERS.iter().find(|(known, _)| *known == name).map(|(_, reason)| NotActedOn::Later(reason));
    later.or_else(|| {
        let (_, whose, hint) = ELSEWHERE.iter().find(|(known, ..)| *known == name)?;
        Some(NotActedOn::Elsewhere(whose, hint))
    })
}

/// A numeric setting's value in its base unit: bytes, milliseconds or a number.
///
/// # Errors
/// One sentence: a wrong unit, a fraction, a value outside the setting's range.
pub fn number(setting: &Setting, text: &str) -> Result<u64, String> {
    let value = match setting.kind {
        SettingKind::Bytes => kafka_number(text, Dimension::Bytes, 1.0)?,
        SettingKind::Ms => kafka_number(text, Dimension::Ns, 1e6)?,
        SettingKind::Count | SettingKind::Words(_) => units::whole(text, Dimension::Plain)?,
    };
    let (least, most) = setting.range;
    if (least..=most).contains(&value) {
        return Ok(value);
    }
    Err(format!("{} is outside {least} to {most}", quoted(text)))
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

const fn ms(n: u64) -> u64 {
    n * 1_000_000
}

/// A producer's settings when nothing is typed.
pub fn producer_defaults(version: &Version) -> ProducerSettings {
    ProducerSettings {
        defaults: version.line(),
        acks: if version.at_least(3, 0) { -1 } else { 1 },
        batch_bytes: 16_384,
        // KIP-1030 raised the default with 4.0.
        linger_ns: if version.at_least(4, 0) { ms(5) } else { 0 },
        buffer_bytes: 32 * MIB,
        request_bytes_max: 1 << 20,
        in_flight_max: 5,
        compression: Compression::None,
        max_block_ns: ms(60_000),
        request_timeout_ns: ms(30_000),
        delivery_timeout_ns: ms(120_000),
        retry_backoff_ns: ms(100),
        // Since 3.7 (KIP-580) the pause grows.
        retry_backoff_max_ns: if version.at_least(3, 7) { ms(1_000) } else { ms(100) },
        metadata_max_age_ns: ms(300_000),
        enable_idempotence: version.at_least(3, 0),
        partitioner: Partitioner::Sticky,
        // Since 3.3 (KIP-794).
        adaptive_partitioning: version.at_least(3, 3),
        availability_timeout_ns: 0,
    }
}

/// A consumer's settings when nothing is typed; the same in every supported version.
pub fn consumer_defaults(from: StartOffset) -> ConsumePlan {
    ConsumePlan {
        from,
        fetch_bytes_max: 50 << 20,
        partition_bytes_max: 1 << 20,
        fetch_bytes_min: 1,
        fetch_wait_ns: ms(500),
        request_timeout_ns: ms(30_000),
        retry_backoff_ns: ms(100),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_follow_the_version() {
        let settings = |text: &str| producer_defaults(&Version::of_client(text).unwrap());
        assert_eq!((settings("2.8").acks, settings("3.0").acks), (1, -1));
        assert_eq!((settings("3.9").linger_ns, settings("4.0").linger_ns), (0, 5_000_000));
        let pause_ms = |text: &str| settings(text).retry_backoff_max_ns / 1_000_000;
        assert_eq!((pause_ms("3.6"), pause_ms("3.7")), (100, 1_000));
        let is_idempotent = |text: &str| settings(text).enable_idempotence;
        assert_eq!((is_idempotent("2.8"), is_idempotent("3.0")), (false, true));
        let is_adaptive = |text: &str| settings(text).adaptive_partitioning;
        assert_eq!((is_adaptive("3.2"), is_adaptive("3.3")), (false, true));
    }

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
}
