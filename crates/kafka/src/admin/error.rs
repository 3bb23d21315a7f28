//! What can go wrong between the admin client and brokers.

use crate::errors::ErrorCode;
use crate::messages::ApiVersionError;
use crate::security::sasl::LoginError;
use crate::session::SessionError;
use crate::wire::WireError;
use std::io;
use std::time::Duration;
use thiserror::Error;

/// Result of an admin call.
pub type Result<T> = std::result::Result<T, AdminError>;

/// Why an admin call failed.
#[derive(Debug, Error)]
pub enum AdminError {
    /// An address that is not `host:port`.
    #[error("{0:?} is not an address of the form host:port")]
    Address(String),
    /// No bootstrap address was given.
    #[error("no bootstrap address was given")]
    NoAddress,
    /// A host name without an address.
    #[error("host of broker {address} cannot be resolved: {source}")]
    Resolve {
        /// Address of the broker.
        address: String,
        /// What the resolver said.
        source: io::Error,
    },
    /// Nothing listens there.
    #[error("broker {address} refused the connection")]
    Refused {
        /// Address of the broker.
        address: String,
    },
    /// The connection cannot be made or broke.
    #[error("connection to broker {address} failed: {source}")]
    Io {
        /// Address of the broker.
        address: String,
        /// What the system said.
        source: io::Error,
    },
    /// The broker hung up instead of answering.
    #[error("broker {address} closed the connection instead of answering {api}")]
    Closed {
        /// Address of the broker.
        address: String,
        /// Name of the request.
        api: &'static str,
    },
    /// The broker hung up before the connection was of use.
    #[error("broker {address} closed the connection {when}: {cause}")]
    ClosedEarly {
        /// Address of the broker.
        address: String,
        /// What it did not wait for.
        when: &'static str,
        /// What that probably means.
        cause: &'static str,
    },
    /// The broker was too slow.
    #[error("broker {address} did not answer {api} within {limit:?}")]
    Timeout {
        /// Address of the broker.
        address: String,
        /// Name of the request.
        api: &'static str,
        /// Time there was.
        limit: Duration,
    },
    /// No session with the broker.
    #[error("broker {address}: {source}")]
    Session {
        /// Address of the broker.
        address: String,
        /// Why not.
        source: SessionError,
    },
    /// The login failed.
    #[error("broker {address}: {source}")]
    Login {
        /// Address of the broker.
        address: String,
        /// Why.
        source: LoginError,
    },
    /// Broker and we have no version of a request in common.
    #[error("broker {address}: {source}")]
    Version {
        /// Address of the broker.
        address: String,
        /// Which ranges do not meet.
        source: ApiVersionError,
    },
    /// The answer is not what it should be.
    #[error("broker {address} answered {api} with bytes that are no reply to it: {source}")]
    Wire {
        /// Address of the broker.
        address: String,
        /// Name of the request.
        api: &'static str,
        /// What is wrong with the bytes.
        source: WireError,
    },
    /// The broker answered with an error.
    #[error("broker {address} answered {api}{subject} with an error {code}{message}")]
    Broker {
        /// Address of the broker.
        address: String,
        /// Name of the request.
        api: &'static str,
        /// What of the request it concerns: empty, or ` of …`.
        subject: String,
        /// The error.
        code: ErrorCode,
        /// The broker's own words, short and on one line: empty, or `: …`.
        message: String,
    },
    /// No address led to a broker.
    #[error("no broker could be reached: {}", list(.0))]
    Unreachable(Vec<AdminError>),
    /// The brokers name no controller.
    #[error("the cluster has no controller at the moment")]
    NoController,
    /// Another cluster answers than the one that was asked first.
    #[error(
        "a broker of cluster {found:?} answers at {address}, while the client began with cluster {first:?}"
    )]
    OtherCluster {
        /// Address of the broker.
        address: String,
        /// Id of the cluster that was asked first.
        first: String,
        /// Id of the one that answers.
        found: String,
    },
    /// A broker that advertises an address where nothing can listen.
    #[error("broker {id} advertises the address {address:?}: that needs a host, and a port from 1 to 65535")]
    Advertised {
        /// Its id.
        id: i32,
        /// What it advertises.
        address: String,
    },
    /// A broker that the cluster does not have.
    #[error("the cluster has no broker {id}, only {brokers:?}")]
    UnknownBroker {
        /// Its id.
        id: i32,
        /// Living brokers.
        brokers: Vec<i32>,
    },
    /// A leader left a partition out of its answer.
    #[error("no broker returned the offset of {topic}-{partition}")]
    NoOffset {
        /// Name of the topic.
        topic: String,
        /// Number of the partition.
        partition: i32,
    },
    /// Text that the protocol cannot carry.
    #[error("{what} has {bytes} bytes, kafka allows {bytes_max}")]
    Text {
        /// What it is.
        what: &'static str,
        /// Its length.
        bytes: usize,
        /// The longest that can be sent.
        bytes_max: usize,
    },
    /// Brokers did not agree in time on what was done.
    #[error("topic {topic:?} was {done}, but after {limit:?} {lack}")]
    Unsettled {
        /// Name of the topic.
        topic: String,
        /// What was done.
        done: &'static str,
        /// Time there was.
        limit: Duration,
        /// What is not as it should be.
        lack: String,
    },
}

fn list(errors: &[AdminError]) -> String {
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

impl AdminError {
    /// Whether a listener requires TLS that this client has not.
    pub fn needs_tls(&self) -> bool {
        match self {
            Self::Unreachable(errors) => errors.iter().any(Self::needs_tls),
            Self::Session { source, .. } => *source == SessionError::NeedsTls,
            _ => false,
        }
    }

    /// The broker's error code, if it is one.
    pub fn code(&self) -> Option<ErrorCode> {
        match self {
            Self::Broker { code, .. } => Some(*code),
            _ => None,
        }
    }

    /// Whether the same call may succeed a moment later.
    pub(super) fn is_retriable(&self) -> bool {
        match self {
            Self::Refused { .. } | Self::Io { .. } | Self::Unreachable(_) => true,
            Self::Closed { .. } | Self::ClosedEarly { .. } => true,
            Self::Timeout { .. }
            | Self::NoController
            | Self::UnknownBroker { .. }
            | Self::NoOffset { .. } => true,
            // At another of the addresses that were given.
            Self::Broker { code: ErrorCode::REBOOTSTRAP_REQUIRED, .. } => true,
            Self::Broker { code, .. } => code.is_retriable(),
            Self::Session { source, .. } => matches!(source, SessionError::Broken(_)),
            _ => false,
        }
    }

    /// Whether the requested thing is unknown, which may only mean: not known yet.
    pub(super) fn is_unknown(&self) -> bool {
        match self {
            Self::UnknownBroker { .. } => true,
            _ => self.code() == Some(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION),
        }
    }

    /// Whether the request may have been carried out although no answer says so.
    pub(super) fn is_ambiguous(&self) -> bool {
        match self {
            Self::Io { .. } | Self::Closed { .. } | Self::Timeout { .. } | Self::Session { .. } => true,
            Self::Broker { code, .. } => *code == ErrorCode::REQUEST_TIMED_OUT,
            _ => false,
        }
    }
}
