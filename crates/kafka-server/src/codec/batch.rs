//! As much of a record batch (format 2) as a broker must know: its head, and one to hand out.

use kdyno_kafka::records::{
    BatchHeader, BodySum, Compression, HEADER_BYTES, TRANSACTIONAL_BIT, batches, encode_record,
    write_batch_header,
};
use kdyno_kafka::wire::{Reader, Result, WireError, Writer};

/// Bytes of a batch before its first record.
pub const HEAD_BYTES: usize = 61;

/// Bytes of the head that its own length field does not count.
const UNCOUNTED_BYTES: usize = 12;

/// Place of the checksum; it covers everything behind it.
const CHECKSUM_AT: usize = 17;

/// Place of the attributes.
const ATTRIBUTES_AT: usize = 21;
/// Attribute: the batch is a marker.
const CONTROL_BIT: i16 = 0x20;

/// Place of the producer's id.
const PRODUCER_AT: usize = 43;

/// What a broker needs of a batch's head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchHead {
    /// Bytes of the whole batch, head included.
    pub bytes: usize,
    /// Records as the head says; the body is not looked at.
    pub records: u32,
    /// Id of an idempotent producer, -1 of another one.
    pub producer_id: i64,
    /// Its epoch.
    pub producer_epoch: i16,
    /// Its number of the first record.
    pub base_sequence: i32,
    /// Whether its records are of a transaction.
    pub is_transactional: bool,
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
        head.take(ATTRIBUTES_AT - CHECKSUM_AT)?;
        let is_transactional = head.i16()? & TRANSACTIONAL_BIT != 0;
        head.take(PRODUCER_AT - ATTRIBUTES_AT - 2)?;
        let (producer_id, producer_epoch, base_sequence) = (head.i64()?, head.i16()?, head.i32()?);
        let count = head.i32()?;
        let records =
            u32::try_from(count).map_err(|_| WireError::Length { what: "records", length: count.into() })?;
        Ok(Self { bytes, records, producer_id, producer_epoch, base_sequence, is_transactional })
    }
}

/// Whether a whole batch, which [`BatchHead::read`] has passed, has the checksum it says.
pub fn has_valid_checksum(batch: &[u8]) -> bool {
    let (head, covered) = batch.split_at(CHECKSUM_AT + 4);
    head[CHECKSUM_AT..] == crc32c::crc32c(covered).to_be_bytes()
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
    assembled(&BatchHeader { leader_epoch: 0, ..header }, &body)
}

fn assembled(header: &BatchHeader, body: &[u8]) -> Vec<u8> {
    let mut head = [0; HEADER_BYTES];
    write_batch_header(&mut head, header, &BodySum::of(body));
    [head.as_slice(), body].concat()
}

/// A marker, at an offset, that ends a producer's transaction.
pub fn marker((producer_id, producer_epoch): (i64, i16), is_commit: bool, offset: i64) -> Vec<u8> {
    let key = [0, 0, 0, u8::from(is_commit)]; // version, kind
    let value = [0u8; 6]; // version, epoch of the coordinator
    let mut body = Vec::new();
    encode_record(&mut body, 0, 0, Some(&key), &value);
    let header = BatchHeader {
        base_offset: offset,
        attributes: TRANSACTIONAL_BIT | CONTROL_BIT,
        producer_id,
        producer_epoch,
        ..BatchHeader::plain(Compression::None, 1, 0, 0)
    };
    assembled(&header, &body)
}

/// Whether a whole batch, which [`BatchHead::read`] has passed, is a marker.
pub fn is_control(batch: &[u8]) -> bool {
    i16::from_be_bytes([batch[ATTRIBUTES_AT], batch[ATTRIBUTES_AT + 1]]) & CONTROL_BIT != 0
}

/// What a cleaner leaves of an uncompressed batch, as brokers do it: records whose offsets `keeps` names, in a batch
/// that reaches from the first to the last offset of before. Returns how many records these are.
///
/// # Errors
/// The batch cannot be read.
pub fn compacted(batch: &[u8], keeps: impl Fn(i64) -> bool) -> Result<(u64, Vec<u8>)> {
    let unreadable = |_| WireError::Invalid("a stored batch cannot be read");
    let batch = batches(batch).next().transpose().map_err(unreadable)?;
    let batch = batch.ok_or(WireError::Invalid("a stored batch is cut off"))?;
    let (mut scratch, mut body, mut header) = (Vec::new(), Vec::new(), batch.header);
    header.record_count = 0;
    for record in batch.records(&mut scratch, 0).map_err(unreadable)? {
        let record = record.map_err(unreadable)?;
        if keeps(record.offset) {
            let (offset, time) =
                (record.offset - header.base_offset, record.timestamp_ms - header.base_timestamp_ms);
            encode_record(&mut body, offset as i32, time, record.key, record.value.unwrap_or_default());
            header.record_count += 1;
        }
    }
    Ok((header.record_count as u64, assembled(&header, &body)))
}

/// Appends `batch` as one that starts at `offset`: the offset is not covered by the checksum.
pub fn put_at_offset(out: &mut Vec<u8>, batch: &[u8], offset: i64) {
    out.put_i64(offset);
    out.put(&batch[8..]);
}
