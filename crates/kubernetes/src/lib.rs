//! Pods that carry a run's load: what is applied for them, why one does not start, and streams to their agents through the API
//! server.
//!
//! The objects and the words are always here. The client of the API is a feature of the build, `api`: without it everything
//! that would need the API server says so.

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

#[cfg(feature = "api")]
mod api;
#[cfg(feature = "api")]
mod bridge;
#[cfg(not(feature = "api"))]
mod without_api;

pub mod command_job;
pub mod fit;
mod identity;
pub mod objects;
mod quantity;
pub mod state;

#[cfg(feature = "api")]
pub use api::{CommandPods, PodDial, RunningPods, clean};
pub use identity::AgentIdentity;
#[cfg(not(feature = "api"))]
pub use without_api::{CommandPods, PodDial, RunningPods, clean};

use std::fmt;

/// Why pods cannot carry load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodsError {
    /// One lowercase clause.
    pub why: String,
    /// What can be done; empty: nothing that is known.
    pub hint: &'static str,
}

impl PodsError {
    fn new(why: impl Into<String>) -> Self {
        Self { why: why.into(), hint: "" }
    }

    fn hint(self, hint: &'static str) -> Self {
        Self { hint, ..self }
    }
}

impl fmt::Display for PodsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

impl std::error::Error for PodsError {}
