//! The load: what its clients do, how fast, and with which settings.

use super::consume::ConsumePlan;
use super::driver::Driver;
use super::group::GroupPlan;
use super::records::RecordPlan;
use crate::metric::SubjectKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{Display, EnumString, IntoStaticStr};

/// Largest value of a record, bytes: far above what a broker accepts by default, far below what breaks
/// arithmetic.
pub const VALUE_BYTES_MAX: u32 = 64 << 20;
/// Fewest batches of a pool of payloads: a client sends this many different ones before one comes again.
pub const POOL_BATCHES_MIN: u64 = 64;
/// Largest pool of payloads, bytes: it lies in the worker's memory.
pub const POOL_BYTES_MAX: u64 = 1 << 30;

/// Records of a compressed batch are at most so many times those of an uncompressed one: they are built before they
/// are compressed.
pub const COMPRESSED_RECORDS_MAX: u32 = 4;

/// One load item.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoadPlan {
    /// Address of the topic in [`CasePlan::topics`](super::CasePlan::topics). Load items with a topic in common have all in
    /// common, in the same order: items with the same `topic` have the same topics.
    pub topic: String,
    /// Number of clients, each with its own connections.
    pub clients: u32,
    /// Further topics: the clients are spread over all topics, as many for each, in their order, or each client has all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub more_topics: Vec<String>,
    /// Whether each client has all of the topics.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shared_topics: bool,
    /// The zone that they are in; `None`: near every broker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    /// When the clients come and go.
    #[serde(default, skip_serializing_if = "LoadSpan::is_whole")]
    pub span: LoadSpan,
    /// Which client carries it.
    #[serde(default, skip_serializing_if = "Driver::is_native")]
    pub driver: Driver,
    /// What the clients do.
    pub role: Role,
}

impl LoadPlan {
    /// All of its topics.
    pub fn topics(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.topic).chain(&self.more_topics).map(String::as_str)
    }

    /// How many topics it has.
    pub fn topic_count(&self) -> u32 {
        u32::try_from(self.more_topics.len()).unwrap_or(u32::MAX).saturating_add(1)
    }

    /// How many streams its clients are on a worker that has them all: one for each topic, or one for all.
    pub fn stream_count(&self) -> u32 {
        if self.shared_topics { 1 } else { self.topic_count() }
    }

    /// The topics that its first client has.
    pub fn topics_of_client(&self) -> impl Iterator<Item = &str> {
        let count = if self.shared_topics { usize::MAX } else { 1 };
        self.topics().take(count)
    }

    /// Its clients of each topic.
    pub fn clients_of_topic(&self) -> u32 {
        self.clients / self.stream_count()
    }
}

/// When a load item's clients come and go, counted from the beginning of the measure phase.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoadSpan {
    /// Its clients begin to connect so much later, ns, and its load begins; `None`: they are connected at T0, when the
    /// load begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_ns: Option<u64>,
    /// Its load ends so much later, ns; `None`: with the measure phase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_ns: Option<u64>,
}

impl LoadSpan {
    /// Whether the clients are there from T0 to the end.
    pub fn is_whole(&self) -> bool {
        *self == Self::default()
    }

    /// Whether the clients come only in the measure phase.
    pub fn is_late(&self) -> bool {
        self.at_ns.is_some()
    }

    /// The stretch of a measure phase of this length in which the clients are at work, ns from its beginning.
    pub fn within(&self, measure_ns: u64) -> std::ops::Range<u64> {
        let end_ns = self.until_ns.unwrap_or(measure_ns).min(measure_ns);
        self.at_ns.unwrap_or(0).min(end_ns)..end_ns
    }
}

/// What a load item's clients do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(clippy::large_enum_variant, reason = "a case has a few of them")]
pub enum Role {
    /// Send records.
    Produce(ProducePlan),
    /// Fetch records; partition p goes to client p mod clients, unless a group shares them out.
    Consume(ConsumePlan),
    /// Probe: one sends to every partition of the topic in turn, another one fetches that.
    EndToEnd(EndToEndPlan),
}

