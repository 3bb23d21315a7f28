//! One run, as it is told while it happens: the head, each trial's start, events, the end.
//!
//! The lab makes these, the store keeps them, analysis and report read them back. Wall-clock times are
//! ns since 1970 in UTC and only label things; durations come from times relative to T0.

use crate::plan::{Plan, TrialRef};
use crate::series::SeriesRole;
use crate::worker::PhaseSpan;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What is known before the first trial. Holds no secret: targets are digests, command lines redacted.
#[derive(Debug, Clone, PartialEq)]
pub struct RunHeader {
    /// Identifies the run in topics and payloads; printed as 16 hexadecimal digits.
    pub run_id: u64,
    /// Version of the program that runs, e.g. `0.1.0`.
    pub kdyno_version: String,
    /// When the run began.
    pub started_unix_ns: u64,
    /// The scenario as typed.
    pub scenario_text: String,
    /// Where it was read from; a bundled one's name.
    pub scenario_path: String,
    /// What will be executed.
    pub plan: Plan,
    /// The host: processors, memory, kernel, governor …
    pub host_facts: BTreeMap<String, String>,
    /// The program's own command line.
    pub command_line: Vec<String>,
    /// Commit of the folder the run was started in.
    pub git_head: Option<String>,
}

/// What is known when a trial's load starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrialStart {
    /// Which trial.
    pub trial: TrialRef,
    /// Place in the order of execution, from 0.
    pub number: u32,
    /// T0 on the wall clock.
    pub t0_unix_ns: u64,
    /// T0 on CLOCK_MONOTONIC.
    pub t0_monotonic_ns: u64,
    /// The phases, in order, gapless from 0.
    pub phases: Vec<PhaseSpan>,
    /// The streams.
    pub streams: Vec<StreamInfo>,
    /// What is known of the system under test: version, mode, cluster id …
    pub cluster: BTreeMap<String, String>,
    /// The final command line of each process by its subject, e.g. `broker-0`.
    pub command_lines: BTreeMap<String, Vec<String>>,
}

impl TrialStart {
    /// Whether an attached cluster runs on the host that the load comes from; a cluster of our own does anyway.
    pub fn is_attached_here(&self) -> bool {
        is_attached_here(&self.cluster)
    }
}

/// The same of a system's facts alone.
pub fn is_attached_here(cluster: &BTreeMap<String, String>) -> bool {
    cluster.get(cluster_fact::ON_THIS_HOST).is_some_and(|fact| fact == cluster_fact::YES)
}

/// A stream: one load item on one worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamInfo {
    /// Number of the stream within the trial, from 0.
    pub stream: u16,
    /// The load item's address in the scenario.
    pub name: String,
    /// The real topic name.
    pub topic: String,
    /// What its clients do.
    pub role: SeriesRole,
    /// Clients of this stream.
    pub clients: u32,
    /// Bytes of each record's value; 0 for a consumer.
    pub value_bytes: u32,
}

/// Something that happened, for the run's time line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// When, on the wall clock.
    pub at_unix_ns: u64,
    /// When, ns from the trial's T0; `None` outside of trials.
    pub at_ns: Option<i64>,
    /// What, e.g. [`event_kind::PROCESS_DIED`], `disconnected`, `leader-moved`.
    pub kind: String,
    /// Whose: `broker-1`, `worker-0`, a load item's name, `kdyno`.
    pub subject: String,
    /// One lowercase sentence.
    pub detail: String,
}

/// Facts of a trial's system under test ([`TrialStart::cluster`]) that analysis draws conclusions from.
pub mod cluster_fact {
    /// `yes` when an attached cluster is reached at this host's own loopback address: it shares the processors.
    pub const ON_THIS_HOST: &str = "on_this_host";
    /// The value of a fact that is so.
    pub const YES: &str = "yes";
}

/// Kinds of events that analysis draws conclusions from.
pub mod event_kind {
    /// A process of the system under test ended in the middle of a trial; the subject names it.
    pub const PROCESS_DIED: &str = "process-died";
    /// The trial ended before its plan did; the detail says why.
    pub const CUT_SHORT: &str = "cut-short";
    /// The trial's brokers were given a setting that they do not know; the subject names it.
    pub const UNKNOWN_SETTING: &str = "unknown-setting";
    /// A partition could not be fetched from, or what was fetched is damaged; the subject names the load item.
    pub const FETCH_ERROR: &str = "fetch-error";
    /// Records were gone before they were fetched; the subject names the load item.
    pub const RECORDS_SKIPPED: &str = "records-skipped";
    /// Another measured run used this host at the same time; the detail says which.
    pub const HOST_SHARED: &str = "host-shared";
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// Every trial ran.
    Completed,
    /// Somebody asked it to stop.
    Interrupted,
    /// kdyno or the system under test failed.
    Failed,
}

/// The last thing written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunEnd {
    /// How.
    pub status: RunStatus,
    /// The program's exit code.
    pub exit_code: u8,
    /// Why, one lowercase sentence; empty when completed.
    pub detail: String,
    /// When.
    pub ended_unix_ns: u64,
}
