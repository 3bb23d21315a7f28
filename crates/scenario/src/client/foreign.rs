//! Names of settings that other clients, frameworks and releases long gone have, and what Kafka's Java client calls them.
//! Looking alike is no guide for them: `message.timeout.ms` looks like a setting of brokers.

use crate::input::quoted;

/// Whose a name is.
const RDKAFKA: &str = "librdkafka";
const OLD: &str = "Kafka's clients before 1.0";
const SARAMA: &str = "Sarama";
const FRANZ: &str = "franz-go";
const KAFKAJS: &str = "KafkaJS";
const REGISTRY: &str = "the schema registry's serializers";

/// What a client of Kafka has instead.
#[derive(Clone, Copy)]
enum Kafka {
    /// A setting.
    Name(&'static str),
    /// None of one name, or none, for this reason.
    Nothing(&'static str),
}
use Kafka::{Name, Nothing};

const LOGIN: Kafka = Nothing(
    "user and password are in `sasl.jaas.config`, e.g. `org.apache.kafka.common.security.plain.PlainLoginModule required \
     username=\"USER\" password=\"${PASSWORD}\";`",
);
const TRUST: Kafka = Nothing("write `ssl.truststore.location` with the file, and `ssl.truststore.type=PEM`");
const IDENTITY: Kafka = Nothing(
    "put certificate and key into one file, and write `ssl.keystore.location` with it, and `ssl.keystore.type=PEM`",
);
const LEVEL: Kafka = Nothing(
    "each codec has a level of its own: `compression.gzip.level`, `compression.lz4.level`, `compression.zstd.level`",
);
const MEMORY: Kafka = Nothing("the Java client bounds its buffer by bytes alone: `buffer.memory`");
const NO_SUCH: Kafka = Nothing("the Java client has no such setting: leave it out");
const BYTES_ONLY: Kafka =
    Nothing("keys and values are bytes that kdyno makes and reads itself: leave it out");

const FOREIGN: &[(&str, &str, Kafka)] = &[
    ("message.timeout.ms", RDKAFKA, Name("delivery.timeout.ms")),
    ("request.required.acks", RDKAFKA, Name("acks")),
    ("queue.buffering.max.ms", RDKAFKA, Name("linger.ms")),
    ("queue.buffering.max.kbytes", RDKAFKA, MEMORY),
    ("queue.buffering.max.messages", RDKAFKA, MEMORY),
    ("queue.buffering.backpressure.threshold", RDKAFKA, NO_SUCH),
    ("batch.num.messages", RDKAFKA, Nothing("the Java client bounds a batch by bytes alone: `batch.size`")),
    ("message.send.max.retries", RDKAFKA, Name("retries")),
    ("message.copy.max.bytes", RDKAFKA, NO_SUCH),
    ("compression.codec", RDKAFKA, Name("compression.type")),
    ("compression.level", RDKAFKA, LEVEL),
    ("max.in.flight", RDKAFKA, Name("max.in.flight.requests.per.connection")),
    ("partitioner", RDKAFKA, Name("partitioner.class")),
    ("sticky.partitioning.linger.ms", RDKAFKA, NO_SUCH),
    ("metadata.broker.list", RDKAFKA, Name("bootstrap.servers")),
    ("topic.metadata.refresh.interval.ms", RDKAFKA, Name("metadata.max.age.ms")),
    ("topic.metadata.refresh.fast.interval.ms", RDKAFKA, Name("retry.backoff.ms")),
    ("topic.metadata.refresh.sparse", RDKAFKA, NO_SUCH),
    ("topic.metadata.propagation.max.ms", RDKAFKA, NO_SUCH),
    ("socket.timeout.ms", RDKAFKA, Name("request.timeout.ms")),
    ("socket.send.buffer.bytes", RDKAFKA, Name("send.buffer.bytes")),
    ("socket.receive.buffer.bytes", RDKAFKA, Name("receive.buffer.bytes")),
    ("socket.keepalive.enable", RDKAFKA, NO_SUCH),
    ("socket.nagle.disable", RDKAFKA, NO_SUCH),
    ("socket.max.fails", RDKAFKA, NO_SUCH),
    ("broker.address.family", RDKAFKA, NO_SUCH),
    ("broker.address.ttl", RDKAFKA, NO_SUCH),
    ("receive.message.max.bytes", RDKAFKA, Name("fetch.max.bytes")),
    ("fetch.wait.max.ms", RDKAFKA, Name("fetch.max.wait.ms")),
    ("fetch.message.max.bytes", RDKAFKA, Name("max.partition.fetch.bytes")),
    ("fetch.error.backoff.ms", RDKAFKA, Name("retry.backoff.ms")),
    ("fetch.queue.backoff.ms", RDKAFKA, NO_SUCH),
    ("queued.min.messages", RDKAFKA, NO_SUCH),
    ("queued.max.messages.kbytes", RDKAFKA, NO_SUCH),
    ("enable.auto.offset.store", RDKAFKA, NO_SUCH),
    ("enable.partition.eof", RDKAFKA, NO_SUCH),
    ("enable.gapless.guarantee", RDKAFKA, NO_SUCH),
    ("statistics.interval.ms", RDKAFKA, NO_SUCH),
    ("api.version.request", RDKAFKA, NO_SUCH),
    ("broker.version.fallback", RDKAFKA, NO_SUCH),
    ("debug", RDKAFKA, NO_SUCH),
    ("log_level", RDKAFKA, NO_SUCH),
    ("sasl.mechanisms", RDKAFKA, Name("sasl.mechanism")),
    ("sasl.username", RDKAFKA, LOGIN),
    ("sasl.password", RDKAFKA, LOGIN),
    ("sasl.oauthbearer.config", RDKAFKA, Name("sasl.jaas.config")),
    ("ssl.ca.location", RDKAFKA, TRUST),
    ("ssl.ca.pem", RDKAFKA, Name("ssl.truststore.certificates")),
    ("ssl.certificate.location", RDKAFKA, IDENTITY),
    ("ssl.key.location", RDKAFKA, IDENTITY),
    ("ssl.certificate.pem", RDKAFKA, Name("ssl.keystore.certificate.chain")),
    ("ssl.key.pem", RDKAFKA, Name("ssl.keystore.key")),
    (
        "enable.ssl.certificate.verification",
        RDKAFKA,
        Nothing(
            "Kafka's clients always check the signature; `ssl.endpoint.identification.algorithm=` (empty) leaves the name out",
        ),
    ),
    ("block.on.buffer.full", OLD, Name("max.block.ms")),
    ("metadata.fetch.timeout.ms", OLD, Name("max.block.ms")),
    ("timeout.ms", OLD, Name("request.timeout.ms")),
    ("producer.type", OLD, NO_SUCH),
    ("serializer.class", OLD, Name("value.serializer")),
    ("auto.commit.enable", OLD, Name("enable.auto.commit")),
    (
        "zookeeper.connect",
        OLD,
        Nothing("clients do not speak to ZooKeeper: `bootstrap.servers` names brokers"),
    ),
    ("Producer.RequiredAcks", SARAMA, Name("acks")),
    ("Producer.MaxMessageBytes", SARAMA, Name("max.request.size")),
    ("Producer.Timeout", SARAMA, Name("request.timeout.ms")),
    ("Producer.Compression", SARAMA, Name("compression.type")),
    ("Producer.CompressionLevel", SARAMA, LEVEL),
    ("Producer.Idempotent", SARAMA, Name("enable.idempotence")),
    ("Producer.Flush.Frequency", SARAMA, Name("linger.ms")),
    ("Producer.Flush.Bytes", SARAMA, Name("batch.size")),
    ("Producer.Retry.Max", SARAMA, Name("retries")),
    ("Producer.Retry.Backoff", SARAMA, Name("retry.backoff.ms")),
    ("Net.MaxOpenRequests", SARAMA, Name("max.in.flight.requests.per.connection")),
    ("Net.DialTimeout", SARAMA, Name("socket.connection.setup.timeout.ms")),
    ("Metadata.RefreshFrequency", SARAMA, Name("metadata.max.age.ms")),
    ("Consumer.Fetch.Min", SARAMA, Name("fetch.min.bytes")),
    ("Consumer.Fetch.Default", SARAMA, Name("max.partition.fetch.bytes")),
    ("Consumer.MaxWaitTime", SARAMA, Name("fetch.max.wait.ms")),
    ("Consumer.Group.Session.Timeout", SARAMA, Name("session.timeout.ms")),
    ("Consumer.Group.Heartbeat.Interval", SARAMA, Name("heartbeat.interval.ms")),
    ("Consumer.Offsets.Initial", SARAMA, Name("auto.offset.reset")),
    ("ProducerLinger", FRANZ, Name("linger.ms")),
    ("ProducerBatchMaxBytes", FRANZ, Name("batch.size")),
    ("ProducerBatchCompression", FRANZ, Name("compression.type")),
    ("RequiredAcks", FRANZ, Name("acks")),
    ("RecordDeliveryTimeout", FRANZ, Name("delivery.timeout.ms")),
    ("ProduceRequestTimeout", FRANZ, Name("request.timeout.ms")),
    ("MaxBufferedBytes", FRANZ, Name("buffer.memory")),
    ("MaxBufferedRecords", FRANZ, MEMORY),
    ("MaxProduceRequestsInflightPerBroker", FRANZ, Name("max.in.flight.requests.per.connection")),
    ("DisableIdempotentWrite", FRANZ, Name("enable.idempotence")),
    ("FetchMaxPartitionBytes", FRANZ, Name("max.partition.fetch.bytes")),
    ("FetchMaxWait", FRANZ, Name("fetch.max.wait.ms")),
    ("SeedBrokers", FRANZ, Name("bootstrap.servers")),
    ("maxInFlightRequests", KAFKAJS, Name("max.in.flight.requests.per.connection")),
    ("requestTimeout", KAFKAJS, Name("request.timeout.ms")),
    ("connectionTimeout", KAFKAJS, Name("socket.connection.setup.timeout.ms")),
    ("sessionTimeout", KAFKAJS, Name("session.timeout.ms")),
    ("heartbeatInterval", KAFKAJS, Name("heartbeat.interval.ms")),
    ("maxBytesPerPartition", KAFKAJS, Name("max.partition.fetch.bytes")),
    ("maxWaitTimeInMs", KAFKAJS, Name("fetch.max.wait.ms")),
    ("idempotent", KAFKAJS, Name("enable.idempotence")),
    ("schema.registry.url", REGISTRY, BYTES_ONLY),
    ("basic.auth.credentials.source", REGISTRY, BYTES_ONLY),
    ("basic.auth.user.info", REGISTRY, BYTES_ONLY),
    ("schema.registry.basic.auth.user.info", REGISTRY, BYTES_ONLY),
    ("auto.register.schemas", REGISTRY, BYTES_ONLY),
    ("use.latest.version", REGISTRY, BYTES_ONLY),
    ("specific.avro.reader", REGISTRY, BYTES_ONLY),
    ("value.subject.name.strategy", REGISTRY, BYTES_ONLY),
    ("key.subject.name.strategy", REGISTRY, BYTES_ONLY),
];

/// What frameworks put before Kafka's own names; the longest first.
const PREFIXES: &[&str] = &[
    "spring.kafka.producer.properties.",
    "spring.kafka.consumer.properties.",
    "spring.kafka.properties.",
    "spring.kafka.producer.",
    "spring.kafka.consumer.",
    "spring.kafka.",
    "producer.override.",
    "consumer.override.",
    "producer.",
    "consumer.",
    "properties.",
    "kafka.",
];

/// Longest name that is looked at.
const NAME_BYTES_MAX: usize = 200;

/// What is known of a name that no client of Kafka has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Foreign {
    /// Whose it is, as in "a setting of librdkafka"; empty of a name that is Kafka's in another spelling.
    pub whose: &'static str,
    /// What to write instead, or why nothing.
    pub hint: String,
}

impl Foreign {
    /// That it is none of Kafka's, a lowercase sentence.
    pub fn message(&self, name: &str) -> String {
        let whose = if self.whose.is_empty() { String::new() } else { format!(", but of {}", self.whose) };
        format!("{} is no setting of Kafka's clients{whose}", quoted(name))
    }
}

/// What is known of a name that no client of Kafka has: it is another client's, or Kafka's own as a framework spells it.
/// `is_known` says which names Kafka's clients have.
pub(super) fn find(name: &str, is_known: impl Fn(&str) -> bool) -> Option<Foreign> {
    let called = |kafka: &str| format!("Kafka's clients call it `{kafka}`");
    if let Some((_, whose, kafka)) = FOREIGN.iter().find(|(foreign, ..)| *foreign == name) {
        let hint = match kafka {
            Name(name) => called(name),
            Nothing(why) => (*why).to_owned(),
        };
        return Some(Foreign { whose, hint });
    }
    let spelt = in_kafkas_spelling(name, is_known)?;
    Some(Foreign { whose: "", hint: called(&spelt) })
}

/// Kafka's name, where this one differs only in its prefix and in what is between its words: `linger_ms`, `lingerMs`,
/// `spring.kafka.producer.properties.linger.ms`.
fn in_kafkas_spelling(name: &str, is_known: impl Fn(&str) -> bool) -> Option<String> {
    if name.len() > NAME_BYTES_MAX {
        return None;
    }
    let is_camel = name.contains(|c: char| c.is_ascii_lowercase());
    let mut dotted = String::new();
    for (at, c) in name.char_indices() {
        match c {
            '_' | '-' => dotted.push('.'),
            _ if c.is_ascii_uppercase() && is_camel && at > 0 && !dotted.ends_with('.') => {
                dotted.push('.');
                dotted.push(c.to_ascii_lowercase());
            }
            _ => dotted.push(c.to_ascii_lowercase()),
        }
    }
    let without = PREFIXES.iter().find_map(|prefix| dotted.strip_prefix(prefix));
    let spelt = [Some(dotted.as_str()), without].into_iter().flatten().find(|spelt| is_known(spelt))?;
    (spelt != name).then(|| spelt.to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::{foreign, is_known};
    use super::*;

    #[test]
    fn foreign_settings_are_unknown_to_kafka_and_lead_to_known_ones() {
        for (at, (name, _, kafka)) in FOREIGN.iter().enumerate() {
            assert!(!is_known(name), "{name} is one of Kafka's");
            assert!(!FOREIGN[..at].iter().any(|(other, ..)| other == name), "{name} stands there twice");
            if let Name(kafka) = kafka {
                assert!(is_known(kafka), "{name} leads to {kafka}, which is none");
            }
        }
    }

    #[test]
    fn kafkas_names_are_known_as_frameworks_spell_them() {
        let hint = |name: &str| foreign(name).map(|foreign| foreign.hint);
        for name in [
            "linger_ms",
            "lingerMs",
            "linger-ms",
            "LINGER_MS",
            "KAFKA_LINGER_MS",
            "producer.linger.ms",
            "spring.kafka.producer.properties.linger.ms",
        ] {
            assert_eq!(hint(name).as_deref(), Some("Kafka's clients call it `linger.ms`"), "{name}");
        }
        for name in ["linger.ms", "linger", "linger.mss", "", "ü", "producer.", "_", &"a_".repeat(1000)] {
            assert_eq!(hint(name), None, "{name}");
        }
        let message = foreign("message.timeout.ms").expect("librdkafka's");
        assert_eq!(
            (message.whose, message.hint.as_str()),
            ("librdkafka", "Kafka's clients call it `delivery.timeout.ms`")
        );
    }
}
