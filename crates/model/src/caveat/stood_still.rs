//! That the load generator stood still for a while.

use serde::{Deserialize, Serialize};

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