/// A probe: a producer and a consumer, each a stream of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EndToEndPlan {
    /// How its records are sent.
    pub produce: ProducePlan,
    /// How they are fetched.
    pub consume: ConsumePlan,
}

/// What a load item's clients do, by name alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Display, EnumString, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum RoleKind {
    /// Send records.
    Produce,
    /// Fetch records.
    Consume,
    /// Probe: send records, and fetch them.
    EndToEnd,
}

impl RoleKind {
    /// What metrics know a load item as that does this.
    pub fn subject(self) -> SubjectKind {
        match self {
            Self::Produce => SubjectKind::Produce,
            Self::Consume => SubjectKind::Consume,
            Self::EndToEnd => SubjectKind::EndToEnd,
        }
    }
}

impl Role {
    /// What the clients do, by name alone.
    pub fn kind(&self) -> RoleKind {
        match self {
            Self::Produce(_) => RoleKind::Produce,
            Self::Consume(_) => RoleKind::Consume,
            Self::EndToEnd(_) => RoleKind::EndToEnd,
        }
    }

    /// Whether it probes.
    pub fn is_probe(&self) -> bool {
        matches!(self, Self::EndToEnd(_))
    }

    /// How records are fetched, by clients that fetch some.
    pub fn as_consume(&self) -> Option<&ConsumePlan> {
        match self {
            Self::Produce(_) => None,
            Self::Consume(consume) | Self::EndToEnd(EndToEndPlan { consume, .. }) => Some(consume),
        }
    }

    /// The group that its clients are members of, if they are in one.
    pub fn group(&self) -> Option<&GroupPlan> {
        self.as_consume()?.group.as_ref()
    }

    /// Whether its clients are members of the group that those of another are members of.
    pub fn is_in_group_of(&self, other: &Self) -> bool {
        self.group().zip(other.group()).is_some_and(|(group, of_other)| group.name == of_other.name)
    }

    /// Whether it sends records that each say when they were intended.
    pub fn carries_intended(&self) -> bool {
        self.as_produce().is_some_and(|produce| produce.payload == Payload::Unique)
    }

    /// How records are sent, of clients that send some.
    pub fn as_produce(&self) -> Option<&ProducePlan> {
        match self {
            Self::Produce(produce) | Self::EndToEnd(EndToEndPlan { produce, .. }) => Some(produce),
            Self::Consume(_) => None,
        }
    }
}

/// How records are sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProducePlan {
    /// The load item's total rate.
    pub rate: Rate,
    /// Bytes of each record's value; where sizes differ, their mean, rounded up, null values left out.
    pub value_bytes: u32,
    /// How values are made.
    pub payload: Payload,
    /// What records are made of.
    #[serde(default, skip_serializing_if = "RecordPlan::is_plain")]
    pub records: RecordPlan,
    /// Most records this item sends in the measure phase, all clients together; `None`: by time alone.
    pub records_max: Option<u64>,
    /// Whether each client waits for a record's outcome before it sends the next one.
    #[serde(default)]
    pub synchronous: bool,
    /// Transactions; each holds what a client sends in a while. `None`: records are sent without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transactions: Option<TransactionsPlan>,
    /// What is kept in addition to the usual rows for the lines of Kafka's own tool; `None`: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_lines: Option<ToolLines>,
    /// Client settings.
    pub client: ProducerSettings,
}

impl ProducePlan {
    /// Bytes of the key, the value and the headers of a record: at most, where its value is of the size in the mean.
    pub fn record_bytes(&self) -> u64 {
        let around_value = match self.payload {
            Payload::Unique => self.records.bytes_around_value(self.value_bytes),
            // Records of a pool have neither key nor headers.
            Payload::Pooled { .. } => 0,
        };
        u64::from(self.value_bytes) + around_value
    }
}

/// What the lines of Kafka's own tool need in addition to the usual rows: the service time of each second, and of the
/// records behind the first ones by themselves.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolLines {
    /// Records of each client that come before its steady state; 0: nothing is kept of a steady state.
    pub warmup_records: u64,
}

