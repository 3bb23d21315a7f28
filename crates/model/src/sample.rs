//! What was counted and timed: rows that are merged by addition and never averaged.
//!
//! A row is keyed by the second of the records' scheduled send times (`t0_second`) and the second in which
//! the row was written (`written_second`). An acknowledgement is written in the second of its t6, so
//! rates are sums over `written_second` and latencies sums over `t0_second`, from the same rows.
//!
//! The instants of a record (docs/METHOD.md): t0 intended, t1 handed to the client, t2 accepted (buffer
//! space found), t3 batch sealed, t3′ its last attempt begun (t3 unless it was sent again), t4 last byte of
//! that request written, t5 response there to be read, t6 outcome known; for a consumer, t7 the fetch response that
//! holds it there to be read, t8 in the application's hands.

use crate::histogram;
pub use crate::histogram::{LATENCY_NS_MAX, LATENCY_NS_MIN};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use strum::{Display, EnumString, IntoStaticStr};

pub use crate::probe::{ProbeReading, series};
pub use crate::timing::Timing;

/// A phase of a trial. A record belongs to the phase of its t0.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
    Display,
    EnumString,
    IntoStaticStr,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Phase {
    /// Connect, fetch metadata, build pools: before T0.
    Startup,
    /// Load that is not reported.
    Warmup,
    /// The measured window.
    Measure,
    /// No new records; what is in flight is answered.
    Drain,
}

/// Brokers are read in this time before the window begins, ns, one after the other; logs and groups at its end.
pub const BEFORE_WINDOW_NS: u64 = 500_000_000;

/// Which stretch of time a row's histograms cover.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Grain {
    /// One second: counts, and the response time at 2 digits; with `tool_lines` the service time too, of a Java client
    /// what a record took without the generator.
    Second,
    /// Five seconds: response and service at 3 digits, stages at 2. No counts.
    FiveSeconds,
    /// A whole phase: every histogram at 3 digits. No counts. `t0_second` and `written_second` are those
    /// of the phase's end.
    Phase,
}

/// A stream: one load item on one worker. Rows and totals of two workers are kept apart.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub struct StreamId {
    /// The worker's number, from 0.
    pub worker: u16,
    /// Number of the stream on that worker, from 0.
    pub stream: u16,
}

/// One row. Rows with the same (stream, grain, phase, t0_second, written_second) add up; `sequence` distinguishes
/// repeats of the same row, so a sample that arrives twice counts once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sample {
    /// Whose row it is.
    pub id: StreamId,
    /// Running number of this stream's samples, from 0.
    pub sequence: u64,
    /// What the histograms cover.
    pub grain: Grain,
    /// Phase of the records' t0.
    pub phase: Phase,
    /// Second of the records' t0, from T0.
    pub t0_second: u32,
    /// Second in which the row was written, from T0.
    pub written_second: u32,
    /// Counts (only with [`Grain::Second`]).
    #[serde(default, skip_serializing_if = "Counts::is_empty")]
    pub counts: Counts,
    /// Histograms, each as HdrHistogram V2 bytes (not deflated) of ns, range
    /// [`LATENCY_NS_MIN`]..[`LATENCY_NS_MAX`]; in messages as base64 text. Absent when empty.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty", with = "histogram::base64_map")]
    #[schemars(with = "BTreeMap<Timing, String>")]
    pub histograms: BTreeMap<Timing, Vec<u8>>,
    /// Exact integer sums of ns in addition to the histograms, so that stages sum to the whole exactly.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sums_ns: BTreeMap<Timing, u128>,
}

