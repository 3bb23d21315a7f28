//! Primitives of the Kafka protocol, read within bounds.
//!
//! Every reader method checks the length it was given against the bytes that are there before it does
//! anything with it, so no reply, however hostile, can make us allocate more than the frame's own size.
//! Reference: <https://kafka.apache.org/protocol#protocol_types>.

use thiserror::Error;

/// Largest frame accepted unless a caller says otherwise: Kafka's own default of
/// `socket.request.max.bytes`, 100 MiB.
pub const FRAME_BYTES_MAX: usize = 100 << 20;

/// What is wrong with bytes that should have been a message.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum WireError {
    /// The message ends before the value does.
    #[error("message ends early: {need} more bytes expected, {have} are left")]
    Short {
        /// Bytes the value needs.
        need: usize,
        /// Bytes that are left.
        have: usize,
    },
    /// A length or count cannot be right.
    #[error("impossible length {length} for {what}")]
    Length {
        /// What it is the length of.
        what: &'static str,
        /// As read.
        length: i64,
    },
    /// A variable-length integer has too many bytes.
    #[error("variable-length integer is too long")]
    Varint,
    /// Text is not UTF-8.
    #[error("text is not valid utf-8")]
    Utf8,
    /// The message is longer than its content.
    #[error("{0} bytes are left over at the end of the message")]
    LeftOver(usize),
    /// A value outside its domain.
    #[error("{0}")]
    Invalid(&'static str),
}

/// Result of reading.
pub type Result<T> = std::result::Result<T, WireError>;

/// Reads primitives from a byte slice, front to back.
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

macro_rules! read_fixed {
    ($($name:ident $type:ty),*) => {$(
        #[doc = concat!("A big-endian `", stringify!($type), "`.")]
        pub fn $name(&mut self) -> Result<$type> {
            const SIZE: usize = size_of::<$type>();
            let mut bytes = [0u8; SIZE];
            bytes.copy_from_slice(self.take(SIZE)?);
            Ok(<$type>::from_be_bytes(bytes))
        }
    )*};
}

impl<'a> Reader<'a> {
    /// Reads from the front of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// Bytes not read yet.
    pub fn remaining(&self) -> usize {
        self.rest.len()
    }

    /// The next `length` bytes.
    #[inline]
    pub fn take(&mut self, length: usize) -> Result<&'a [u8]> {
        if length > self.rest.len() {
            return Err(WireError::Short { need: length, have: self.rest.len() });
        }
        let (head, rest) = self.rest.split_at(length);
        self.rest = rest;
        Ok(head)
    }

    read_fixed!(u8 u8, i8 i8, i16 i16, u16 u16, i32 i32, u32 u32, i64 i64, u64 u64);

    /// A boolean: any byte but 0 is true.
    pub fn bool(&mut self) -> Result<bool> {
        Ok(self.u8()? != 0)
    }

    /// 16 bytes.
    pub fn uuid(&mut self) -> Result<[u8; 16]> {
        let mut uuid = [0u8; 16];
        uuid.copy_from_slice(self.take(16)?);
        Ok(uuid)
    }

    /// An unsigned variable-length integer of at most 32 bits.
    #[inline]
    pub fn uvarint(&mut self) -> Result<u32> {
        match self.short_uvarint() {
            Some(value) => Ok(value),
            None => u32::try_from(self.uvarlong_of_any_length()?).map_err(|_| WireError::Varint),
        }
    }

    /// An unsigned variable-length integer of at most 64 bits.
    #[inline]
    pub fn uvarlong(&mut self) -> Result<u64> {
        match self.short_uvarint() {
            Some(value) => Ok(u64::from(value)),
            None => self.uvarlong_of_any_length(),
        }
    }

    /// A variable-length integer of one or two bytes, if the next one is: nearly all that a record begins with are.
    #[inline(always)]
    fn short_uvarint(&mut self) -> Option<u32> {
        match *self.rest {
            [only, ref rest @ ..] if only < 0x80 => {
                self.rest = rest;
                Some(u32::from(only))
            }
            [low, high, ref rest @ ..] if high < 0x80 => {
                self.rest = rest;
                Some(u32::from(low & 0x7f) | u32::from(high) << 7)
            }
            _ => None,
        }
    }

    fn uvarlong_of_any_length(&mut self) -> Result<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.u8()?;
            if shift == 63 && byte > 1 {
                return Err(WireError::Varint);
            }
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(WireError::Varint)
    }

    /// A zigzag variable-length integer of at most 32 bits.
    #[inline]
    pub fn varint(&mut self) -> Result<i32> {
        let value = self.uvarint()?;
        Ok((value >> 1) as i32 ^ -((value & 1) as i32))
    }

    /// A zigzag variable-length integer of at most 64 bits.
    #[inline]
    pub fn varlong(&mut self) -> Result<i64> {
        let value = self.uvarlong()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// Length of a nullable field: classic (`i16`) or compact (unsigned, plus one).
    fn string_length(&mut self, compact: bool) -> Result<Option<usize>> {
        let length = if compact { i64::from(self.uvarint()?) - 1 } else { i64::from(self.i16()?) };
        nullable_length(length, "string")
    }

    fn utf8(&mut self, length: usize) -> Result<&'a str> {
        std::str::from_utf8(self.take(length)?).map_err(|_| WireError::Utf8)
    }

    /// A string that may be null; `compact` in flexible versions.
    pub fn nullable_string(&mut self, compact: bool) -> Result<Option<&'a str>> {
        match self.string_length(compact)? {
            Some(length) => self.utf8(length).map(Some),
            None => Ok(None),
        }
    }

    /// A string; `compact` in flexible versions.
    pub fn string(&mut self, compact: bool) -> Result<&'a str> {
        self.nullable_string(compact)?.ok_or(WireError::Length { what: "string", length: -1 })
    }

    /// Bytes that may be null; `compact` in flexible versions. Also the form of a record set.
    pub fn nullable_bytes(&mut self, compact: bool) -> Result<Option<&'a [u8]>> {
        let length = if compact { i64::from(self.uvarint()?) - 1 } else { i64::from(self.i32()?) };
        match nullable_length(length, "bytes")? {
            Some(length) => self.take(length).map(Some),
            None => Ok(None),
        }
    }

    /// Number of elements of an array whose elements each take at least `bytes_min` (1 or more) bytes; null reads
    /// as 0. A count that cannot fit in what is left is an error, so `Vec::with_capacity(count)` is safe.
    pub fn array_length(&mut self, compact: bool, bytes_min: usize) -> Result<usize> {
        Ok(self.nullable_array_length(compact, bytes_min)?.unwrap_or(0))
    }

    /// As [`array_length`](Self::array_length), with null kept apart.
    pub fn nullable_array_length(&mut self, compact: bool, bytes_min: usize) -> Result<Option<usize>> {
        let length = if compact { i64::from(self.uvarint()?) - 1 } else { i64::from(self.i32()?) };
        let count = nullable_length(length, "array")?;
        if count > Some(self.rest.len() / bytes_min.max(1)) {
            return Err(WireError::Length { what: "array", length });
        }
        Ok(count)
    }

    /// Reads the tagged fields at the end of a flexible structure: `each` gets the tag and a reader of the
    /// field's bytes, and returns whether it knows the tag and has read the field; others are skipped.
    pub fn tags(
        &mut self,
        flexible: bool,
        mut each: impl FnMut(u32, &mut Reader<'a>) -> Result<bool>,
    ) -> Result<()> {
        if !flexible {
            return Ok(());
        }
        for _ in 0..self.uvarint()? {
            let tag = self.uvarint()?;
            let length = self.uvarint()? as usize;
            let mut field = Reader::new(self.take(length)?);
            if each(tag, &mut field)? {
                field.finish()?;
            }
        }
        Ok(())
    }

    /// Skips the tagged fields at the end of a flexible structure.
    pub fn skip_tags(&mut self, flexible: bool) -> Result<()> {
        self.tags(flexible, |_, _| Ok(false))
    }

    /// Ends the reading; left-over bytes are an error.
    pub fn finish(self) -> Result<()> {
        if self.rest.is_empty() { Ok(()) } else { Err(WireError::LeftOver(self.rest.len())) }
    }
}

