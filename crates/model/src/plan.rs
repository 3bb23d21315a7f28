//! The plan: everything explicit, seeded; nothing after planning fills a default.
//!
//! Times are nanoseconds, sizes bytes, rates records per second, all as plain numbers whose names
//! carry the unit. The plan is stored in the run file as JSON, so every type here is serialisable.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Largest value of a record, bytes: far above what a broker accepts by default, far below what breaks
/// arithmetic.
pub const VALUE_BYTES_MAX: u32 = 64 << 20;
/// Fewest batches of a pool of payloads: a client sends this many different ones before one comes again.
pub const POOL_BATCHES_MIN: u64 = 64;
/// Largest pool of payloads, bytes: it lies in the worker's memory.
pub const POOL_BYTES_MAX: u64 = 1 << 30;

/// One explicit, seeded experiment: what `kdyno run` executes and what the run file keeps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Scenario id, e.g. `ibm-resilient`.
    pub scenario: String,
    /// The question the scenario asks, for the report's head.
    pub question: String,
    /// Name of the profile in force.
    pub profile: String,
    /// Parameters that `--set` changed from the profile's value: name to printed value.
    pub changed: BTreeMap<String, String>,
    /// Drives schedules, partition choice and the order of trials; printed.
    pub seed: u64,
    /// Every case, in the order of the scenario's table.
    pub cases: Vec<CasePlan>,
    /// The trials in the order in which they run.
    pub order: Vec<TrialRef>,
    /// What stays between trials.
    pub isolation: Isolation,
    /// The table to print.
    pub show: Show,
    /// Published figures to set beside ours.
    pub published: Option<Published>,
}

/// Which trial: an index into [`Plan::cases`] and the repeat, both from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TrialRef {
    /// Index into [`Plan::cases`].
    pub case: u32,
    /// Repeat, from 0.
    pub repeat: u32,
}

/// What is made anew for each trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    /// A fresh cluster for each trial.
    Cluster,
    /// Fresh topics for each trial; the cluster stays while the system is the same.
    Topic,
    /// Nothing: topics stay as well.
    None,
}

/// One row of parameter values with all that follows from it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CasePlan {
    /// The parameters that tell the cases apart, e.g. `brokers=3`; empty when there is one case.
    pub label: String,
    /// Every parameter's value.
    pub params: BTreeMap<String, ParamValue>,
    /// The system under test.
    pub system: SystemPlan,
    /// Topics by their address in the scenario.
    pub topics: BTreeMap<String, TopicPlan>,
    /// Load items by their address in the scenario.
    pub load: BTreeMap<String, LoadPlan>,
    /// Warm-up, measurement and drain.
    pub phases: PhasesPlan,
}

/// A parameter's value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ParamValue {
    /// Whole number.
    Int(i64),
    /// Number with a fraction.
    Float(f64),
    /// Anything else, as typed: `128B`, `none`, `true`.
    Text(String),
}

impl std::fmt::Display for ParamValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Int(value) => write!(f, "{value}"),
            Self::Float(value) => write!(f, "{value}"),
            Self::Text(value) => f.write_str(value),
        }
    }
}

/// The system under test: made for the run, or attached to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SystemPlan {
    /// A cluster that kdyno starts and removes.
    Local(ClusterPlan),
    /// An existing cluster, reached by a target file.
    Attached(AttachedPlan),
}

/// A local cluster of real Apache Kafka brokers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClusterPlan {
    /// Where Kafka comes from.
    pub kafka: KafkaSource,
    /// How its metadata is kept.
    pub mode: Mode,
    /// Number of brokers, at least 1.
    pub brokers: u32,
    /// Heap of each broker (`-Xms` = `-Xmx`).
    pub heap_bytes: u64,
    /// Further JVM options of each broker, verbatim.
    pub jvm_options: Vec<String>,
    /// Broker settings in Kafka's names and units.
    pub config: BTreeMap<String, String>,
    /// Processors each broker is pinned to, by broker; empty: not pinned. A shorter list repeats.
    pub cpus: Vec<Vec<u32>>,
    /// Rack of each broker (`broker.rack`); empty: none. A shorter list repeats.
    pub racks: Vec<String>,
    /// Where the brokers' logs lie.
    pub storage: Storage,
}

