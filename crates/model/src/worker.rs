//! What the lab and a worker process say to each other.
//!
//! Messages travel as JSON behind a 4-byte big-endian length, over a socket that a worker finds as its
//! descriptor 0; any language can speak them ([`json_schema`], `docs/reference/worker.schema.json`). Each side
//! refuses a frame above [`FRAME_BYTES_MAX`]. All times are ns; those named `_ns` without further word are relative
//! to T0, the instant at which every stream starts, which [`ToWorker::Start`] gives on the host's CLOCK_MONOTONIC.
//!
//! ```text
//! worker                                lab
//!   hello ─────────────────────────────▶      refuses another protocol, or another clock
//!         ◀───────────────────────────── (secrets) (given …) prepare
//!   (event …) prepared ────────────────▶
//!         ◀───────────────────────────── start, measure; or, when the warm-up ends by evidence,
//!   sample … event … ──────────────────▶ measure later, at least 1 s ahead
//!         ◀───────────────────────────── (secrets)
//!   (load_ended) ──────────────────────▶      when all workers' producers have ended:
//!         ◀───────────────────────────── (drain) (stop)
//!   sample … done ─────────────────────▶      the worker exits with 0
//! ```
//! Whatever goes wrong the worker says `failed`, if it still can, and exits with another code. The end of the
//! socket ends it.

use crate::event::EventKind;
use crate::histogram::base64_bytes;
use crate::plan::{
    ConsumePlan, GivenSource, JavaTask, LoadSpan, PhasesPlan, ProducePlan, RoleKind, Security,
};
use crate::sample::{Phase, Sample, StreamTotals};
use crate::secret::{Secret, values_by_name};
use crate::settings::SettingsInForce;
use schemars::{JsonSchema, generate::SchemaSettings};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of these messages; a worker of another version is refused.
pub const PROTOCOL_VERSION: u32 = 8;

/// How long before it begins the measure phase is announced at the latest, ns: schedules must not have passed
/// that instant yet.
pub const MEASURE_AHEAD_NS: u64 = 1_000_000_000;

/// Largest frame either side accepts: a second's samples of a thousand streams stay far below it.
pub const FRAME_BYTES_MAX: u32 = 64 << 20;

/// JSON Schema of the messages: those to a worker and those from it.
pub fn json_schema() -> serde_json::Value {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let directions = [
        generator.subschema_for::<BeforeTask>(),
        generator.subschema_for::<ToWorker>(),
        generator.subschema_for::<FromWorker>(),
    ];
    serde_json::json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "kdyno worker messages",
        "description": "One message of the lab (BeforeTask, then ToWorker) or of a worker (FromWorker). On the \
            socket four bytes of length, big-endian, come before each. Integers may take 64 bits, those of sums_ns 128.",
        "anyOf": directions,
        "$defs": generator.take_definitions(true),
    })
}

/// From the lab to a worker, up to its task. What a worker reads: the lab writes values by one function of their own
/// (`kdyno_load::framing::write_secrets`), for they cannot be serialised.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BeforeTask {
    /// The values of all secrets by name, where the plan has any; before the task once. After it the same message has
    /// newer values of tokens. A worker keeps them in memory alone and repeats none of them.
    Secrets(#[serde(deserialize_with = "values_by_name")] BTreeMap<String, Secret>),
    /// Keys or values that streams of the task take; before the task once for each source.
    Given(GivenContent),
    /// As [`ToWorker::Prepare`].
    Prepare(Box<WorkerTask>),
}

/// Keys or values that do not come from a generator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GivenContent {
    /// Where they come from, as plans name it.
    pub source: GivenSource,
    /// All of them behind one another; in messages as base64 text.
    #[serde(with = "base64_bytes")]
    #[schemars(with = "String")]
    pub bytes: Vec<u8>,
    /// Bytes of each of them.
    pub lengths: Vec<u32>,
}

impl GivenContent {
    /// Puts keys or values behind one another.
    pub fn new<'p>(source: GivenSource, pieces: impl IntoIterator<Item = &'p [u8]>) -> Self {
        let (mut bytes, mut lengths) = (Vec::new(), Vec::new());
        for piece in pieces {
            bytes.extend_from_slice(piece);
            lengths.push(u32::try_from(piece.len()).unwrap_or(u32::MAX));
        }
        Self { source, bytes, lengths }
    }

    /// Whether the lengths are those of all bytes.
    pub fn is_whole(&self) -> bool {
        self.lengths.iter().map(|length| u64::from(*length)).sum::<u64>() == self.bytes.len() as u64
    }

    /// Them, one by one; what lengths promise beyond the bytes is not there.
    pub fn pieces(&self) -> impl Iterator<Item = &[u8]> {
        let mut rest = self.bytes.as_slice();
        self.lengths.iter().map_while(move |length| {
            let (piece, after) = rest.split_at_checked(*length as usize)?;
            rest = after;
            Some(piece)
        })
    }
}

