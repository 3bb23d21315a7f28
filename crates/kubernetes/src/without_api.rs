//! In the place of the client of the API in builds that have none.

use crate::command_job::{CommandJob, SeenPod};
use crate::{AgentIdentity, PodsError};
use kdyno_model::generator::GeneratorPods;
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
        _: &GeneratorPods,
        _: u64,
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

    /// The node of a pod.
    pub fn node(&self, _: u16) -> &str {
        match self.0 {}
    }

    /// Why pods no longer run.
    pub fn gone(&self) -> Vec<(u16, String)> {
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

    /// What a pod prints.
    ///
    /// # Errors
    /// There is none.
    pub fn follow(&self, _: &str) -> Result<UnixStream, PodsError> {
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
pub fn clean(_: &GeneratorPods, _: bool) -> Result<Vec<String>, PodsError> {
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
