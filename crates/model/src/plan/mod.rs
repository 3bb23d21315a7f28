//! The plan: everything explicit, seeded; nothing after planning fills a default.
//!
//! Times are nanoseconds, sizes bytes, rates records per second, all as plain numbers whose names
//! carry the unit. The plan is stored in the run file as JSON, so every type here is serialisable.

mod case_label;
pub mod command;
pub mod component;
mod consume;
mod driver;
mod group;
pub mod http_load;
mod listeners;
mod load;
mod named;
mod question;
mod records;
mod security;
mod shares;
mod system;
mod zones;

use crate::generator::GeneratorsPlan;
use crate::grouped::distinct;
use crate::secret::SecretRef;
use crate::stacks::FlameKind;
pub use case_label::case_labels;
pub use command::{
    COMMAND_NS_MAX, CommandBegins, CommandPlan, CommandPods, CsvColumns, OutputFormat, ParsePlan,
};
pub use component::{
    COMPONENT_WAIT_NS_MAX, COMPONENTS_MAX, ComponentKind, ComponentPlan, KROXYLICIOUS, PROXY, PostgresPlan,
    ProxyPlan, ReadyWhen, StopSignal,
};
pub use consume::{ConsumePlan, IsolationLevel, ReadDepth, StartOffset, WorkPlan};
pub use driver::*;
pub use group::{GroupAssignor, GroupPlan, GroupProtocol};
pub use listeners::{ClientListener, Listeners};
pub use load::{
    Arrivals, COMPRESSED_RECORDS_MAX, Compression, EndToEndPlan, Fill, Levels, LoadPlan, LoadSpan,
    POOL_BATCHES_MIN, POOL_BYTES_MAX, Partitioner, Payload, ProducePlan, ProducerSettings, Rate, RatePiece,
    Role, RoleKind, ToolLines, TransactionsPlan, VALUE_BYTES_MAX,
};
pub use question::{
    Better, Claim, ClaimExpr, ClaimOp, ComparePlan, Condition, Conditioning, Contrast, Depth, EvidenceUnit,
    FindPlan, Judge, LimitSide, OnClusters, PairDesign, Vary,
};
pub use records::{
    AvroPlan, GIVEN_BYTES_MAX, GIVEN_COUNT_MAX, GivenFile, GivenSource, HEADER_BYTES_MAX, HEADERS_MAX,
    HeaderPlan, KEY_BYTES_MAX, KeyLaw, KeyPlan, RecordPlan, SamplePlan, TRAILER_BYTES, TRAILER_HEADER,
    ValuesPlan, pieces,
};
pub use security::{Mechanism, Protocol, Sasl, ScramHash, Security, Store, StoreContent, Tls, TlsVersion};
pub use shares::FullestShare;
pub use system::*;
pub use zones::{DELAY_NS_MAX, JitterLaw, LinkPlan, ZonesPlan};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Range;

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
    /// How the trials are chosen.
    pub strategy: Strategy,
    /// What stays between trials.
    pub isolation: Isolation,
    /// The table to print.
    pub show: Show,
    /// Published figures to compare ours with.
    pub published: Option<Published>,
    /// How deep the answer goes.
    pub depth: Depth,
    /// The load that a cluster which was just started gets before its first trial; `None`: none.
    pub conditioning: Option<Conditioning>,
    /// Time that the run may take, ns: no trial begins that might end after it. `None`: as long as it takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_ns: Option<u64>,
    /// Expectations to be judged.
    pub claims: Vec<Claim>,
    /// Named ratios between two cases.
    pub contrasts: Vec<Contrast>,
    /// What the stacks of the system's Java processes, and of clients in Java, are sampled for; `None`: they are not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flame: Option<FlameKind>,
    /// What the scenario declares of where it runs, printed as "declared".
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, String>,
    /// Names of processes of the host that are read in addition to the run's own (`--probe`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub probe: Vec<String>,
}

impl Plan {
    /// Every case that it may run: the rows, and in a comparison those of side B after them.
    pub fn every_case(&self) -> impl Iterator<Item = &CasePlan> {
        let others = match &self.strategy {
            Strategy::Compare(comparison) => Some(comparison.other_cases()),
            Strategy::List(_) | Strategy::Find(_) => None,
        };
        self.cases.iter().chain(others.into_iter().flatten())
    }

