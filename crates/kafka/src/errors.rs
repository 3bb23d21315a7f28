//! The brokers' error codes: name, whether a retry can help, whether fresh metadata is needed first.
//!
//! The classes are those of the Java client of Kafka 4.4 (`RetriableException`, and of those the ones that
//! ask for a metadata refresh). List: <https://kafka.apache.org/protocol#protocol_error_codes>.

use std::fmt;

/// An error code as a broker sent it; 0 means no error.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ErrorCode(pub i16);

/// The codes that this crate or its users decide on.
impl ErrorCode {
    /// Code -1.
    pub const UNKNOWN_SERVER_ERROR: Self = Self(-1);
    /// Code 0.
    pub const NONE: Self = Self(0);
    /// Code 1.
    pub const OFFSET_OUT_OF_RANGE: Self = Self(1);
    /// Code 2.
    pub const CORRUPT_MESSAGE: Self = Self(2);
    /// Code 3.
    pub const UNKNOWN_TOPIC_OR_PARTITION: Self = Self(3);
    /// Code 5.
    pub const LEADER_NOT_AVAILABLE: Self = Self(5);
    /// Code 6.
    pub const NOT_LEADER_OR_FOLLOWER: Self = Self(6);
    /// Code 7.
    pub const REQUEST_TIMED_OUT: Self = Self(7);
    /// Code 9.
    pub const REPLICA_NOT_AVAILABLE: Self = Self(9);
    /// Code 10.
    pub const MESSAGE_TOO_LARGE: Self = Self(10);
    /// Code 13: no broker sends it; clients say so of a connection that was lost.
    pub const NETWORK_EXCEPTION: Self = Self(13);
    /// Code 14.
    pub const COORDINATOR_LOAD_IN_PROGRESS: Self = Self(14);
    /// Code 15.
    pub const COORDINATOR_NOT_AVAILABLE: Self = Self(15);
    /// Code 16.
    pub const NOT_COORDINATOR: Self = Self(16);
    /// Code 17.
    pub const INVALID_TOPIC_EXCEPTION: Self = Self(17);
    /// Code 19.
    pub const NOT_ENOUGH_REPLICAS: Self = Self(19);
    /// Code 20.
    pub const NOT_ENOUGH_REPLICAS_AFTER_APPEND: Self = Self(20);
    /// Code 21.
    pub const INVALID_REQUIRED_ACKS: Self = Self(21);
    /// Code 22.
    pub const ILLEGAL_GENERATION: Self = Self(22);
    /// Code 23.
    pub const INCONSISTENT_GROUP_PROTOCOL: Self = Self(23);
    /// Code 25.
    pub const UNKNOWN_MEMBER_ID: Self = Self(25);
    /// Code 27.
    pub const REBALANCE_IN_PROGRESS: Self = Self(27);
    /// Code 29.
    pub const TOPIC_AUTHORIZATION_FAILED: Self = Self(29);
    /// Code 30.
    pub const GROUP_AUTHORIZATION_FAILED: Self = Self(30);
    /// Code 31.
    pub const CLUSTER_AUTHORIZATION_FAILED: Self = Self(31);
    /// Code 33.
    pub const UNSUPPORTED_SASL_MECHANISM: Self = Self(33);
    /// Code 34.
    pub const ILLEGAL_SASL_STATE: Self = Self(34);
    /// Code 35.
    pub const UNSUPPORTED_VERSION: Self = Self(35);
    /// Code 36.
    pub const TOPIC_ALREADY_EXISTS: Self = Self(36);
    /// Code 38.
    pub const INVALID_REPLICATION_FACTOR: Self = Self(38);
    /// Code 40.
    pub const INVALID_CONFIG: Self = Self(40);
    /// Code 41.
    pub const NOT_CONTROLLER: Self = Self(41);
    /// Code 42.
    pub const INVALID_REQUEST: Self = Self(42);
    /// Code 45.
    pub const OUT_OF_ORDER_SEQUENCE_NUMBER: Self = Self(45);
    /// Code 46.
    pub const DUPLICATE_SEQUENCE_NUMBER: Self = Self(46);
    /// Code 47.
    pub const INVALID_PRODUCER_EPOCH: Self = Self(47);
    /// Code 48.
    pub const INVALID_TXN_STATE: Self = Self(48);
    /// Code 49.
    pub const INVALID_PRODUCER_ID_MAPPING: Self = Self(49);
    /// Code 51.
    pub const CONCURRENT_TRANSACTIONS: Self = Self(51);
    /// Code 53.
    pub const TRANSACTIONAL_ID_AUTHORIZATION_FAILED: Self = Self(53);
    /// Code 55.
    pub const OPERATION_NOT_ATTEMPTED: Self = Self(55);
    /// Code 56.
    pub const KAFKA_STORAGE_ERROR: Self = Self(56);
    /// Code 58.
    pub const SASL_AUTHENTICATION_FAILED: Self = Self(58);
    /// Code 59.
    pub const UNKNOWN_PRODUCER_ID: Self = Self(59);
    /// Code 70.
    pub const FETCH_SESSION_ID_NOT_FOUND: Self = Self(70);
    /// Code 71.
    pub const INVALID_FETCH_SESSION_EPOCH: Self = Self(71);
    /// Code 74.
    pub const FENCED_LEADER_EPOCH: Self = Self(74);
    /// Code 75.
    pub const UNKNOWN_LEADER_EPOCH: Self = Self(75);
    /// Code 76.
    pub const UNSUPPORTED_COMPRESSION_TYPE: Self = Self(76);
    /// Code 78.
    pub const OFFSET_NOT_AVAILABLE: Self = Self(78);
    /// Code 79.
    pub const MEMBER_ID_REQUIRED: Self = Self(79);
    /// Code 82.
    pub const FENCED_INSTANCE_ID: Self = Self(82);
    /// Code 87.
    pub const INVALID_RECORD: Self = Self(87);
    /// Code 88.
    pub const UNSTABLE_OFFSET_COMMIT: Self = Self(88);
    /// Code 89.
    pub const THROTTLING_QUOTA_EXCEEDED: Self = Self(89);
    /// Code 90.
    pub const PRODUCER_FENCED: Self = Self(90);
    /// Code 106.
    pub const FETCH_SESSION_TOPIC_ID_ERROR: Self = Self(106);
    /// Code 110.
    pub const FENCED_MEMBER_EPOCH: Self = Self(110);
    /// Code 113.
    pub const STALE_MEMBER_EPOCH: Self = Self(113);
    /// Code 120.
    pub const TRANSACTION_ABORTABLE: Self = Self(120);
    /// Code 129.
    pub const REBOOTSTRAP_REQUIRED: Self = Self(129);
}

