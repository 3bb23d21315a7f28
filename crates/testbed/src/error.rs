//! What can go wrong with the system under test, and what a user can do about it.

use kdyno_model::version::VersionError;
use std::path::{Path, PathBuf};

/// A failure of the testbed. The message says what failed, what was tried and why; [`Self::hint`] what to do.
#[derive(Debug, thiserror::Error)]
pub enum TestbedError {
    /// Something is missing, refused, or did not start.
    #[error("{message}")]
    Failed {
        /// What failed.
        message: String,
        /// What to do, where that is known.
        hint: Option<String>,
        /// The last lines that the process that failed logged; empty where there is none.
        log_tail: Vec<String>,
    },
    /// Another measured run holds this host.
    #[error("{message}")]
    Busy {
        /// Who holds it and since when.
        message: String,
        /// What to do.
        hint: String,
    },
    /// The plan cannot be carried out as a cluster.
    #[error("{0}")]
    Impossible(String),
    /// Somebody asked to stop before the cluster was ready.
    #[error("the start of the cluster was given up")]
    GivenUp,
    /// The guard process could not be started or spoken to.
    #[error("guard process: {0}")]
    Guard(String),
    /// A relay could not do its work.
    #[error("relay: {0}")]
    Relay(String),
    /// A file or folder could not be used.
    #[error("{what} {}: {source}", path.display())]
    Io {
        /// What was tried, e.g. "cannot create folder".
        what: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
}

impl From<VersionError> for TestbedError {
    fn from(VersionError { message, hint, .. }: VersionError) -> Self {
        Self::hinted(message, hint)
    }
}

impl TestbedError {
    /// A failure that a user can do something about.
    pub fn hinted(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Failed { message: message.into(), hint: Some(hint.into()), log_tail: Vec::new() }
    }

    /// A failure whose message says it all.
    pub(crate) fn failed(message: String) -> Self {
        Self::Failed { message, hint: None, log_tail: Vec::new() }
    }

    /// What the user can do about it, where that is known.
    #[must_use]
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::Failed { hint, .. } => hint.as_deref(),
            Self::Busy { hint, .. } => Some(hint),
            Self::Impossible(_) | Self::GivenUp | Self::Guard(_) | Self::Relay(_) | Self::Io { .. } => None,
        }
    }

    /// The last log lines of the process that failed; empty for other failures.
    #[must_use]
    pub fn log_tail(&self) -> &[String] {
        match self {
            Self::Failed { log_tail, .. } => log_tail,
            _ => &[],
        }
    }

    /// A file or folder that could not be used.
    pub fn io(what: &'static str, path: &Path, source: std::io::Error) -> Self {
        Self::Io { what, path: path.to_path_buf(), source }
    }
}
