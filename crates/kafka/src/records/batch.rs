//! The header of a batch, written and read, and the batches of a fetched record set.

use super::{BodyRecords, Compression, CrcShift, RecordsError, decompress};
use crate::wire::{Reader, WireError};

/// Size of a batch's header.
pub const HEADER_BYTES: usize = 61;
/// Offset and length, which the length does not count.
const LOG_OVERHEAD_BYTES: usize = 12;
/// Where the bytes begin that the checksum covers.
const CHECKSUMMED_FROM: usize = 21;
/// Place of the format's number, the same in all formats.
const MAGIC_AT: usize = 16;
const MAGIC: i8 = 2;

/// Producer id of a producer that is not idempotent.
pub const NO_PRODUCER_ID: i64 = -1;
/// Epoch of a producer that is not idempotent.
pub const NO_PRODUCER_EPOCH: i16 = -1;
/// Base sequence of a producer that is not idempotent.
pub const NO_SEQUENCE: i32 = -1;

const CODEC_MASK: i16 = 0x07;
const APPEND_TIME_BIT: i16 = 0x08;
/// Attribute: the records are of a transaction.
pub const TRANSACTIONAL_BIT: i16 = 0x10;
const CONTROL_BIT: i16 = 0x20;

/// What a batch says of itself, without length and checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchHeader {
    /// Offset of the first record; a producer sends 0.
    pub base_offset: i64,
    /// Epoch of the leader that appended it; a producer sends -1.
    pub leader_epoch: i32,
    /// Bits: 0–2 compression, 3 timestamps are those of the append, 4 transactional, 5 control, 6 delete horizon.
    pub attributes: i16,
    /// Offset of the last record less the base offset.
    pub last_offset_delta: i32,
    /// Timestamp that the records' deltas count from, in ms since 1970.
    pub base_timestamp_ms: i64,
    /// Largest timestamp, in ms since 1970.
    pub max_timestamp_ms: i64,
    /// Producer id, or [`NO_PRODUCER_ID`].
    pub producer_id: i64,
    /// Producer epoch, or [`NO_PRODUCER_EPOCH`].
    pub producer_epoch: i16,
    /// Sequence of the first record, or [`NO_SEQUENCE`].
    pub base_sequence: i32,
    /// Number of records.
    pub record_count: i32,
}

impl BatchHeader {
    /// The header of a plain producer's batch: `record_count` (1 or more) records from a base timestamp on.
    pub fn plain(
        compression: Compression,
        record_count: i32,
        base_timestamp_ms: i64,
        max_timestamp_ms: i64,
    ) -> Self {
        Self {
            base_offset: 0,
            leader_epoch: -1,
            attributes: i16::from(compression.id()),
            last_offset_delta: record_count - 1,
            base_timestamp_ms,
            max_timestamp_ms,
            producer_id: NO_PRODUCER_ID,
            producer_epoch: NO_PRODUCER_EPOCH,
            base_sequence: NO_SEQUENCE,
            record_count,
        }
    }
}

/// Length and checksum of a body, and the shift for that length: all a header needs to know of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BodySum {
    /// Length of the body.
    pub bytes: usize,
    /// CRC-32C of the body alone.
    pub crc: u32,
    /// Shift for its length.
    pub shift: CrcShift,
}

impl BodySum {
    /// The checksum of a body that was not summed before.
    pub fn of(body: &[u8]) -> Self {
        Self { bytes: body.len(), crc: crc32c::crc32c(body), shift: CrcShift::new(body.len()) }
    }
}

/// Writes the header that makes a batch of a body. The body must be shorter than 2 GiB less the header.
pub fn write_batch_header(out: &mut [u8; HEADER_BYTES], header: &BatchHeader, body: &BodySum) {
    let length = (HEADER_BYTES - LOG_OVERHEAD_BYTES + body.bytes) as i32;
    out[0..8].copy_from_slice(&header.base_offset.to_be_bytes());
    out[8..12].copy_from_slice(&length.to_be_bytes());
    out[12..16].copy_from_slice(&header.leader_epoch.to_be_bytes());
    out[MAGIC_AT] = MAGIC as u8;
    out[21..23].copy_from_slice(&header.attributes.to_be_bytes());
    out[23..27].copy_from_slice(&header.last_offset_delta.to_be_bytes());
    out[27..35].copy_from_slice(&header.base_timestamp_ms.to_be_bytes());
    out[35..43].copy_from_slice(&header.max_timestamp_ms.to_be_bytes());
    out[43..51].copy_from_slice(&header.producer_id.to_be_bytes());
    out[51..53].copy_from_slice(&header.producer_epoch.to_be_bytes());
    out[53..57].copy_from_slice(&header.base_sequence.to_be_bytes());
    out[57..61].copy_from_slice(&header.record_count.to_be_bytes());
    let crc = body.shift.combine(crc32c::crc32c(&out[CHECKSUMMED_FROM..]), body.crc);
    out[17..21].copy_from_slice(&crc.to_be_bytes());
}

