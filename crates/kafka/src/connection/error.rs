//! Why a connection ends, and which ends are for good.

use crate::errors::ErrorCode;
use crate::messages::ApiVersionError;
use crate::security::sasl::LoginError;
use crate::session::SessionError;
use crate::wire::WireError;
use std::io;
use thiserror::Error;

/// Why a connection must be closed, or was.
#[derive(Debug, Error)]
pub enum ConnectionError {
    /// The socket failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The broker closed the connection.
    #[error("the broker closed the connection")]
    Closed,
    /// The broker closed the connection before anything was done with it, which has few causes.
    #[error("the broker closed the connection {when}: {cause}")]
    ClosedEarly {
        /// What it did not wait for.
        when: &'static str,
        /// What that probably means.
        cause: &'static str,
    },
    /// The peer does not speak the protocol.
    #[error("the reply cannot be read: {0}")]
    Wire(#[from] WireError),
    /// The session broke.
    #[error(transparent)]
    Session(SessionError),
    /// The broker answered a request of the handshake with an error that may pass.
    #[error("the broker answered {api} with an error {error}")]
    Handshake {
        /// Name of the request.
        api: &'static str,
        /// The error.
        error: ErrorCode,
    },
    /// No answer in time.
    #[error("the broker did not answer within {0} ms")]
    TimedOut(u64),
    /// No socket in time.
    #[error("no connection could be made within {0} ms")]
    NotConnected(u64),
    /// The client starts again at the bootstrap addresses.
    #[error("the client goes back to its bootstrap addresses: {0}")]
    Left(&'static str),
    /// Connecting again cannot help.
    #[error(transparent)]
    Refused(#[from] PermanentError),
}

/// What no further attempt can cure. It is reported to the user instead of being tried for ever.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PermanentError {
    /// The broker lacks an API we need, or speaks no version of it that we speak.
    #[error(transparent)]
    Version(ApiVersionError),
    /// The two ends of the session do not accept each other.
    #[error(transparent)]
    Session(SessionError),
    /// The login failed.
    #[error(transparent)]
    Login(LoginError),
    /// The broker refused a request of the handshake.
    #[error("the broker answered {api} with an error {error}")]
    Handshake {
        /// Name of the request.
        api: &'static str,
        /// The error.
        error: ErrorCode,
    },
    /// The address leads to another cluster than the first broker that was asked belongs to.
    #[error("a broker of cluster {found:?} answers there, while the client began with cluster {first:?}")]
    OtherCluster {
        /// Id of the cluster that was asked first.
        first: String,
        /// Id of the one that answers.
        found: String,
    },
    /// The cluster refused to describe a topic.
    #[error("the broker answered Metadata of topic {topic:?} with an error {error}")]
    Topic {
        /// Name of the topic.
        topic: String,
        /// The error.
        error: ErrorCode,
    },
}

impl ConnectionError {
    /// An error in the answer to a request of the handshake.
    pub(super) fn handshake(api: &'static str, error: ErrorCode) -> Self {
        if error.is_refusal() {
            return PermanentError::Handshake { api, error }.into();
        }
        Self::Handshake { api, error }
    }
}

impl From<SessionError> for ConnectionError {
    fn from(error: SessionError) -> Self {
        match error {
            SessionError::Refused(_) | SessionError::NeedsTls => PermanentError::Session(error).into(),
            SessionError::Broken(_) => Self::Session(error),
        }
    }
}
