//! The host of an agent as a place of workers.

use super::lab_session::{ANSWER_DEADLINE, LabSession, SessionState, Shared, WorkerThere, spawn};
use super::session::{BrokerThere, EndedThere, PIECE_BYTES, ToAgent, shown};
use super::{Place, StartedWorker, WorkerEnd, WorkerProcess};
use crate::error::LabError;
use crate::inbox::Heard;
use kdyno_model::plan::TlsVersion;
use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::time::Duration;

/// The host of an agent.
pub(crate) struct AgentPlace<'s> {
    session: &'s LabSession,
    work_dir: &'s Path,
}

impl<'s> AgentPlace<'s> {
    /// The ends of the logs of its workers go to `work_dir`.
    pub(super) fn of(session: &'s LabSession, work_dir: &'s Path) -> Self {
        Self { session, work_dir }
    }

    /// Starts a null broker next to its workers, in the place of one before.
    ///
    /// # Errors
    /// One lowercase clause.
    pub(crate) fn null_broker(&self, partitions: u32, tls: Vec<TlsVersion>) -> Result<BrokerThere, String> {
        self.session.start_null_broker(partitions, tls)
    }
}

impl Place for AgentPlace<'_> {
    fn start(&self, number: u16, inbox: &SyncSender<Heard>) -> Result<StartedWorker, LabError> {
        let shared = &self.session.shared;
        let failed = |error: io::Error| LabError::worker_start(number, "make a socket pair", &error);
        let (ours, theirs) = UnixStream::pair().map_err(failed)?;
        let from_lab = theirs.try_clone().map_err(failed)?;
        let worker = WorkerThere { socket: theirs, inbox: inbox.clone(), ended: None };
        shared.state().workers.insert(number, worker);
        let started = shared.tell(&ToAgent::Start { worker: number });
        started.map_err(|why| LabError::Generator { name: shared.name.clone(), why, hint: "" })?;
        let bridge = Arc::clone(shared);
        spawn("session-bridge", move || carry(&bridge, number, from_lab)).map_err(failed)?;
        let log = self.work_dir.join(format!("worker-{number}.log"));
        let process = AgentProcess { number, shared: Arc::clone(shared), log };
        Ok(StartedWorker { socket: ours, clock: self.session.clock, process: Box::new(process) })
    }
}

/// Carries what the lab says to a worker, then its end.
fn carry(shared: &Shared, worker: u16, mut from_lab: UnixStream) {
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        let told = match from_lab.read(&mut piece) {
            Ok(count) if count > 0 => shared.outgoing.bytes(worker, &piece[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Ok(_) | Err(_) => {
                piece.fill(0);
                let _ = shared.tell(&ToAgent::Close { worker });
                return;
            }
        };
        if let Err(error) = told {
            piece.fill(0);
            return shared.lose(format!("its session broke: {error}"));
        }
    }
}

/// A worker's process on another host.
struct AgentProcess {
    number: u16,
    shared: Arc<Shared>,
    log: PathBuf,
}

impl std::fmt::Debug for AgentProcess {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "worker {} on {}", self.number, self.shared.name)
    }
}

impl WorkerProcess for AgentProcess {
    fn pid(&self) -> Option<u32> {
        None
    }

    fn log_path(&self) -> &Path {
        &self.log
    }

    fn end(&mut self, deadline: Duration) -> WorkerEnd {
        let number = self.number;
        let ended =
            |state: &mut SessionState| state.workers.get_mut(&number).and_then(|one| one.ended.take());
        let found = self.shared.wait(deadline, ended).or_else(|why| {
            if self.shared.state().lost.is_some() {
                return Err(why);
            }
            self.shared.tell(&ToAgent::Kill { worker: number })?;
            self.shared.wait(ANSWER_DEADLINE, ended)
        });
        let on = &self.shared.name;
        match found {
            Ok(EndedThere { status, success, cpu_s, log, .. }) => {
                // Without it the end is known all the same.
                let _ = std::fs::write(&self.log, log);
                WorkerEnd { status: format!("{} on generator {on}", shown(&status)), success, cpu_s }
            }
            Err(why) => WorkerEnd { status: format!("generator {on}: {why}"), success: false, cpu_s: None },
        }
    }
}
