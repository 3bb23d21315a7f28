//! What the admin API reports of logs and consumer groups over time: the names of its metrics.

use crate::metric_kind::{Metric, SubjectKind, Unit, metric};

const BROKER: &[SubjectKind] = &[SubjectKind::Broker];
const GROUP: &[SubjectKind] = &[SubjectKind::Group];

/// Bytes of the logs of the run's topics when the window ended.
pub const RUN_LOG_BYTES: &str = "run_log_bytes";
/// By how much these grew per second in the window.
pub const RUN_LOG_GROWTH: &str = "run_log_growth_mib_per_s";
/// Bytes of all logs when the window ended.
pub const LOG_BYTES: &str = "log_bytes";
/// By how much these grew per second in the window.
pub const LOG_GROWTH: &str = "log_growth_mib_per_s";
/// Partitions of the run's topics with replicas that are not in sync.
pub const RUN_UNDER_REPLICATED: &str = "run_under_replicated_partitions";
/// Replicas in sync of the partition that had the fewest.
pub const RUN_IN_SYNC_LEAST: &str = "run_in_sync_replicas_least";
/// Lag of a group when the window began.
pub const LAG_AT_START: &str = "committed_lag_at_start";
/// Lag of a group when it ended.
pub const LAG_AT_END: &str = "committed_lag_at_end";
/// The first in time.
pub const LAG_TIME_AT_START: &str = "committed_lag_time_at_start";
/// The second in time.
pub const LAG_TIME_AT_END: &str = "committed_lag_time_at_end";

/// All of them, each left out where it is not reported.
pub const METRICS: &[Metric] = &[
    metric(
        RUN_LOG_BYTES,
        BROKER,
        Unit::Bytes,
        "bytes of the logs of the run's topics when the window ended, as the brokers report (DescribeLogDirs); each replica counts",
    ),
    metric(
        RUN_LOG_GROWTH,
        BROKER,
        Unit::MibPerS,
        "growth of the logs of the run's topics in the window; each replica counts",
    ),
    metric(
        LOG_BYTES,
        BROKER,
        Unit::Bytes,
        "bytes of the logs of all topics when the window ended; each replica counts",
    ),
    metric(
        LOG_GROWTH,
        BROKER,
        Unit::MibPerS,
        "growth of the logs of all topics in the window; each replica counts",
    ),
    metric(
        RUN_UNDER_REPLICATED,
        BROKER,
        Unit::Count,
        "of `brokers`: most partitions of the run's topics that were seen in the window with fewer replicas in sync than they have",
    ),
    metric(
        RUN_IN_SYNC_LEAST,
        BROKER,
        Unit::Count,
        "of `brokers`: fewest replicas in sync that were seen in the window of a partition of the run's topics",
    ),
    metric(
        LAG_AT_START,
        GROUP,
        Unit::Count,
        "records between the offsets that the group had committed on the run's topics and the ends of their logs, when the window began",
    ),
    metric(
        LAG_AT_END,
        GROUP,
        Unit::Count,
        "records between the offsets that the group had committed on the run's topics and the ends of their logs, when the window ended",
    ),
    metric(
        LAG_TIME_AT_START,
        GROUP,
        Unit::Ns,
        "the same in time when the window began: how long ago the log ended where the group has committed, of the partition that was the farthest behind",
    ),
    metric(
        LAG_TIME_AT_END,
        GROUP,
        Unit::Ns,
        "the same in time when the window ended: how long ago the log ended where the group has committed, of the partition that was the farthest behind",
    ),
];