/// From the lab to a worker.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToWorker {
    /// Connect, fetch metadata, build pools; answer [`FromWorker::Prepared`].
    Prepare(Box<WorkerTask>),
    /// Start all streams at this instant of CLOCK_MONOTONIC. A worker that learns of it more than 1 s after it answers
    /// [`FromWorker::Failed`].
    Start {
        /// T0, ns on CLOCK_MONOTONIC.
        t0_monotonic_ns: u64,
    },
    /// The measure phase begins here, and the load ends so much later as the task says. Once: before T0, or
    /// at least [`MEASURE_AHEAD_NS`] before the instant it names; until then the warm-up goes on at the first
    /// rate.
    Measure {
        /// A whole second from T0, ns.
        start_ns: u64,
    },
    /// Every producing stream of the trial has ended, on all workers: fetch what is left, report, end. Only where
    /// [`WorkerTask::has_producers`] says so.
    Drain,
    /// Admit nothing further, drain, report, end.
    Stop,
}

/// From a worker to the lab.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FromWorker {
    /// The first message of every worker.
    Hello {
        /// [`PROTOCOL_VERSION`] of the worker.
        protocol: u32,
        /// The worker's reading of CLOCK_MONOTONIC at that moment, ns: the lab refuses one whose clock is another.
        monotonic_ns: u64,
    },
    /// Every client that is there at T0 is connected and knows its leaders.
    Prepared,
    /// What was counted and timed in a second, in five, or in a phase.
    Sample(Box<Sample>),
    /// Something that happened, for the run's timeline.
    Event(WorkerEvent),
    /// What a stream's Java client cost until now, as its process says it.
    Readings(Vec<ClientReading>),
    /// With which settings the Java clients of a stream run; once, before any of them is connected.
    ClientSettings(ClientSettings),
    /// What a Java client counted of itself, as Kafka's tools print it with `--print-metrics`; once for each client, at its
    /// end.
    ClientMetrics {
        /// The stream.
        stream: u16,
        /// The item's client, counted from 0 over all workers.
        client: u32,
        /// Lines of text.
        text: String,
    },
    /// Every producing stream of this worker has ended, and consuming ones are left, which wait for
    /// [`ToWorker::Drain`].
    LoadEnded,
    /// All streams have ended; the worker exits with 0 after this.
    Done(Vec<StreamTotals>),
    /// The worker cannot go on; it exits with 1 after this.
    Failed {
        /// One lowercase sentence.
        message: String,
    },
}

/// A worker's share of one trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkerTask {
    /// This worker's number, from 0.
    pub worker: u16,
    /// Identifies the run in unique payloads.
    pub run_id: u64,
    /// Wall clock minus CLOCK_MONOTONIC, ns, as the lab read it before the trial: what timestamps and the instants that
    /// records carry are made with. All workers take this one, so that a record's t0 is an instant of CLOCK_MONOTONIC for
    /// the consumer that fetches it, also when the wall clock is set meanwhile.
    pub wall_offset_ns: i64,
    /// `host:port` to ask first.
    pub bootstrap: Vec<String>,
    /// How brokers are spoken to; [`BeforeTask::Secrets`] has the values of the secrets that it names. A worker that
    /// cannot do so fails.
    #[serde(default, skip_serializing_if = "Security::is_plaintext")]
    pub security: Security,
    /// Prefix of client ids.
    pub client_id_prefix: String,
    /// Lengths of the phases; [`ToWorker::Measure`] says when the second one begins. At the end of the drain a
    /// worker gives up on what is in flight.
    pub phases: PhasesPlan,
    /// Whether any worker of the trial produces: consuming streams then go on until [`ToWorker::Drain`]; otherwise
    /// to the end of the measure phase.
    pub has_producers: bool,
    /// How far apart the event loop's releases of due records are, ns (see docs/METHOD.md, tick).
    pub tick_ns: u64,
    /// The load items that have clients on this worker.
    pub streams: Vec<StreamTask>,
}

/// One phase's place on the time line, ns from T0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseSpan {
    /// The phase that lies there.
    pub phase: Phase,
    /// First instant of the phase.
    pub start_ns: u64,
    /// First instant after it.
    pub end_ns: u64,
}

/// The phases' places once it is known when the measure phase begins: gapless from T0, a warm-up without length
/// left out. Before that the warm-up has no end.
pub fn phase_spans(lengths: &PhasesPlan, measure_start_ns: Option<u64>) -> Vec<PhaseSpan> {
    let Some(measure_ns) = measure_start_ns else {
        return vec![PhaseSpan { phase: Phase::Warmup, start_ns: 0, end_ns: u64::MAX }];
    };
    let load_end_ns = measure_ns.saturating_add(lengths.measure_ns);
    let ends = [
        (Phase::Warmup, 0, measure_ns),
        (Phase::Measure, measure_ns, load_end_ns),
        (Phase::Drain, load_end_ns, load_end_ns.saturating_add(lengths.drain_ns)),
    ];
    ends.into_iter()
        .filter(|(phase, start_ns, end_ns)| start_ns < end_ns || *phase == Phase::Drain)
        .map(|(phase, start_ns, end_ns)| PhaseSpan { phase, start_ns, end_ns })
        .collect()
}

