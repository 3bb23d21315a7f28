//! What brokers report of the requests that they answer: kinds of requests, the stages of each, and the names of their
//! metrics.

use crate::metric_kind::{Metric, SubjectKind, Unit, metric};
use strum::{Display, EnumIter, EnumString, IntoEnumIterator, IntoStaticStr};

/// A kind of request for which brokers keep times.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Display, EnumString, EnumIter, IntoStaticStr,
)]
#[strum(serialize_all = "snake_case")]
pub enum RequestKind {
    /// Requests of clients that produce.
    Produce,
    /// Fetch requests of consumers.
    Fetch,
    /// Fetch requests of followers.
    FollowerFetch,
}

impl RequestKind {
    /// Every kind.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::iter()
    }

    /// Its name in Kafka's metrics.
    pub fn kafka_name(self) -> &'static str {
        match self {
            Self::Produce => "Produce",
            Self::Fetch => "FetchConsumer",
            Self::FollowerFetch => "FetchFollower",
        }
    }
}

/// A stage of a request on its way through a broker; all but the first, in their order, make up the first.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Display, EnumString, EnumIter, IntoStaticStr,
)]
#[strum(serialize_all = "snake_case")]
pub enum RequestStage {
    /// From when it was read from its connection to when the answer was written.
    Total,
    /// It waited for a request handler.
    RequestQueue,
    /// A request handler worked on it.
    Local,
    /// It waited for other brokers, or for records.
    Remote,
    /// Its answer waited for a network processor.
    ResponseQueue,
    /// Its answer was written to the connection.
    ResponseSend,
}

impl RequestStage {
    /// Every stage, the total first.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::iter()
    }

    /// Its name in Kafka's metrics.
    pub fn kafka_name(self) -> &'static str {
        match self {
            Self::Total => "TotalTimeMs",
            Self::RequestQueue => "RequestQueueTimeMs",
            Self::Local => "LocalTimeMs",
            Self::Remote => "RemoteTimeMs",
            Self::ResponseQueue => "ResponseQueueTimeMs",
            Self::ResponseSend => "ResponseSendTimeMs",
        }
    }
}

const BROKER: &[SubjectKind] = &[SubjectKind::Broker];

/// Share of time in which request handlers are idle.
pub const REQUEST_HANDLER_IDLE: &str = "request_handler_idle";
/// Share of time in which network processors are idle.
pub const NETWORK_PROCESSOR_IDLE: &str = "network_processor_idle";

/// What clients produced.
pub const BYTES_IN: &str = "bytes_in_mib_per_s";
/// Longest pause of a collection.
pub const GC_PAUSE_MAX: &str = "gc_pause_max";
/// Share of time in which a JVM stood still.
pub const STOPPED_SHARE: &str = "stopped_share";

