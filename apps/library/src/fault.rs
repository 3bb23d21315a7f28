//! Why a record from Kafka could not be dealt with, as far as it matters for what to do next.

use deadpool_postgres::{PoolError, tokio_postgres};
use rdkafka::error::KafkaError;
use rdkafka::types::RDKafkaErrorCode;

/// What went wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// Nothing is wrong with the record: a database or a broker is away. Wait and do the same again, however often.
    Away(String),
    /// This record, or one of this batch, is not taken. Trying again seldom helps.
    Refused(String),
    /// This process cannot go on; another one may.
    Fatal(String),
}

/// Classes of PostgreSQL's error codes that say nothing about the rows: connection, transaction rolled back (deadlock,
/// serialisation), resources, an operator's intervention (shutdown), system.
const AWAY_CLASSES: &[&str] = &["08", "40", "53", "57", "58"];

impl From<tokio_postgres::Error> for Fault {
    fn from(error: tokio_postgres::Error) -> Self {
        let Some(reported) = error.as_db_error() else {
            // Not from the server: a lost connection, or a value that cannot be encoded, which `is_closed` does not
            // show.
            return Self::Away(error.to_string());
        };
        let code = reported.code().code();
        // 23505 here: another consumer, which has lost its partitions meanwhile, has written the same row. It is looked up
        // when this is done again.
        if AWAY_CLASSES.iter().any(|class| code.starts_with(class)) || code == "23505" {
            Self::Away(reported.message().to_owned())
        } else {
            Self::Refused(format!("the database refused it: {}", reported.message()))
        }
    }
}

impl From<PoolError> for Fault {
    fn from(error: PoolError) -> Self {
        Self::Away(format!("no connection to the database: {error}"))
    }
}

impl From<KafkaError> for Fault {
    fn from(error: KafkaError) -> Self {
        match error.rdkafka_error_code() {
            Some(RDKafkaErrorCode::MessageSizeTooLarge) => {
                Self::Refused("it is too large for a record of Kafka".to_owned())
            }
            // An idempotent producer that can no longer promise its order.
            Some(RDKafkaErrorCode::Fatal) => Self::Fatal(error.to_string()),
            _ => Self::Away(error.to_string()),
        }
    }
}
