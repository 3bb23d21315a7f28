//! The spans between two instants of a record that are timed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{Display, EnumCount, EnumString, IntoStaticStr, VariantArray};

/// A span between two instants of a record. First come those of records that are sent, whose stages sum exactly to the
/// response; then one of transactions and one of clients; then those of records that are consumed, whose latter two sum
/// exactly to the end-to-end latency; then those of consumer groups.
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
    JsonSchema,
    Display,
    EnumString,
    IntoStaticStr,
    EnumCount,
    VariantArray,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Timing {
    /// t6 − t0: the headline.
    Response,
    /// t6 − t2: what a blocking client prints.
    Service,
    /// t5 − t1: the response without the load generator's own delays, which are schedule delay and callback.
    WithoutGenerator,
    /// t1 − t0: how late the load generator itself was.
    ScheduleDelay,
    /// t2 − t1: waiting for buffer space.
    Block,
    /// t3 − t2: waiting for the batch.
    Linger,
    /// t3′ − t3: attempts that came to nothing, and the pauses after them.
    Retry,
    /// t4 − t3′: waiting for the connection.
    SendWait,
    /// t5 − t4: network and broker.
    Request,
    /// t6 − t5: from when the response was there to be read to the outcome: how late the load generator looked.
    Callback,
    /// For transactions, not records: from when a client begins to commit, which first sends what it holds, to when the
    /// coordinator has confirmed it.
    Commit,
    /// For clients, not records: from when a client first dials a broker to when it reaches every broker that it needs
    /// and knows where to begin; of a member of a group, until it has its first assignment.
    /// For clients that are there at T0 it belongs to start-up.
    Connect,
    /// t8 − t0: from the scheduled send time into the application's hands.
    EndToEnd,
    /// t7 − t0: from the scheduled send time to when the fetch response was there to be read.
    UntilFetched,
    /// t8 − t7: reading what was fetched, and waiting while the application was busy with what came before.
    HandOver,
    /// For consumer groups: from when a member wants to commit offsets to when the coordinator has confirmed them.
    OffsetCommit,
    /// For consumer groups: from when the first of the stream's members learns that the group rebalances to when the
    /// last of them has its assignment.
    Rebalance,
    /// For consumer groups: for how long a partition had no owner, from when the member that had it gave it up, or the
    /// group learned that it lost it, to when the next one was assigned it. A partition that is no longer assigned to
    /// any member has no value.
    WithoutOwner,
    /// By how much t8 lay before t0, where it did: the clock of another host. For these records the end-to-end latency
    /// holds nothing.
    EndToEndBelowZero,
    /// As above, to t7.
    UntilFetchedBelowZero,
}

/// The spans of several stages of a record that is sent.
const TOTALS: usize = 3;
/// The stages.
const STAGES: usize = 7;
/// The one of transactions.
const OF_TRANSACTIONS: usize = 1;
/// The one of clients, whatever they do.
const OF_CLIENTS: usize = 1;
/// All of records that are sent.
const PRODUCED: usize = TOTALS + STAGES + OF_TRANSACTIONS + OF_CLIENTS;
/// Timings of records that are consumed; values below zero come last.
const CONSUMED: usize = 3;
/// Timings of consumer groups.
const OF_GROUPS: usize = 3;

impl Timing {
    /// How many there are.
    pub const COUNT: usize = <Self as EnumCount>::COUNT;
    /// All, as they are kept.
    pub const ALL: [Timing; Self::COUNT] = taken(0);
    /// Timings of records that are sent, totals first, and those of transactions and of clients last.
    pub const OF_PRODUCERS: [Timing; PRODUCED] = taken(0);
    /// The stages, which come after the totals: they sum to [`Timing::Response`].
    pub const STAGES: [Timing; STAGES] = taken(TOTALS);
    /// Timings of a probe: those of producers, and of records that are handed over.
    pub const OF_PROBES: [Timing; PRODUCED + CONSUMED] = taken(0);
    /// Timings of records that an application is handed, the total first.
    pub const OF_HANDED: [Timing; CONSUMED] = taken(PRODUCED);
    /// The one of clients, then of records that are consumed the total first, then of groups.
    pub const OF_CONSUMERS: [Timing; OF_CLIENTS + CONSUMED + OF_GROUPS] = taken(PRODUCED - OF_CLIENTS);

    /// Where the values of this one are kept that lie below zero, if it can have such: their magnitudes.
    pub fn below_zero(self) -> Option<Timing> {
        match self {
            Self::EndToEnd => Some(Self::EndToEndBelowZero),
            Self::UntilFetched => Some(Self::UntilFetchedBelowZero),
            _ => None,
        }
    }
}

/// So many timings, from the one at `first` on.
const fn taken<const N: usize>(first: usize) -> [Timing; N] {
    let mut all = [Timing::Response; N];
    let mut at = 0;
    while at < N {
        all[at] = <Timing as VariantArray>::VARIANTS[first + at];
        at += 1;
    }
    all
}