/// What brokers report of themselves, where they do. The stages of requests come last.
pub const METRICS: &[Metric] = &[
    metric(
        BYTES_IN,
        BROKER,
        Unit::MibPerS,
        "MiB of record batches, as sent, that clients produced in the window (BytesInPerSec); replication not counted",
    ),
    metric(
        "bytes_out_mib_per_s",
        BROKER,
        Unit::MibPerS,
        "MiB of record batches that consumers fetched in the window (BytesOutPerSec); replication not counted",
    ),
    metric(
        "messages_in_per_s",
        BROKER,
        Unit::RecordsPerS,
        "records that clients produced in the window (MessagesInPerSec)",
    ),
    metric("produce_requests", BROKER, Unit::Count, "produce requests answered in the window"),
    metric("fetch_requests", BROKER, Unit::Count, "fetch requests of consumers answered in the window"),
    metric(
        "follower_fetch_requests",
        BROKER,
        Unit::Count,
        "fetch requests of followers answered in the window",
    ),
    metric(
        REQUEST_HANDLER_IDLE,
        BROKER,
        Unit::Ratio,
        "share of the window in which request handlers were idle, in the mean of all; of `brokers` that of the busiest broker",
    ),
    metric(
        NETWORK_PROCESSOR_IDLE,
        BROKER,
        Unit::Ratio,
        "share of the window in which network processors were idle, in the mean of those of a broker's busiest listener; of \
         `brokers` that of the busiest broker",
    ),
    metric(
        "under_replicated_partitions",
        BROKER,
        Unit::Count,
        "most partitions that were seen in the window with fewer replicas in sync than they have",
    ),
    metric(
        "offline_partitions",
        BROKER,
        Unit::Count,
        "most partitions that were seen in the window without a leader, as the controller counts them",
    ),
    metric("isr_shrinks", BROKER, Unit::Count, "replicas that fell out of sync in the window"),
    metric("isr_expands", BROKER, Unit::Count, "replicas that came back in sync in the window"),
    metric(
        "produce_purgatory_max",
        BROKER,
        Unit::Count,
        "most produce requests that were seen in the window to wait for other replicas",
    ),
    metric(
        "fetch_purgatory_max",
        BROKER,
        Unit::Count,
        "most waits for records that were seen in the window, as Kafka counts them: a fetch request waits once for each partition \
         that it asks for",
    ),
    metric("log_flushes", BROKER, Unit::Count, "times in the window that a log was flushed to its disk"),
    metric("log_flush_mean", BROKER, Unit::Ns, "mean time of these"),
    metric("heap_used_bytes_max", BROKER, Unit::Bytes, "largest heap in use that was seen in the window"),
    metric(
        GC_PAUSE_MAX,
        BROKER,
        Unit::Ns,
        "longest pause for garbage collection in the window, by the JVM's log; of `brokers` that of the broker with the longest",
    ),
    metric(
        STOPPED_SHARE,
        BROKER,
        Unit::Ratio,
        "share of the window in which the JVM was stopped (stop-the-world), for collections and at other safepoints, by its log; of \
         `brokers` that of the broker with the longest",
    ),
    metric(
        "produce_total_mean",
        BROKER,
        Unit::Ns,
        "of the produce requests answered in the window, in the mean: from when one is read to when its answer is written",
    ),
    metric(
        "produce_request_queue_mean",
        BROKER,
        Unit::Ns,
        "of the produce requests answered in the window, in the mean: wait for a request handler",
    ),
    metric(
        "produce_local_mean",
        BROKER,
        Unit::Ns,
        "of the produce requests answered in the window, in the mean: work of a request handler",
    ),
    metric(
        "produce_remote_mean",
        BROKER,
        Unit::Ns,
        "of the produce requests answered in the window, in the mean: wait for the replicas that `acks` asks for",
    ),
    metric(
        "produce_response_queue_mean",
        BROKER,
        Unit::Ns,
        "of the produce requests answered in the window, in the mean: wait of the answer for a network processor",
    ),
    metric(
        "produce_response_send_mean",
        BROKER,
        Unit::Ns,
        "of the produce requests answered in the window, in the mean: writing of the answer to the connection",
    ),
    metric(
        "fetch_total_mean",
        BROKER,
        Unit::Ns,
        "of the fetch requests of consumers answered in the window, in the mean: from when one is read to when its answer is written",
    ),
    metric(
        "fetch_request_queue_mean",
        BROKER,
        Unit::Ns,
        "of the fetch requests of consumers answered in the window, in the mean: wait for a request handler",
    ),
    metric(
        "fetch_local_mean",
        BROKER,
        Unit::Ns,
        "of the fetch requests of consumers answered in the window, in the mean: work of a request handler",
    ),
    metric(
        "fetch_remote_mean",
        BROKER,
        Unit::Ns,
        "of the fetch requests of consumers answered in the window, in the mean: wait for records (`fetch.min.bytes`, `fetch.max.wait.ms`)",
    ),
    metric(
        "fetch_response_queue_mean",
        BROKER,
        Unit::Ns,
        "of the fetch requests of consumers answered in the window, in the mean: wait of the answer for a network processor",
    ),
    metric(
        "fetch_response_send_mean",
        BROKER,
        Unit::Ns,
        "of the fetch requests of consumers answered in the window, in the mean: writing of the answer to the connection",
    ),
    metric(
        "follower_fetch_total_mean",
        BROKER,
        Unit::Ns,
        "of the fetch requests of followers answered in the window, in the mean: from when one is read to when its answer is written",
    ),
    metric(
        "follower_fetch_request_queue_mean",
        BROKER,
        Unit::Ns,
        "of the fetch requests of followers answered in the window, in the mean: wait for a request handler",
    ),
    metric(
        "follower_fetch_local_mean",
        BROKER,
        Unit::Ns,
        "of the fetch requests of followers answered in the window, in the mean: work of a request handler",
    ),
    metric(
        "follower_fetch_remote_mean",
        BROKER,
        Unit::Ns,
        "of the fetch requests of followers answered in the window, in the mean: wait for records (`replica.fetch.min.bytes`, `replica.fetch.wait.max.ms`)",
    ),
    metric(
        "follower_fetch_response_queue_mean",
        BROKER,
        Unit::Ns,
        "of the fetch requests of followers answered in the window, in the mean: wait of the answer for a network processor",
    ),
    metric(
        "follower_fetch_response_send_mean",
        BROKER,
        Unit::Ns,
        "of the fetch requests of followers answered in the window, in the mean: writing of the answer to the connection",
    ),
];

/// The metric that is the mean time of a stage: `produce_local_mean`.
pub fn stage_metric(kind: RequestKind, stage: RequestStage) -> String {
    format!("{kind}_{stage}_mean")
}

/// Brokers round each stage of each request to whole milliseconds before they add it up, ns.
pub const STAGE_RESOLUTION_NS: f64 = 1e6;

/// Kind and stage of such a metric.
pub fn stage_of(metric: &str) -> Option<(RequestKind, RequestStage)> {
    let name = metric.strip_suffix("_mean")?;
    let mut kinds = RequestKind::all();
    kinds.find_map(|kind| {
        let stage = name.strip_prefix(<&str>::from(kind))?.strip_prefix('_')?;
        Some((kind, stage.parse().ok()?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::{SubjectKind, find};

    #[test]
    fn every_stage_of_every_kind_is_a_metric_of_brokers() {
        for kind in RequestKind::all() {
            for stage in RequestStage::all() {
                let name = stage_metric(kind, stage);
                assert_eq!(stage_of(&name), Some((kind, stage)), "{name}");
                assert!(find(SubjectKind::Broker, &name).is_some(), "{name}");
            }
        }
        for other in ["produce_mean", "produce_response_mean", "log_flush_mean", "produce_local"] {
            assert_eq!(stage_of(other), None, "{other}");
        }
    }
}
