//! Single records inside a batch's body.
//!
//! ```text
//! length | attributes 1 (unused) | timestamp delta | offset delta | key length (-1: null) | key
//!        | value length (-1: null) | value | header count | headers
//! ```
//! All but the attributes are zigzag variable-length integers.

use super::RecordsError;
use crate::wire::{Reader, WireError, Writer};

/// The attributes of a record.
const ATTRIBUTES_BYTES: usize = 1;
/// The headers of a record that has none: their number.
const NO_HEADERS: &[u8] = &[0];
/// Longest prefix before the value of a record without key: length 5, attributes 1, timestamp delta 10, offset delta 5,
/// null key 1, value length 5; before a key it is shorter.
const PREFIX_BYTES_MAX: usize = 27;

/// Appends a record without headers. `timestamp_delta_ms` counts from the batch's base timestamp,
/// `offset_delta` from its base offset. Key and value together must stay below 2 GiB.
pub fn encode_record(
    out: &mut Vec<u8>,
    offset_delta: i32,
    timestamp_delta_ms: i64,
    key: Option<&[u8]>,
    value: &[u8],
) {
    let rest = (Some(value.len()), NO_HEADERS.len());
    begin_record(out, offset_delta, timestamp_delta_ms, key, rest);
    out.put(value);
    out.put(NO_HEADERS);
}

/// Appends a record up to its value. What comes then is the caller's to append, exactly as long as `rest` says: the
/// value (`None`: a null one, of no bytes), and the headers with their number before them, as [`encode_headers`] has
/// them. All together must stay below 2 GiB.
///
/// Everything before the key goes out in one piece: this runs once per record of a load.
pub fn begin_record(
    out: &mut Vec<u8>,
    offset_delta: i32,
    timestamp_delta_ms: i64,
    key: Option<&[u8]>,
    rest: (Option<usize>, usize),
) {
    let (value_bytes, headers_bytes) = rest;
    let key_bytes = key.map(<[u8]>::len);
    let content = content_bytes(offset_delta, timestamp_delta_ms, key_bytes, value_bytes) + headers_bytes;
    let mut prefix = Prefix { bytes: [0; PREFIX_BYTES_MAX], length: 0 };
    prefix.varint(content as i64);
    prefix.byte(0); // attributes
    prefix.varint(timestamp_delta_ms);
    prefix.varint(i64::from(offset_delta));
    prefix.varint(length_of(key_bytes));
    if let Some(key) = key {
        out.put(&prefix.bytes[..prefix.length]);
        out.put(key);
        prefix.length = 0;
    }
    prefix.varint(length_of(value_bytes));
    out.put(&prefix.bytes[..prefix.length]);
}

/// Headers as a record holds them, their number first.
pub fn encode_headers<'h>(headers: impl ExactSizeIterator<Item = (&'h str, &'h [u8])>) -> Vec<u8> {
    let mut out = Vec::new();
    let varint = |out: &mut Vec<u8>, length: usize| {
        let mut prefix = Prefix { bytes: [0; PREFIX_BYTES_MAX], length: 0 };
        prefix.varint(length as i64);
        out.put(&prefix.bytes[..prefix.length]);
    };
    varint(&mut out, headers.len());
    for (name, value) in headers {
        varint(&mut out, name.len());
        out.put(name.as_bytes());
        varint(&mut out, value.len());
        out.put(value);
    }
    out
}

/// Exact number of bytes [`encode_record`] appends; `key_bytes` is nothing for a null key.
pub fn record_bytes(
    offset_delta: i32,
    timestamp_delta_ms: i64,
    key_bytes: Option<usize>,
    value_bytes: usize,
) -> usize {
    let content =
        content_bytes(offset_delta, timestamp_delta_ms, key_bytes, Some(value_bytes)) + NO_HEADERS.len();
    varint_bytes(content as i64) + content
}

/// Bytes of a record after its length and before its headers.
fn content_bytes(
    offset_delta: i32,
    timestamp_delta_ms: i64,
    key_bytes: Option<usize>,
    value_bytes: Option<usize>,
) -> usize {
    ATTRIBUTES_BYTES
        + varint_bytes(timestamp_delta_ms)
        + varint_bytes(i64::from(offset_delta))
        + varint_bytes(length_of(key_bytes))
        + key_bytes.unwrap_or(0)
        + varint_bytes(length_of(value_bytes))
        + value_bytes.unwrap_or(0)
}

