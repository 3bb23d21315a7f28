//! One run, as it is told while it happens: the head, its sessions, each trial's start, the end.
//!
//! The lab makes these, the store keeps them, analysis and report read them back. Wall-clock times are
//! ns since 1970 in UTC and only label things; durations come from times relative to T0.

use crate::event::Subject;
use crate::plan::{Plan, RoleKind};
use crate::sample::StreamId;
use crate::trial::Trial;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What is known before the first trial. Holds no secret: targets are digests, command lines redacted.
#[derive(Debug, Clone, PartialEq)]
pub struct RunHeader {
    /// Identifies the run in topics and payloads; printed as 16 hexadecimal digits.
    pub run_id: u64,
    /// The scenario as typed.
    pub scenario_text: String,
    /// Where it was read from; a bundled one's name.
    pub scenario_path: String,
    /// What will be executed.
    pub plan: Plan,
}

/// One stretch of a run: from the start of a `kdyno` process to its end, on one boot of one host. A run that
/// was interrupted and resumed has several; nothing that is compared spans two.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// Which, from 1.
    pub number: u32,
    /// When it began.
    pub started_unix_ns: u64,
    /// Version of the program that runs, e.g. `0.1.0`.
    pub kdyno_version: String,
    /// Commit of the folder it was started in.
    pub git_head: Option<String>,
    /// The program's own command line.
    pub command_line: Vec<String>,
    /// The kernel's random id of this boot of the host; empty where it has none.
    pub boot_id: String,
    /// Processors of the host, at least 1.
    pub processors: u32,
    /// The host: processors, memory, kernel, governor …
    pub host_facts: BTreeMap<String, String>,
}

/// What is known when a trial's load starts.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialStart {
    /// The trial: its identity, its effective parameters, why it was chosen.
    pub trial: Trial,
    /// Number of the session it runs in.
    pub session: u32,
    /// T0 on the wall clock.
    pub t0_unix_ns: u64,
    /// T0 on CLOCK_MONOTONIC.
    pub t0_monotonic_ns: u64,
    /// The streams.
    pub streams: Vec<StreamInfo>,
    /// What is known of the system under test: version, mode, cluster id …
    pub cluster: BTreeMap<String, String>,
    /// The final command line of each process of the system under test.
    pub command_lines: BTreeMap<Subject, Vec<String>>,
    /// Settings in force as the brokers tell them (DescribeConfigs), by broker; sensitive ones have no value there. A
    /// broker whose settings are those of the first one is left out. Empty: not asked, or not allowed to.
    pub settings: BTreeMap<Subject, BrokerSettings>,
}

/// Settings in force on one broker, by name.
pub type BrokerSettings = BTreeMap<String, SettingInForce>;

/// The value of a setting in force, by where it comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SettingInForce {
    /// The default of the broker's version.
    Default(String),
    /// The broker was started with it.
    Static(String),
    /// Somebody set it while the cluster ran.
    Dynamic(String),
    /// The broker did not tell, or the run file is from before this was kept.
    #[serde(untagged)]
    Unknown(String),
}

impl SettingInForce {
    /// The value.
    pub fn value(&self) -> &str {
        match self {
            Self::Default(value) | Self::Static(value) | Self::Dynamic(value) | Self::Unknown(value) => value,
        }
    }

    /// Whether somebody set it, or whoever made the file that the broker was started with.
    pub fn is_set(&self) -> bool {
        matches!(self, Self::Static(_) | Self::Dynamic(_))
    }
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamInfo {
    /// Which stream of which worker.
    pub id: StreamId,
    /// The load item's address in the scenario.
    pub name: String,
    /// The topic's name on the brokers; of one that a target has, which is private, its name in the scenario.
    pub topic: String,
    /// What its clients do.
    pub role: RoleKind,
    /// Clients of this stream.
    pub clients: u32,
    /// Bytes of each record's value; 0 for a consumer.
    pub value_bytes: u32,
}

/// Facts of a trial's system under test ([`TrialStart::cluster`]) that analysis draws conclusions from.
pub mod cluster_fact {
    /// `yes` when an attached cluster is reached at this host's own loopback address: it shares the processors.
    pub const ON_THIS_HOST: &str = "on_this_host";
    /// The value of a fact that is so.
    pub const YES: &str = "yes";

    /// A fact of the Java client that carries a load item: `version`, `commit`, `jar_sha256`, `java`, `options`, or
    /// `checkout_commit` and `checkout_dirty`.
    pub fn java_client(item: &str, what: &str) -> String {
        format!("java_client.{item}.{what}")
    }

    /// The fact that tells the highest rate of a load item against a broker that does nothing, records/s.
    pub fn generator_max_per_s(item: &str) -> String {
        format!("generator_max_per_s.{item}")
    }
}

/// How a session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// Every trial ran.
    Completed,
    /// Its budget held no further trial; what it has is judged, and it may go on.
    OutOfTime,
    /// Somebody asked it to stop.
    Interrupted,
    /// kdyno or the system under test failed.
    Failed,
}

/// The last thing that a session writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionEnd {
    /// How it ended.
    pub status: RunStatus,
    /// Why, one lowercase sentence; empty when completed.
    pub detail: String,
    /// When it ended.
    pub ended_unix_ns: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_run_files_from_before_their_source_was_kept_are_read() {
        let old = r#"{"num.io.threads":"8"}"#;
        let settings: BrokerSettings = serde_json::from_str(old).expect("settings");
        assert_eq!(settings["num.io.threads"], SettingInForce::Unknown("8".to_owned()));
        let new = r#"{"a":{"default":"1"},"b":{"dynamic":"2"},"c":{"static":"3"}}"#;
        let settings: BrokerSettings = serde_json::from_str(new).expect("settings");
        assert_eq!(settings.values().map(SettingInForce::is_set).collect::<Vec<_>>(), [false, true, true]);
        assert_eq!(serde_json::to_string(&settings).expect("JSON"), new);
    }
}
