//! Caveats of pairs of a comparison.

use serde::{Deserialize, Serialize};

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
