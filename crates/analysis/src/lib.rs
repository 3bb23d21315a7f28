//! From samples to findings. Pure.
//!
//! [`evidence`] holds what one trial left; [`histogram`] merges and reads latencies; [`trial`] states the
//! trial's numbers and [`caveats`] the reasons to doubt them; [`series`] draws its course over time.
//!
//! Invariant: no socket, file, clock, environment or randomness; the same evidence gives the same findings.

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

pub mod caveats;
pub mod cpu;
pub mod evidence;
pub mod histogram;
pub mod series;
pub mod tally;
pub mod trial;

pub use evidence::TrialEvidence;
pub use histogram::{AnalysisError, Distribution};
