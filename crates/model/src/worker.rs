//! What the lab and a worker process say to each other.
//!
//! Messages travel as `postcard` bytes behind a 4-byte big-endian length, over a socket pair. Each side
//! refuses a frame above [`FRAME_BYTES_MAX`]. All times are ns; those named `_ns` without further word
//! are relative to T0, the instant at which every stream starts, which [`ToWorker::Start`] gives on the
//! host's monotonic clock.

use crate::plan::{ConsumePlan, ProducePlan};
use crate::sample::{Phase, Sample, StreamTotals};
use serde::{Deserialize, Serialize};

/// Version of these messages; a worker of another version is refused.
pub const PROTOCOL_VERSION: u32 = 1;

/// Largest frame either side accepts: a second's samples of a thousand streams stay far below it.
pub const FRAME_BYTES_MAX: u32 = 64 << 20;

/// From the lab to a worker.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum ToWorker {
    /// Connect, fetch metadata, build pools; answer [`FromWorker::Prepared`].
    Prepare(Box<WorkerTask>),
    /// Start all streams at this instant of CLOCK_MONOTONIC.
    Start {
        /// T0, ns on CLOCK_MONOTONIC.
        t0_monotonic_ns: u64,
    },
    /// Admit nothing further, drain, report, end.
    Stop,
}

/// From a worker to the lab.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum FromWorker {
    /// First message.
    Hello {
        /// [`PROTOCOL_VERSION`] of the worker.
        protocol: u32,
    },
    /// Every client is connected and knows its leaders.
    Prepared,
    /// Something counted.
    Sample(Box<Sample>),
    /// Something that happened, for the run's timeline.
    Event(WorkerEvent),
    /// All streams have ended; the worker exits with 0 after this.
    Done(Vec<StreamTotals>),
    /// The worker cannot go on; it exits with 1 after this.
    Failed {
        /// One lowercase sentence.
        message: String,
    },
}

/// A worker's share of one trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkerTask {
    /// This worker's number, from 0.
    pub worker: u16,
    /// Identifies the run in unique payloads.
    pub run_id: u64,
    /// Seed of this trial.
    pub seed: u64,
    /// `host:port` to ask first.
    pub bootstrap: Vec<String>,
    /// Prefix of client ids.
    pub client_id_prefix: String,
    /// The phases, in order, gapless from 0. The last is the drain; its end is the latest instant at which
    /// a worker gives up on what is in flight.
    pub phases: Vec<PhaseSpan>,
    /// How far apart the event loop's releases of due records are, ns (see docs/METHOD.md, tick).
    pub tick_ns: u64,
    /// The streams.
    pub streams: Vec<StreamTask>,
}

/// One phase's place on the time line, ns from T0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseSpan {
    /// Which.
    pub phase: Phase,
    /// First instant.
    pub start_ns: u64,
    /// First instant after it.
    pub end_ns: u64,
}

/// One stream: one load item on one worker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StreamTask {
    /// Number of the stream within the trial, from 0.
    pub stream: u16,
    /// The load item's address.
    pub name: String,
    /// The real topic name.
    pub topic: String,
    /// First of this worker's clients among all of the item's.
    pub client_first: u32,
    /// How many of them are this worker's.
    pub client_count: u32,
    /// The item's clients in all (its rate is for all of them).
    pub clients_total: u32,
    /// Value bytes per second the stream may hand to the network, its backlog after a stall included: its
    /// share of the target's cap on `produce`.
    pub bytes_per_s_max: Option<u64>,
    /// What they do.
    pub role: StreamRole,
}

/// What a stream does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum StreamRole {
    /// Send.
    Produce(ProducePlan),
    /// Fetch.
    Consume(ConsumePlan),
}

/// Something that happened in a worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerEvent {
    /// When, ns from T0 (negative: before it).
    pub at_ns: i64,
    /// The stream concerned.
    pub stream: Option<u16>,
    /// What, e.g. `disconnected`, `leader-moved`, `request-timeout`.
    pub kind: String,
    /// One lowercase sentence.
    pub detail: String,
}