    /// The numbers of its rows.
    pub fn case_numbers(&self) -> Range<u32> {
        0..u32::try_from(self.cases.len()).unwrap_or(u32::MAX)
    }

    /// Every case, to be changed.
    pub fn every_case_mut(&mut self) -> impl Iterator<Item = &mut CasePlan> {
        let others = match &mut self.strategy {
            Strategy::Compare(comparison) => Some(comparison.other_cases_mut()),
            Strategy::List(_) | Strategy::Find(_) => None,
        };
        self.cases.iter_mut().chain(others.into_iter().flatten())
    }

    /// The existing clusters that it loads, of both sides, each once.
    pub fn targets(&self) -> Vec<&AttachedPlan> {
        distinct(self.every_case().filter_map(|case| case.system.target()))
    }

    /// Whether all its cases are on null brokers: no cluster starts, nothing is written, and nothing is conditioned.
    pub fn is_on_null_brokers(&self) -> bool {
        !self.every_case().any(|case| case.system.is_kafka())
    }

    /// How many trials of a case its strategy will choose; `None` when that depends on what they show.
    pub fn repeats_planned(&self, case: u32) -> Option<u32> {
        let Strategy::List(listed) = &self.strategy else { return None };
        let repeats = listed.iter().filter(|trial| trial.case == case).count();
        Some(u32::try_from(repeats).unwrap_or(u32::MAX))
    }
}

/// How the trials of a run are chosen, one after the other (`kdyno_plan::next`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    /// All are known beforehand: every case, as often as it is repeated, in an order drawn from the seed.
    List(Vec<ListedTrial>),
    /// Pairs of trials of two sides, until the verdict is clear or the last look is reached.
    Compare(ComparePlan),
    /// The highest load at which conditions hold.
    Find(FindPlan),
}

impl Strategy {
    /// What is compared, of a comparison.
    pub fn as_compare(&self) -> Option<&ComparePlan> {
        match self {
            Self::Compare(comparison) => Some(comparison),
            Self::List(_) | Self::Find(_) => None,
        }
    }

    /// How many trials it will choose, those not counted that condition a cluster; `None` when that depends on what
    /// they show.
    pub fn trials_planned(&self) -> Option<u32> {
        match self {
            Self::List(listed) => Some(u32::try_from(listed.len()).unwrap_or(u32::MAX)),
            Self::Compare(_) | Self::Find(_) => None,
        }
    }
}

/// A trial of [`Strategy::List`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ListedTrial {
    /// Index into [`Plan::cases`].
    pub case: u32,
    /// Which repeat of the case, from 1.
    pub repeat: u32,
}

/// What is made again for each trial.
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
    /// What tells the case from the others ([`case_labels`]), e.g. `SASL_SSL 1 KiB`; empty when there is one case.
    pub label: String,
    /// Every parameter's value.
    pub params: BTreeMap<String, ParamValue>,
    /// The system under test.
    pub system: SystemPlan,
    /// Topics by their address in the scenario.
    pub topics: BTreeMap<String, TopicPlan>,
    /// Load items by their address in the scenario.
    pub load: BTreeMap<String, LoadPlan>,
    /// Load items that are commands, by their address in the scenario.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub commands: BTreeMap<String, CommandPlan>,
    /// What runs next to the cluster, in the order in which it is started.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub components: Vec<ComponentPlan>,
    /// Warm-up, measurement and drain.
    pub phases: PhasesPlan,
    /// The workers that carry the load, and which clients each of them has.
    pub workers: Vec<WorkerPlan>,
    /// The hosts that these workers are on.
    #[serde(default, skip_serializing_if = "GeneratorsPlan::is_empty")]
    pub generators: GeneratorsPlan,
    /// What only clients and brokers may know, by name: where the values come from.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub secrets: BTreeMap<String, SecretRef>,
}

impl CasePlan {
    /// The command whose end is that of the measure phase, if one's is.
    pub fn measure_ends_with(&self) -> Option<&str> {
        let mut commands = self.commands.iter();
        commands.find(|(_, command)| command.ends_measure).map(|(item, _)| item.as_str())
    }

