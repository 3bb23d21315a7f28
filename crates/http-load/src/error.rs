//! What can go wrong before a request is sent, and with a job.

use std::fmt::Display;

/// Why it ended other than as planned: one lowercase sentence.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct HttpLoadError(pub(crate) String);

impl HttpLoadError {
    /// A file cannot be read.
    pub(crate) fn file(path: impl Display, error: &std::io::Error) -> Self {
        Self(format!("{path} cannot be read: {error}"))
    }

    /// Certificates are of no use.
    pub(crate) fn trust(why: impl Display) -> Self {
        Self(format!("certificates: {why}"))
    }

    /// A job could not be started, said that it failed, or was not done.
    pub(crate) fn job(why: impl Display) -> Self {
        Self(format!("job: {why}"))
    }
}
