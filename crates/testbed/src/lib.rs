//! Makes, observes and removes the system under test: local clusters under a guard process, attached clusters,
//! resource probes and the look at the host. Knows nothing of load.
//!
//! The way of a local cluster: [`distribution`] finds Kafka and a Java for it, [`cluster`] lays it out and writes its
//! files, [`guard`] owns its processes, [`registry`] keeps those that outlive a run.

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

pub mod attach;
pub mod bounded;
pub mod cached;
pub mod capacity;
pub mod clean;
pub mod cluster;
pub mod command;
pub mod cpu_limit;
pub mod digest;
pub mod disk_speed;
pub mod distribution;
pub mod download;
pub mod environment;
pub mod error;
pub mod folder;
pub mod git;
pub mod guard;
pub mod host;
pub mod host_settings;
pub mod inspect;
pub mod java;
pub mod javac;
pub mod jmx_exporters;
pub mod kroxylicious;
pub mod leftovers;
mod listeners;
pub mod lock;
pub mod metrics;
pub mod network_speed;
pub mod noise;
#[cfg(test)]
#[path = "../../model/tests/common/plans.rs"]
mod plans;
pub mod postgres;
pub mod preflight;
pub mod probe;
pub mod process;
pub mod profiler;
pub mod registry;
pub mod relay;
pub mod secret_file;
mod small_file;
mod storage_tool;
mod tail;
mod variables;

pub use cluster::{LocalCluster, StartOptions};
pub use environment::Environment;
pub use error::TestbedError;
pub use process::{ProcessId, ProcessRef};