/// Everything that is counted. All fields add but for two instants; in messages those that are 0 may be left out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Counts {
    /// Records whose t0 lies in this second (offered). Written in that same second or later.
    pub offered: u64,
    /// Records accepted by the client (t2).
    pub achieved: u64,
    /// Records acknowledged (acks=0: written to the socket).
    pub acknowledged: u64,
    /// Value bytes acknowledged.
    pub acknowledged_bytes: u64,
    /// Records failed, by reason: a broker's error name, or `max-block`, `delivery-timeout`.
    pub failed: BTreeMap<String, u64>,
    /// Records whose outcome was still open when the drain ended.
    pub unresolved: u64,
    /// Produce or fetch requests answered.
    pub requests: u64,
    /// Bytes of those requests as written to the socket (fetch: bytes of the responses).
    pub request_bytes: u64,
    /// Record batches in them.
    pub batches: u64,
    /// Record batches sent again, each time counted.
    pub retries: u64,
    /// Records fetched (consume).
    pub fetched: u64,
    /// Record batch bytes fetched (consume), as on the wire.
    pub fetched_bytes: u64,
    /// Latencies above the histogram's range, clamped.
    pub clamped: u64,
    /// Consume: records between the stream and the end of the log at the end of the written second; none while a
    /// partition's leader has not reported where its log ends. A state: it adds up over the streams of one second,
    /// never over seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lag_records: Option<u64>,
    /// Time for which brokers held back answers, as their responses say, ns.
    pub throttled_ns: u64,
    /// Records of the batches sent again, each time counted: a log may hold each of them once more.
    pub retried_records: u64,
    /// Transactions committed.
    pub committed: u64,
    /// Transactions aborted, as planned or since something of them had failed.
    pub aborted: u64,
    /// Partitions of transactions that ended: each of them has a marker in its log, which takes an offset.
    pub markers: u64,
    /// Partitions for which it is unknown whether they were in a transaction, or in one whose end was not reported: a
    /// log may hold a marker for each.
    pub markers_unsure: u64,
    /// Bytes of the records acknowledged, uncompressed: with keys, headers and what each record begins with.
    pub record_bytes: u64,
    /// Bytes of the same records as they were sent: compressed, if they are; without the headers of batches.
    pub sent_bytes: u64,
    /// Records acknowledged that carry kdyno's trailer in a header, since their values had no room for it.
    pub header_trailers: u64,
    /// Consume: records of aborted transactions that were fetched and left out.
    pub aborted_records: u64,
    /// Consume: records fetched that mark the ends of transactions.
    pub control_records: u64,
    /// Consume: offsets passed over that no record has, since it was compacted away.
    pub missing_offsets: u64,
    /// Consume: records of this second of t0 that the application consumed, each time counted.
    pub end_to_end: u64,
    /// Consume: records consumed without a scheduled send time of this trial: without kdyno's trailer, of
    /// another run, or of no instant of this trial's load.
    pub discarded: u64,
    /// Consume: rebalances of the group that were over.
    pub rebalances: u64,
    /// Consume: requests that committed offsets.
    pub offset_commits: u64,
    /// Consume: of the records fetched, those that a member of the same group had consumed before.
    pub duplicates: u64,
    /// Consume: bytes of keys and values of the records consumed, where records are decoded.
    pub handed_over_bytes: u64,
    /// Consume: time for which members had no partition, ns: of clients that come later than T0 from then on, and of all from
    /// when they had none any more. It is counted when they are assigned some.
    pub unassigned_ns: u64,
    /// Produce: time for which the requests answered were in flight, each from its beginning (t3′) to its answer (t5), ns.
    pub in_flight_ns: u64,
    /// Produce: time for which the batches acknowledged held room in the client's buffer, each from its first record (t2) to
    /// its outcome (t6), ns.
    pub buffered_ns: u64,
    /// From T0 to the first acknowledgement that the stream was given in the written second, ns; on one of that second's
    /// rows. An instant: where rows add up it is the earliest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_acknowledged_ns: Option<u64>,
    /// The instant of the last one: where rows add up it is the latest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_acknowledged_ns: Option<u64>,
}

/// How many of a [`Counts`]' numbers are of records with an outcome.
const OUTCOMES: usize = 3;

