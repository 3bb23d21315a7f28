//! How the null broker behaves, and what it reports at its end.

use super::topics::PARTITIONS_MAX;
use std::io;

/// Largest batch handed out to fetch requests.
const FETCH_BATCH_BYTES_MAX: u64 = 8 << 20;

/// What fetch requests are answered with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FetchAnswer {
    /// Nothing, once the client's wait is over.
    #[default]
    Empty,
    /// At once, for each partition, a batch of that many records without key and that many bytes of value,
    /// at whatever offset was requested: a log without end.
    Batch {
        /// Records in the batch, 1 or more.
        records: u32,
        /// Bytes of each value.
        value_bytes: u32,
    },
}

/// How the null broker behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NullBrokerOptions {
    /// Partitions of a topic that was not created with another count.
    pub partitions: u32,
    /// What fetch requests are answered with.
    pub fetch: FetchAnswer,
}

impl Default for NullBrokerOptions {
    fn default() -> Self {
        Self { partitions: 1, fetch: FetchAnswer::Empty }
    }
}

impl NullBrokerOptions {
    /// Whether a broker can behave so.
    ///
    /// # Errors
    /// When it cannot: what is wrong, and the bounds.
    pub(super) fn check(&self) -> io::Result<()> {
        if let FetchAnswer::Batch { records, value_bytes } = self.fetch {
            // 32 bytes: more than the overhead of a record.
            let bytes = u64::from(records) * (u64::from(value_bytes) + 32);
            if records == 0 || bytes > FETCH_BATCH_BYTES_MAX {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidInput,
                    format!(
                        "fetch batch of {records} records of {value_bytes} bytes is not between 1 record and 8 MiB"
                    ),
                ));
            }
        }
        if !(1..=PARTITIONS_MAX).contains(&self.partitions) {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("{} partitions are not between 1 and {PARTITIONS_MAX}", self.partitions),
            ));
        }
        Ok(())
    }
}

/// What the null broker saw from its start to its end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NullBrokerStats {
    /// Connections accepted.
    pub connections: u64,
    /// Requests read to their end, of all kinds.
    pub requests: u64,
    /// Produce requests among these.
    pub produce_requests: u64,
    /// Records taken in, as the heads of their batches count them.
    pub records: u64,
    /// Records handed out.
    pub fetched_records: u64,
    /// Bytes received, of everything.
    pub received_bytes: u64,
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Connections closed because of what they sent, or because the socket failed.
    pub errors: u64,
    /// What the last of these was.
    pub last_error: Option<String>,
}
