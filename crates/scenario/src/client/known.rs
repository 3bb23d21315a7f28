//! What Kafka's clients can be set to and is not acted on, each with what becomes of it: a note where it has no effect
//! here, an error where leaving it out would be another load than the requested one.
//!
//! Names and types are those of the `ConfigDef`s of kafka-clients 4.4.0 (`tests/language/client-settings.tsv` has them).

/// A client of Kafka.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientKind {
    /// The producer.
    Producer,
    /// The consumer.
    Consumer,
    /// The admin client.
    Admin,
}

/// What Kafka parses a value as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JavaType {
    /// `true` or `false`, in any case.
    Boolean,
    /// 32 bits with a sign.
    Int,
    /// 64 bits with a sign.
    Long,
    /// 16 bits with a sign.
    Short,
    /// A number with a fraction.
    Double,
    /// A text.
    Text,
    /// Texts, separated by commas.
    List,
    /// The name of a class.
    Class,
    /// A text that is secret.
    Password,
}

impl JavaType {
    /// What is wrong with a value, as Kafka's `ConfigDef` parses it; never the value itself.
    pub fn complaint(self, value: &str) -> Option<&'static str> {
        let text = value.trim();
        // Java's number parsers take a sign of either kind, and so do Rust's.
        let (fits, what) = match self {
            Self::Boolean => {
                let words = ["true", "false"];
                (words.iter().any(|word| text.eq_ignore_ascii_case(word)), "is neither `true` nor `false`")
            }
            Self::Int => (text.parse::<i32>().is_ok(), "is no whole number of 32 bits"),
            Self::Long => (text.parse::<i64>().is_ok(), "is no whole number of 64 bits"),
            Self::Short => (text.parse::<i16>().is_ok(), "is no whole number of 16 bits"),
            Self::Double => (text.parse::<f64>().is_ok(), "is no number"),
            Self::Class => (!text.is_empty(), "names no class"),
            Self::Text | Self::List | Self::Password => (true, ""),
        };
        (!fits).then_some(what)
    }
}

/// What becomes of a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingEffect {
    /// It is read (of those that say how a cluster is reached).
    Used,
    /// Nothing that it changes exists here, for this reason.
    WithoutEffect(&'static str),
    /// Only these values are what is done anyway; others, or all where there are none, are refused, for this reason.
    Always(&'static [&'static str], &'static str),
}

/// A setting of Kafka's clients that is not acted on.
#[derive(Debug, Clone, Copy)]
pub struct Other {
    /// Kafka's name.
    pub name: &'static str,
    /// The clients that have it.
    pub of: &'static [ClientKind],
    /// What Kafka parses its value as.
    pub kind: JavaType,
    /// What becomes of it.
    pub rule: SettingEffect,
}

pub(super) const fn row(
    name: &'static str,
    of: &'static [ClientKind],
    kind: JavaType,
    rule: SettingEffect,
) -> Other {
    Other { name, of, kind, rule }
}

use ClientKind::{Admin, Consumer, Producer};
use JavaType::{Boolean, Class, Double, Int, List, Long, Text};
use SettingEffect::{Always, WithoutEffect};

const P: &[ClientKind] = &[Producer];
const C: &[ClientKind] = &[Consumer];
const A: &[ClientKind] = &[Admin];
const PA: &[ClientKind] = &[Producer, Admin];
const CA: &[ClientKind] = &[Consumer, Admin];
const PC: &[ClientKind] = &[Producer, Consumer];
pub(super) const PCA: &[ClientKind] = &[Producer, Consumer, Admin];

const NO_JAVA: &str = "there is no Java here";
const OWN_ID: &str = "`transactions` of the load item say whether there are any; ids are made of the run, the item and the client's number";
const ONE_PHASE: &str = "transactions are committed in one phase";
const OWN_GROUP: &str =
    "use `group` of the load item; its id is made of the prefix, the run, that name and the trial";