/// The length as it is before a key or a value: -1 for null.
fn length_of(bytes: Option<usize>) -> i64 {
    bytes.map_or(-1, |bytes| bytes as i64)
}

fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

/// Bytes of a zigzag variable-length integer: seven bits each, at least one.
fn varint_bytes(value: i64) -> usize {
    let bits = 64 - (zigzag(value) | 1).leading_zeros() as usize;
    bits.div_ceil(7)
}

struct Prefix {
    bytes: [u8; PREFIX_BYTES_MAX],
    length: usize,
}

impl Prefix {
    fn byte(&mut self, byte: u8) {
        self.bytes[self.length] = byte;
        self.length += 1;
    }

    fn varint(&mut self, value: i64) {
        let mut rest = zigzag(value);
        while rest >= 0x80 {
            self.byte(rest as u8 | 0x80);
            rest >>= 7;
        }
        self.byte(rest as u8);
    }
}

/// A record as read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record<'a> {
    /// Its offset in the partition.
    pub offset: i64,
    /// Its timestamp, in ms since 1970: the producer's, or the time of the append where the topic says so.
    pub timestamp_ms: i64,
    /// Key, if it has one.
    pub key: Option<&'a [u8]>,
    /// Value; null marks a deletion in a compacted topic.
    pub value: Option<&'a [u8]>,
    /// Its headers as they are encoded, their number first; none of their lengths is wrong.
    headers: &'a [u8],
}

impl<'a> Record<'a> {
    /// Names and values of its headers, in order.
    pub fn headers(&self) -> impl Iterator<Item = (&'a [u8], Option<&'a [u8]>)> {
        let mut reader = Reader::new(self.headers);
        let count = length(&mut reader, "record headers").ok().flatten().unwrap_or(0);
        (0..count).map_while(move |_| header(&mut reader).ok())
    }
}

/// The next header: its name and its value.
fn header<'a>(reader: &mut Reader<'a>) -> Result<(&'a [u8], Option<&'a [u8]>), WireError> {
    Ok((field(reader, "header key")?.unwrap_or_default(), field(reader, "header value")?))
}

/// The records of one decompressed body, in order. After an error it ends.
#[derive(Debug, Clone)]
pub struct BodyRecords<'a> {
    reader: Reader<'a>,
    left: usize,
    base_offset: i64,
    base_timestamp_ms: i64,
    append_time_ms: Option<i64>,
}

impl<'a> BodyRecords<'a> {
    /// A reader of a body that claims `count` records; `append_time_ms` overrides every timestamp.
    pub(super) fn new(
        body: &'a [u8],
        count: usize,
        base_offset: i64,
        base_timestamp_ms: i64,
        append_time_ms: Option<i64>,
    ) -> Self {
        Self { reader: Reader::new(body), left: count, base_offset, base_timestamp_ms, append_time_ms }
    }

    fn read(&mut self) -> Result<Record<'a>, RecordsError> {
        let content = length(&mut self.reader, "record")?;
        let content = self.reader.take(content.unwrap_or(0))?;
        let mut reader = Reader::new(content);
        reader.i8()?; // attributes
        let timestamp_delta_ms = reader.varlong()?;
        let offset_delta = reader.varint()?;
        let key = field(&mut reader, "record key")?;
        let value = field(&mut reader, "record value")?;
        let headers = &content[content.len() - reader.remaining()..];
        for _ in 0..length(&mut reader, "record headers")?.unwrap_or(0) {
            header(&mut reader)?;
        }
        reader.finish()?;
        let timestamp_ms = match self.append_time_ms {
            Some(append_time_ms) => append_time_ms,
            None => self.base_timestamp_ms.saturating_add(timestamp_delta_ms),
        };
        let offset = self.base_offset.saturating_add(i64::from(offset_delta));
        Ok(Record { offset, timestamp_ms, key, value, headers })
    }
}