/// A batch as read; its body is not decompressed and its checksum not verified yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Batch<'a> {
    /// What it says of itself.
    pub header: BatchHeader,
    /// Checksum as the header has it.
    pub crc: u32,
    /// Header and body as they came.
    bytes: &'a [u8],
}

impl<'a> Batch<'a> {
    fn read(bytes: &'a [u8]) -> Result<Self, RecordsError> {
        let mut reader = Reader::new(bytes);
        let base_offset = reader.i64()?;
        reader.i32()?; // length
        let leader_epoch = reader.i32()?;
        reader.i8()?; // magic
        let crc = reader.u32()?;
        let header = BatchHeader {
            base_offset,
            leader_epoch,
            attributes: reader.i16()?,
            last_offset_delta: reader.i32()?,
            base_timestamp_ms: reader.i64()?,
            max_timestamp_ms: reader.i64()?,
            producer_id: reader.i64()?,
            producer_epoch: reader.i16()?,
            base_sequence: reader.i32()?,
            record_count: reader.i32()?,
        };
        for (what, number) in
            [("record count", header.record_count), ("last offset delta", header.last_offset_delta)]
        {
            if number < 0 {
                return Err(WireError::Length { what, length: i64::from(number) }.into());
            }
        }
        Ok(Self { header, crc, bytes })
    }

    /// The records, still compressed.
    pub fn body(&self) -> &'a [u8] {
        &self.bytes[HEADER_BYTES..]
    }

    /// Size of header and body.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Offset after its last record: where to fetch next.
    pub fn next_offset(&self) -> i64 {
        self.header.base_offset.saturating_add(i64::from(self.header.last_offset_delta)).saturating_add(1)
    }

    /// Whether it marks the end of a transaction instead of carrying data.
    pub fn is_control(&self) -> bool {
        self.header.attributes & CONTROL_BIT != 0
    }

    /// How its body is compressed.
    ///
    /// # Errors
    /// When the number means nothing known.
    pub fn compression(&self) -> Result<Compression, RecordsError> {
        Compression::from_id((self.header.attributes & CODEC_MASK) as u8)
    }

    /// Computes the checksum and compares.
    ///
    /// # Errors
    /// When it differs from that of the header.
    pub fn verify_crc(&self) -> Result<(), RecordsError> {
        let found = crc32c::crc32c(&self.bytes[CHECKSUMMED_FROM..]);
        if found == self.crc {
            return Ok(());
        }
        Err(RecordsError::Crc { base_offset: self.header.base_offset, expected: self.crc, found })
    }

    /// Its records. A compressed body is decompressed into `scratch`, up to `bytes_max`.
    ///
    /// # Errors
    /// When the body cannot be decompressed or is larger than `bytes_max`.
    pub fn records<'b>(
        &self,
        scratch: &'b mut Vec<u8>,
        bytes_max: usize,
    ) -> Result<BodyRecords<'b>, RecordsError>
    where
        'a: 'b,
    {
        let body = match self.compression()? {
            Compression::None => self.body(),
            codec => {
                decompress(codec, self.body(), bytes_max, scratch)?;
                scratch.as_slice()
            }
        };
        let header = &self.header;
        let append_time_ms = (header.attributes & APPEND_TIME_BIT != 0).then_some(header.max_timestamp_ms);
        let count = header.record_count as usize; // never negative, see read
        Ok(BodyRecords::new(body, count, header.base_offset, header.base_timestamp_ms, append_time_ms))
    }
}

/// The batches of a record set, as a fetch reply holds it.
///
/// A broker cuts the set where the size limit falls, so the last batch may lack its end; it is skipped.
pub fn batches(record_set: &[u8]) -> Batches<'_> {
    Batches { rest: record_set }
}

/// Iterator over the batches of a record set. After an error it ends.
#[derive(Debug, Clone)]
pub struct Batches<'a> {
    rest: &'a [u8],
}

impl<'a> Batches<'a> {
    /// Bytes not returned so far; after the end those of the cut batch.
    pub fn remaining(&self) -> usize {
        self.rest.len()
    }

    /// The next batch, nothing when it is not there as a whole.
    fn read(&mut self) -> Result<Option<Batch<'a>>, RecordsError> {
        let mut reader = Reader::new(self.rest);
        if self.rest.len() <= MAGIC_AT {
            return Ok(None);
        }
        reader.i64()?;
        let length = reader.i32()?;
        let magic = self.rest[MAGIC_AT] as i8;
        if magic != MAGIC {
            return Err(RecordsError::Magic(magic));
        }
        let content = usize::try_from(length)
            .ok()
            .filter(|length| *length >= HEADER_BYTES - LOG_OVERHEAD_BYTES)
            .ok_or(WireError::Length { what: "record batch", length: i64::from(length) })?;
        if content > self.rest.len() - LOG_OVERHEAD_BYTES {
            return Ok(None);
        }
        let (batch, rest) = self.rest.split_at(LOG_OVERHEAD_BYTES + content);
        self.rest = rest;
        Batch::read(batch).map(Some)
    }
}

