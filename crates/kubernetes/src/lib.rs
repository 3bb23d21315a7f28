//! Pods that carry a run's load, or its lab: what is applied for them, why one does not start, and streams to their agents through
//! the API server. And clusters that Strimzi makes for it.
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
pub mod lab_pod;
pub mod objects;
pub mod place;
mod quantity;
pub mod state;
pub mod strimzi;
pub mod strimzi_state;

#[cfg(feature = "api")]
pub use api::{CommandPods, PodDial, RunningPods, StrimziCluster, clean, existing};
pub use identity::AgentIdentity;
pub use place::PodPlace;
#[cfg(not(feature = "api"))]
pub use without_api::{CommandPods, PodDial, RunningPods, StrimziCluster, clean, existing};

use std::fmt;

/// Why pods cannot carry load, or a cluster by Strimzi does not get ready.
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
