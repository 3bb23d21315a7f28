//! What the numbers mean: values with their scope and their doubts, ready to be printed.

use crate::conclusion::Conclusion;
use crate::event::Subject;
use crate::metric::{Address, Unit};
use crate::trial::{Trial, TrialId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use strum::{Display, EnumString, IntoStaticStr};

/// A number, or the reason why there is none.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Value {
    /// The number.
    Is(f64),
    /// The quantile falls among records that were never acknowledged: the value is at least this.
    AtLeast(f64),
    /// Nothing was counted, or the metric has no meaning here.
    None,
}

/// What a finding or a caveat speaks of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// One trial, in its measure phase.
    Trial(TrialId),
    /// All trials of a case, by its index in the plan.
    Case(u32),
    /// A pair of trials of a comparison.
    Pair {
        /// Index of the case.
        case: u32,
        /// Which pair, from 1.
        pair: u32,
    },
    /// All pairs of a case.
    Comparison {
        /// Index of the case.
        case: u32,
    },
    /// All trials of a search.
    Search {
        /// Index of the case.
        case: u32,
    },
    /// A row of the published table, by its index: what a source says of itself.
    PublishedRow(u32),
    /// The whole run.
    Run,
}

/// One number of one scope: the only form in which numbers reach a report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// What it speaks of.
    pub scope: Scope,
    /// Which metric it is about.
    pub of: Address,
    /// Whether it is the metric itself or something made of it.
    pub quantity: Quantity,
    /// Its unit.
    pub unit: Unit,
    /// The number: of a trial its figure, of a case the median over its trials.
    pub estimate: Value,
    /// How many values it rests on: trials, for a case; 1 for a trial.
    pub n: u32,
    /// Smallest and largest of those values, where there are several.
    pub range: Option<(Value, Value)>,
    /// Where the true value lies, or why that cannot be told.
    pub interval: Interval,
    /// What has to be said beside the number wherever it is printed. A case's finding has the marks of the trials
    /// that it rests on.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub marks: BTreeSet<Mark>,
}

impl Finding {
    /// Whether the number must not be used.
    pub fn is_invalid(&self) -> bool {
        self.marks.contains(&Mark::Invalid)
    }
}

/// A reservation about one number. Its caveats and conclusions tell more.
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
    Display,
    EnumString,
    IntoStaticStr,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Mark {
    /// It must not be used.
    Invalid,
    /// What it sums up rose or fell throughout the window.
    Drifting,
    /// What it sums up stayed at several levels in the window.
    SeveralLevels,
    /// The window was too short to tell whether it is steady.
    TooShortToTell,
    /// It says nothing about load that goes on for hours.
    ShortTerm,
    /// A quantile with too few records beyond it.
    FewRecords,
}

/// What a finding states of its metric.
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
    Display,
    EnumString,
    IntoStaticStr,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Quantity {
    /// The metric's value.
    Value,
    /// Its ratio to the first row of the table; beside published figures, to the first that has both ours and theirs.
    RatioToFirstRow,
    /// Its ratio of side B to side A of a comparison.
    RatioBToA,
    /// Its ratio from one case to another, by a contrast of the scenario.
    RatioOfContrast,
}

/// An interval that holds the true value with a stated probability.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Interval {
    /// From `low` to `high`.
    Bounds {
        /// Lower bound, in the finding's unit.
        low: f64,
        /// Upper bound.
        high: f64,
        /// Probability that intervals made so hold the true value, 0 to 1.
        level: f64,
        /// How it was made.
        method: IntervalMethod,
    },
    /// The evidence cannot carry one.
    NotResolvable(NotResolvable),
}

/// How an interval was made (docs/METHOD.md).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Display, EnumString, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum IntervalMethod {
    /// Two order statistics around the median over trials; its level is exact, from the binomial law.
    OrderStatistics,
    /// Student's t on logarithms of paired ratios.
    StudentT,
    /// Walsh averages of logarithms of paired ratios; its level is exact, from the signed-rank law.
    SignedRank,
    /// Quantiles over trials drawn again and again from those that ran.
    Bootstrap,
    /// A quantile of all records, with the run as the unit (Woodruff).
    ClusteredQuantile,
}

