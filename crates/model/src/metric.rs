//! Names of numbers: `writers.acked_per_s`, `brokers.cpu_us_per_record`, `probe.response.p99`.
//!
//! A metric address is `SUBJECT.METRIC`. The subject is a load item or a component of the scenario, or one of `brokers`
//! (all together), `broker-N` (one), `sum` (the load items together), `system` (brokers, dedicated controllers and ZooKeeper nodes together),
//! `workers`, `relay-N` (what lies between two zones), `host`. Every name is checked when the plan is made.

mod left_out;

use crate::metric_kind::metric;
pub use crate::metric_kind::{Metric, SubjectKind, Unit};
use crate::sample::Timing;
use crate::{command_metrics, component_metrics, inside, logs};
pub use left_out::{
    BROKER_ALLOCATED, BUSIEST_PARTITION, BUSIEST_PARTITION_BYTES, CLIENT_ALLOCATED, CLIENT_CPU, CLIENT_GC,
    CLIENT_HEAP, CLIENT_THREADS_CPU, COST_PER_GB, COST_PER_MILLION, DRAINED, HEAP_GROWTH, MEMORY_GROWTH,
    QUIETEST_PARTITION, SAMPLED_CPU_SHARE, is_cost, may_be_left_out,
};
use serde::{Deserialize, Serialize};

/// A checked metric address.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Address {
    /// Name of a load item or a component, `brokers`, `broker-N`, `system`, `workers`, `process-NAME`, `group:NAME`, `relay-N` or `host`.
    pub subject: String,
    /// Metric name, as in [`all`], e.g. `response.p99`.
    pub metric: String,
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.subject, self.metric)
    }
}

use SubjectKind::{
    Broker, Command, Component, Consume, Database, EndToEnd, Group, Host, Label, Process, Produce, Proxy,
    Relay, Sum, Worker,
};

const LOAD: &[SubjectKind] = &[Produce, Consume, EndToEnd];
/// Requests of one kind.
const REQUESTS: &[SubjectKind] = &[Produce, Consume];
const SEND: &[SubjectKind] = &[Produce, EndToEnd];
/// Requests of one kind, and all of them together: what adds up.
const SEND_AND_SUM: &[SubjectKind] = &[Produce, EndToEnd, Sum];
/// Clients that only send.
const SEND_ALONE: &[SubjectKind] = &[Produce];
const READ: &[SubjectKind] = &[Consume, EndToEnd];
const READ_AND_SUM: &[SubjectKind] = &[Consume, EndToEnd, Sum];
/// Clients that only fetch: a probe is in no group, and there for the whole load.
const READ_ALONE: &[SubjectKind] = &[Consume];
/// Processes that each record goes through.
const PER_RECORD: &[SubjectKind] = &[Broker, Worker, Proxy];
/// What a user names, or runs next to the cluster.
const ANY_PROCESS: &[SubjectKind] = &[Broker, Worker, Process, Component, Database, Proxy];
/// And of relays, which stay as they are in a trial.
const ANY_PROCESS_OR_RELAY: &[SubjectKind] = &[Broker, Worker, Process, Component, Database, Proxy, Relay];
const RELAY: &[SubjectKind] = &[Relay];
const BROKER: &[SubjectKind] = &[Broker];

/// The load items together.
pub const SUM: &str = "sum";

/// How much of the time all clients of an item that sent were at work together.
pub const CLIENTS_OVERLAP_SHARE: &str = "clients_overlap_share";

/// Whether a metric is an outcome: not a number that was requested, nor how far another figure holds. Other metrics
/// have neither ratios nor a side that is better.
pub fn is_outcome(metric: &str) -> bool {
    !["clients", CLIENTS_OVERLAP_SHARE].contains(&metric)
}

/// Every metric but the latency quantiles (see [`Timing`] and [`QUANTILES`]).
pub fn all() -> impl Iterator<Item = &'static Metric> {
    ALL.iter()
        .chain(command_metrics::METRICS)
        .chain(component_metrics::METRICS)
        .chain(inside::METRICS)
        .chain(logs::METRICS)
}

