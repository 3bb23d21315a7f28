//! What each unique record carries of itself: its run, who sent it and where to, and when it was intended.
//!
//! ```text
//! run id 8 | producing client 4 | partition 4 | sequence 8 | scheduled send time 8     big-endian
//! ```
//! It is the end of the value, or a header `kdyno` behind all others where the value has no room or is not kdyno's own.

use kdyno_kafka::records::Record;
use kdyno_model::plan::{TRAILER_BYTES, TRAILER_HEADER};

/// A trailer's bytes.
pub type TrailerBytes = [u8; TRAILER_BYTES as usize];

/// A trailer that is written, record by record.
#[derive(Debug, Clone, Copy)]
pub struct Trailer {
    bytes: TrailerBytes,
}

impl Trailer {
    /// The trailer of records of a run that this client sends to a partition.
    pub fn new(run_id: u64, client: u32, partition: i32) -> Self {
        let mut bytes = TrailerBytes::default();
        bytes[0..8].copy_from_slice(&run_id.to_be_bytes());
        bytes[8..12].copy_from_slice(&client.to_be_bytes());
        bytes[12..16].copy_from_slice(&partition.to_be_bytes());
        Self { bytes }
    }

    /// That of a record: its number among the client's in the partition, and its t0, ns since 1970.
    #[inline]
    pub fn stamp(&mut self, sequence: u64, intended_wall_ns: i64) -> &TrailerBytes {
        self.bytes[16..24].copy_from_slice(&sequence.to_be_bytes());
        self.bytes[24..32].copy_from_slice(&intended_wall_ns.to_be_bytes());
        &self.bytes
    }
}

/// Reads the trailers of one run's records.
#[derive(Debug, Clone, Copy)]
pub struct TrailerReader {
    run_id: [u8; 8],
}

impl TrailerReader {
    /// The part of a run.
    pub fn new(run_id: u64) -> Self {
        Self { run_id: run_id.to_be_bytes() }
    }

    /// The t0 of a record, ns since 1970 by the clock of who sent it; `None`: it is no unique record of this run.
    #[inline]
    pub fn intended_wall_ns(&self, record: &Record<'_>) -> Option<i64> {
        // Values that have a trailer in a header are somebody's own, and may end with anything.
        let in_header = record.headers().last().filter(|(name, _)| *name == TRAILER_HEADER.as_bytes());
        let held = in_header.map_or(record.value, |(_, value)| value)?;
        let trailer: &TrailerBytes = held.last_chunk()?;
        if trailer[..8] != self.run_id {
            return None;
        }
        trailer.last_chunk().map(|intended| i64::from_be_bytes(*intended))
    }
}
