//! One run, as it is reported while it happens: the head, its sessions, each trial's start, the end.
//!
//! The lab makes these, the store keeps them, analysis and report read them back. Wall-clock times are
//! ns since 1970 in UTC and only label things; durations come from times relative to T0.

use crate::event::Subject;
use crate::plan::{Plan, RoleKind};
use crate::sample::StreamId;
pub use crate::settings::{SettingInForce, SettingOrigin, SettingsInForce};
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
    /// Settings in force, by their owner. Those of brokers and topics are as the brokers report them (DescribeConfigs);
    /// a broker whose settings are those of the first one is left out. Those of load items are what their clients run
    /// with: a Java client's as it reports them, kdyno's own as planned. Sensitive ones have no value there. Brokers
    /// without any were not asked, or did not allow it.
    pub settings: BTreeMap<Subject, SettingsInForce>,
}

impl TrialStart {
    /// Whether an attached cluster runs on the host that the load comes from; a cluster of our own does anyway.
    pub fn is_attached_here(&self) -> bool {
        is_attached_here(&self.cluster)
    }

    /// Whether the system under test runs on the host of the lab, from which the load comes unless others carry it.
    pub fn is_on_this_host(&self) -> bool {
        self.trial.effective.system.runs_here() || self.is_attached_here()
    }

    /// A fact of the host on which a worker is; `None`: it is a child of the lab.
    fn generator_fact(&self, worker: u16, what: &str) -> Option<&str> {
        let host = self.trial.effective.generators.host_of(worker)?;
        self.cluster.get(&cluster_fact::generator(host, what)).map(String::as_str)
    }

    /// Whether a worker is on another host than the lab, whose processors it does not use.
    pub fn is_elsewhere(&self, worker: u16) -> bool {
        self.generator_fact(worker, cluster_fact::ELSEWHERE) == Some(cluster_fact::YES)
    }

    /// Processors of the host of a worker that is elsewhere.
    pub fn processors_elsewhere(&self, worker: u16) -> Option<u32> {
        self.generator_fact(worker, cluster_fact::PROCESSORS)?.parse().ok()
    }

    /// Whether a worker has another clock than the lab.
    pub fn has_own_clock(&self, worker: u16) -> bool {
        self.generator_fact(worker, cluster_fact::OWN_CLOCK) == Some(cluster_fact::YES)
    }

    /// Whether a stream sends to a topic that another one reads.
    pub fn sends_to(&self, writer: &StreamInfo, reader: &StreamInfo) -> bool {
        let load = &self.trial.effective.load;
        let items = load.get(&writer.name).zip(load.get(&reader.name));
        // A stream whose clients have several topics goes by the first one.
        let is_shared =
            items.is_some_and(|(a, b)| a.topic == b.topic && (a.shared_topics || b.shared_topics));
        writer.role == RoleKind::Produce && (is_shared || writer.topic == reader.topic)
    }

    /// Whether records that a load item consumes may be sent by a clock that is not that of their consumer.
    pub fn is_between_clocks(&self, item: &str) -> bool {
        // The lab's clock is one, and each other one is that of its worker.
        let clock = |stream: &StreamInfo| Some(stream.id.worker).filter(|worker| self.has_own_clock(*worker));
        let mut readers =
            self.streams.iter().filter(|stream| stream.name == item && stream.role == RoleKind::Consume);
        readers.any(|reader| {
            let mut writers = self.streams.iter().filter(|writer| self.sends_to(writer, reader));
            writers.any(|writer| clock(writer) != clock(reader))
        })
    }
}

/// The facts of a system alone.
pub fn is_attached_here(cluster: &BTreeMap<String, String>) -> bool {
    cluster.get(cluster_fact::ON_THIS_HOST).is_some_and(|fact| fact == cluster_fact::YES)
}

/// A stream: one load item on one worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamInfo {
    /// Stream and worker.
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

    /// The line of releases that an attached cluster's brokers run, e.g. `4.1`, as they report it; where they run
    /// several, all of them, with commas between.
    pub const KAFKA_VERSION: &str = "kafka_version";
    /// How that was found out, one lowercase sentence.
    pub const KAFKA_VERSION_BY: &str = "kafka_version_found_by";
    /// The level of `metadata.version` that an attached cluster works with.
    pub const METADATA_VERSION: &str = "metadata_version";

    /// The fact that holds what a target or a scenario declares under a name.
    pub fn declared(name: &str) -> String {
        format!("declared.{name}")
    }

    /// A fact of the Java client that carries a load item: `version`, `commit`, `jar_sha256`, `java`, `options`, or
    /// `checkout_commit` and `checkout_dirty`.
    pub fn java_client(item: &str, what: &str) -> String {
        format!("java_client.{item}.{what}")
    }

    /// A fact of a host that carries load: one of those below, or what is known of the host as of the lab's.
    pub fn generator(host: &str, what: &str) -> String {
        format!("generator.{host}.{what}")
    }
    /// How many processors it has.
    pub const PROCESSORS: &str = "processors";
    /// `yes` when it is another host than the lab's.
    pub const ELSEWHERE: &str = "is_another_host";
    /// `yes` when its monotonic clock is not the lab's.
    pub const OWN_CLOCK: &str = "has_own_clock";
    /// The node of Kubernetes that it is on, where it is a pod; and what is known of it there.
    pub const NODE: &str = "node";
    /// The zone of the node.
    pub const ZONE: &str = "zone";
    /// CPUs that are reserved for the pod.
    pub const CPUS_RESERVED: &str = "cpus_reserved";
    /// CPUs that it may use at most.
    pub const CPU_LIMIT: &str = "cpu_limit";
    /// Memory that it may use at most.
    pub const MEMORY_LIMIT: &str = "memory_limit_bytes";
    /// Brokers that are known to be on the node.
    pub const NODE_BROKERS: &str = "brokers_on_its_node";

    /// The fact that states the highest rate of a load item against a broker that does nothing, records/s.
    pub fn generator_max_per_s(item: &str) -> String {
        format!("generator_max_per_s.{item}")
    }

    /// That fact's name for a host that carries load, with its own part of the clients: what [`generator`] is given.
    pub fn max_per_s(item: &str) -> String {
        format!("max_per_s.{item}")
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