/// When a producing client's transactions end, and how.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TransactionsPlan {
    /// From a transaction's first record until it is committed or aborted, ns.
    pub every_ns: u64,
    /// It ends sooner with so many records; `None`: it holds any number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub records: Option<u64>,
    /// Probability with which one is aborted, 0 to 1.
    pub abort_share: f64,
}

/// The item's total rate, over all its clients.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Rate {
    /// Closed loop: a record is admitted the instant buffer space frees.
    Max {
        /// How deep the client's buffer is filled.
        fill: Fill,
    },
    /// Open loop: each record has a scheduled send time.
    Open {
        /// Rate over time, from the start of the measure phase; before it the first rate holds, and the last
        /// piece goes on for ever.
        pieces: Vec<RatePiece>,
        /// Law of the instants.
        arrivals: Arrivals,
    },
}

impl Rate {
    /// The highest rate that is scheduled, records per second; a closed loop has none.
    pub fn peak_per_s(&self) -> Option<f64> {
        let Self::Open { pieces, .. } = self else { return None };
        Some(pieces.iter().map(|piece| piece.from_per_s.max(piece.to_per_s)).fold(0.0, f64::max))
    }
}

/// How deep a closed loop fills the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Fill {
    /// Until `buffer.memory` is full, as the Java client behaves.
    Buffer,
    /// Only what can be sent at once: the requests in flight.
    InFlight,
}

/// A stretch of the rate over time, linear between its ends.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RatePiece {
    /// Rate at the start, records per second.
    pub from_per_s: f64,
    /// Rate at the end; equal to `from_per_s` for a constant stretch.
    pub to_per_s: f64,
    /// Length; the last piece's length is not used when it is constant.
    pub length_ns: u64,
}

/// Law of the scheduled send times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Arrivals {
    /// Exponential gaps.
    Poisson,
    /// Equal gaps.
    Constant,
}

/// How values are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Payload {
    /// Each record built; the last 32 bytes of a generated value, or a header, carry run, producer, partition, sequence
    /// and intended time.
    Unique,
    /// Encoded once, sent again and again.
    Pooled {
        /// Least size of the pool over all partitions.
        pool_bytes: u64,
    },
}

/// Producer settings, with the Java client's names and meaning (docs/reference/client.md states the differences).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProducerSettings {
    /// The Kafka version whose client defaults were filled in, e.g. `4.1`; for the report.
    pub defaults: String,
    /// `acks`: 0, 1 or -1 (all).
    pub acks: i16,
    /// `batch.size`, bytes.
    pub batch_bytes: u32,
    /// `linger.ms`, as ns.
    pub linger_ns: u64,
    /// `buffer.memory`, bytes, per client.
    pub buffer_bytes: u64,
    /// `max.request.size`, bytes.
    pub request_bytes_max: u32,
    /// `max.in.flight.requests.per.connection`.
    pub in_flight_max: u32,
    /// `compression.type`.
    pub compression: Compression,
    /// `compression.gzip.level`, `compression.lz4.level` or `compression.zstd.level`, whichever is of `compression`;
    /// `None`: it has no levels, or its default is in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compression_level: Option<i32>,
    /// `max.block.ms`, as ns.
    pub max_block_ns: u64,
    /// `request.timeout.ms`, as ns.
    pub request_timeout_ns: u64,
    /// `delivery.timeout.ms`, as ns.
    pub delivery_timeout_ns: u64,
    /// `retry.backoff.ms`, as ns: the first pause.
    pub retry_backoff_ns: u64,
    /// `retry.backoff.max.ms`, as ns: up to which the pause doubles. Not more than `retry.backoff.ms`: it stays
    /// the same.
    #[serde(default)]
    pub retry_backoff_max_ns: u64,
    /// `transaction.timeout.ms`, as ns: after which the coordinator aborts a transaction by itself.
    #[serde(default)]
    pub transaction_timeout_ns: u64,
    /// `metadata.max.age.ms`, as ns.
    pub metadata_max_age_ns: u64,
    /// `enable.idempotence`.
    #[serde(default)]
    pub enable_idempotence: bool,
    /// Which partition a record goes to whose key does not say so.
    pub partitioner: Partitioner,
    /// `partitioner.ignore.keys`: whether keys have no say in that.
    #[serde(default)]
    pub ignore_keys: bool,
    /// `partitioner.adaptive.partitioning.enable`: whether longer queues get fewer records.
    #[serde(default)]
    pub adaptive_partitioning: bool,
    /// `partitioner.availability.timeout.ms`, as ns; 0: no partition is left out for its broker's silence.
    #[serde(default)]
    pub availability_timeout_ns: u64,
}

