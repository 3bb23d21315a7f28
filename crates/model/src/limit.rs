//! What kept load items from going faster, and what would be next.

use crate::finding::{Interval, Scope};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use strum::{Display, EnumString, IntoStaticStr};

/// What kept a load item of a trial from going faster, with the evidence for and against each candidate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Limit {
    /// The trial.
    pub scope: Scope,
    /// The load item.
    pub item: String,
    /// The limit.
    pub named: LimitKind,
    /// The fullest of the others. A [`Demand`] says at how much more load it would be the limit.
    pub runner_up: Option<LimitKind>,
    /// Where requests in flight or replication are the limit: what a delay that the plan declares has to do with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<LimitingDelay>,
    /// Each candidate.
    pub evidence: Vec<LimitEvidence>,
}

/// A declared delay of the way to the brokers and back, and what passes without it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LimitingDelay {
    /// There and back, ns.
    pub round_trip_ns: u64,
    /// Mean time of a request, the delay included, ns.
    pub request_ns: f64,
    /// Up to how many times as much passes without it; `None`: it is all of a request's time, and no resource was judged.
    pub times: Option<f64>,
    /// The resource that allows no more; `None`: what is left of a request's time does.
    pub then: Option<LimitKind>,
}

impl LimitingDelay {
    /// Whether requests take as long as they do mostly because of it.
    pub fn is_most(&self) -> bool {
        2.0 * self.round_trip_ns as f64 >= self.request_ns
    }
}

/// How near a trial was to one limit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LimitEvidence {
    /// Which limit.
    pub kind: LimitKind,
    /// Share of it that was used, 1: at it; `None`: not judged.
    pub used: Option<f64>,
    /// Shares of different things that were used; `used` is the largest one. Empty: it is of one thing.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub shares: BTreeMap<ShareOf, f64>,
    /// For a share of the host's CPUs: what programs that are none of the run's used; it is a part of that share.
    /// `None`: it is of nothing that they use, or not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others: Option<f64>,
    /// One lowercase sentence: the numbers, or why it is not judged.
    pub detail: String,
}

/// What a share that was used is of, where a limit has several such.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ShareOf {
    /// One processor, by the load generator's busiest thread.
    Thread,
    /// The load generator's highest rate against a broker that does nothing.
    Calibration,
    /// The processors of the host.
    Host,
    /// The processors that brokers are pinned to.
    PinnedTo,
    /// The CPU time that a broker may use.
    CpuLimit,
}

/// What may keep a load item from going faster.
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
pub enum LimitKind {
    /// Nothing: everything offered was handled in time.
    Schedule,
    /// kdyno's own worker.
    Generator,
    /// The brokers' processors, or those of the host that they share with others.
    BrokerProcessors,
    /// The brokers' disks, against a declared or measured limit.
    Disk,
    /// The network, against a declared or measured limit.
    Network,
    /// A link between zones, against the bandwidth that the plan declares.
    Link,
    /// Followers, for which acknowledgements wait.
    Replication,
    /// Acknowledgement time × requests in flight (Little's law), with nothing saturated.
    RequestsInFlight,
    /// `linger.ms` of clients that send one record at a time: each waits for a batch that nothing else fills.
    Linger,
    /// The client's buffer.
    ClientBuffer,
    /// A quota of the cluster.
    Quota,
    /// None of these could be shown.
    Unknown,
}

/// What each record of a load item takes of each resource, by the utilisation law, and which resource is the next limit when
/// there is more load: of trials that differ in the rate of that item alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Demand {
    /// The case, the side of a comparison or the search; of several cases at different rates the one with the highest.
    pub scope: Scope,
    /// The load item.
    pub item: String,
    /// Highest rate that was tested: the median of what was acknowledged there, records/s.
    pub tested_per_s: f64,
    /// The resources that were judged at the highest rate; those at their limit first, then the others as they would follow.
    pub resources: Vec<ResourceDemand>,
    /// Which of them is the next limit; `None`: there is one load alone, what the limit was at the highest rate is not known,
    /// or no other was judged.
    pub next: Option<LimitKind>,
    /// What can be used wholly as well and was not judged at the highest rate.
    pub not_judged: Vec<LimitKind>,
}

impl Demand {
    /// Up to which multiple of the highest tested load a limit is predicted. Beyond it, it is unknown whether a record
    /// goes on costing what it cost.
    pub const PREDICTED_MAX: f64 = 1.3;
}

/// What records take of one resource.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ResourceDemand {
    /// The resource.
    pub kind: LimitKind,
    /// Different loads that what follows rests on: several for a line through them, else the highest alone.
    pub loads: u32,
    /// Trials at these.
    pub trials: u32,
    /// Share of it that was used at the highest tested rate, 1: all of it; of the host's processors, of what other programs
    /// left.
    pub used: f64,
    /// For how long a record occupies the whole of it, ns: share used ÷ records/s.
    pub ns_per_record: f64,
    /// The cost of a further record, by the line through several loads; `None`: one load.
    pub ns_per_further_record: Option<f64>,
    /// When it would be at its limit.
    pub at_limit: AtLimit,
}

/// At how much load a resource is used wholly.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AtLimit {
    /// It was at the highest tested load.
    Reached,
    /// At a multiple of the highest tested load, of at most [`Demand::FORETOLD_MAX`].
    At {
        /// The multiple.
        times: f64,
        /// Where it lies; an upper bound of [`Demand::FORETOLD_MAX`] may be any above.
        interval: Interval,
    },
    /// Not within [`Demand::FORETOLD_MAX`] × the highest tested load.
    NotWithin,
    /// The trials scatter too much to determine whether it is within that.
    CannotTell,
    /// There is one load: what a record costs at another one is not known.
    OneLoad,
}
