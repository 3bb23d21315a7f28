//! Metrics that are left out where they cannot be determined, where others have no value.

use crate::sample::Timing;
use crate::{inside, logs};

/// Left out where it cannot be determined: no cluster has a price unless a target declares it.
pub const COST_PER_GB: &str = "cost_per_gb";
/// The price per million records.
pub const COST_PER_MILLION: &str = "cost_per_million_records";

/// At which rate an item that comes late reads what is there; left out of others.
pub const DRAINED: &str = "caught_up_per_s";

/// Whether a metric is what something costs: a price divided by a rate.
pub fn is_cost(name: &str) -> bool {
    matches!(name, COST_PER_GB | COST_PER_MILLION)
}

/// Heap that brokers allocate per record; left out where their allocation was not sampled.
pub const BROKER_ALLOCATED: &str = "allocated_bytes_per_record";

/// Share of a process's CPU time that its sampled stacks hold; left out where none were sampled for it.
pub const SAMPLED_CPU_SHARE: &str = "sampled_cpu_share";

/// By how much resident memory grows; left out where there is no slope.
pub const MEMORY_GROWTH: &str = "memory_growth";
/// Growth of the heap in use after collections.
pub const HEAP_GROWTH: &str = "heap_growth";

/// CPU time of a Java client per record.
pub const CLIENT_CPU: &str = "client_cpu_us_per_record";
/// CPU time of the application's and the clients' threads alone.
pub const CLIENT_THREADS_CPU: &str = "client_threads_cpu_us_per_record";
/// Bytes that a Java client allocates per record.
pub const CLIENT_ALLOCATED: &str = "client_allocated_bytes_per_record";
/// Time of a Java client's garbage collections.
pub const CLIENT_GC: &str = "client_gc";
/// Largest heap of a Java client.
pub const CLIENT_HEAP: &str = "client_heap_bytes_max";
/// What is reported of Java clients alone.
const OF_JAVA: [&str; 5] = [CLIENT_CPU, CLIENT_THREADS_CPU, CLIENT_ALLOCATED, CLIENT_GC, CLIENT_HEAP];

/// Share of an item's records that its busiest partition got.
pub const BUSIEST_PARTITION: &str = "busiest_partition_share";
/// That of the partition with the fewest.
pub const QUIETEST_PARTITION: &str = "quietest_partition_share";
/// Share of an item's bytes that the partition with the most got.
pub const BUSIEST_PARTITION_BYTES: &str = "busiest_partition_bytes_share";
/// What is reported of topics with several partitions, by clients that show where records go.
const OF_PARTITIONS: [&str; 3] = [BUSIEST_PARTITION, QUIETEST_PARTITION, BUSIEST_PARTITION_BYTES];

/// What is reported of consumer groups alone, in addition to their timings.
const OF_GROUPS: &[&str] = &[
    "conserved",
    "rebalances",
    "offset_commits",
    "duplicates",
    "member_records_least",
    "member_records_most",
    "member_records_cv",
];

/// Whether a metric is left out where it cannot be determined: the price, what brokers allocate, memory growth, figures
/// of transactions, connecting, consumer groups and Java clients, brokers' own metrics, figures of logs, groups and
/// partitions, of records whose scheduled send time travels with them, and of clients that come late.
pub fn may_be_left_out(name: &str) -> bool {
    let is_timing = |timing: &str| {
        let timing = timing.parse::<Timing>();
        timing.is_ok_and(|timing| timing == Timing::Commit || Timing::OF_CONSUMERS.contains(&timing))
    };
    let names = [
        COST_PER_GB,
        COST_PER_MILLION,
        BROKER_ALLOCATED,
        SAMPLED_CPU_SHARE,
        MEMORY_GROWTH,
        HEAP_GROWTH,
        "committed",
        "aborted",
        "caught_up",
        DRAINED,
        "end_to_end",
        "discarded",
        "censored",
    ];
    names.contains(&name)
        || OF_JAVA.contains(&name)
        || OF_GROUPS.contains(&name)
        || OF_PARTITIONS.contains(&name)
        || inside::METRICS.iter().chain(logs::METRICS).any(|metric| metric.name == name)
        || name.split_once('.').is_some_and(|(timing, _)| is_timing(timing))
}
