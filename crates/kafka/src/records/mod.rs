//! Record batches, format 2 (magic 2): what a produce request carries and a fetch reply returns.
//!
//! ```text
//! header, 61 bytes: base offset 8 | length 4 | leader epoch 4 | magic 1 | crc 4 | the checksummed part of it, 40
//! body: the records, as a whole compressed or not
//! ```
//!
//! A sender writes bodies once and often, and only then knows the header: the checksum of both is therefore
//! [combined](CrcShift) from two checksums instead of computed over all bytes again. A reader takes bytes from
//! outside: every length is checked, and decompression ends at a size the caller states.
//! Format: <https://kafka.apache.org/documentation/#recordbatch>.

mod batch;
mod compression;
mod crc;
mod record;

pub use batch::{
    Batch, BatchHeader, Batches, BodySum, HEADER_BYTES, NO_PRODUCER_EPOCH, NO_PRODUCER_ID, NO_SEQUENCE,
    TRANSACTIONAL_BIT, batches, write_batch_header,
};
pub use compression::{Compression, Compressor, compress, decompress};
pub use crc::CrcShift;
pub use record::{BodyRecords, Record, begin_record, encode_headers, encode_record, record_bytes};

use crate::wire::WireError;
use thiserror::Error;

/// What is wrong with a record batch.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RecordsError {
    /// Bytes that cannot be a batch or a record.
    #[error("malformed record batch: {0}")]
    Wire(#[from] WireError),
    /// A batch of another format than 2.
    #[error("record batch of format {0}, only format 2 is read")]
    Magic(i8),
    /// The checksum does not match.
    #[error(
        "checksum of the batch at offset {base_offset} is {found:#010x}, its header says {expected:#010x}"
    )]
    Crc {
        /// Offset of the batch's first record.
        base_offset: i64,
        /// As the header has it.
        expected: u32,
        /// As computed.
        found: u32,
    },
    /// A number that means no known compression.
    #[error("unknown compression {0}")]
    Codec(u8),
    /// The compressed body cannot be read.
    #[error("{codec} body cannot be decompressed: {detail}")]
    Decompress {
        /// Compression of the body.
        codec: Compression,
        /// What the decompressor said.
        detail: String,
    },
    /// The body would exceed the stated maximum.
    #[error("{codec} body has more than the {bytes_max} bytes allowed when decompressed")]
    TooLarge {
        /// Compression of the body.
        codec: Compression,
        /// The maximum that was stated.
        bytes_max: usize,
    },
    /// The compressor failed.
    #[error("{codec} compression failed: {detail}")]
    Compress {
        /// Requested compression.
        codec: Compression,
        /// What the compressor said.
        detail: String,
    },
}
