//! As much of a record batch (format 2) as a broker must know: its head, and one to hand out.

use kdyno_kafka::records::{
    BatchHeader, BodySum, Compression, HEADER_BYTES, encode_record, write_batch_header,
};
use kdyno_kafka::wire::{Reader, Result, WireError, Writer};

/// Bytes of a batch before its first record.
pub const HEAD_BYTES: usize = 61;

/// Bytes of the head that its own length field does not count.
const UNCOUNTED_BYTES: usize = 12;

/// Place of the number of the format.
const MAGIC_AT: usize = 16;

/// Place of the number of records, the last of the head.
const COUNT_AT: usize = 57;

/// What a broker needs of a batch's head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchHead {
    /// Bytes of the whole batch, head included.
    pub bytes: usize,
    /// Records as the head says; the body is not looked at.
    pub records: u32,
}

impl BatchHead {
    /// Reads a head; a format older than 2 or a length below that of the head is an error.
    pub fn read(reader: &mut Reader<'_>) -> Result<Self> {
        let mut head = Reader::new(reader.take(HEAD_BYTES)?);
        head.i64()?;
        let length = head.i32()?;
        head.i32()?;
        if head.i8()? != 2 {
            return Err(WireError::Invalid("record batch is not of format 2"));
        }
        let bytes = usize::try_from(length).ok().map_or(0, |length| length + UNCOUNTED_BYTES);
        if bytes < HEAD_BYTES {
            return Err(WireError::Length { what: "record batch", length: length.into() });
        }
        head.take(COUNT_AT - MAGIC_AT - 1)?;
        let count = head.i32()?;
        let records =
            u32::try_from(count).map_err(|_| WireError::Length { what: "records", length: count.into() })?;
        Ok(Self { bytes, records })
    }
}

/// An uncompressed batch of `records` (1 or more) equal records without key, each value `value_bytes` zeroes, with a
/// correct checksum, at offset 0. [`put_at_offset`] gives copies another offset.
pub fn prebuilt(records: u32, value_bytes: u32) -> Vec<u8> {
    let value = vec![0u8; value_bytes as usize];
    let mut body = Vec::new();
    for delta in 0..records as i32 {
        encode_record(&mut body, delta, 0, None, &value);
    }
    let header = BatchHeader::plain(Compression::None, records as i32, 0, 0);
    let mut head = [0; HEADER_BYTES];
    write_batch_header(&mut head, &BatchHeader { leader_epoch: 0, ..header }, &BodySum::of(&body));
    [head.as_slice(), &body].concat()
}

/// Appends `batch` as one that starts at `offset`: the offset is not covered by the checksum.
pub fn put_at_offset(out: &mut Vec<u8>, batch: &[u8], offset: i64) {
    out.put_i64(offset);
    out.put(&batch[8..]);
}
