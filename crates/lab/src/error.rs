//! Why a run could not begin or could not go on.

use kdyno_kafka::admin::AdminError;
use kdyno_store::StoreError;
use kdyno_testbed::TestbedError;
use std::path::PathBuf;

/// Why a run could not begin or could not go on.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// The system under test could not be made, reached or kept.
    #[error(transparent)]
    Testbed(#[from] TestbedError),
    /// The evidence could not be written or read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The evidence could not be read as it should; a defect of kdyno.
    #[error(transparent)]
    Analysis(#[from] kdyno_analysis::AnalysisError),
    /// The cluster refused an administrative request.
    #[error("could not {what}: {source}")]
    Admin {
        /// What was tried.
        what: String,
        /// What the cluster or the network said.
        source: AdminError,
    },
    /// A folder or file of the run could not be made.
    #[error("could not make {path}: {source}")]
    Folder {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A worker process could not be started.
    #[error("worker {number} could not {what}: {source}")]
    WorkerStart {
        /// The worker's number.
        number: u16,
        /// What was tried.
        what: String,
        /// Why not.
        source: std::io::Error,
    },
    /// A worker said itself that it cannot go on.
    #[error("worker {number} failed: {message}")]
    WorkerFailed {
        /// The worker's number.
        number: u16,
        /// Its own sentence.
        message: String,
    },
    /// A worker ended, or can no longer be understood.
    #[error("worker {number} {detail}")]
    WorkerGone {
        /// The worker's number.
        number: u16,
        /// What was seen.
        detail: String,
    },
    /// A worker's clients were not connected in time.
    #[error("worker {number} had not connected all of its clients after {seconds} s")]
    WorkerNotPrepared {
        /// The worker's number.
        number: u16,
        /// How long the lab waited.
        seconds: u64,
    },
    /// A worker did not end when its time was over.
    #[error("worker {number} was still busy {seconds} s after the end of its trial and was ended")]
    WorkerOverdue {
        /// The worker's number.
        number: u16,
        /// How long the lab waited beyond the trial's end.
        seconds: u64,
    },
    /// The plan names a case that it does not hold.
    #[error("the plan's order names case {case}, but it has {cases}")]
    PlanBroken {
        /// The index named.
        case: u32,
        /// How many there are.
        cases: usize,
    },
    /// Somebody asked the run to stop before a trial had begun.
    #[error("interrupted")]
    Interrupted,
}

impl LabError {
    /// What the user can do about it, where that is known.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Testbed(error) => error.hint().map(ToOwned::to_owned),
            Self::Store(error) => error.hint().map(ToOwned::to_owned),
            Self::WorkerNotPrepared { .. } => {
                Some("do the brokers answer? see the events in `kdyno show`".to_owned())
            }
            _ => None,
        }
    }
}