impl ErrorCode {
    /// Kafka's name of it, `UNRECOGNISED_ERROR` when the code is newer than this table.
    pub fn name(self) -> &'static str {
        self.row().map_or("UNRECOGNISED_ERROR", |row| row.0)
    }

    /// Whether this is an error.
    pub fn is_error(self) -> bool {
        self != Self::NONE
    }

    /// The code itself as an error, nothing when there was none.
    ///
    /// # Errors
    /// When the code is not 0.
    pub fn check(self) -> Result<(), Self> {
        if self.is_error() { Err(self) } else { Ok(()) }
    }

    /// Whether the same request may succeed later.
    pub fn is_retriable(self) -> bool {
        self.row().is_some_and(|row| row.1 != Final)
    }

    /// Whether metadata is to be fetched again before a retry.
    pub fn refreshes_metadata(self) -> bool {
        self.row().is_some_and(|row| row.1 == Refresh)
    }

    /// Whether the broker will not serve this client however often it asks: the request is not
    /// allowed, not known to it, or named in a way that cannot be.
    pub fn is_refusal(self) -> bool {
        matches!(
            self,
            Self::INVALID_TOPIC_EXCEPTION
                | Self::TOPIC_AUTHORIZATION_FAILED
                | Self::CLUSTER_AUTHORIZATION_FAILED
                | Self::UNSUPPORTED_SASL_MECHANISM
                | Self::ILLEGAL_SASL_STATE
                | Self::UNSUPPORTED_VERSION
                | Self::INVALID_REQUEST
                | Self::SASL_AUTHENTICATION_FAILED
        )
    }

    fn row(self) -> Option<&'static (&'static str, Class)> {
        TABLE.get(usize::try_from(i32::from(self.0) - FIRST_CODE).ok()?)
    }
}

impl From<i16> for ErrorCode {
    fn from(code: i16) -> Self {
        Self(code)
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.row() {
            Some(row) => f.write_str(row.0),
            None => write!(f, "{} {}", self.name(), self.0),
        }
    }
}

impl fmt::Debug for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ErrorCode({} {})", self.0, self.name())
    }
}

