//! The pods of a run as hosts that carry its load: made before its first trial, each reached by a port-forward through the API
//! server, removed at its end.

use super::credentials::Identity;
use super::lab_session::LabSession;
use super::resuming::Redial;
use super::session::AgentHost;
use super::tls;
use crate::error::LabError;
use kdyno_kubernetes::{AgentIdentity, PodDial, PodPlace, PodsError, RunningPods, objects};
use kdyno_model::generator::GeneratorPods;
use kdyno_model::secret::Secret;
use rustls::ClientConfig;
use std::collections::BTreeMap;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// How long the agent of a pod that runs may take to listen.
const LISTEN_DEADLINE: Duration = Duration::from_secs(20);

/// How often it is tried until then.
const AGAIN: Duration = Duration::from_millis(250);

/// Pods that run, and what their agents are known by.
pub(super) struct PodHosts {
    pods: RunningPods,
    config: Arc<ClientConfig>,
    token: Secret,
    /// A session with each for as long as the run lasts: an agent that has none ends, whatever became of the lab.
    kept: BTreeMap<u16, LabSession>,
}

impl PodHosts {
    /// Makes the pods of a run and waits for all of them; `say` gets what is waited for. `at_once`: for each case all pods that
    /// it has at the same time, which have to fit.
    ///
    /// # Errors
    /// One does not run, or its agent is not spoken to. Nothing stays of them.
    pub(super) fn start(
        (pods, at_once): (&GeneratorPods, &[Vec<GeneratorPods>]),
        run_id: u64,
        own: &AgentHost,
        stop: &AtomicBool,
        say: &mut dyn FnMut(String),
    ) -> Result<Self, LabError> {
        let Identity { certificate, key, token } = Identity::made()?;
        let config = tls::client(&certificate).map_err(|why| LabError::Agent { why })?;
        let identity = AgentIdentity { certificate, key, token };
        let job = (run_id, objects::job(pods, run_id));
        let running = RunningPods::start((pods, at_once), job, &identity, stop, say)?;
        let mut started = Self { pods: running, config, token: identity.token, kept: BTreeMap::new() };
        for index in 0..pods.count {
            let name = GeneratorPods::host_name(index);
            let kept = started.open(index, &name, own);
            let kept = kept.map_err(|why| LabError::Generator { name, why, hint: "" })?;
            started.kept.insert(index, kept);
        }
        Ok(started)
    }

    /// Opens a session with the agent of a pod, which may not listen yet.
    ///
    /// # Errors
    /// One lowercase clause.
    pub(super) fn open(&self, index: u16, name: &str, own: &AgentHost) -> Result<LabSession, String> {
        let end = Instant::now() + LISTEN_DEADLINE;
        loop {
            let why = match self.try_open(index, name, own) {
                Ok(session) => return Ok(session),
                Err(why) => why,
            };
            let gone = self.pods.dial(index).ok().and_then(|dial| dial.over());
            if gone.is_some() || Instant::now() >= end {
                return Err(gone.unwrap_or(why));
            }
            std::thread::sleep(AGAIN);
        }
    }

    fn try_open(&self, index: u16, name: &str, own: &AgentHost) -> Result<LabSession, String> {
        let dial = self.pods.dial(index).map_err(|error| error.to_string())?;
        let stream = dial.connect().map_err(|error| error.to_string())?;
        let (stream, carrier) = tls::connect(&self.config, stream).map_err(|error| error.to_string())?;
        let again = PodAgain { dial, config: Arc::clone(&self.config) };
        let opened = LabSession::open(name, stream, self.token.expose(), own, Box::new(again));
        opened.map_err(|why| match carrier.join() {
            Ok(Err(error)) => format!("its agent is not spoken to by TLS: {error}"),
            _ => why,
        })
    }

    /// Where a pod is; `None`: it does not run.
    pub(super) fn place(&self, index: u16) -> Option<&PodPlace> {
        self.pods.place(index)
    }

    /// Removes them.
    ///
    /// # Errors
    /// Something may be left.
    pub(super) fn remove(&mut self) -> Result<(), PodsError> {
        // All of them are asked to end before the first is waited for.
        self.kept.values().for_each(LabSession::close);
        self.kept.clear();
        self.pods.remove()
    }
}

/// How the agent of a pod is reached again.
struct PodAgain {
    dial: PodDial,
    config: Arc<ClientConfig>,
}

impl Redial for PodAgain {
    fn dial(&self) -> Result<UnixStream, String> {
        let stream = self.dial.connect().map_err(|error| error.to_string())?;
        tls::connect(&self.config, stream).map(|(stream, _)| stream).map_err(|error| error.to_string())
    }

    fn gone(&self) -> Option<String> {
        self.dial.over()
    }
}

#[cfg(test)]
mod tests {
    use super::super::credentials::FILES;
    use kdyno_kubernetes::objects::IDENTITY_FILES;

    /// An agent reads from a pod's secret what it would have written to a folder.
    #[test]
    fn a_pods_secret_is_the_folder_of_an_agent() {
        assert_eq!(IDENTITY_FILES, FILES);
    }
}
