//! What the charts and the progress line draw: one trial's course, second by second, ready merged.
//!
//! Made by `analysis` from samples and probe readings, drawn by `report`. Latencies are [`Value`]s in ns,
//! because a quantile that falls among failed or unresolved records is only known to be "at least".

use crate::event::Subject;
use crate::finding::Value;
use crate::metric::Unit;
use crate::plan::RoleKind;
use crate::sample::Phase;
use crate::trial::TrialId;
use crate::worker::PhaseSpan;
use serde::{Deserialize, Serialize};
use strum::{Display, EnumIter, IntoEnumIterator, IntoStaticStr};

/// One trial's course.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrialSeries {
    /// Number of the trial.
    pub trial: TrialId,
    /// The trial in words, e.g. `brokers=3 #2`; empty when the plan has one.
    pub label: String,
    /// The trial's phases, in order, as planned.
    pub phases: Vec<PhaseSpan>,
    /// Every load item, all of its workers merged.
    pub streams: Vec<StreamSeries>,
    /// CPU time of every process that was probed, and of the host.
    pub cpu: Vec<CpuSeries>,
    /// What else was read of processes and the host, for the panels of resources.
    pub resources: Vec<ResourceSeries>,
    /// What somebody else measured meanwhile and was imported, what commands reported, and MBeans and groups that the plan names.
    pub imported: Vec<ImportedSeries>,
}

/// One resource of one process, or of the host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ResourceSeries {
    /// The process, or the host.
    pub subject: Subject,
    /// Which resource.
    pub resource: Resource,
    /// In order of time; where nothing was read there is no point.
    pub points: Vec<ResourcePoint>,
}

/// What was read of a resource, or how it grew until then.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ResourcePoint {
    /// When, seconds from T0 (negative: before it); of what grows, where the stretch ends.
    pub at_s: f64,
    /// In the unit of the resource.
    pub value: f64,
}

/// A resource whose course is drawn.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    Display,
    EnumIter,
    IntoStaticStr,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Resource {
    /// User time, percent of one core.
    CpuUser,
    /// System time, percent of one core.
    CpuSystem,
    /// Resident memory, bytes.
    Memory,
    /// Heap in use as the process reports it, bytes.
    Heap,
    /// Read from drives, MiB/s.
    DiskRead,
    /// Written to drives, MiB/s; of a process when it makes pages dirty.
    DiskWrite,
    /// Received over network interfaces, MiB/s; of the host.
    NetworkReceive,
    /// Sent over network interfaces, MiB/s; of the host.
    NetworkTransmit,
    /// Record batches that clients produced, MiB/s, as the broker reports.
    BytesIn,
    /// Record batches that consumers fetched, MiB/s, as the broker reports.
    BytesOut,
}

impl Resource {
    /// Every resource.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::iter()
    }

    /// What it is, for the reference.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::CpuUser => "user time of a process, or of the host",
            Self::CpuSystem => "system time of the same",
            Self::Memory => "resident memory of a process",
            Self::Heap => "heap in use, as a broker or a Java client reports it",
            Self::DiskRead => "read from drives by a process, or by the host",
            Self::DiskWrite => "written to drives by the same; by a process when it makes pages dirty",
            Self::NetworkReceive => "received over the host's network interfaces",
            Self::NetworkTransmit => "sent over the same",
            Self::BytesIn => "record batches that clients produced, as a broker reports",
            Self::BytesOut => "record batches that consumers fetched, as a broker reports",
        }
    }

    /// Unit of its values.
    pub fn unit(self) -> Unit {
        match self {
            Self::CpuUser | Self::CpuSystem => Unit::PercentOfCore,
            Self::Memory | Self::Heap => Unit::Bytes,
            Self::DiskRead
            | Self::DiskWrite
            | Self::NetworkReceive
            | Self::NetworkTransmit
            | Self::BytesIn
            | Self::BytesOut => Unit::MibPerS,
        }
    }
}

/// A series that was imported.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ImportedSeries {
    /// Under which name.
    pub subject: Subject,
    /// What the file calls it.
    pub name: String,
    /// Unit of its values.
    pub unit: Unit,
    /// In order of time; where nothing was read there is no point.
    pub points: Vec<ImportedPoint>,
}

/// A reading of somebody else.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ImportedPoint {
    /// Seconds from T0 (negative: before it).
    pub at_s: f64,
    /// What was read.
    pub value: f64,
}