/// Where Kafka's jars come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KafkaSource {
    /// A released version, by Maven, e.g. `3.7.2`.
    Release(String),
    /// An unpacked distribution (has `libs/`).
    Home(PathBuf),
    /// A built Kafka checkout.
    Source(PathBuf),
}

/// How the cluster keeps its metadata.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Each broker is a controller too (the first three at most vote).
    KraftCombined,
    /// Controllers of their own.
    KraftControllers {
        /// Number of dedicated controllers.
        controllers: u32,
    },
    /// ZooKeeper, 2.x and 3.x only.
    Zookeeper {
        /// 1 or 3 nodes.
        nodes: u32,
    },
}

/// Where brokers keep their logs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Storage {
    /// The run's folder on disk.
    Disk,
    /// Memory-backed storage; the report says so.
    Memory,
    /// One given folder per drive; each broker uses a sub-folder of every one.
    Dirs(Vec<PathBuf>),
}

/// An existing cluster and what may be done to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AttachedPlan {
    /// Target name.
    pub target: String,
    /// `host:port` of the brokers to ask first.
    pub bootstrap: Vec<String>,
    /// The cluster id that must answer; otherwise nothing is sent.
    pub cluster_id: String,
    /// Prefix of every topic, client id and group of ours.
    pub prefix: String,
    /// Limits that are enforced.
    pub caps: Caps,
    /// Named permissions, e.g. `rate-max`.
    pub allow: Vec<String>,
    /// Facts the target file declares, printed as "declared".
    pub facts: BTreeMap<String, String>,
}

/// Limits on what an attached cluster is given.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Caps {
    /// Value bytes per second that may be produced.
    pub produce_bytes_per_s: Option<u64>,
    /// Connections at once.
    pub connections: Option<u32>,
    /// Partitions made.
    pub partitions: Option<u32>,
    /// Bytes written in all, replicas included.
    pub disk_bytes: Option<u64>,
    /// Time a run may take.
    pub time_ns: Option<u64>,
}

/// A topic to make.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TopicPlan {
    /// Number of partitions, at least 1.
    pub partitions: u32,
    /// Replication factor, at least 1.
    pub replicas: u32,
    /// Topic settings in Kafka's names and units.
    pub config: BTreeMap<String, String>,
}

/// One load item.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoadPlan {
    /// Address of the topic in [`CasePlan::topics`].
    pub topic: String,
    /// Number of clients, each with its own connections.
    pub clients: u32,
    /// What the clients do.
    pub role: Role,
}

/// What a load item's clients do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Send records.
    Produce(ProducePlan),
    /// Fetch records; partition p goes to client p mod clients.
    Consume(ConsumePlan),
}

/// How records are sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProducePlan {
    /// The load item's total rate.
    pub rate: Rate,
    /// Bytes of each record's value.
    pub value_bytes: u32,
    /// How values are made.
    pub payload: Payload,
    /// Most records this item sends in the measure phase, all clients together; `None`: by time alone.
    pub records_max: Option<u64>,
    /// Client settings.
    pub client: ProducerSettings,
}

/// The item's total rate, over all its clients.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rate {
    /// Closed loop: a record is admitted the instant buffer space frees.
    Max {
        /// How deep the client's buffer is filled.
        fill: Fill,
    },
    /// Open loop: each record has an intended instant.
    Open {
        /// Rate over time, from the start of the load; the last piece goes on for ever.
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fill {
    /// Until `buffer.memory` is full, as the Java client behaves.
    Buffer,
    /// Only what can be sent at once: the requests in flight.
    InFlight,
}

/// A stretch of the rate's course, linear between its ends.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RatePiece {
    /// Rate at the start, records per second.
    pub from_per_s: f64,
    /// Rate at the end; equal to `from_per_s` for a constant stretch.
    pub to_per_s: f64,
    /// Length; the last piece's length is not used when it is constant.
    pub length_ns: u64,
}