impl<'a> Iterator for Batches<'a> {
    type Item = Result<Batch<'a>, RecordsError>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = self.read();
        if batch.is_err() {
            self.rest = &[];
        }
        batch.transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::super::encode_record;
    use super::*;
    use proptest::prelude::*;

    /// A batch with the given values from base offset `base_offset` on.
    fn batch(base_offset: i64, values: &[&[u8]]) -> Vec<u8> {
        let mut body = Vec::new();
        for (index, value) in values.iter().enumerate() {
            encode_record(&mut body, index as i32, index as i64, None, value);
        }
        let count = values.len() as i32;
        let header = BatchHeader { base_offset, ..BatchHeader::plain(Compression::None, count, 5, 9) };
        let mut head = [0; HEADER_BYTES];
        write_batch_header(&mut head, &header, &BodySum::of(&body));
        [head.as_slice(), &body].concat()
    }

    proptest! {
        #[test]
        fn a_header_reads_back_and_its_checksum_holds(
            (base_offset, leader_epoch, attributes) in any::<(i64, i32, i16)>(),
            (base_timestamp_ms, max_timestamp_ms) in any::<(i64, i64)>(),
            (producer_id, producer_epoch, base_sequence) in any::<(i64, i16, i32)>(),
            (last_offset_delta, record_count) in (0..=i32::MAX, 0..=i32::MAX),
            body in proptest::collection::vec(any::<u8>(), 0..2000),
        ) {
            let header = BatchHeader {
                base_offset, leader_epoch, attributes, last_offset_delta, base_timestamp_ms,
                max_timestamp_ms, producer_id, producer_epoch, base_sequence, record_count,
            };
            let mut head = [0; HEADER_BYTES];
            write_batch_header(&mut head, &header, &BodySum::of(&body));
            let bytes = [head.as_slice(), &body].concat();
            let read: Vec<_> = batches(&bytes).collect::<Result<_, _>>().unwrap();
            prop_assert_eq!(read.len(), 1);
            prop_assert_eq!(read[0].header, header);
            prop_assert_eq!(read[0].body(), body.as_slice());
            prop_assert_eq!(read[0].verify_crc(), Ok(()));
        }
    }

    #[test]
    fn a_cut_last_batch_is_skipped_wherever_it_is_cut() {
        let (first, second) = (batch(10, &[b"a", b"b"]), batch(12, &[b"c"]));
        let both = [first.as_slice(), &second].concat();
        for cut in first.len()..both.len() {
            let mut set = batches(&both[..cut]);
            assert_eq!(set.next().unwrap().unwrap().next_offset(), 12);
            assert_eq!(set.next(), None);
            assert_eq!(set.remaining(), cut - first.len());
        }
        assert_eq!(batches(&both).count(), 2);
    }

    #[test]
    fn a_flipped_bit_breaks_the_checksum() {
        let mut bytes = batch(0, &[b"value"]);
        let last = bytes.len() - 3;
        bytes[last] ^= 4;
        let read = batches(&bytes).next().unwrap().unwrap();
        assert!(matches!(read.verify_crc(), Err(RecordsError::Crc { base_offset: 0, .. })));
    }

    #[test]
    fn older_formats_and_impossible_lengths_are_errors() {
        let mut old = batch(0, &[b"value"]);
        old[MAGIC_AT] = 1;
        assert_eq!(batches(&old).collect::<Vec<_>>(), [Err(RecordsError::Magic(1))]);
        for length in [-1, 0, 48, i32::MIN] {
            let mut bytes = batch(0, &[b"value"]);
            bytes[8..12].copy_from_slice(&length.to_be_bytes());
            let error = WireError::Length { what: "record batch", length: i64::from(length) };
            assert_eq!(batches(&bytes).collect::<Vec<_>>(), [Err(error.into())]);
        }
    }

    #[test]
    fn append_time_overrides_the_records_own() {
        let mut bytes = batch(0, &[b"a", b"b"]);
        let times = |bytes: &[u8]| {
            let read = batches(bytes).next().unwrap().unwrap();
            let mut scratch = Vec::new();
            let records = read.records(&mut scratch, 0).unwrap();
            records.map(|record| record.unwrap().timestamp_ms).collect::<Vec<_>>()
        };
        assert_eq!(times(&bytes), [5, 6]);
        bytes[22] |= APPEND_TIME_BIT as u8;
        assert_eq!(times(&bytes), [9, 9]);
    }
}