/// One load item's course.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StreamSeries {
    /// The load item's address in the scenario.
    pub name: String,
    /// What its clients do.
    pub role: RoleKind,
    /// One point per second from T0, in order of time; a second without any row may be missing.
    pub seconds: Vec<SecondPoint>,
    /// Response time by quantile over the measure phase, in order of the quantile.
    pub percentiles: Vec<QuantilePoint>,
    /// Service time by quantile, likewise.
    pub service_percentiles: Vec<QuantilePoint>,
    /// End-to-end latency by quantile, likewise.
    pub end_to_end_percentiles: Vec<QuantilePoint>,
    /// What became of the records whose response and service times these are.
    pub outcomes: Outcomes,
    /// What became of those that the end-to-end latency is of.
    pub end_to_end_outcomes: Outcomes,
    /// Response times over time, of every phase.
    pub heat: HeatMap,
    /// End-to-end latencies over time, likewise.
    pub end_to_end_heat: HeatMap,
}

/// How many records a curve of latencies is of; those without a latency count as slower than every quantile.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcomes {
    /// Records with a latency: acknowledged, or consumed.
    pub kept: u64,
    /// Records that failed.
    pub failed: u64,
    /// Records whose end was never seen: unresolved ones, or of end-to-end latencies those that are censored.
    pub unseen: u64,
}

/// How often which latency was seen when: rows of latency, columns of time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct HeatMap {
    /// Seconds that a column covers.
    pub seconds: u32,
    /// Lower ends of the rows, ns, ascending; after them the upper end of the last one. Empty: nothing was timed.
    pub edges_ns: Vec<f64>,
    /// In order of time; where nothing was intended there is none.
    pub columns: Vec<HeatColumn>,
}

/// One column of a heat map.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HeatColumn {
    /// Its first second, from T0, in which the records were intended.
    pub second: u32,
    /// Records of each row, the quickest first.
    pub records: Vec<u64>,
    /// Records without a latency.
    pub unfinished: u64,
}

/// One second of a load item. Rates count what happened in the second; latencies are of the records
/// whose scheduled send time lies in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SecondPoint {
    /// Seconds from T0.
    pub second: u32,
    /// The phase the second's start lies in.
    pub phase: Phase,
    /// Records whose scheduled send time lies in the second.
    pub offered: u64,
    /// Records the client accepted in the second.
    pub achieved: u64,
    /// Records acknowledged in the second.
    pub acknowledged: u64,
    /// Records consumed in the second.
    pub fetched: u64,
    /// Records that failed in the second.
    pub failed: u64,
    /// Produce: records that were due and had no outcome at the second's end; none of an item that only consumes.
    pub open_records: Option<u64>,
    /// Consume: records between the consumers and the end of the log at the second's end.
    pub lag_records: Value,
    /// Consume: the same in time, ns: how long before that the next record to be fetched was acknowledged.
    pub lag_ns: Value,
    /// Median of the response time, ns.
    pub response_ns_p50: Value,
    /// 99th percentile of the same.
    pub response_ns_p99: Value,
    /// Largest of the same.
    pub response_ns_max: Value,
    /// Median of the end-to-end latency, ns.
    pub end_to_end_ns_p50: Value,
    /// 99th percentile of the same.
    pub end_to_end_ns_p99: Value,
    /// Largest of the same.
    pub end_to_end_ns_max: Value,
}

/// One point of the curve "latency by percentile".
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct QuantilePoint {
    /// 0 to 1.
    pub quantile: f64,
    /// Response time, or end-to-end latency, at it, ns.
    pub ns: Value,
}

/// CPU time of one process, or of the host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CpuSeries {
    /// The process, or the host.
    pub subject: Subject,
    /// In order of time.
    pub points: Vec<CpuPoint>,
}

/// CPU time between two readings.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CpuPoint {
    /// Where the stretch ends, seconds from T0 (negative: before it).
    pub at_s: f64,
    /// User and system time (host: everything but idle and iowait), percent of one core.
    pub percent: f64,
}

/// One complete second of all load items together, for the progress line while a trial runs.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct LiveFigures {
    /// Records whose scheduled send time lay in that second.
    pub offered_per_s: u64,
    /// Records the clients accepted in it.
    pub achieved_per_s: u64,
    /// Records acknowledged in it.
    pub acknowledged_per_s: u64,
    /// Records handed over in it; `None` without consumers.
    pub fetched_per_s: Option<u64>,
    /// Records between all consumers that were there and the end of the log when it ended; `None` without consumers, and while
    /// one of them does not know.
    pub lag_records: Option<u64>,
    /// Median of the response times written in it, ns; `None` when there were none.
    pub response_ns_p50: Option<u64>,
    /// 99th percentile of the same.
    pub response_ns_p99: Option<u64>,
    /// Records offered since T0 whose outcome is still open.
    pub open_records: u64,
    /// Records that failed since T0.
    pub failed: u64,
    /// Newest CPU time of all brokers, percent of one core; `None` when none is probed.
    pub brokers_cpu_percent: Option<f64>,
    /// Newest CPU time of all workers, the same way.
    pub workers_cpu_percent: Option<f64>,
    /// The rate of all Java clients.
    pub java_cpu_percent: Option<f64>,
}