fn nullable_length(length: i64, what: &'static str) -> Result<Option<usize>> {
    match length {
        -1 => Ok(None),
        0.. => Ok(Some(length as usize)),
        _ => Err(WireError::Length { what, length }),
    }
}

/// Appends primitives to a buffer.
pub trait Writer {
    /// Raw bytes.
    fn put(&mut self, bytes: &[u8]);
    /// One byte.
    fn put_i8(&mut self, value: i8) {
        self.put(&value.to_be_bytes());
    }
    /// Two bytes, big-endian.
    fn put_i16(&mut self, value: i16) {
        self.put(&value.to_be_bytes());
    }
    /// Four bytes, big-endian.
    fn put_i32(&mut self, value: i32) {
        self.put(&value.to_be_bytes());
    }
    /// Eight bytes, big-endian.
    fn put_i64(&mut self, value: i64) {
        self.put(&value.to_be_bytes());
    }
    /// Unsigned, variable length.
    fn put_uvarint(&mut self, mut value: u32) {
        while value >= 0x80 {
            self.put(&[value as u8 | 0x80]);
            value >>= 7;
        }
        self.put(&[value as u8]);
    }
    /// A string that may be null; `compact` in flexible versions.
    fn put_nullable_string(&mut self, value: Option<&str>, compact: bool) {
        match (value, compact) {
            (None, true) => self.put_uvarint(0),
            (None, false) => self.put_i16(-1),
            (Some(text), true) => {
                self.put_uvarint(text.len() as u32 + 1);
                self.put(text.as_bytes());
            }
            (Some(text), false) => {
                self.put_i16(text.len() as i16);
                self.put(text.as_bytes());
            }
        }
    }
    /// A string; `compact` in flexible versions.
    fn put_string(&mut self, value: &str, compact: bool) {
        self.put_nullable_string(Some(value), compact);
    }
    /// Number of elements of an array; `compact` in flexible versions.
    fn put_array_length(&mut self, count: usize, compact: bool) {
        if compact { self.put_uvarint(count as u32 + 1) } else { self.put_i32(count as i32) }
    }
    /// Tagged fields, in ascending order of their tags; flexible versions only.
    fn put_tags(&mut self, fields: &[(u32, Vec<u8>)]) {
        self.put_uvarint(fields.len() as u32);
        for (tag, bytes) in fields {
            self.put_uvarint(*tag);
            self.put_uvarint(bytes.len() as u32);
            self.put(bytes);
        }
    }
    /// No tagged fields, in flexible versions.
    fn put_no_tags(&mut self, flexible: bool) {
        if flexible {
            self.put_uvarint(0);
        }
    }
}

impl Writer for Vec<u8> {
    fn put(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}
