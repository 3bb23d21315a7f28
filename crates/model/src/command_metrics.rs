//! What is measured of a load item that is a command: the names of its metrics.

use crate::metric_kind::{Metric, SubjectKind, Unit, metric};

const COMMAND: &[SubjectKind] = &[SubjectKind::Command];
/// Metrics of requests, which may have a label.
const REQUESTED: &[SubjectKind] = &[SubjectKind::Command, SubjectKind::Label];

/// From the command's start to its exit.
pub const DURATION: &str = "duration";
/// Whether it ended by itself, with 0.
pub const SUCCEEDED: &str = "succeeded";
/// What it exited with.
pub const EXIT_CODE: &str = "exit_code";
/// CPU time of it and of what it started.
pub const CPU_TIME: &str = "cpu_time";
/// Requests that it reported.
pub const REQUESTS: &str = "requests";
/// Requests that failed.
pub const ERRORS: &str = "errors";
/// These divided by those.
pub const ERROR_SHARE: &str = "error_share";
/// Requests per second.
pub const REQUESTS_PER_S: &str = "requests_per_s";
/// 2^20 bytes per second, as a tool of Kafka's prints them.
pub const MIB_PER_S: &str = "told_mib_per_s";
/// Lines that are not of the form that was named.
pub const UNPARSED_LINES: &str = "unparsed_lines";
/// Share of the time in which all pods measured.
pub const OVERLAP: &str = "overlap";

/// Whether a command reports it by itself; the others are what kdyno measures of the command.
#[must_use]
pub fn is_reported(metric: &str) -> bool {
    [REQUESTS, ERRORS, ERROR_SHARE, REQUESTS_PER_S, MIB_PER_S].contains(&metric)
        || is_time_of_requests(metric)
}

/// Whether it is what requests took.
#[must_use]
pub fn is_time_of_requests(metric: &str) -> bool {
    metric.starts_with("response.")
}

/// All of them but what requests took; what is parsed is reported where something was.
pub const METRICS: &[Metric] = &[
    metric(
        DURATION,
        COMMAND,
        Unit::Ns,
        "from the start of the command to its exit; of one that was ended since its time was over, more than that",
    ),
    metric(SUCCEEDED, COMMAND, Unit::YesNo, "whether the command ended by itself, with 0"),
    metric(EXIT_CODE, COMMAND, Unit::Count, "what the command exited with; none where a signal ended it"),
    metric(
        CPU_TIME,
        COMMAND,
        Unit::Ns,
        "CPU time of the command and of all processes below it, user and system",
    ),
    metric(
        REQUESTS,
        REQUESTED,
        Unit::Count,
        "requests that the command reported (`parse`); records, of Kafka's own tools",
    ),
    metric(ERRORS, REQUESTED, Unit::Count, "those of them that failed"),
    metric(ERROR_SHARE, REQUESTED, Unit::Ratio, "failed requests divided by all of them"),
    metric(
        REQUESTS_PER_S,
        REQUESTED,
        Unit::RequestsPerS,
        "requests per second from the first one's beginning to the last one's end; where the command reports no instants, of \
         its duration; of Kafka's own tools as they report it",
    ),
    metric(MIB_PER_S, COMMAND, Unit::MibPerS, "MiB of values per second, as Kafka's own tools report it"),
    metric(
        UNPARSED_LINES,
        COMMAND,
        Unit::Count,
        "lines of what was to be parsed that are not of the form that was named",
    ),
    metric(
        OVERLAP,
        COMMAND,
        Unit::Ratio,
        "share of the time from the first pod's beginning to the last one's end in which all pods of the command measured: only \
         there the sum of their rates is a rate of all",
    ),
];