/// Why there is no interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NotResolvable {
    /// A single trial says nothing about the next one.
    OneTrial,
    /// With fewer trials no interval of the wanted level exists.
    TooFewTrials {
        /// The least number of trials.
        needed: u32,
    },
    /// A bound would fall on a value that is only known to be "at least" something.
    Censored,
    /// Nothing was counted.
    NoValue,
    /// No method for such a quantity is in this version.
    NoMethod,
}

/// A caveat with what it concerns and what it does to its figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScopedCaveat {
    /// What it concerns.
    pub scope: Scope,
    /// Whether the figures may be used.
    pub severity: Severity,
    /// Which figures of the scope it speaks of.
    pub concerns: Concern,
    /// The caveat.
    pub caveat: Caveat,
}

/// Which figures of its scope a caveat speaks of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Concern {
    /// All of them.
    Everything,
    /// The latencies of a load item; rates stand.
    Latencies {
        /// Load item.
        item: String,
    },
    /// One quantile, and those above it, of a load item's response time.
    LatenciesFrom {
        /// Load item.
        item: String,
        /// Name of the quantile, e.g. `p99.9`.
        quantile: String,
    },
}

/// What came of a trial: all that a strategy may base its next choice on.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialOutcome {
    /// The trial.
    pub trial: Trial,
    /// Number of the session it ran in: clusters of an earlier one are gone.
    pub session: u32,
    /// Its numbers.
    pub findings: Vec<Finding>,
    /// The reasons to doubt them.
    pub caveats: Vec<ScopedCaveat>,
    /// What they say.
    pub conclusions: Vec<Conclusion>,
}

impl TrialOutcome {
    /// A trial of the first session with what was drawn from its evidence.
    pub fn new(trial: Trial, judgement: Judgement) -> Self {
        let Judgement { findings, caveats, conclusions } = judgement;
        Self { trial, session: 1, findings, caveats, conclusions }
    }
}

/// What analysis draws from evidence.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Judgement {
    /// Numbers.
    pub findings: Vec<Finding>,
    /// Reasons to doubt them.
    pub caveats: Vec<ScopedCaveat>,
    /// What they say.
    pub conclusions: Vec<Conclusion>,
}

impl Judgement {
    /// Adds what was drawn of something else.
    pub fn extend(&mut self, further: Judgement) {
        self.findings.extend(further.findings);
        self.caveats.extend(further.caveats);
        self.conclusions.extend(further.conclusions);
    }
}