impl<'a> Iterator for BodyRecords<'a> {
    type Item = Result<Record<'a>, RecordsError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.left == 0 {
            let extra = self.reader.remaining();
            self.reader = Reader::new(&[]);
            return (extra > 0).then_some(Err(WireError::LeftOver(extra).into()));
        }
        self.left -= 1;
        let record = self.read();
        if record.is_err() {
            self.left = 0;
            self.reader = Reader::new(&[]);
        }
        Some(record)
    }
}

#[inline]
fn length(reader: &mut Reader<'_>, what: &'static str) -> Result<Option<usize>, WireError> {
    match reader.varint()? {
        -1 => Ok(None),
        length => usize::try_from(length)
            .map(Some)
            .map_err(|_| WireError::Length { what, length: i64::from(length) }),
    }
}

#[inline]
fn field<'a>(reader: &mut Reader<'a>, what: &'static str) -> Result<Option<&'a [u8]>, WireError> {
    match length(reader, what)? {
        Some(bytes) => reader.take(bytes).map(Some),
        None => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_record_has_the_predicted_size_and_reads_back(
            offset_delta in 0..=i32::MAX,
            timestamp_delta_ms: i32,
            key in proptest::option::of(proptest::collection::vec(any::<u8>(), 0..300)),
            value in proptest::collection::vec(any::<u8>(), 0..300),
        ) {
            let timestamp_delta_ms = i64::from(timestamp_delta_ms) << 20;
            let mut out = Vec::new();
            encode_record(&mut out, offset_delta, timestamp_delta_ms, key.as_deref(), &value);
            let predicted =
                record_bytes(offset_delta, timestamp_delta_ms, key.as_ref().map(Vec::len), value.len());
            prop_assert_eq!(out.len(), predicted);
            let records: Vec<_> = BodyRecords::new(&out, 1, 100, 1000, None).collect();
            let expected = Record {
                offset: 100 + i64::from(offset_delta),
                timestamp_ms: 1000 + timestamp_delta_ms,
                key: key.as_deref(),
                value: Some(&value),
                headers: NO_HEADERS,
            };
            prop_assert_eq!(records, [Ok(expected)]);
        }

        #[test]
        fn headers_and_null_values_read_back(
            value in proptest::option::of(proptest::collection::vec(any::<u8>(), 0..100)),
            headers in proptest::collection::vec(("[a-z]{0,80}", proptest::collection::vec(any::<u8>(), 0..80)), 0..70),
        ) {
            let block = encode_headers(headers.iter().map(|(name, value)| (name.as_str(), value.as_slice())));
            let mut out = Vec::new();
            begin_record(&mut out, 3, 4, Some(b"key"), (value.as_ref().map(Vec::len), block.len()));
            out.extend_from_slice(value.as_deref().unwrap_or_default());
            out.extend_from_slice(&block);
            let record = BodyRecords::new(&out, 1, 0, 0, None).next().unwrap().unwrap();
            prop_assert_eq!((record.key, record.value), (Some(&b"key"[..]), value.as_deref()));
            let read: Vec<_> = record.headers().collect();
            let expected: Vec<_> =
                headers.iter().map(|(name, value)| (name.as_bytes(), Some(value.as_slice()))).collect();
            prop_assert_eq!(read, expected);
        }
    }

    #[test]
    fn extreme_deltas_fit_the_prefix() {
        let mut out = Vec::new();
        encode_record(&mut out, i32::MIN, i64::MIN, Some(&[]), &[]);
        assert_eq!(out.len(), record_bytes(i32::MIN, i64::MIN, Some(0), 0));
    }

    #[test]
    fn a_wrong_record_count_is_an_error_and_ends_the_reading() {
        let mut out = Vec::new();
        encode_record(&mut out, 0, 0, None, b"v");
        let read = |count| BodyRecords::new(&out, count, 0, 0, None).collect::<Vec<_>>();
        assert_eq!(read(0), [Err(WireError::LeftOver(out.len()).into())]);
        let too_many = read(usize::MAX);
        assert_eq!(too_many.len(), 2);
        assert!(too_many[0].is_ok() && too_many[1].is_err());
    }
}
