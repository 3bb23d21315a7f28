//! In the place of the client of the API in builds that have none.

use crate::command_job::{CommandJob, PodLines, SeenPod};
use crate::strimzi_state::{ExistingCluster, StrimziStatus, StrimziUser};
use crate::{AgentIdentity, PodPlace, PodsError};
use kdyno_model::generator::GeneratorPods;
use kdyno_model::plan::StrimziPlan;
use serde_json::Value;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::os::unix::net::UnixStream;
use std::sync::atomic::AtomicBool;

fn absent() -> PodsError {
    PodsError::new("this build of kdyno has no client of Kubernetes' API")
        .hint("those of `make release` have it; Cargo builds it with `--features kdyno/kubernetes`")
}

/// Pods that run: there are none.
pub struct RunningPods(Infallible);

impl RunningPods {
    /// Fails.
    ///
    /// # Errors
    /// Always.
    pub fn start(
        _: (&GeneratorPods, &[Vec<GeneratorPods>]),
        _: (u64, Value),
        _: &AgentIdentity,
        _: &AtomicBool,
        _: &mut dyn FnMut(String),
    ) -> Result<Self, PodsError> {
        Err(absent())
    }

    /// What streams to the agent of a pod take.
    ///
    /// # Errors
    /// There is none.
    pub fn dial(&self, _: u16) -> Result<PodDial, PodsError> {
        match self.0 {}
    }

    /// Where a pod is.
    pub fn place(&self, _: u16) -> Option<&PodPlace> {
        match self.0 {}
    }

    /// Removes all that was made for the run.
    ///
    /// # Errors
    /// There is none.
    pub fn remove(&mut self) -> Result<(), PodsError> {
        match self.0 {}
    }
}

/// Opens streams to the agent of a pod: there is none.
pub struct PodDial(Infallible);

impl PodDial {
    /// A stream.
    ///
    /// # Errors
    /// There is none.
    pub fn connect(&self) -> Result<UnixStream, PodsError> {
        match self.0 {}
    }

    /// Why the pod no longer runs.
    pub fn over(&self) -> Option<String> {
        match self.0 {}
    }
}

/// A cluster by Strimzi: there is none.
pub struct StrimziCluster(Infallible);

impl StrimziCluster {
    /// Fails.
    ///
    /// # Errors
    /// Always.
    pub fn start(
        _: &StrimziPlan,
        _: u64,
        _: u32,
        _: &AtomicBool,
        _: &mut dyn FnMut(String),
    ) -> Result<Self, PodsError> {
        Err(absent())
    }

    /// Its name.
    pub fn name(&self) -> &str {
        match self.0 {}
    }

    /// Where it is reached.
    pub fn status(&self) -> &StrimziStatus {
        match self.0 {}
    }

    /// The nodes that its brokers run on.
    pub fn nodes(&self) -> &BTreeMap<u32, String> {
        match self.0 {}
    }

    /// What its operator warns of.
    pub fn warnings(&self) -> &[String] {
        match self.0 {}
    }

    /// The certificate that clients trust.
    ///
    /// # Errors
    /// There is none.
    pub fn authority(&self) -> Result<String, PodsError> {
        match self.0 {}
    }

    /// What clients log in with.
    ///
    /// # Errors
    /// There is none.
    pub fn user(&self) -> Result<StrimziUser, PodsError> {
        match self.0 {}
    }

    /// Removes it.
    ///
    /// # Errors
    /// There is none.
    pub fn remove(&mut self) -> Result<(), PodsError> {
        match self.0 {}
    }
}

/// Pods that run a command: there are none.
pub struct CommandPods(Infallible);

impl CommandPods {
    /// Fails.
    ///
    /// # Errors
    /// Always.
    pub fn start(_: &CommandJob) -> Result<Self, PodsError> {
        Err(absent())
    }

    /// How far its pods are.
    ///
    /// # Errors
    /// There is none.
    pub fn look(&self) -> Result<Vec<SeenPod>, PodsError> {
        match self.0 {}
    }

    /// What keeps its pods from running.
    pub fn why_not_run(&self) -> Option<String> {
        match self.0 {}
    }

    /// What a pod prints.
    ///
    /// # Errors
    /// There is none.
    pub fn follow(&self, _: &str) -> Result<PodLines, PodsError> {
        match self.0 {}
    }

    /// Removes them.
    ///
    /// # Errors
    /// There is none.
    pub fn remove(&mut self) -> Result<(), PodsError> {
        match self.0 {}
    }
}

/// Fails.
///
/// # Errors
/// Always.
pub fn clean(_: Option<&str>, _: Option<&str>, _: bool) -> Result<Vec<String>, PodsError> {
    Err(absent())
}

/// Fails.
///
/// # Errors
/// Always.
pub fn existing(
    _: (Option<&str>, Option<&str>),
    _: &str,
    _: Option<&str>,
    _: Option<&str>,
) -> Result<ExistingCluster, PodsError> {
    Err(absent())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_without_the_client_says_so() {
        let error = absent();
        assert!(error.to_string().contains("no client of Kubernetes' API"));
        assert!(error.hint.contains("--features kdyno/kubernetes"));
    }
}