const NO_SHARING: &str = "there are no share consumers";
const BYTES_ONLY: &str = "keys and values are bytes that kdyno makes and reads itself";
const SYSTEM_BUFFERS: &str = "sockets have the buffers that the system gives them, as with -1";
const FIXED_PAUSE: &str = "the pause before connecting again doubles from 50 ms to 1 s, as by default";
const FIXED_LIMIT: &str = "a socket may take 10 s to connect, after failures up to 30 s, as by default";
const FIXED_IDLE: &str = "connections over which nothing goes are closed after nine minutes, as by default";
const FIXED_GROWTH: &str =
    "between requests for metadata the pause grows to 1 s, as by default, and elsewhere not";
const NO_METRICS_PUSH: &str = "clients push no metrics to brokers";
const ALL_ADDRESSES: &str = "a name's addresses are taken as the system gives them";
const FIXED_TIMES: &str = "topics are made and deleted within fixed times";
const RETRIED_UNTIL: &str = "a record is sent again until `delivery.timeout.ms`";
const BOOTSTRAP_AGAIN: &str = "bootstrap addresses are asked again whenever no broker can be reached, one asks for that, or none \
     has returned metadata for 300 s";
const CLUSTER_COMPARED: &str = "the cluster's id is compared in every answer about metadata";
const NO_RACKS: &str = "producers choose partitions wherever their leaders are";
const SERIALIZERS: &[&str] = &[
    "org.apache.kafka.common.serialization.ByteArraySerializer",
    "org.apache.kafka.common.serialization.ByteBufferSerializer",
    "org.apache.kafka.common.serialization.BytesSerializer",
    "org.apache.kafka.common.serialization.StringSerializer",
];
const DESERIALIZERS: &[&str] = &[
    "org.apache.kafka.common.serialization.ByteArrayDeserializer",
    "org.apache.kafka.common.serialization.ByteBufferDeserializer",
    "org.apache.kafka.common.serialization.BytesDeserializer",
    "org.apache.kafka.common.serialization.StringDeserializer",
];