/// One stream: one load item on one worker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StreamTask {
    /// Number of the stream on this worker, from 0.
    pub stream: u16,
    /// The load item's address.
    pub name: String,
    /// Seed of the load item in this trial: the same on every worker, which has other clients of it.
    pub seed: u64,
    /// The real topic name.
    pub topic: String,
    /// Further topics that each of the clients has: a producer sends to one after the other, and consumers share out the
    /// partitions of all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub more_topics: Vec<String>,
    /// First of this worker's clients among all of the item's.
    pub client_first: u32,
    /// How many of them are this worker's.
    pub client_count: u32,
    /// The item's clients in all (its rate is for all of them).
    pub clients_total: u32,
    /// Where the item has several topics, and each client one of them: its clients of each, in their order; their partitions
    /// are shared out among these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topic_clients: Option<u32>,
    /// Bytes of keys, values and headers per second the stream may hand to the network, its backlog after a stall
    /// included: its share of the target's cap on `produce`.
    pub bytes_per_s_max: Option<u64>,
    /// `group.id` of the clients that are members of a group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group_id: Option<String>,
    /// `host:port` that its clients ask first, in the place of [`WorkerTask::bootstrap`]; empty: these. Clients of another zone
    /// have addresses of their own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bootstrap: Vec<String>,
    /// When its clients come and go. Clients that come later than T0 connect only then: a worker is prepared without them.
    #[serde(default, skip_serializing_if = "LoadSpan::is_whole")]
    pub span: LoadSpan,
    /// The Java client that carries the stream; without it kdyno's own does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub java: Option<JavaTask>,
    /// What they do.
    pub role: StreamRole,
}

/// What a stream does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(clippy::large_enum_variant, reason = "a worker has a few of them")]
pub enum StreamRole {
    /// Sends records.
    Produce(ProducePlan),
    /// Fetches records.
    Consume(ConsumePlan),
}

impl StreamRole {
    /// What the stream does, by name alone.
    pub fn kind(&self) -> RoleKind {
        match self {
            Self::Produce(_) => RoleKind::Produce,
            Self::Consume(_) => RoleKind::Consume,
        }
    }

    /// Bytes of each record's value; 0 for a consumer.
    pub fn value_bytes(&self) -> u32 {
        match self {
            Self::Produce(plan) => plan.value_bytes,
            Self::Consume(_) => 0,
        }
    }
}

/// Name of the secret whose value is the text of a Java properties file: how a Java client reaches the cluster, its
/// bootstrap servers, protocol, certificates and login. The lab gives it to workers that run one.
pub const JAVA_CONNECTION: &str = "java client's connection";

/// One reading of a stream's Java process, by itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClientReading {
    /// The stream.
    pub stream: u16,
    /// ns from T0 (negative: before it).
    pub at_ns: i64,
    /// What was read, see [`crate::sample::series`].
    pub series: String,
    /// Its value.
    pub value: f64,
}

/// Settings of a stream's Java clients, as the client itself makes them out of what it is given; without those that hold
/// secrets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClientSettings {
    /// The stream.
    pub stream: u16,
    /// By Kafka's names: the value, and where it comes from.
    #[schemars(with = "std::collections::BTreeMap<String, serde_json::Value>")]
    pub settings: SettingsInForce,
}

/// Something that happened in a worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkerEvent {
    /// ns from T0 (negative: before it).
    pub at_ns: i64,
    /// The stream concerned.
    pub stream: Option<u16>,
    /// What kind of event.
    pub kind: EventKind,
    /// One lowercase sentence.
    pub detail: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::SamplePlan;

    #[test]
    fn what_is_given_comes_back_in_its_pieces() {
        let sample = SamplePlan { topic: "orders".to_owned(), bytes_max: 9, value_bytes_max: 9 };
        let pieces = [&b"one"[..], b"", &[0xff, 0]];
        let given = GivenContent::new(GivenSource::Sample(sample), pieces);
        let text = serde_json::to_string(&given).expect("JSON");
        let read: GivenContent = serde_json::from_str(&text).expect("the same");
        assert_eq!(read, given);
        assert!(read.is_whole());
        assert_eq!(read.pieces().collect::<Vec<_>>(), pieces);
        let short = GivenContent { lengths: vec![3, 400], ..given };
        assert_eq!(short.pieces().count(), 1, "a length beyond the end");
        assert!(!short.is_whole() && !GivenContent { lengths: vec![3], ..short }.is_whole());
    }
}
