//! What can be wrong with evidence, or with a question to it.

use kdyno_model::histogram::Damaged;

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnalysisError {
    /// Bytes that are not a histogram of ours.
    #[error("a stored histogram is damaged: {0}")]
    Histogram(#[from] Damaged),
    /// A stretch of time that begins or ends in the middle of a five-second row.
    #[error(
        "seconds {first_second} to {end_second} cut through rows of five seconds; the nearest whole rows are those \
         of seconds {} to {}",
        nearest.0, nearest.1
    )]
    CutsRows {
        /// First second that was asked for.
        first_second: u32,
        /// First second after those that were asked for.
        end_second: u32,
        /// The same of the nearest stretch that can be had.
        nearest: (u32, u32),
    },
}
