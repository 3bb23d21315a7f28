//! Whether side B differs from side A, metric by metric (docs/METHOD.md, "Comparing A and B").
//!
//! [`verdicts`] judges what the pairs of a comparison's plan have shown so far, [`progress`] says to the strategy
//! whether more of them are wanted, [`settings`] compares what was in force on both sides, [`hosts`] says on which
//! machines they ran, `time_units` how long a unit of evidence took, and [`of_runs`] says what stored runs can and
//! cannot carry.

mod hosts;
mod metrics;
mod order;
mod pace;
mod pairs;
mod runs;
mod settings;
mod stage;
mod typical;
mod verdicts;

pub use hosts::hosts;
pub use metrics::{better, margin};
pub(crate) use pace::time_units;
pub use pairs::{ComparisonProgress, progress};
pub use runs::{StoredRun, of_runs};
pub use settings::{settings, void};
pub use stage::can_tell;
pub(crate) use typical::trials_sd;
pub use typical::{pair_sd, pair_sds, starts_sd};
pub use verdicts::{verdicts, verdicts_out_of_time};