/// Every metric but the latency quantiles, and but those that brokers and clusters report of themselves.
const ALL: &[Metric] = &[
    metric("clients", LOAD, Unit::Count, "clients of the load item"),
    metric(
        "offered_per_s",
        SEND_AND_SUM,
        Unit::RecordsPerS,
        "records whose scheduled send time lies in the window",
    ),
    metric("achieved_per_s", SEND_AND_SUM, Unit::RecordsPerS, "records the client accepted in the window"),
    metric("acked_per_s", SEND_AND_SUM, Unit::RecordsPerS, "records acknowledged in the window"),
    metric(
        "acked_mib_per_s",
        SEND_AND_SUM,
        Unit::MibPerS,
        "MiB of values acknowledged in the window; headers of records and batches not counted",
    ),
    metric(
        "acked_per_s_sum_of_clients",
        SEND_ALONE,
        Unit::RecordsPerS,
        "sum over clients of each one's whole-run average, the definition of Kafka's own tool",
    ),
    metric("acked_mib_per_s_sum_of_clients", SEND_ALONE, Unit::MibPerS, "the same in MiB of values"),
    metric(
        CLIENTS_OVERLAP_SHARE,
        SEND_ALONE,
        Unit::Ratio,
        "time in which all of the item's clients that sent anything were between first record and last outcome, divided by that \
         in which any was: how far a sum of clients is one rate",
    ),
    metric(
        BUSIEST_PARTITION,
        SEND_ALONE,
        Unit::Ratio,
        "share of the records acknowledged in the measure phase that went to the partition with the most; of topics with several \
         partitions, and not of a Java client",
    ),
    metric(QUIETEST_PARTITION, SEND_ALONE, Unit::Ratio, "the same of the partition with the fewest"),
    metric(
        BUSIEST_PARTITION_BYTES,
        SEND_ALONE,
        Unit::Ratio,
        "share of the bytes of these records, uncompressed, that went to the partition with the most bytes",
    ),
    metric("achieved_share", SEND, Unit::Ratio, "achieved divided by offered"),
    metric("target_reached", SEND, Unit::YesNo, "acknowledged at least 99.5 % of the offered rate"),
    metric("failed", SEND_AND_SUM, Unit::Count, "records of the measure phase that failed"),
    metric(
        "failed_share",
        SEND,
        Unit::Ratio,
        "failed and unresolved records divided by all of the measure phase",
    ),
    metric("retries", SEND_AND_SUM, Unit::Count, "record batches that were sent again in the window"),
    metric("committed", SEND, Unit::Count, "transactions committed in the window"),
    metric("aborted", SEND, Unit::Count, "transactions aborted in the window, as planned or after a failure"),
    metric(
        "queue",
        SEND,
        Unit::Ns,
        "load that waited beyond what requests in flight explain, at the window's end, in time",
    ),
    metric("unresolved", SEND_AND_SUM, Unit::Count, "records of the measure phase whose outcome stayed open"),
    metric("records_per_batch", REQUESTS, Unit::Count, "acknowledged or fetched records per record batch"),
    metric("bytes_per_request", REQUESTS, Unit::Bytes, "bytes per produce request, or per fetch response"),
    metric(
        "throttled_share",
        LOAD,
        Unit::Ratio,
        "time for which brokers held back answers in the window, as their responses say, divided by the time of the item's clients",
    ),
    metric(
        "compression_ratio",
        SEND,
        Unit::Ratio,
        "bytes of the records acknowledged in the window, divided by those that they were sent as: 1 without compression",
    ),
    metric(
        "header_trailers",
        SEND,
        Unit::Count,
        "records acknowledged in the window with a header `kdyno`: their values have no room for its 32 bytes, or come from a file or a topic",
    ),
    metric("response_over_service", SEND, Unit::Ratio, "mean response time divided by mean service time"),
    metric(
        "lag",
        READ,
        Unit::Count,
        "records between the consumers and the end of the log when the window ended",
    ),
    metric(
        "lag_time",
        READ,
        Unit::Ns,
        "the same in time: how long ago the next record to be fetched was acknowledged",
    ),
    metric(
        "caught_up",
        READ_ALONE,
        Unit::Ns,
        "of an item that comes in the measure phase (`at`): from then until it had first read all that there was, to 10 ms; of a Java \
         client until the end of the first second at which it was no more than 1 s behind",
    ),
    metric(
        DRAINED,
        READ_ALONE,
        Unit::RecordsPerS,
        "of an item that comes in the measure phase (`at`): records consumed until it had caught up, divided by that time; until \
         the window's end where it never had",
    ),
    metric(
        "fetched_per_s",
        READ_AND_SUM,
        Unit::RecordsPerS,
        "records that applications consumed in the window",
    ),
    metric(
        "fetched_wire_mib_per_s",
        READ_AND_SUM,
        Unit::MibPerS,
        "MiB of record batches that came over the wire in the window, consumed or not: compressed, headers included",
    ),
    metric(
        "aborted_records",
        READ,
        Unit::Count,
        "records of aborted transactions fetched in the window and left out, with `isolation.level: read_committed`",
    ),
    metric(
        "control_records",
        READ,
        Unit::Count,
        "records of the brokers' own fetched in the window, which mark the ends of transactions",
    ),
    metric(
        "missing_offsets",
        READ,
        Unit::Count,
        "offsets passed over in the window that no record has: it was compacted away",
    ),
    metric(
        "end_to_end",
        READ,
        Unit::Count,
        "records of the measure phase that the application consumed: those that end-to-end latencies are of",
    ),
    metric(
        "discarded",
        READ,
        Unit::Count,
        "records consumed in the window without a scheduled send time of this trial: no record of its own",
    ),
    metric(
        "censored",
        READ,
        Unit::Count,
        "records of the measure phase that were acknowledged and never consumed: they count as slower than every end-to-end quantile",
    ),
    metric(
        "rebalances",
        READ_ALONE,
        Unit::Count,
        "generations of the group that began, counted when a member of the item has one; cooperative members make two in a row",
    ),
    metric(
        "offset_commits",
        READ_ALONE,
        Unit::Count,
        "requests in the window that committed offsets of the group",
    ),
    metric(
        "conserved",
        READ_ALONE,
        Unit::YesNo,
        "whether by the counts of the whole trial a group consumed each acknowledged record of its topic, those consumed \
         again not counted",
    ),
    metric(
        "duplicates",
        READ_ALONE,
        Unit::Count,
        "records consumed in the window that a member of the group had consumed before",
    ),
    metric(
        "member_records_least",
        READ_ALONE,
        Unit::Count,
        "records that the member with the fewest consumed in the measure phase, whenever they were intended",
    ),
    metric(
        "member_records_most",
        READ_ALONE,
        Unit::Count,
        "records that the member with the most consumed in the measure phase, whenever they were intended",
    ),
    metric(
        "member_records_cv",
        READ_ALONE,
        Unit::Ratio,
        "how unevenly the members share them: standard deviation divided by mean; 0 when all have the same",
    ),
    metric(
        CLIENT_CPU,
        REQUESTS,
        Unit::CpuUsPerRecord,
        "CPU time of the item's Java processes (`driver: java`) per record that it acknowledged or fetched in the window",
    ),
    metric(
        CLIENT_THREADS_CPU,
        REQUESTS,
        Unit::CpuUsPerRecord,
        "the same of the client threads alone: without what compiles, collects garbage, and feeds and reads the processes",
    ),
    metric(
        CLIENT_ALLOCATED,
        REQUESTS,
        Unit::Bytes,
        "bytes that the client threads of the item's Java processes allocated on their heaps in the window, per record \
         that it acknowledged or fetched",
    ),
    metric(
        CLIENT_GC,
        REQUESTS,
        Unit::Ns,
        "time that garbage collections of the item's Java processes took in the window",
    ),
    metric(
        CLIENT_HEAP,
        REQUESTS,
        Unit::Bytes,
        "largest heap in use that was read of the item's Java processes in the window",
    ),
    metric(
        "cpu_percent",
        ANY_PROCESS_OR_RELAY,
        Unit::PercentOfCore,
        "user and system time, percent of one core",
    ),
    metric(
        "cpu_us_per_record",
        PER_RECORD,
        Unit::CpuUsPerRecord,
        "CPU time per acknowledged record of all load items together; per fetched one where nothing is produced",
    ),
    metric(
        "records_per_s_per_core",
        PER_RECORD,
        Unit::RecordsPerS,
        "acknowledged records of all load items per second of CPU time; fetched ones where nothing is produced",
    ),
    metric(
        COST_PER_GB,
        BROKER,
        Unit::CostPerGb,
        "price of an hour divided by the GB (10^9 bytes) of values acknowledged in an hour at this rate; of `brokers` \
         on a target that declares a price",
    ),
    metric(
        BROKER_ALLOCATED,
        BROKER,
        Unit::Bytes,
        "heap allocated per acknowledged record of all load items together, per fetched one where nothing is produced, as \
         sampled with `flame: alloc`",
    ),
    metric(
        SAMPLED_CPU_SHARE,
        BROKER,
        Unit::Ratio,
        "share of the CPU time used in the window that the stacks hold which were sampled with `flame: cpu`; also of \
         `jvm-WORKER-STREAM`, a Java client's process",
    ),
    metric(
        COST_PER_MILLION,
        BROKER,
        Unit::CostPerMillion,
        "price of an hour divided by the millions of records acknowledged in an hour at this rate; of `brokers` on a target \
         that declares a price",
    ),
    metric("memory_rss_bytes_max", ANY_PROCESS_OR_RELAY, Unit::Bytes, "largest resident memory"),
    metric(
        MEMORY_GROWTH,
        ANY_PROCESS,
        Unit::MibPerMin,
        "by how much resident memory grew in the window, with an interval; of a single process (`broker-N`, `workers` where there \
         is one, `process-NAME`) or a component, where the window is long enough for a slope",
    ),
    metric(
        HEAP_GROWTH,
        BROKER,
        Unit::MibPerMin,
        "the same of the heap in use after collections of garbage, of a single broker (`broker-N`) whose log has them",
    ),
    metric("relayed_mib_per_s", RELAY, Unit::MibPerS, "MiB passed on in the window, both ways together"),
    metric(
        "relayed_mib_per_s_per_core",
        RELAY,
        Unit::MibPerS,
        "MiB passed on, both ways together, per second of the relay's CPU time",
    ),
    metric(
        "delay_error.p50",
        RELAY,
        Unit::Ns,
        "p50 of how much later than the link has it bytes were passed on in the measure phase, counted from when the relay \
         read them",
    ),
    metric("delay_error.p99", RELAY, Unit::Ns, "p99 of the same"),
    metric("delay_error.max", RELAY, Unit::Ns, "the most of the same"),
    metric(
        "cpu_percent",
        &[Host],
        Unit::PercentOfCore,
        "everything but idle and iowait, percent of one core",
    ),
    metric("steal_percent", &[Host], Unit::PercentOfCore, "time the hypervisor took, percent of one core"),
];

