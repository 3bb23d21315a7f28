//! What can go wrong before a request is sent, and with a job.

/// Why it ended other than as planned. The message is one lowercase sentence.
#[derive(Debug, thiserror::Error)]
pub enum HttpLoadError {
    /// A file cannot be read.
    #[error("{path} cannot be read: {source}")]
    File {
        /// Which.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// What is to be done cannot be understood; a defect of kdyno.
    #[error("the plan of what to send cannot be understood: {0}")]
    Plan(serde_json::Error),
    /// Timers or signals cannot be had.
    #[error("the process cannot wait for anything: {0}")]
    Runtime(std::io::Error),
    /// Rows of values are of no use.
    #[error("{path}: {why}")]
    Data {
        /// The file.
        path: String,
        /// One lowercase clause.
        why: String,
    },
    /// Certificates are of no use.
    #[error("certificates: {0}")]
    Trust(String),
    /// The HTTP client cannot be made, or a header is none.
    #[error("{0}")]
    Client(String),
    /// A job could not be started, said that it failed, or was not done.
    #[error("job: {0}")]
    Job(String),
}
