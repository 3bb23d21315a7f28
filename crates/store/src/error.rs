//! What can go wrong with a run file, said so that the reader knows which file and what to do.

use kdyno_model::trial::TrialId;
use std::path::{Path, PathBuf};

/// A failure to write or read a run file. Cloneable, because the writer repeats its failure at every
/// later call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The path is taken.
    #[error("the run file {} exists already", path.display())]
    Exists {
        /// The run file.
        path: PathBuf,
    },
    /// No space left, or a quota was reached.
    #[error("the disk is full: could not write to the run file {}", path.display())]
    DiskFull {
        /// The run file.
        path: PathBuf,
    },
    /// Any other failure to write.
    #[error("could not write to the run file {}: {reason}", path.display())]
    Write {
        /// The run file.
        path: PathBuf,
        /// What SQLite or the operating system says.
        reason: String,
    },
    /// The file could not be opened or read at all.
    #[error("could not read the run file {}: {reason}", path.display())]
    Read {
        /// The run file.
        path: PathBuf,
        /// What SQLite or the operating system says.
        reason: String,
    },
    /// Something else than a run file.
    #[error("{} is not a run file of kdyno: {reason}", path.display())]
    NotARunFile {
        /// The file.
        path: PathBuf,
        /// How that shows.
        reason: String,
    },
    /// Written before the first release, in a format that is no longer read.
    #[error(
        "the run file {} has format {found}; kdyno at commit {} reads and writes it",
        path.display(), crate::schema::read_by(*found)
    )]
    OldFormat {
        /// The run file.
        path: PathBuf,
        /// Format of the file, from 1 to one below [`crate::schema::FORMAT_VERSION`].
        found: u32,
    },
    /// Written by a later kdyno.
    #[error(
        "the run file {} has format {found}, and this kdyno reads formats up to {known}",
        path.display()
    )]
    NewerFormat {
        /// The run file.
        path: PathBuf,
        /// Format of the file.
        found: u32,
        /// [`crate::schema::FORMAT_VERSION`].
        known: u32,
    },
    /// A run file whose content contradicts its format.
    #[error("the run file {} is damaged: {reason}", path.display())]
    Damaged {
        /// The run file.
        path: PathBuf,
        /// Where and how.
        reason: String,
    },
    /// Somebody else is writing or reading the file.
    #[error("the run file {} is in use by another process", path.display())]
    InUse {
        /// The run file.
        path: PathBuf,
    },
    /// A session does not follow the last one of its file.
    #[error("session {number} cannot begin in the run file {}, whose last session is {last}", path.display())]
    SessionNumber {
        /// The run file.
        path: PathBuf,
        /// Number of the last session; 0: there is none.
        last: u32,
        /// Number of the session that was to begin.
        number: u32,
    },
    /// A trial that never started.
    #[error("the run file {} has no trial {trial}", path.display())]
    NoTrial {
        /// The run file.
        path: PathBuf,
        /// The trial.
        trial: TrialId,
    },
    /// More is stored than may be held in memory at once.
    #[error("the run file {} holds more than {limit_bytes} bytes of {what} in one trial", path.display())]
    TooMuch {
        /// The run file.
        path: PathBuf,
        /// What it is of.
        what: &'static str,
        /// The limit, bytes.
        limit_bytes: u64,
    },
}

impl StoreError {
    /// What to do about it, one lowercase sentence, where something can be said.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Exists { .. } => Some("run files are never overwritten; choose another folder with --out"),
            // Whether anything is kept, the caller knows.
            Self::DiskFull { .. } => Some("free some space or choose another folder with --out"),
            Self::NewerFormat { .. } => Some("read it with the kdyno that wrote it, or a later one"),
            Self::Damaged { .. } => {
                Some("`sqlite3 FILE .recover` can often save the rows that are still whole")
            }
            Self::OldFormat { .. } => Some("check out and build that commit"),
            Self::InUse { .. } => Some("wait until the run ends"),
            Self::SessionNumber { .. } => Some("another kdyno has resumed this run meanwhile"),
            Self::Write { .. }
            | Self::Read { .. }
            | Self::NotARunFile { .. }
            | Self::NoTrial { .. }
            | Self::TooMuch { .. } => None,
        }
    }

    /// A failure to write, by SQLite.
    pub(crate) fn write(path: &Path, error: &rusqlite::Error) -> Self {
        let path = path.to_path_buf();
        match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::DiskFull) => Self::DiskFull { path },
            _ => Self::Write { path, reason: error.to_string() },
        }
    }

    /// A failure to write, by the operating system.
    pub(crate) fn write_io(path: &Path, error: &std::io::Error) -> Self {
        let path = path.to_path_buf();
        match error.kind() {
            std::io::ErrorKind::AlreadyExists => Self::Exists { path },
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => Self::DiskFull { path },
            _ => Self::Write { path, reason: error.to_string() },
        }
    }

    /// A failure to read, by SQLite: what SQLite finds malformed is damage, the rest is circumstance.
    pub(crate) fn read(path: &Path, what: &str, error: &rusqlite::Error) -> Self {
        use rusqlite::ErrorCode::{
            CannotOpen, DatabaseBusy, DatabaseLocked, OutOfMemory, PermissionDenied, ReadOnly,
            SystemIoFailure,
        };
        let path = path.to_path_buf();
        let reason = format!("{what}: {error}");
        match error.sqlite_error_code() {
            Some(
                CannotOpen | DatabaseBusy | DatabaseLocked | OutOfMemory | PermissionDenied | ReadOnly
                | SystemIoFailure,
            ) => Self::Read { path, reason },
            Some(rusqlite::ErrorCode::DiskFull) => Self::DiskFull { path },
            _ => Self::Damaged { path, reason },
        }
    }

    /// Content that contradicts the format.
    pub(crate) fn damaged(path: &Path, reason: impl Into<String>) -> Self {
        Self::Damaged { path: path.to_path_buf(), reason: reason.into() }
    }
}
