//! That a consumer group read something else than there was, or put members out.

use serde::{Deserialize, Serialize};

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
