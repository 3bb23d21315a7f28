//! What a metric is: its name, whose it is, its unit and what it means.

use serde::{Deserialize, Serialize};

/// What kind of subject a metric belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SubjectKind {
    /// A load item that produces.
    Produce,
    /// A load item that consumes.
    Consume,
    /// A load item that probes: it does both.
    EndToEnd,
    /// `sum`: the load items together.
    Sum,
    /// A load item that is a command.
    Command,
    /// The requests of a command that have a label.
    Label,
    /// `brokers`, `broker-N` or `system`.
    Broker,
    /// `workers`.
    Worker,
    /// A process that `--probe` names.
    Process,
    /// What runs next to the cluster in a trial.
    Component,
    /// The same, where it is a database.
    Database,
    /// The same, where it is the proxy between clients and brokers.
    Proxy,
    /// `relay-N`: what lies between two zones.
    Relay,
    /// `host`.
    Host,
    /// `group:NAME`: a consumer group as the cluster knows it.
    Group,
}

/// Unit a metric's value is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// A plain count.
    Count,
    /// Records per second.
    RecordsPerS,
    /// Requests of a command per second.
    RequestsPerS,
    /// Transactions of a database per second.
    TransactionsPerS,
    /// 2^20 bytes per second.
    MibPerS,
    /// 2^20 bytes per minute.
    MibPerMin,
    /// Nanoseconds; printed in the unit that reads best.
    Ns,
    /// A ratio or share; 1 is the whole.
    Ratio,
    /// Percent of a whole, as somebody else measured it.
    Percent,
    /// Percent of one core.
    PercentOfCore,
    /// Microseconds of CPU time per record.
    CpuUsPerRecord,
    /// Bytes.
    Bytes,
    /// Price of 10^9 bytes, in the currency that the target declares.
    CostPerGb,
    /// Price of a million records, in the same currency.
    CostPerMillion,
    /// 0 or 1.
    YesNo,
}

impl Unit {
    /// Whether it counts something per second.
    pub fn is_rate(self) -> bool {
        matches!(self, Self::RecordsPerS | Self::RequestsPerS | Self::TransactionsPerS | Self::MibPerS)
    }
}

/// One metric: its name, whose it is, its unit and what it means.
#[derive(Debug, Clone, Copy)]
pub struct Metric {
    /// Name after the subject.
    pub name: &'static str,
    /// Whose.
    pub kinds: &'static [SubjectKind],
    /// Unit of the value.
    pub unit: Unit,
    /// What it means, one sentence; printed by the reference.
    pub meaning: &'static str,
}

/// A row of a table of metrics.
pub(crate) const fn metric(
    name: &'static str,
    kinds: &'static [SubjectKind],
    unit: Unit,
    meaning: &'static str,
) -> Metric {
    Metric { name, kinds, unit, meaning }
}

impl SubjectKind {
    /// In words.
    pub fn described(self) -> &'static str {
        match self {
            Self::Produce => "produce items",
            Self::Consume => "consume items",
            Self::EndToEnd => "end_to_end items",
            Self::Sum => "the sum over load items",
            Self::Command => "command items",
            Self::Label => "labels of commands",
            Self::Broker => "brokers",
            Self::Worker => "workers",
            Self::Process => "processes named with --probe",
            Self::Component => "components",
            Self::Database => "components that are databases",
            Self::Proxy => "the proxy between clients and brokers",
            Self::Relay => "relays between zones",
            Self::Host => "host",
            Self::Group => "consumer groups",
        }
    }
}

impl Unit {
    /// In words.
    pub fn described(self) -> &'static str {
        match self {
            Self::Count => "count",
            Self::RecordsPerS => "records/s",
            Self::RequestsPerS => "requests/s",
            Self::TransactionsPerS => "transactions/s",
            Self::MibPerS => "MiB/s",
            Self::MibPerMin => "MiB/min",
            Self::Ns => "ns",
            Self::Ratio => "ratio",
            Self::Percent => "%",
            Self::PercentOfCore => "% of one core",
            Self::CpuUsPerRecord => "CPU-µs/record",
            Self::Bytes => "bytes",
            Self::CostPerGb => "cost/GB",
            Self::CostPerMillion => "cost/million records",
            Self::YesNo => "yes or no",
        }
    }
}
