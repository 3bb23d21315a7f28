//! Why a Java client cannot be run.

use kdyno_testbed::TestbedError;
use std::path::{Path, PathBuf};

/// Why a Java client cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum JavaDriverError {
    /// No Java, no Maven, no such release.
    #[error(transparent)]
    Testbed(#[from] TestbedError),
    /// What was named is no Kafka client.
    #[error("{message}")]
    Client {
        /// What was looked for, and where.
        message: String,
        /// What to do.
        hint: String,
    },
    /// An option of the Java process that cannot be given.
    #[error("{message}")]
    Option {
        /// Which, and why not.
        message: String,
        /// What to do.
        hint: String,
    },
    /// The driver's classes could not be compiled for this client.
    #[error("{message}")]
    Compile {
        /// What the compiler said, its beginning.
        message: String,
        /// What to do.
        hint: String,
    },
    /// A file could not be used.
    #[error("{what} {}: {source}", path.display())]
    Io {
        /// What was tried.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
}

impl JavaDriverError {
    /// What the user can do about it, where that is known.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::Testbed(error) => error.hint(),
            Self::Client { hint, .. } | Self::Option { hint, .. } | Self::Compile { hint, .. } => Some(hint),
            Self::Io { .. } => None,
        }
    }

    pub(crate) fn io(what: &'static str, path: &Path, source: std::io::Error) -> Self {
        Self::Io { what, path: path.to_owned(), source }
    }
}