/// A reason to doubt a trial. Stored with the run and shown before its figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Caveat {
    /// An open loop had more records open than its requests in flight explain, when the window began or more and more
    /// in it: its latencies hold the time in that queue and grow with the length of the trial.
    QueueGrowth {
        /// Load item.
        item: String,
        /// Seconds of the window's load that waited when it began.
        start_s: f64,
        /// By how much that grew until the window's end.
        growth_s: f64,
        /// Seconds above which it is told.
        allowed_s: f64,
    },
    /// offered ≠ acknowledged + failed + unresolved: a defect of kdyno.
    AccountingBroken {
        /// Load item.
        item: String,
        /// offered − (acknowledged + failed + unresolved).
        difference: i64,
    },
    /// The counts of the stored rows do not add up to the stream's own totals: samples were lost.
    SamplesMissing {
        /// Load item.
        item: String,
        /// Records by the totals − records by the rows, over all outcomes.
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
    /// The load generator's own lateness makes up more than a tenth of the response at a quantile.
    GeneratorLate {
        /// Load item.
        item: String,
        /// The lowest quantile of which that is so, e.g. `p99.9`.
        quantile: String,
        /// ns of the response at it that are the generator's own.
        late_ns: u64,
        /// ns.
        response_ns: u64,
    },
    /// A process of the run was ready and waited for a processor.
    WaitedForProcessor {
        /// The process, or the load item's thread of a worker.
        who: String,
        /// Share of the window, 0 to 1 for one thread.
        share: f64,
    },
    /// A limit on processor time (cgroup) held a process of the run.
    ProcessorLimited {
        /// Share of the window in which it was held.
        share: f64,
    },
    /// Record batches were sent again; without idempotence records may be there twice.
    Retries {
        /// Load item.
        item: String,
        /// Batches.
        batches: u64,
    },
    /// A quantile with fewer than 100 records beyond it.
    FewRecords {
        /// Load item.
        item: String,
        /// The lowest quantile of which that is so, e.g. `p99.99`.
        quantile: String,
        /// Records beyond it.
        beyond: u64,
    },
    /// Acknowledged records that the log does not hold: data loss.
    Lost {
        /// Topic by its address in the scenario.
        topic: String,
        /// Acknowledged.
        acknowledged: u64,
        /// By how much the end offsets grew.
        growth: u64,
    },
    /// The log holds more records than were acknowledged, retried, failed and left unresolved.
    LogUnexplained {
        /// Topic by its address in the scenario.
        topic: String,
        /// At most so many were to be expected.
        expected_max: u64,
        /// By how much the end offsets grew.
        growth: u64,
    },
    /// Acknowledged records were not compared with the log.
    LogNotChecked {
        /// Topic by its address in the scenario.
        topic: String,
        /// Why, one lowercase sentence.
        detail: String,
    },
    /// acks=0: records count when they are written to the socket; whether a broker appended them is not known.
    WrittenNotAppended {
        /// Load item.
        item: String,
    },
    /// A consumer was behind when the window ended.
    ConsumerBehind {
        /// Load item.
        item: String,
        /// Records.
        records: u64,
        /// The same in seconds of what is produced; `None`: nothing is produced by this run.
        seconds: Option<f64>,
    },
    /// Brokers wrote far less to disk than they acknowledged: the page cache absorbed the load.
    PageCacheAbsorbed {
        /// Written ÷ acknowledged × replicas.
        share: f64,
    },
    /// Batches were sealed by `linger.ms`, not filled: what `batch.size` does was not measured.
    SmallBatches {
        /// Load item.
        item: String,
        /// Mean batch ÷ `batch.size`.
        share: f64,
    },
    /// Values are random capitals: how they compress is not how real ones do.
    RandomValues {
        /// Load item.
        item: String,
        /// The compression in force.
        compression: String,
    },
    /// What clients saw of the cluster: leaders moved, brokers out of reach, throttled, replicas out of sync.
    ClusterChanged {
        /// What kind, as events name it.
        event: String,
        /// How often.
        events: u64,
        /// What the first of them says.
        first: String,
    },
    /// The window was not steady.
    Unsteady {
        /// Load item.
        item: String,
        /// One lowercase sentence: drift or levels, with their size.
        detail: String,
    },
    /// The warm-up reached its longest time before rate, latency and processor time had settled.
    WarmupNotSettled {
        /// What had not, one lowercase sentence.
        detail: String,
    },
    /// The cluster had just been started and had carried no load before this trial.
    Unconditioned,
    /// Several trials rest on one start of their clusters: another start may show another figure.
    TheseStartsOnly {
        /// How many starts.
        starts: u32,
    },
    /// Pairs of a comparison were left out, both trials of each.
    PairsLost {
        /// How many.
        pairs: u32,
        /// Why the first of them was, one lowercase sentence.
        first: String,
    },
    /// A setting differs between the sides of a comparison and was not asked to.
    UndeclaredDifference {
        /// Whose setting: `brokers` or a load item.
        whose: String,
        /// Its name.
        setting: String,
        /// On side A.
        a: String,
        /// On side B.
        b: String,
    },
    /// Stored runs cannot carry what a comparison would need.
    EvidenceOfRuns {
        /// One lowercase sentence.
        detail: String,
    },
    /// Figures lie so near to what the generator can do at all that they may be its own.
    CalibrationShort {
        /// Load item.
        item: String,
        /// Highest rate against a broker that does nothing ÷ rate of the trial.
        ratio: f64,
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
        /// Why it ended, one lowercase sentence.
        reason: String,
        /// Seconds that its figures cover.
        measured_s: u32,
        /// Seconds that were planned.
        planned_s: u32,
    },
    /// A process of the system under test ended in the middle.
    ProcessDied {
        /// The process.
        subject: Subject,
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

/// Whether the figures that a caveat concerns may be used.
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
    Display,
    EnumString,
    IntoStaticStr,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Severity {
    /// Good to know.
    Note,
    /// A reason to doubt.
    Warning,
    /// The figures must not be used.
    Invalid,
}