/// The quantiles a latency metric may be of, in addition to `mean` and `max`.
pub const QUANTILES: &[(&str, f64)] = &[
    ("p50", 0.5),
    ("p75", 0.75),
    ("p90", 0.9),
    ("p95", 0.95),
    ("p99", 0.99),
    ("p99.9", 0.999),
    ("p99.99", 0.9999),
];

/// What is known of one metric.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetricRef {
    /// Unit of its values.
    pub unit: Unit,
    /// What it means, one sentence.
    pub meaning: String,
}

impl Address {
    /// Reads `SUBJECT.METRIC`; whether both exist is for [`find`] and the scenario.
    pub fn parse(text: &str) -> Option<Self> {
        let (subject, metric) = text.trim().split_once('.')?;
        let filled = !subject.is_empty() && !metric.is_empty();
        filled.then(|| Self { subject: subject.to_owned(), metric: metric.to_owned() })
    }
}

/// The timings a kind of subject has.
pub fn timings(kind: SubjectKind) -> &'static [Timing] {
    match kind {
        Produce => &Timing::OF_PRODUCERS,
        Consume => &Timing::OF_CONSUMERS,
        EndToEnd => &Timing::OF_PROBES,
        Command | Label => &[Timing::Response],
        Broker | Worker | Process | Component | Database | Proxy | Relay | Host | Group | Sum => &[],
    }
}

