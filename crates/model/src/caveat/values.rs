//! The values of caveats that a rule hands on as a whole.

use serde::{Deserialize, Serialize};

/// For some time of the window nothing of an item was acknowledged, though records waited.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stalled {
    /// Load item.
    pub item: String,
    /// The longest time of that, s; whole seconds in run files that do not hold the instants of acknowledgements.
    pub seconds: f64,
    /// When it began, s from T0.
    pub at_s: f64,
}

/// A quantile: nearly all values beyond it come from few seconds of the window.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FewSeconds {
    /// Load item.
    pub item: String,
    /// The lowest quantile for which that is so, e.g. `p99`.
    pub quantile: String,
    /// How many seconds.
    pub seconds: u32,
    /// Seconds of the window.
    pub of_s: u32,
    /// The first of them, from T0.
    pub at_s: u32,
}

/// Clients are on hosts whose clocks are not one: end-to-end latencies have an error, or are not reported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClocksDiffer {
    /// Load item that is handed the records.
    pub item: String,
    /// How far a clock may be from where it was found before the load began, ns, at most.
    pub bound_ns: u64,
    /// How much two of them drifted apart in a second of the trial, ns; `None`: it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drift_ns_per_s: Option<u64>,
    /// How far end-to-end latencies may be from the truth, ns, at most; `None`: they are not reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_ns: Option<u64>,
}

/// Java processes of a load item's clients made full garbage collections, which stop them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FullGc {
    /// Load item.
    pub item: String,
    /// How many.
    pub collections: u64,
    /// Time that all garbage collections of these processes took in the window, ns; `None`: it was not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub all_ns: Option<u64>,
    /// What the first event says.
    pub first: String,
}

/// A worker did not run for a while and then sent at once what had come due: as long as that was in flight, what the
/// cluster took is caused by a load that was not requested.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoodStill {
    /// Load item.
    pub item: String,
    /// The lowest quantile of service, request or *without generator* that this changes.
    pub quantile: String,
    /// By how much a record was released late at most, ns.
    pub late_ns: u64,
    /// The timing that it changes there, e.g. `service`.
    pub timing: String,
    /// What that is, ns.
    pub with_ns: u64,
    /// The quantile without the stretches in which the backlog was in flight, ns; `None`: there is nothing else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub without_ns: Option<u64>,
}

/// Pairs of a comparison have a judged figure that must not be used: they count as ties.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PairsTied {
    /// The metric.
    pub metric: String,
    /// How many.
    pub pairs: u32,
    /// Why the first of them does, one lowercase sentence.
    pub first: String,
}

/// A consumer group was not handed what its topic was given, each record counted once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupNotConserved {
    /// The group's name in the scenario.
    pub group: String,
    /// Topic, by its address in the scenario.
    pub topic: String,
    /// Records acknowledged.
    pub least: u64,
    /// Records that the topic can hold: with those before the trial, and those of uncertain outcome.
    pub most: u64,
    /// Records that members were handed, without those that one of them had been handed before.
    pub handed_over: u64,
}

/// Members of a consumer group lost their partitions without giving them up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MembersPutOut {
    /// Load item.
    pub item: String,
    /// How often, since T0.
    pub losses: u64,
    /// `max.poll.interval.ms` of its clients, ns: where they poll less often than that, they are put out.
    pub poll_interval_max_ns: u64,
}