    /// Whether an item that consumes finds out when records were intended: it decodes them, and some that are written to its
    /// topic say so.
    pub fn has_end_to_end(&self, item: &LoadPlan) -> bool {
        let does_look = item.role.as_consume().is_some_and(|consume| consume.read == ReadDepth::Decode);
        does_look
            && self.load.values().any(|other| other.topic == item.topic && other.role.carries_intended())
    }

    /// For a probe whose topic has fewer partitions than a local cluster has brokers, so that some brokers lead nothing
    /// that it sends to: partitions and brokers.
    pub fn leaders_missed(&self, item: &LoadPlan) -> Option<(u32, u32)> {
        let brokers = self.system.brokers()?;
        let partitions = self.topics.get(&item.topic)?.partitions;
        let is_short = item.role.is_probe() && partitions < brokers;
        is_short.then_some((partitions, brokers))
    }

    /// Whether programs of others are started in its trials that may write to topics themselves: a proxy passes on what clients write.
    pub fn has_others_writing(&self) -> bool {
        !self.commands.is_empty() || self.components.iter().any(|component| !component.is_proxy())
    }

    /// Whether clients of other items are members of the group of this one: each item is handed a part, and what is
    /// written to the partitions of one alone is not counted.
    pub fn shares_group(&self, item: &str) -> bool {
        let Some(role) = self.load.get(item).map(|plan| &plan.role) else { return false };
        self.load.iter().any(|(name, other)| name != item && other.role.is_in_group_of(role))
    }
}

/// One worker process and its share of the load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerPlan {
    /// The worker's number, from 0.
    pub worker: u16,
    /// Its clients: at most one entry for each load item.
    pub shares: Vec<WorkerShare>,
}

/// The clients of one load item that run on one worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerShare {
    /// The load item's address in [`CasePlan::load`].
    pub item: String,
    /// First of its clients among all of the item's.
    pub client_first: u32,
    /// How many they are, at least 1.
    pub client_count: u32,
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

/// Longest phase, ns.
pub const PHASE_NS_MAX: u64 = 30 * 86_400 * 1_000_000_000;

/// Lengths of the phases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PhasesPlan {
    /// Load that is not reported, at most. The measure phase begins on the first whole second after it.
    pub warmup_ns: u64,
    /// The warm-up ends by evidence, `warmup_ns` at the latest; `None`: it always lasts so long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warmup_auto: Option<WarmupAuto>,
    /// The measured window, which begins when the lab says so. With `records_max` on the load items this is its upper bound.
    pub measure_ns: u64,
    /// Longest wait for what is still in flight after the last intended record.
    pub drain_ns: u64,
}

/// A warm-up that ends when rate, latency and the brokers' CPU time have settled (docs/METHOD.md, Steady state).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WarmupAuto {
    /// It lasts so long at least, ns.
    pub least_ns: u64,
    /// And until so many records were acknowledged or fetched, all load items together.
    pub records_min: u64,
}

impl PhasesPlan {
    /// When the measure phase begins after the longest warm-up: the first whole second at or after its end, ns
    /// from T0.
    pub fn measure_start_ns(&self) -> u64 {
        const SECOND_NS: u64 = 1_000_000_000;
        self.warmup_ns.div_ceil(SECOND_NS) * SECOND_NS
    }
}

/// The table to print: one row per case.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Show {
    /// Parameters that head each row.
    pub rows: Vec<String>,
    /// Metric addresses, e.g. `writers.acked_per_s`.
    pub columns: Vec<crate::metric::Address>,
}

/// Published figures to compare ours with. Facts to compare shapes with.
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
    /// Whole length when each trial drains as soon as a healthy cluster does, warm-ups that end by evidence take as
    /// long as they usually do, and all looks of a comparison are needed, ns.
    pub expected_ns: u64,
    /// How long it takes when every warm-up takes as long as it may, ns.
    pub longest_ns: u64,
    /// The part of it under load: warm-ups and measured windows, ns.
    pub load_ns: u64,
    /// Bytes written to the brokers' disks, replicas included; `None` when `rate: max` leaves it open.
    pub disk_bytes: Option<u64>,
    /// The most of these that topics hold at a time: those of one trial, of a duet those of both, unless `isolation: none`
    /// keeps them all.
    pub kept_bytes: Option<u64>,
}
