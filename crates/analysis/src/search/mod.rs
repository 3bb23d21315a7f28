//! The highest load at which conditions hold: which load to try next, and what the loads that were tried say.
//!
//! [`next_step`] is the search, on plain numbers: a ramp of short trials, trials that narrow the bracket, trials around
//! the crossing of a fitted line, trials that confirm. [`line`] is the fit, [`interval`] how sure
//! its crossing is, `wander` what capacity that changes adds to that, [`lengths`] says how long the trials are,
//! [`trials`] makes the numbers of a run's trials, and [`result`] says what they show. The procedure and its
//! constants are in docs/METHOD.md, "Throughput at an SLA", and docs/reference/searches.md; what it achieves on known
//! curves, in docs/benchmarks.md.

mod bracket;
mod confirm;
pub mod interval;
pub mod lengths;
pub mod line;
mod question;
mod result;
mod step;
mod trials;
mod wander;

pub use bracket::fit_points;
pub use question::{PointSoFar, RAMP_FACTOR, SearchSettings, TrialAnswer, trials_min};
pub use result::{CONFIRMED, FIRST_FAILING, HIGHEST, is_in_table, result};
pub use step::{SearchEnd, SearchStep, found_so_far, next_step};
pub use trials::{JudgedTrial, judge, settings};
