//! Two bounds of an interval.

/// Two bounds and the probability that such bounds hold the truth.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds {
    /// Lower bound.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
    /// Probability, 0 to 1.
    pub level: f64,
}