/// Law of the intended instants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arrivals {
    /// Exponential gaps.
    Poisson,
    /// Equal gaps.
    Constant,
}

/// How values are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Payload {
    /// Each record built; its last 32 bytes carry run, producer, sequence and intended time.
    Unique,
    /// Encoded once, sent again and again.
    Pooled {
        /// Least size of the pool over all partitions.
        pool_bytes: u64,
    },
}

/// Producer settings, with the Java client's names and meaning (docs/METHOD.md states the differences).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
    /// `max.block.ms`, as ns.
    pub max_block_ns: u64,
    /// `request.timeout.ms`, as ns.
    pub request_timeout_ns: u64,
    /// `delivery.timeout.ms`, as ns.
    pub delivery_timeout_ns: u64,
    /// `retry.backoff.ms`, as ns.
    pub retry_backoff_ns: u64,
    /// `metadata.max.age.ms`, as ns.
    pub metadata_max_age_ns: u64,
    /// Which partition a record without a key goes to.
    pub partitioner: Partitioner,
}

/// Codec of record batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum Compression {
    None,
    Gzip,
    Snappy,
    Lz4,
    Zstd,
}

/// Which partition a record without a key goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Partitioner {
    /// One partition for about `batch.size` bytes, then another at random (Java's default).
    Sticky,
    /// One after the other.
    RoundRobin,
}

/// How records are fetched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConsumePlan {
    /// Where to begin.
    pub from: StartOffset,
    /// `fetch.max.bytes`.
    pub fetch_bytes_max: u32,
    /// `max.partition.fetch.bytes`.
    pub partition_bytes_max: u32,
    /// `fetch.min.bytes`.
    pub fetch_bytes_min: u32,
    /// `fetch.max.wait.ms`, as ns.
    pub fetch_wait_ns: u64,
    /// `request.timeout.ms`, as ns.
    pub request_timeout_ns: u64,
    /// `retry.backoff.ms`, as ns.
    pub retry_backoff_ns: u64,
}

/// Where a consumer begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StartOffset {
    /// The first record kept.
    Earliest,
    /// After the last record there.
    Latest,
}

/// Lengths of the phases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhasesPlan {
    /// Load that is not reported.
    pub warmup_ns: u64,
    /// The measured window. With `records_max` on the load items this is its upper bound.
    pub measure_ns: u64,
    /// Longest wait for what is still in flight after the last intended record.
    pub drain_ns: u64,
}

/// The table to print: one row per case.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Show {
    /// Parameters that head each row.
    pub rows: Vec<String>,
    /// Metric addresses, e.g. `writers.acked_per_s`.
    pub columns: Vec<crate::metric::Address>,
}

/// Figures somebody published, beside which ours are set. Facts to compare shapes with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Published {
    /// Title of the source.
    pub title: String,
    /// Its date, as written.
    pub date: String,
    /// The hardware it was measured on.
    pub hardware: String,
    /// How the source defines its figure, where that differs from ours.
    pub definition: String,
    /// Rows of the source's table.
    pub rows: Vec<PublishedRow>,
}

/// One published row: the parameters that select it and its figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PublishedRow {
    /// Parameter values that select the case.
    pub params: BTreeMap<String, ParamValue>,
    /// Printed metric address to the published number (in the metric's unit); `None`: "not given".
    pub values: BTreeMap<String, Option<f64>>,
}

/// What running a plan takes, reckoned before it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Estimate {
    /// Whole length when each trial drains as soon as a healthy cluster does, ns.
    pub expected_ns: u64,
    /// The part of it under load: warm-ups and measured windows, ns.
    pub load_ns: u64,
    /// Bytes written to the brokers' disks, replicas included; `None` when `rate: max` leaves it open. Topics are
    /// removed after their trial unless `isolation: none` keeps them.
    pub disk_bytes: Option<u64>,
}