impl ProducerSettings {
    /// The compression level in force, with the name of its setting; a codec without levels has none.
    pub fn level(&self) -> Option<(&'static str, i32)> {
        let levels = self.compression.levels()?;
        Some((levels.setting, self.compression_level.unwrap_or(levels.default)))
    }
}

/// Codec of record batches.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, EnumString, IntoStaticStr,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
#[allow(missing_docs)]
pub enum Compression {
    None,
    Gzip,
    Snappy,
    Lz4,
    Zstd,
}

impl Compression {
    /// Kafka's word for it.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The levels it can be set to.
    pub fn levels(self) -> Option<Levels> {
        match self {
            Self::None | Self::Snappy => None,
            Self::Gzip => Some(Levels::GZIP),
            Self::Lz4 => Some(Levels::LZ4),
            Self::Zstd => Some(Levels::ZSTD),
        }
    }
}

/// The levels of a codec, as Java's producer takes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Levels {
    /// Kafka's name of the setting.
    pub setting: &'static str,
    /// The least one.
    pub least: i32,
    /// The highest one.
    pub most: i32,
    /// Java's default, which may lie outside of the others.
    pub default: i32,
}

impl Levels {
    /// Levels of gzip; -1 leaves the level to zlib, which takes 6.
    pub const GZIP: Self = Self { setting: "compression.gzip.level", least: 1, most: 9, default: -1 };
    /// Levels of lz4; at 9 Java compresses with lz4's fast compressor, at every other level with its high one.
    pub const LZ4: Self = Self { setting: "compression.lz4.level", least: 1, most: 17, default: 9 };
    /// Levels of zstd.
    pub const ZSTD: Self = Self { setting: "compression.zstd.level", least: -131_072, most: 22, default: 3 };

    /// Whether Java's producer takes a level.
    pub fn has(self, level: i32) -> bool {
        (self.least..=self.most).contains(&level) || level == self.default
    }
}

/// Which partition a record goes to whose key does not say so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Partitioner {
    /// One partition for about `batch.size` bytes, then another by chance (Java's default).
    Sticky,
    /// One after the other.
    RoundRobin,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs that were stored before producers had these settings are read as what producers did then.
    #[test]
    fn settings_that_a_stored_plan_lacks_are_off() {
        let stored = serde_json::json!({
            "defaults": "4.1", "acks": -1, "batch_bytes": 16_384, "linger_ns": 0, "buffer_bytes": 33_554_432,
            "request_bytes_max": 1_048_576, "in_flight_max": 5, "compression": "none", "max_block_ns": 1,
            "request_timeout_ns": 1, "delivery_timeout_ns": 1, "retry_backoff_ns": 100, "metadata_max_age_ns": 1,
            "partitioner": "sticky",
        });
        let settings: ProducerSettings = serde_json::from_value(stored).expect("settings");
        assert!(!settings.enable_idempotence && !settings.adaptive_partitioning && !settings.ignore_keys);
        assert_eq!((settings.retry_backoff_max_ns, settings.availability_timeout_ns), (0, 0));
        assert_eq!((settings.compression_level, settings.level()), (None, None));
        let level = |compression| ProducerSettings { compression, ..settings.clone() }.level();
        assert_eq!(level(Compression::Gzip), Some(("compression.gzip.level", -1)), "what it was then");
    }
}