/// The statistics a timing has: the quantiles, `mean` and `max`.
fn statistics() -> impl Iterator<Item = &'static str> {
    QUANTILES.iter().map(|(name, _)| *name).chain(["mean", "max"])
}

/// The metric of a name, for a kind of subject.
pub fn find(kind: SubjectKind, name: &str) -> Option<MetricRef> {
    let known = all().find(|metric| metric.name == name && metric.kinds.contains(&kind));
    if let Some(metric) = known {
        return Some(MetricRef { unit: metric.unit, meaning: metric.meaning.to_owned() });
    }
    let (timing, statistic) = name.split_once('.')?;
    timing.parse().ok().filter(|timing| timings(kind).contains(timing))?;
    statistics().find(|known| *known == statistic)?;
    Some(MetricRef { unit: Unit::Ns, meaning: format!("{statistic} of the {timing} time") })
}

/// The names of all metrics a kind of subject has.
pub fn names(kind: SubjectKind) -> Vec<String> {
    let plain = all().filter(|metric| metric.kinds.contains(&kind)).map(|metric| metric.name.to_owned());
    let timed = timings(kind).iter().flat_map(|timing| statistics().map(move |s| format!("{timing}.{s}")));
    plain.chain(timed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_found_by_kind() {
        let unit = |kind, name: &str| find(kind, name).map(|metric| metric.unit);
        assert_eq!(unit(Produce, "acked_per_s"), Some(Unit::RecordsPerS));
        assert_eq!(unit(Consume, "acked_per_s"), None);
        assert_eq!(unit(Produce, "response.p99.9"), Some(Unit::Ns));
        assert_eq!(unit(Produce, "response.p98"), None);
        assert_eq!(unit(Host, "cpu_percent"), Some(Unit::PercentOfCore));
        assert_eq!(unit(Consume, "records_per_batch"), Some(Unit::Count));
        assert_eq!(unit(Consume, "rebalance.max"), Some(Unit::Ns));
        assert_eq!((unit(Produce, "rebalance.max"), unit(Consume, "commit.p99")), (None, None));
        assert_eq!((unit(Consume, "request.p99"), unit(Consume, "response.p99")), (None, None));
        assert_eq!(
            (unit(Consume, "end_to_end.p99"), unit(Produce, "end_to_end.p99")),
            (Some(Unit::Ns), None)
        );
        assert_eq!(unit(Consume, "end_to_end_below_zero.p99"), None, "how it is kept");
        for name in ["end_to_end.p99", "response.p99", "acked_per_s", "fetched_per_s", "censored"] {
            assert!(unit(EndToEnd, name).is_some(), "{name}: a probe does both");
        }
        assert_eq!(unit(EndToEnd, "records_per_batch"), None, "of which of both?");
        assert!(names(Broker).contains(&"cpu_us_per_record".to_owned()));
    }

    #[test]
    fn addresses_split_at_the_first_dot() {
        let address = Address::parse("writers.response.p99.9").unwrap();
        assert_eq!((address.subject.as_str(), address.metric.as_str()), ("writers", "response.p99.9"));
        assert_eq!(Address::parse("writers"), None);
        assert_eq!(Address::parse(".x"), None);
    }
}
