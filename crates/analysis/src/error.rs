//! What can be wrong with evidence.

use kdyno_model::histogram::Damaged;

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnalysisError {
    /// Bytes that are not a histogram of ours.
    #[error("a stored histogram is damaged: {0}")]
    Histogram(#[from] Damaged),
}