/// The settings of producers, consumers and admin clients that are not acted on, but for those that say how a cluster is
/// reached.
pub const OTHERS: &[Other] = &[
    row(
        "client.id",
        PCA,
        Text,
        WithoutEffect("client ids are made of the prefix, the item and the client's number"),
    ),
    row("client.dns.lookup", PCA, Text, Always(&["use_all_dns_ips"], ALL_ADDRESSES)),
    // Java's defaults, which many files spell out, ask for nothing else than leaving them out does.
    row("send.buffer.bytes", PCA, Int, Always(&["-1", "131072"], SYSTEM_BUFFERS)),
    row("receive.buffer.bytes", P, Int, Always(&["-1", "32768"], SYSTEM_BUFFERS)),
    row("receive.buffer.bytes", CA, Int, Always(&["-1", "65536"], SYSTEM_BUFFERS)),
    row("reconnect.backoff.ms", PC, Long, Always(&["50"], FIXED_PAUSE)),
    row("reconnect.backoff.max.ms", PC, Long, Always(&["1000"], FIXED_PAUSE)),
    row("socket.connection.setup.timeout.ms", PC, Long, Always(&["10000"], FIXED_LIMIT)),
    row("socket.connection.setup.timeout.max.ms", PC, Long, Always(&["30000"], FIXED_LIMIT)),
    row("connections.max.idle.ms", PC, Long, Always(&["540000"], FIXED_IDLE)),
    row("metadata.recovery.strategy", PCA, Text, WithoutEffect(BOOTSTRAP_AGAIN)),
    row("metadata.recovery.rebootstrap.trigger.ms", PCA, Long, WithoutEffect(BOOTSTRAP_AGAIN)),
    row("metadata.cluster.check.enable", PCA, Boolean, WithoutEffect(CLUSTER_COMPARED)),
    row("enable.metrics.push", PCA, Boolean, WithoutEffect(NO_METRICS_PUSH)),
    row("metric.reporters", PCA, List, WithoutEffect(NO_JAVA)),
    row("auto.include.jmx.reporter", PCA, Boolean, WithoutEffect(NO_JAVA)),
    row("metrics.num.samples", PCA, Int, WithoutEffect(NO_JAVA)),
    row("metrics.recording.level", PCA, Text, WithoutEffect(NO_JAVA)),
    row("metrics.sample.window.ms", PCA, Long, WithoutEffect(NO_JAVA)),
    row("interceptor.classes", PC, List, WithoutEffect(NO_JAVA)),
    // Producers.
    row("key.serializer", P, Class, Always(SERIALIZERS, BYTES_ONLY)),
    row("value.serializer", P, Class, Always(SERIALIZERS, BYTES_ONLY)),
    row("retries", PA, Int, Always(&["2147483647"], RETRIED_UNTIL)),
    row("metadata.max.idle.ms", P, Long, WithoutEffect("a producer does not forget its topics")),
    row("transactional.id", P, Text, Always(&[], OWN_ID)),
    row("transaction.two.phase.commit.enable", P, Boolean, Always(&["false"], ONE_PHASE)),
    row("partitioner.rack.aware", P, Boolean, Always(&["false"], NO_RACKS)),
    row("client.rack", P, Text, WithoutEffect(NO_RACKS)),
    // Consumers.
    row("key.deserializer", C, Class, Always(DESERIALIZERS, BYTES_ONLY)),
    row("value.deserializer", C, Class, Always(DESERIALIZERS, BYTES_ONLY)),
    row("group.id", C, Text, Always(&[], OWN_GROUP)),
    row("auto.offset.reset", C, Text, Always(&[], "use `from: latest` or `from: earliest` of the load item")),
    row("retry.backoff.max.ms", C, Long, Always(&["1000"], FIXED_GROWTH)),
    row(
        "check.crcs",
        C,
        Boolean,
        Always(&["true"], "use `read: header` of the load item, which leaves bodies alone"),
    ),
    row(
        "metadata.max.age.ms",
        CA,
        Long,
        Always(&["300000"], "the metadata of consumers is renewed every 5 minutes"),
    ),
    row("allow.auto.create.topics", C, Boolean, WithoutEffect("topics are there before clients connect")),
    row("exclude.internal.topics", C, Boolean, WithoutEffect("consumers name their topic")),
    row("default.api.timeout.ms", CA, Int, WithoutEffect("no call of a client blocks")),
    row("share.acknowledgement.mode", C, Text, WithoutEffect(NO_SHARING)),
    row("share.acquire.mode", C, Text, WithoutEffect(NO_SHARING)),
    // Admin clients.
    row("request.timeout.ms", A, Int, WithoutEffect(FIXED_TIMES)),
    row("retry.backoff.ms", A, Long, WithoutEffect(FIXED_TIMES)),
    row("retry.backoff.max.ms", A, Long, WithoutEffect(FIXED_TIMES)),
    row("reconnect.backoff.ms", A, Long, WithoutEffect(FIXED_TIMES)),
    row("reconnect.backoff.max.ms", A, Long, WithoutEffect(FIXED_TIMES)),
    row("socket.connection.setup.timeout.ms", A, Long, WithoutEffect(FIXED_TIMES)),
    row("socket.connection.setup.timeout.max.ms", A, Long, WithoutEffect(FIXED_TIMES)),
    row("connections.max.idle.ms", A, Long, WithoutEffect(FIXED_TIMES)),
];

/// The setting of a client that is not acted on and says nothing of how a cluster is reached.
pub fn other(client: ClientKind, name: &str) -> Option<&'static Other> {
    OTHERS.iter().find(|row| row.name == name && row.of.contains(&client))
}

