//! What can go wrong with the system under test, one variant per thing a user can do about it.

use kdyno_model::version::VersionError;
use std::path::{Path, PathBuf};

/// A failure of the testbed. The message says what failed, what was tried and why; [`Self::hint`] what to do.
#[derive(Debug, thiserror::Error)]
pub enum TestbedError {
    /// No Java, or none that this Kafka release runs on.
    #[error("{message}")]
    Java {
        /// What failed.
        message: String,
        /// What to do.
        hint: String,
    },
    /// Maven is missing or failed.
    #[error("{message}")]
    Maven {
        /// What failed.
        message: String,
        /// What to do.
        hint: String,
    },
    /// The Kafka release does not exist, or not in the wanted mode.
    #[error("{message}")]
    Version {
        /// What failed.
        message: String,
        /// What to do.
        hint: String,
    },
    /// A folder given as `home:` or `source:` holds no Kafka.
    #[error("{message}")]
    Distribution {
        /// What failed.
        message: String,
        /// What to do.
        hint: String,
    },
    /// The plan cannot be carried out as a cluster.
    #[error("{0}")]
    Impossible(String),
    /// A process of the cluster ended or did not become ready.
    #[error("{message}")]
    Start {
        /// Which process, and its cause in its own words.
        message: String,
        /// What to do, when the cause is a known one.
        hint: Option<String>,
        /// The last lines it logged.
        log_tail: Vec<String>,
    },
    /// Somebody asked to stop before the cluster was ready.
    #[error("the start of the cluster was given up")]
    GivenUp,
    /// The guard process could not be started or spoken to.
    #[error("guard process: {0}")]
    Guard(String),
    /// A relay could not do its work.
    #[error("relay: {0}")]
    Relay(String),
    /// There is not enough room on a disk.
    #[error("{message}")]
    Disk {
        /// Needed and free, with the folder.
        message: String,
        /// What to do.
        hint: String,
    },
    /// The load has more connections than this host carries.
    #[error("{message}")]
    Connections {
        /// What is short, and how many clients fit.
        message: String,
        /// What to do.
        hint: &'static str,
    },
    /// The network to another host could not be measured.
    #[error("{message}")]
    Network {
        /// Which, and why.
        message: String,
        /// What to do.
        hint: &'static str,
    },
    /// This host does not let brokers be limited.
    #[error("{message}")]
    CpuLimit {
        /// What was tried, and why it fails.
        message: String,
        /// What to do.
        hint: &'static str,
    },
    /// A folder that the run needs cannot be used.
    #[error("{message}")]
    Folder {
        /// Which, and why not.
        message: String,
        /// What to do.
        hint: String,
    },
    /// Another measured run holds this host.
    #[error("{message}")]
    Busy {
        /// Who holds it and since when.
        message: String,
        /// What to do.
        hint: String,
    },
    /// A running cluster's record is missing, taken or unreadable.
    #[error("{message}")]
    Registry {
        /// What failed.
        message: String,
        /// What to do.
        hint: Option<String>,
    },
    /// The attached cluster is not what the target says, or a cap would be broken.
    #[error("{message}")]
    Attach {
        /// What failed.
        message: String,
        /// What to do.
        hint: Option<String>,
    },
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
        Self::Version { message, hint }
    }
}

impl TestbedError {
    /// What the user can do about it, where that is known.
    #[must_use]
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::Java { hint, .. }
            | Self::Maven { hint, .. }
            | Self::Version { hint, .. }
            | Self::Distribution { hint, .. }
            | Self::Disk { hint, .. }
            | Self::Folder { hint, .. }
            | Self::Busy { hint, .. } => Some(hint),
            Self::Connections { hint, .. } | Self::CpuLimit { hint, .. } | Self::Network { hint, .. } => {
                Some(hint)
            }
            Self::Start { hint, .. } | Self::Registry { hint, .. } | Self::Attach { hint, .. } => {
                hint.as_deref()
            }
            Self::Impossible(_) | Self::GivenUp | Self::Guard(_) | Self::Relay(_) | Self::Io { .. } => None,
        }
    }

    /// The last log lines of the process that failed; empty for other failures.
    #[must_use]
    pub fn log_tail(&self) -> &[String] {
        match self {
            Self::Start { log_tail, .. } => log_tail,
            _ => &[],
        }
    }

    pub(crate) fn io(what: &'static str, path: &Path, source: std::io::Error) -> Self {
        Self::Io { what, path: path.to_path_buf(), source }
    }
}
