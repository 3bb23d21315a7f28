//! Record batches (format 2) that only a broker with a log has: read to be stored, markers, what a cleaner leaves.

use kdyno_kafka::records::{
    Batch, BatchHeader, BodySum, Compression, HEADER_BYTES, RecordsError, TRANSACTIONAL_BIT, batches,
    encode_record, write_batch_header,
};
use kdyno_kafka::wire::{Result, WireError};

/// Attribute: the batch is a marker.
const CONTROL_BIT: i16 = 0x20;

/// The first batch of a record set.
///
/// # Errors
/// It cannot be read, or is not there as a whole.
pub(super) fn first(set: &[u8]) -> Result<Batch<'_>> {
    let batch = batches(set).next().transpose().map_err(unreadable)?;
    batch.ok_or(WireError::Invalid("a batch is cut off"))
}

/// Whether the records of a batch are of a transaction.
pub(super) fn is_transactional(header: &BatchHeader) -> bool {
    header.attributes & TRANSACTIONAL_BIT != 0
}

fn unreadable(_: RecordsError) -> WireError {
    WireError::Invalid("a batch cannot be read")
}

fn assembled(header: &BatchHeader, body: &[u8]) -> Vec<u8> {
    let mut head = [0; HEADER_BYTES];
    write_batch_header(&mut head, header, &BodySum::of(body));
    [head.as_slice(), body].concat()
}

/// A marker, at an offset, that ends a producer's transaction.
pub(super) fn marker((producer_id, producer_epoch): (i64, i16), is_commit: bool, offset: i64) -> Vec<u8> {
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

/// Whether a whole batch is a marker.
pub(super) fn is_control(batch: &[u8]) -> bool {
    first(batch).is_ok_and(|batch| batch.is_control())
}

/// What a cleaner leaves of an uncompressed batch, as brokers do it: records whose offsets `keeps` names, in a batch
/// that reaches from the first to the last offset of before. Returns how many records these are.
///
/// # Errors
/// The batch cannot be read.
pub(super) fn compacted(batch: &[u8], keeps: impl Fn(i64) -> bool) -> Result<(u64, Vec<u8>)> {
    let batch = first(batch)?;
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