/// Makes `numbers` and `numbers_mut` of one list of fields, in its order. The first [`OUTCOMES`] are of records with an outcome,
/// a new one comes last: the order is that of run files. Fields that are no sum of one number come after the semicolon, so
/// that a new one has to be put on either side.
macro_rules! numbers {
    ($($number:ident)*; $($other:ident)*) => {
        /// How many counts are one number.
        pub const NUMBERS: usize = [$(stringify!($number)),*].len();

        /// Every count that is one number and adds up over seconds, by name. Run files have them in this order.
        pub fn numbers(&self) -> [(&'static str, u64); Self::NUMBERS] {
            let Self { $($number,)* $($other: _,)* } = *self;
            [$((stringify!($number), $number)),*]
        }

        /// The same, to be changed, in the same order.
        pub fn numbers_mut(&mut self) -> [&mut u64; Self::NUMBERS] {
            [$(&mut self.$number),*]
        }
    };
}

impl Counts {
    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The first count that differs from another's, by name, and by how much it exceeds it: records with an outcome come
    /// first. Neither the lag, a state, nor instants are compared.
    pub fn first_difference(&self, other: &Counts) -> Option<(String, i128)> {
        let by_reason = |of: &Counts, reason: &str| of.failed.get(reason).copied().unwrap_or(0);
        let reasons: BTreeSet<&String> = self.failed.keys().chain(other.failed.keys()).collect();
        let failures = reasons
            .into_iter()
            .map(|reason| (format!("failed, {reason}"), by_reason(self, reason), by_reason(other, reason)));
        let numbers = self.numbers().into_iter().zip(other.numbers());
        let numbers = numbers.map(|((name, own), (_, other))| (name.to_owned(), own, other));
        let mut outcomes: Vec<(String, u64, u64)> = numbers.collect();
        let rest = outcomes.split_off(OUTCOMES);
        let mut all = outcomes.into_iter().chain(failures).chain(rest);
        all.find_map(|(name, own, other)| (own != other).then(|| (name, i128::from(own) - i128::from(other))))
    }

    numbers! {
        acknowledged fetched unresolved offered achieved acknowledged_bytes requests request_bytes
        batches retries fetched_bytes clamped throttled_ns retried_records committed aborted markers
        markers_unsure record_bytes sent_bytes header_trailers aborted_records control_records
        missing_offsets end_to_end discarded rebalances offset_commits duplicates handed_over_bytes
        unassigned_ns in_flight_ns buffered_ns
        ; failed lag_records first_acknowledged_ns last_acknowledged_ns
    }

    /// Adds what another counted. Saturates, because a damaged file may hold anything.
    pub fn add(&mut self, more: &Counts) {
        for (sum, (_, value)) in self.numbers_mut().into_iter().zip(more.numbers()) {
            *sum = sum.saturating_add(value);
        }
        if let Some(records) = more.lag_records {
            let sum = self.lag_records.get_or_insert(0);
            *sum = sum.saturating_add(records);
        }
        // `None` lies below every number, and is no instant.
        let first = [self.first_acknowledged_ns, more.first_acknowledged_ns];
        self.first_acknowledged_ns = first.into_iter().flatten().min();
        self.last_acknowledged_ns = self.last_acknowledged_ns.max(more.last_acknowledged_ns);
        for (reason, records) in &more.failed {
            let sum = self.failed.entry(reason.clone()).or_default();
            *sum = sum.saturating_add(*records);
        }
    }
}

/// A stream's totals at its end, over all phases: `offered = acknowledged + failed + unresolved`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StreamTotals {
    /// Whose they are.
    pub id: StreamId,
    /// All counts of the stream.
    pub counts: Counts,
    /// Per client of this worker, in order: acknowledged records and the span from its first record's t1
    /// to its last acknowledgement, ns. For figures defined as a sum of each client's whole-run average.
    pub clients: Vec<ClientTotals>,
    /// The records behind the first ones, where the plan asks for them (`tool_lines`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steady: Option<SteadyTotals>,
    /// Consume, of an item that comes later than T0: when it had first fetched all that its partitions held; `None`: it never
    /// had, or the worker does not look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caught_up: Option<CaughtUp>,
    /// Produce: what was acknowledged of each partition of the topic in the measure phase, by its number; empty where the
    /// client does not show it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub partitions: Vec<PartitionTotals>,
}

/// What of a partition was acknowledged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PartitionTotals {
    /// Records.
    pub records: u64,
    /// Their bytes, uncompressed: with keys, headers and what each record begins with.
    pub bytes: u64,
}

/// When a stream that consumes had caught up with its partitions, and how much it had read by then.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CaughtUp {
    /// When, ns from T0; late by 10 ms at most.
    pub at_ns: u64,
    /// Records that it consumed until then.
    pub records: u64,
}

/// What became of a stream's records behind the first ones of each client (`tool_lines.warmup_records`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SteadyTotals {
    /// Records acknowledged.
    pub records: u64,
    /// Bytes of their values.
    pub value_bytes: u64,
    /// From the first one's acceptance to the last one's acknowledgement, ns.
    pub span_ns: u64,
    /// Their service times, HdrHistogram V2 bytes as in rows; in messages as base64 text. Empty without records.
    #[serde(with = "histogram::base64_bytes")]
    #[schemars(with = "String")]
    pub service: Vec<u8>,
    /// Exact sum of these, ns.
    pub service_sum_ns: u128,
}

/// One client's whole run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClientTotals {
    /// Records acknowledged (produce) or fetched (consume).
    pub records: u64,
    /// Produce: from T0 to the first record passed to the client, ns; not in files of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub began_ns: Option<u64>,
    /// From the first record passed to the client to the last outcome, ns.
    pub span_ns: u64,
    /// What it did as a member of a consumer group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub member: Option<MemberTotals>,
}

/// What one client did as a member of a consumer group.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemberTotals {
    /// Records consumed in the measure phase.
    pub measured_records: u64,
    /// Partitions that it had when the load ended.
    pub partitions: u32,
    /// How often it was assigned partitions again since T0.
    pub rebalances: u32,
    /// How often it lost partitions without giving them up since T0: the group had gone on without it.
    #[serde(default)]
    pub losses: u32,
}

/// What one second of spinning, sleeping and loopback shows about the host before a trial.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct NoiseReading {
    /// Iterations of a fixed spin per microsecond, median of slices: how fast the processor is now.
    pub spin_per_us: f64,
    /// Slowest slice ÷ median slice of the spin.
    pub spin_worst_ratio: f64,
    /// Lateness of absolute sleeps in the quieter half of its rounds, ns: median and p99.
    pub sleep_late_ns_p50: u64,
    /// 99th percentile of the same.
    pub sleep_late_ns_p99: u64,
    /// Round trip of one byte over loopback TCP, ns: median and p99.
    pub loopback_ns_p50: u64,
    /// 99th percentile of the same.
    pub loopback_ns_p99: u64,
    /// Share of CPU time stolen during the probe, 0–1.
    pub steal_share: f64,
}
