//! What happened in a few moments of a window, which its figures hide or are made of.

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

/// Clients are on hosts whose clocks are not one, so no end-to-end latency is reported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClocksDiffer {
    /// Load item that is handed the records.
    pub item: String,
    /// How far a clock may be from where it was found, ns, at most.
    pub bound_ns: u64,
}
