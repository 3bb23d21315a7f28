//! What the handlers of the data import share.

use crate::outbox::Outbox;
use deadpool_postgres::Pool;

/// Database, the way to Kafka, and a limit.
pub struct DataImport {
    /// Its database.
    pub pool: Pool,
    /// What is to be sent.
    pub outbox: Outbox,
    /// The topic of chunks.
    pub chunks_topic: String,
    /// The largest file that is taken, in bytes.
    pub upload_bytes_max: usize,
}
