//! What the numbers mean: values with their doubts, ready to be printed.

use crate::metric::{Address, Unit};
use crate::plan::TrialRef;
use serde::{Deserialize, Serialize};

/// A number, or the reason why there is none.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Value {
    /// The number.
    Is(f64),
    /// The quantile falls among records that never came home: the value is at least this.
    AtLeast(f64),
    /// Nothing was counted, or the metric has no meaning here.
    None,
}

/// One value of one trial, in the measure phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// Which trial.
    pub trial: TrialRef,
    /// Which number.
    pub of: Address,
    /// Its unit.
    pub unit: Unit,
    /// Its value.
    pub value: Value,
}

/// A reason to doubt a trial. Stored with the run and shown before its figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Caveat {
    /// An open loop offered more than was carried: in the window less than 99.5 % of it was accepted, or
    /// acknowledged.
    OfferedNotAchieved {
        /// Load item.
        item: String,
        /// What was carried ÷ what was offered; the lower of the two.
        share: f64,
    },
    /// An open loop began its window with a queue from the warm-up, more than half a second of its load.
    QueueAtStart {
        /// Load item.
        item: String,
        /// Records intended before the window that had no outcome when it began.
        records: u64,
        /// The same in seconds of the window's load.
        seconds: f64,
    },
    /// offered ≠ acknowledged + failed + unresolved: a defect of kdyno.
    AccountingBroken {
        /// Load item.
        item: String,
        /// offered − (acknowledged + failed + unresolved).
        difference: i64,
    },
    /// The counts of the stored rows do not add up to the stream's own account: samples were lost.
    SamplesMissing {
        /// Load item.
        item: String,
        /// Records by the account − records by the rows, over all outcomes.
        records: i64,
    },
    /// Records failed.
    Failures {
        /// Load item.
        item: String,
        /// Reason as counted.
        reason: String,
        /// How many.
        records: u64,
    },
    /// Records stayed unresolved when the drain ended.
    Unresolved {
        /// Load item.
        item: String,
        /// How many.
        records: u64,
    },
    /// A thread of the load generator used more than 75 % of a core.
    ThreadBusy {
        /// Its name: the load item it works for, or a name of the program's own.
        thread: String,
        /// Percent of one core.
        cpu_percent: f64,
    },
    /// The load generator used more than 75 % of what its event loop threads can get from the processors, though
    /// none of them is busy alone.
    WorkerBusy {
        /// Percent of one core.
        cpu_percent: f64,
        /// What it could use at most: event loop threads or processors, whichever are fewer.
        cores: u32,
    },
    /// The load generator's own lag is more than a tenth of the response at p99.
    ScheduleDelayLarge {
        /// Load item.
        item: String,
        /// ns.
        schedule_delay_ns_p99: u64,
        /// ns.
        response_ns_p99: u64,
    },
    /// Brokers and load share the same processors.
    SharedProcessors {
        /// Processors of the host.
        processors: u32,
    },
    /// The hypervisor took processor time.
    Steal {
        /// Share of all processor time.
        share: f64,
    },
    /// Programs that are not part of the run used the processors.
    OtherLoad {
        /// Percent of one core.
        cpu_percent: f64,
    },
    /// Another measured run used this host at the same time.
    HostShared {
        /// One lowercase sentence: which.
        detail: String,
    },
    /// Partitions could not be fetched from for a while, or what was fetched is damaged.
    FetchErrors {
        /// Load item.
        item: String,
        /// How many events tell of it: one when a partition's error changes.
        events: u64,
        /// What the first of them says.
        first: String,
    },
    /// Records were gone before they were fetched.
    RecordsSkipped {
        /// Load item.
        item: String,
        /// How often that happened.
        events: u64,
        /// What the first event says.
        first: String,
    },
    /// The logs lay in memory-backed storage.
    MemoryStorage,
    /// Latency of a closed loop is the time to fill and empty the client's own buffer.
    ClosedLoop {
        /// Load item.
        item: String,
    },
    /// The trial ended before its plan did.
    CutShort {
        /// Why.
        reason: String,
    },
    /// A process of the system under test ended in the middle.
    ProcessDied {
        /// Which, e.g. `broker-1`.
        subject: String,
    },
    /// The brokers were given a setting that they do not know.
    UnknownSetting {
        /// Its name.
        setting: String,
        /// One lowercase sentence: what that means, and the nearest known name.
        detail: String,
    },
    /// Payloads from a pool compress differently from real ones.
    PooledCompression {
        /// Load item.
        item: String,
    },
    /// A load item consumes: its partitions were assigned by kdyno, not by a group.
    AssignedNotGroup {
        /// Load item.
        item: String,
    },
}

/// Whether a trial's figures may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Good to know.
    Note,
    /// A reason to doubt.
    Warning,
    /// The figures must not be used.
    Invalid,
}