/// Settings that came after 2.7, each with the version whose clients know it first.
const SINCE: &[(&str, (u32, u32))] = &[
    ("partitioner.adaptive.partitioning.enable", (3, 3)),
    ("partitioner.availability.timeout.ms", (3, 3)),
    ("partitioner.ignore.keys", (3, 3)),
    ("auto.include.jmx.reporter", (3, 4)),
    ("enable.metrics.push", (3, 7)),
    ("group.protocol", (3, 7)),
    ("group.remote.assignor", (3, 7)),
    ("retry.backoff.max.ms", (3, 7)),
    ("compression.gzip.level", (3, 8)),
    ("compression.lz4.level", (3, 8)),
    ("compression.zstd.level", (3, 8)),
    ("metadata.recovery.strategy", (3, 8)),
    ("metadata.recovery.rebootstrap.trigger.ms", (4, 0)),
    ("share.acknowledgement.mode", (4, 1)),
    ("transaction.two.phase.commit.enable", (4, 1)),
    ("share.acquire.mode", (4, 2)),
    ("bootstrap.resolve.timeout.ms", (4, 4)),
    ("metadata.cluster.check.enable", (4, 4)),
    ("partitioner.rack.aware", (4, 4)),
];

/// Settings that are no more, each with the first version without it.
const REMOVED: &[(&str, (u32, u32))] = &[("auto.include.jmx.reporter", (4, 0))];

fn version_of(table: &[(&str, (u32, u32))], name: &str) -> Option<(u32, u32)> {
    table.iter().find(|(known, _)| *known == name).map(|(_, version)| *version)
}

/// The version whose clients know a setting first; none where those of 2.7 do.
pub fn since(name: &str) -> Option<(u32, u32)> {
    version_of(SINCE, name)
}

/// The first version whose clients do not know a setting any more.
pub fn removed_in(name: &str) -> Option<(u32, u32)> {
    version_of(REMOVED, name)
}

impl Other {
    /// What is wrong with a value: Kafka does not parse it, or another is what is done; and what to do. Values of
    /// secrets are not repeated.
    pub fn complaint(&self, value: &str) -> Option<(String, &'static str)> {
        if let Some(what) = self.kind.complaint(value) {
            return Some((format!("`{}` {what}", self.name), ""));
        }
        let text = value.trim();
        let same = |known: &&str| match self.kind {
            Boolean => known.eq_ignore_ascii_case(text),
            Int | Long => known.parse::<i64>().ok() == text.parse().ok(),
            Double | Text | List | Class | JavaType::Short | JavaType::Password => *known == text,
        };
        match self.rule {
            Always(values, why) if !values.iter().any(same) => {
                let is = crate::input::quoted(text);
                Some((format!("client setting `{}` is not supported as {is}", self.name), why))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_parsed_as_kafka_parses_them() {
        for (kind, good, bad) in [
            (Boolean, " TRUE ", "yes"),
            (Int, " +2147483647", "2147483648"),
            (Long, "-9223372036854775808", "1.5"),
            (JavaType::Short, "32767", "32768"),
            (Double, "0.8", "a"),
            (Class, "a.B", " "),
        ] {
            assert_eq!((kind.complaint(good), kind.complaint(bad).is_some()), (None, true), "{kind:?}");
        }
    }

    #[test]
    fn only_values_that_are_done_anyway_are_taken() {
        let complaint = |name, value| other(ClientKind::Consumer, name).expect("a row").complaint(value);
        assert_eq!(complaint("check.crcs", "True"), None);
        assert!(complaint("check.crcs", "false").is_some_and(|(_, why)| why.contains("read: header")));
        assert_eq!(complaint("metrics.num.samples", "500"), None);
        assert!(complaint("metrics.num.samples", "many").is_some_and(|(what, _)| what.contains("32 bits")));
        assert_eq!(complaint("key.deserializer", DESERIALIZERS[0]), None);
        assert!(complaint("key.deserializer", "io.confluent.Avro").is_some());
        assert_eq!(complaint("receive.buffer.bytes", "-1"), None);
        assert!(
            complaint("receive.buffer.bytes", "65536").is_none()
                && complaint("receive.buffer.bytes", "1048576").is_some()
        );
        assert_eq!(complaint("connections.max.idle.ms", "540000"), None);
        let forever = complaint("connections.max.idle.ms", "-1");
        assert!(forever.is_some_and(|(_, why)| why.contains("nine minutes")));
    }
}
