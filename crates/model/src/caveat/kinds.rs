//! Every kind of caveat with its values, as run files hold them.

use super::values::{
    ClocksDiffer, FewSeconds, FullGc, GroupNotConserved, MembersPutOut, PairOrder, PairsTied, Stalled,
    StoodStill,
};
use crate::event::Subject;
use serde::{Deserialize, Serialize};
use strum::{Display, EnumCount, EnumDiscriminants, EnumIter};

/// A reason not to trust a trial's figures as they are. Stored with the run and shown before them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, EnumDiscriminants)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[strum_discriminants(name(CaveatKind), derive(Display, EnumCount, EnumIter, PartialOrd, Ord))]
#[strum_discriminants(
    strum(serialize_all = "kebab-case"),
    doc = "A kind of caveat, by its name in run files."
)]
pub enum Caveat {
    /// More records of an open loop were open than its requests in flight explain: its latencies hold the time in that queue.
    QueueGrowth {
        /// Load item.
        item: String,
        /// Seconds of the window's load that waited when it began.
        start_s: f64,
        /// By how much that grew until the window's end.
        growth_s: f64,
        /// Seconds above which it is reported.
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
        /// The first count that differs, e.g. `acknowledged`.
        count: String,
        /// It by the totals − it by the rows.
        difference: i64,
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
    /// Records of the measure phase were offered, and in its window not one was acknowledged.
    NothingAcknowledged {
        /// Load item.
        item: String,
        /// How many failed or stayed open.
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
    /// The load generator used more than 75 % of what its event loop threads can get, though none of them is busy alone.
    WorkerBusy {
        /// Percent of one core.
        cpu_percent: f64,
        /// What it could use at most: event loop threads or processors, whichever are fewer.
        cores: u32,
    },
    /// See [`Stalled`].
    Stalled(Stalled),
    /// See [`FewSeconds`].
    FewSeconds(FewSeconds),
    /// See [`ClocksDiffer`].
    ClocksDiffer(ClocksDiffer),
    /// The load generator's own lateness makes up more than a tenth of the end-to-end latency at a quantile.
    LateEndToEnd {
        /// Load item that is handed the records.
        item: String,
        /// The lowest quantile for which that is so, e.g. `p99.9`.
        quantile: String,
        /// By how much records of its topic were sent late at that quantile, ns.
        late_ns: u64,
        /// The end-to-end latency there, ns.
        end_to_end_ns: u64,
    },
    /// The load generator's own lateness makes up more than a tenth of the response at a quantile, or in the mean.
    GeneratorLate {
        /// Load item.
        item: String,
        /// The lowest quantile for which that is so, e.g. `p99.9`; or `mean`.
        quantile: String,
        /// ns of the response there that are the generator's own.
        late_ns: u64,
        /// ns.
        response_ns: u64,
    },
    /// A worker stood still for a while, and its backlog is in quantiles of what the cluster took.
    StoodStill(StoodStill),
    /// A process of the run was ready and waited for a processor.
    WaitedForProcessor {
        /// The process, or the load item's thread of a worker.
        who: String,
        /// Share of the window, 0 to 1 for one thread.
        share: f64,
        /// For brokers: the share of the time in which their threads ran or were ready, 0 to 1. `None`: for others, or
        /// not kept.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        share_of_ready: Option<f64>,
    },
    /// A limit on CPU time (cgroup) held a process of the run.
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
        /// Whether its producers are idempotent.
        is_idempotent: bool,
    },
    /// A quantile with fewer than 100 records beyond it.
    FewRecords {
        /// Load item.
        item: String,
        /// The lowest quantile for which that is so, e.g. `p99.99`.
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
    /// acks=0: the topic's log grew by fewer records than were written to sockets.
    NotAppended {
        /// Load item.
        item: String,
        /// Records that it wrote.
        written: u64,
        /// By how many the log grew beyond what others wrote to it.
        growth: u64,
    },
    /// A consumer was behind when the window ended.
    ConsumerBehind {
        /// Load item.
        item: String,
        /// Records.
        records: u64,
        /// The lag in seconds of what is produced; `None`: nothing is produced by this run.
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
    /// Values are random: how they compress is not how real ones do.
    RandomValues {
        /// Load item.
        item: String,
        /// The compression in force.
        compression: String,
        /// They are random within an Avro schema; otherwise they are random capital letters.
        by_schema: bool,
    },
    /// Values do not compress as the scenario says.
    CompressionMissed {
        /// Load item.
        item: String,
        /// Bytes of records ÷ compressed bytes, as stated.
        stated: f64,
        /// As it was in the window.
        reached: f64,
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
    /// The warm-up reached its longest time before rate, latency and CPU time had settled.
    WarmupNotSettled {
        /// What had not, one lowercase sentence.
        detail: String,
    },
    /// The cluster had just been started and had received no load before this trial.
    Unconditioned,
    /// The brokers of a target report that they had hardly handled anything since they started.
    BrokersFresh {
        /// Records that they had taken when this load began.
        records: u64,
        /// Seconds in which this load brings as many.
        load_s: f64,
    },
    /// The two trials of a pair that were to run at once were not measured in the same seconds.
    NotAtOnce {
        /// Share of the measure phase in which the other one's lay too, 0 to 1.
        share: f64,
    },
    /// Several trials rest on one start of their clusters: another start may show another figure.
    TheseStartsOnly {
        /// How many starts.
        starts: u32,
    },
    /// Pairs of a comparison met brokers that had just been started and had received no load, as its plan wants it.
    PairsUnconditioned {
        /// How many.
        pairs: u32,
    },
    /// Pairs of a comparison were left out, both trials of each.
    PairsLost {
        /// How many.
        pairs: u32,
        /// Why the first of them was, one lowercase sentence.
        first: String,
        /// How many more were for the same reason.
        likewise: u32,
        /// So many were lost that no more are run in their place, before the last look: how many pairs ran until then.
        ended_after: Option<u32>,
    },
    /// See [`PairOrder`].
    PairOrder(PairOrder),
    /// See [`PairsTied`].
    PairsTied(PairsTied),
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
    /// Clusters of one side of a comparison have different settings.
    ClustersDiffer {
        /// Which side: `A` or `B`.
        side: String,
        /// How many settings differ.
        settings: u32,
        /// The first of them, and where it has which value, one lowercase sentence.
        first: String,
    },
    /// Brokers of one cluster have different settings.
    BrokersDiffer {
        /// On which side of the comparison: `A` or `B`.
        side: String,
        /// How many settings differ.
        settings: u32,
        /// The first of them, and which broker has which value, one lowercase sentence.
        first: String,
    },
    /// Stored runs that are set against each other ran at different times, in no drawn order.
    RunsUnpaired,
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
        /// The host whose part of the rate that is, where others than the lab's carry load: the one nearest to its limit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        generator: Option<String>,
    },
    /// Brokers and load share the same processors.
    SharedProcessors {
        /// Processors of the host.
        processors: u32,
    },
    /// The hypervisor took CPU time.
    Steal {
        /// Share of all CPU time.
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
        /// How many events report it: one when a partition's error changes.
        events: u64,
        /// What the first of them says.
        first: String,
    },
    /// A transactional producer sent nothing any more.
    ProducerEnded {
        /// Load item.
        item: String,
        /// What the first event says: which one, and why.
        first: String,
    },
    /// A consumer group was not handed what its topic was given, each record counted once.
    GroupNotConserved(GroupNotConserved),
    /// Members of a consumer group lost their partitions without giving them up: the group had gone on without them.
    MembersPutOut(MembersPutOut),
    /// A member of a consumer group was none any more, for good.
    MemberFailed {
        /// Load item.
        item: String,
        /// What the first event says.
        first: String,
    },
    /// See [`FullGc`].
    FullGc(FullGc),
    /// Stacks were sampled in the measured window, which costs the processes that are sampled.
    StacksSampled {
        /// What for, e.g. `cpu`.
        of: String,
        /// For `cpu`: share of the CPU time of these processes that the stacks hold; `None`: not known.
        share: Option<f64>,
    },
    /// The agents that expose metrics of local brokers took a noticeable part of the brokers' CPU time.
    AgentBusy {
        /// Time for which they answered in the window ÷ CPU time of the brokers in it.
        share: f64,
    },
    /// Stacks of a process were to be sampled and were not.
    StacksNotSampled {
        /// The process, or `brokers`.
        subject: Subject,
        /// Why, in words.
        detail: String,
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
    /// The system was a null broker, which does nothing: the figures are of the client alone.
    NullBroker,
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
        /// Seconds that were planned; 0: its end was to come by something else than time.
        planned_s: u32,
        /// The trial did not end: a part of its load was lost, and it went on without it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        went_on: bool,
    },
    /// A relay passed bytes on later than its link is declared to, by more than matters.
    RelayLate {
        /// The relay.
        subject: Subject,
        /// How late at p99, counted from when it had read them, s.
        late_s: f64,
        /// The declared one-way delay, s.
        delay_s: f64,
    },
    /// A relay's one thread used more than 75 % of a core: it may limit what its link carries.
    RelayBusy {
        /// The relay.
        subject: Subject,
        /// Percent of one core.
        cpu_percent: f64,
    },
    /// A command did not do what it was to: its figures are of an attempt that failed.
    CommandFailed {
        /// Load item.
        item: String,
        /// What the first event says, one lowercase sentence.
        first: String,
    },
    /// Some of the requests that a command reported failed: what these took is in its times.
    RequestsFailed {
        /// Load item.
        item: String,
        /// How many.
        errors: u64,
        /// Share of all requests, 0 to 1.
        share: f64,
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
    /// A probe's topic has fewer partitions than the cluster has brokers: some lead nothing that it sends to.
    ProbeMissesLeaders {
        /// Load item.
        item: String,
        /// Partitions of its topic.
        partitions: u32,
        /// Brokers of the cluster.
        brokers: u32,
    },
    /// A load item consumes: its partitions were assigned by kdyno, not by a group.
    AssignedNotGroup {
        /// Load item.
        item: String,
    },
}