/// What to do about an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    /// Nothing.
    Final,
    /// Send it again.
    Retry,
    /// Fetch metadata, then send it again.
    Refresh,
}
use Class::{Final, Refresh, Retry};

/// Code of the first row of the table; the others follow without a gap.
const FIRST_CODE: i32 = -1;

const TABLE: &[(&str, Class)] = &[
    ("UNKNOWN_SERVER_ERROR", Final),                  // -1
    ("NONE", Final),                                  // 0
    ("OFFSET_OUT_OF_RANGE", Final),                   // 1
    ("CORRUPT_MESSAGE", Retry),                       // 2
    ("UNKNOWN_TOPIC_OR_PARTITION", Refresh),          // 3
    ("INVALID_FETCH_SIZE", Final),                    // 4
    ("LEADER_NOT_AVAILABLE", Refresh),                // 5
    ("NOT_LEADER_OR_FOLLOWER", Refresh),              // 6
    ("REQUEST_TIMED_OUT", Retry),                     // 7
    ("BROKER_NOT_AVAILABLE", Final),                  // 8
    ("REPLICA_NOT_AVAILABLE", Refresh),               // 9
    ("MESSAGE_TOO_LARGE", Final),                     // 10
    ("STALE_CONTROLLER_EPOCH", Final),                // 11
    ("OFFSET_METADATA_TOO_LARGE", Final),             // 12
    ("NETWORK_EXCEPTION", Refresh),                   // 13
    ("COORDINATOR_LOAD_IN_PROGRESS", Retry),          // 14
    ("COORDINATOR_NOT_AVAILABLE", Refresh),           // 15
    ("NOT_COORDINATOR", Refresh),                     // 16
    ("INVALID_TOPIC_EXCEPTION", Final),               // 17
    ("RECORD_LIST_TOO_LARGE", Final),                 // 18
    ("NOT_ENOUGH_REPLICAS", Retry),                   // 19
    ("NOT_ENOUGH_REPLICAS_AFTER_APPEND", Retry),      // 20
    ("INVALID_REQUIRED_ACKS", Final),                 // 21
    ("ILLEGAL_GENERATION", Final),                    // 22
    ("INCONSISTENT_GROUP_PROTOCOL", Final),           // 23
    ("INVALID_GROUP_ID", Final),                      // 24
    ("UNKNOWN_MEMBER_ID", Final),                     // 25
    ("INVALID_SESSION_TIMEOUT", Final),               // 26
    ("REBALANCE_IN_PROGRESS", Final),                 // 27
    ("INVALID_COMMIT_OFFSET_SIZE", Final),            // 28
    ("TOPIC_AUTHORIZATION_FAILED", Final),            // 29
    ("GROUP_AUTHORIZATION_FAILED", Final),            // 30
    ("CLUSTER_AUTHORIZATION_FAILED", Final),          // 31
    ("INVALID_TIMESTAMP", Final),                     // 32
    ("UNSUPPORTED_SASL_MECHANISM", Final),            // 33
    ("ILLEGAL_SASL_STATE", Final),                    // 34
    ("UNSUPPORTED_VERSION", Final),                   // 35
    ("TOPIC_ALREADY_EXISTS", Final),                  // 36
    ("INVALID_PARTITIONS", Final),                    // 37
    ("INVALID_REPLICATION_FACTOR", Final),            // 38
    ("INVALID_REPLICA_ASSIGNMENT", Final),            // 39
    ("INVALID_CONFIG", Final),                        // 40
    ("NOT_CONTROLLER", Retry),                        // 41
    ("INVALID_REQUEST", Final),                       // 42
    ("UNSUPPORTED_FOR_MESSAGE_FORMAT", Final),        // 43
    ("POLICY_VIOLATION", Final),                      // 44
    ("OUT_OF_ORDER_SEQUENCE_NUMBER", Final),          // 45
    ("DUPLICATE_SEQUENCE_NUMBER", Final),             // 46
    ("INVALID_PRODUCER_EPOCH", Final),                // 47
    ("INVALID_TXN_STATE", Final),                     // 48
    ("INVALID_PRODUCER_ID_MAPPING", Final),           // 49
    ("INVALID_TRANSACTION_TIMEOUT", Final),           // 50
    ("CONCURRENT_TRANSACTIONS", Retry),               // 51
    ("TRANSACTION_COORDINATOR_FENCED", Final),        // 52
    ("TRANSACTIONAL_ID_AUTHORIZATION_FAILED", Final), // 53
    ("SECURITY_DISABLED", Final),                     // 54
    ("OPERATION_NOT_ATTEMPTED", Final),               // 55
    ("KAFKA_STORAGE_ERROR", Refresh),                 // 56
    ("LOG_DIR_NOT_FOUND", Final),                     // 57
    ("SASL_AUTHENTICATION_FAILED", Final),            // 58
    ("UNKNOWN_PRODUCER_ID", Final),                   // 59
    ("REASSIGNMENT_IN_PROGRESS", Final),              // 60
    ("DELEGATION_TOKEN_AUTH_DISABLED", Final),        // 61
    ("DELEGATION_TOKEN_NOT_FOUND", Final),            // 62
    ("DELEGATION_TOKEN_OWNER_MISMATCH", Final),       // 63
    ("DELEGATION_TOKEN_REQUEST_NOT_ALLOWED", Final),  // 64
    ("DELEGATION_TOKEN_AUTHORIZATION_FAILED", Final), // 65
    ("DELEGATION_TOKEN_EXPIRED", Final),              // 66
    ("INVALID_PRINCIPAL_TYPE", Final),                // 67
    ("NON_EMPTY_GROUP", Final),                       // 68
    ("GROUP_ID_NOT_FOUND", Final),                    // 69
    ("FETCH_SESSION_ID_NOT_FOUND", Retry),            // 70
    ("INVALID_FETCH_SESSION_EPOCH", Retry),           // 71
    ("LISTENER_NOT_FOUND", Refresh),                  // 72
    ("TOPIC_DELETION_DISABLED", Final),               // 73
    ("FENCED_LEADER_EPOCH", Refresh),                 // 74
    ("UNKNOWN_LEADER_EPOCH", Retry),                  // 75
    ("UNSUPPORTED_COMPRESSION_TYPE", Final),          // 76
    ("STALE_BROKER_EPOCH", Final),                    // 77
    ("OFFSET_NOT_AVAILABLE", Retry),                  // 78
    ("MEMBER_ID_REQUIRED", Final),                    // 79
    ("PREFERRED_LEADER_NOT_AVAILABLE", Refresh),      // 80
    ("GROUP_MAX_SIZE_REACHED", Final),                // 81
    ("FENCED_INSTANCE_ID", Final),                    // 82
    ("ELIGIBLE_LEADERS_NOT_AVAILABLE", Refresh),      // 83
    ("ELECTION_NOT_NEEDED", Refresh),                 // 84
    ("NO_REASSIGNMENT_IN_PROGRESS", Final),           // 85
    ("GROUP_SUBSCRIBED_TO_TOPIC", Final),             // 86
    ("INVALID_RECORD", Final),                        // 87
    ("UNSTABLE_OFFSET_COMMIT", Retry),                // 88
    ("THROTTLING_QUOTA_EXCEEDED", Retry),             // 89
    ("PRODUCER_FENCED", Final),                       // 90
    ("RESOURCE_NOT_FOUND", Final),                    // 91
    ("DUPLICATE_RESOURCE", Final),                    // 92
    ("UNACCEPTABLE_CREDENTIAL", Final),               // 93
    ("INCONSISTENT_VOTER_SET", Final),                // 94
    ("INVALID_UPDATE_VERSION", Final),                // 95
    ("FEATURE_UPDATE_FAILED", Final),                 // 96
    ("PRINCIPAL_DESERIALIZATION_FAILURE", Final),     // 97
    ("SNAPSHOT_NOT_FOUND", Final),                    // 98
    ("POSITION_OUT_OF_RANGE", Final),                 // 99
    ("UNKNOWN_TOPIC_ID", Refresh),                    // 100
    ("DUPLICATE_BROKER_REGISTRATION", Final),         // 101
    ("BROKER_ID_NOT_REGISTERED", Final),              // 102
    ("INCONSISTENT_TOPIC_ID", Refresh),               // 103
    ("INCONSISTENT_CLUSTER_ID", Final),               // 104
    ("TRANSACTIONAL_ID_NOT_FOUND", Final),            // 105
    ("FETCH_SESSION_TOPIC_ID_ERROR", Retry),          // 106
    ("INELIGIBLE_REPLICA", Final),                    // 107
    ("NEW_LEADER_ELECTED", Final),                    // 108
    ("OFFSET_MOVED_TO_TIERED_STORAGE", Final),        // 109
    ("FENCED_MEMBER_EPOCH", Final),                   // 110
    ("UNRELEASED_INSTANCE_ID", Final),                // 111
    ("UNSUPPORTED_ASSIGNOR", Final),                  // 112
    ("STALE_MEMBER_EPOCH", Final),                    // 113
    ("MISMATCHED_ENDPOINT_TYPE", Final),              // 114
    ("UNSUPPORTED_ENDPOINT_TYPE", Final),             // 115
    ("UNKNOWN_CONTROLLER_ID", Final),                 // 116
    ("UNKNOWN_SUBSCRIPTION_ID", Final),               // 117
    ("TELEMETRY_TOO_LARGE", Final),                   // 118
    ("INVALID_REGISTRATION", Final),                  // 119
    ("TRANSACTION_ABORTABLE", Final),                 // 120
    ("INVALID_RECORD_STATE", Final),                  // 121
    ("SHARE_SESSION_NOT_FOUND", Retry),               // 122
    ("INVALID_SHARE_SESSION_EPOCH", Retry),           // 123
    ("FENCED_STATE_EPOCH", Final),                    // 124
    ("INVALID_VOTER_KEY", Final),                     // 125
    ("DUPLICATE_VOTER", Final),                       // 126
    ("VOTER_NOT_FOUND", Final),                       // 127
    ("INVALID_REGULAR_EXPRESSION", Final),            // 128
    ("REBOOTSTRAP_REQUIRED", Final),                  // 129
    ("STREAMS_INVALID_TOPOLOGY", Final),              // 130
    ("STREAMS_INVALID_TOPOLOGY_EPOCH", Final),        // 131
    ("STREAMS_TOPOLOGY_FENCED", Final),               // 132
    ("SHARE_SESSION_LIMIT_REACHED", Retry),           // 133
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_stand_at_their_codes() {
        for (code, name) in [
            (-1, "UNKNOWN_SERVER_ERROR"),
            (0, "NONE"),
            (6, "NOT_LEADER_OR_FOLLOWER"),
            (41, "NOT_CONTROLLER"),
            (89, "THROTTLING_QUOTA_EXCEEDED"),
            (133, "SHARE_SESSION_LIMIT_REACHED"),
        ] {
            assert_eq!(ErrorCode(code).name(), name);
        }
    }

    #[test]
    fn every_name_agrees_with_the_independent_table() {
        for code in -1..=200 {
            if let Some(theirs) = kafka_protocol::error::ResponseError::try_from_code(code) {
                let code = ErrorCode(code);
                // Its classes are those of an older Java client: since then some codes became retriable.
                assert!(code.is_retriable() || !theirs.is_retriable(), "{code:?}");
                if matches!(theirs, kafka_protocol::error::ResponseError::Unknown(_)) {
                    continue; // newer than that table
                }
                let letters: String = code.name().split('_').collect();
                assert!(letters.eq_ignore_ascii_case(&format!("{theirs:?}")), "{code:?} {theirs:?}");
            }
        }
    }

    #[test]
    fn an_unknown_code_is_final_and_keeps_its_number() {
        for code in [i16::MIN, -2, 134, i16::MAX] {
            let code = ErrorCode(code);
            assert!(code.is_error() && !code.is_retriable() && !code.refreshes_metadata());
            assert_eq!(code.to_string(), format!("UNRECOGNISED_ERROR {}", code.0));
        }
    }

    #[test]
    fn a_refusal_is_never_retriable() {
        let refusals: Vec<ErrorCode> = (-1..=200).map(ErrorCode).filter(|code| code.is_refusal()).collect();
        assert!(refusals.contains(&ErrorCode::SASL_AUTHENTICATION_FAILED));
        assert!(refusals.iter().all(|code| !code.is_retriable()), "{refusals:?}");
        assert!(!ErrorCode::UNKNOWN_SERVER_ERROR.is_refusal());
    }

    #[test]
    fn a_moved_leader_needs_metadata_and_missing_replicas_patience() {
        assert!(ErrorCode::NOT_LEADER_OR_FOLLOWER.refreshes_metadata());
        assert!(ErrorCode::NOT_ENOUGH_REPLICAS.is_retriable());
        assert!(!ErrorCode::NOT_ENOUGH_REPLICAS.refreshes_metadata());
        assert!(!ErrorCode::MESSAGE_TOO_LARGE.is_retriable());
    }
}
