//! The four compressions of a batch's body, as Java brokers and clients read and write them.
//!
//! - gzip: one or more members.
//! - snappy: the framing of `snappy-java` ("xerial"): magic, two versions, then blocks of at most 32 KiB with
//!   their length in four bytes; raw snappy, which some clients send, is read too.
//! - lz4: the frame format with independent blocks (dependent ones are refused by Java too), 64 KiB here. As in Java
//!   the default level, 9, is lz4's fast compressor, and every other one is a level of the high one (`LZ4_compress_HC`).
//! - zstd: frames.
//!
//! Levels are those of Java's `compression.CODEC.level`. Reading ends at a size the caller states; in addition to the
//! output a decoder may hold buffers of a fixed size, the largest of which are lz4's two of 4 MiB.

use super::RecordsError;
use crate::wire::Reader;
use lz4::block::CompressionMode;
use std::fmt;
use std::io::{self, Read, Write};

/// How a body is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Compression {
    /// Not at all.
    None,
    /// gzip.
    Gzip,
    /// snappy in xerial framing.
    Snappy,
    /// lz4 frames.
    Lz4,
    /// zstd.
    Zstd,
}

impl Compression {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::None, Self::Gzip, Self::Snappy, Self::Lz4, Self::Zstd];

    /// Its number in a batch's attributes.
    pub fn id(self) -> u8 {
        self as u8
    }

    /// From the number in a batch's attributes.
    ///
    /// # Errors
    /// When it means nothing known.
    pub fn from_id(id: u8) -> Result<Self, RecordsError> {
        Self::ALL.get(usize::from(id)).copied().ok_or(RecordsError::Codec(id))
    }

    /// Its name in Kafka's settings.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Gzip => "gzip",
            Self::Snappy => "snappy",
            Self::Lz4 => "lz4",
            Self::Zstd => "zstd",
        }
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A codec with its level, which says how hard it tries; decompression does not need the level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Compressor {
    codec: Compression,
    level: Option<i32>,
}

impl Compressor {
    /// At the level of `compression.CODEC.level`, by default Java's: gzip 6 (which -1 means), lz4 9, zstd 3. Which
    /// levels Kafka takes is checked where they are typed; codecs without levels pass over it.
    pub fn new(codec: Compression, level: Option<i32>) -> Self {
        Self { codec, level }
    }

    /// What it compresses to.
    pub fn codec(self) -> Compression {
        self.codec
    }
}

impl From<Compression> for Compressor {
    /// At Java's default level.
    fn from(codec: Compression) -> Self {
        Self::new(codec, None)
    }
}

/// Magic and the two versions of xerial framing.
const XERIAL_HEADER: [u8; 16] = [0x82, b'S', b'N', b'A', b'P', b'P', b'Y', 0, 0, 0, 0, 1, 0, 0, 0, 1];
const XERIAL_MAGIC_BYTES: usize = 8;
/// Block size of snappy-java.
const SNAPPY_BLOCK_BYTES: usize = 32 << 10;
/// More than any snappy element expands: a copy of 64 bytes takes 3.
const SNAPPY_EXPANSION_MAX: usize = 22;
const LZ4_MAGIC: [u8; 4] = 0x184d_2204_u32.to_le_bytes();
/// Version and block independence in the flags of an lz4 frame, as they must be.
const LZ4_FLAGS: (u8, u8) = (0b1110_0000, 0b0110_0000);
/// What lz4 frames begin with, here and from Java: magic, independent blocks without checksums, of 64 KiB, and the
/// checksum of these two.
const LZ4_HEADER: [u8; 7] = [0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x82];
const LZ4_BLOCK_BYTES: usize = 64 << 10;
/// In the length of a block that is not compressed.
const LZ4_STORED_BIT: u32 = 1 << 31;
const LZ4_END: [u8; 4] = [0; 4];
/// At which Java takes the fast compressor.
const LZ4_FAST_LEVEL: i32 = 9;
const ZSTD_LEVEL: i32 = 3;
/// Step in which a stream is read.
const CHUNK_BYTES: usize = 16 << 10;

/// Appends `body` compressed.
///
/// # Errors
/// When the compressor fails, which none does on memory it can get.
pub fn compress(
    compressor: impl Into<Compressor>,
    body: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), RecordsError> {
    let Compressor { codec, level } = compressor.into();
    let done = match codec {
        Compression::None => out.write_all(body),
        Compression::Gzip => gzip(level, body, out),
        Compression::Snappy => snappy(body, out),
        Compression::Lz4 => match level {
            None | Some(LZ4_FAST_LEVEL) => lz4_fast(body, out),
            Some(level) => lz4_high(level, body, out),
        },
        Compression::Zstd => {
            zstd::bulk::compress(body, level.unwrap_or(ZSTD_LEVEL)).map(|bytes| out.extend(bytes))
        }
    };
    done.map_err(|error| RecordsError::Compress { codec, detail: error.to_string() })
}

fn gzip(level: Option<i32>, body: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
    let level = match level {
        Some(level @ 1..) => flate2::Compression::new(level.min(9).unsigned_abs()),
        _ => flate2::Compression::default(),
    };
    let mut encoder = flate2::write::GzEncoder::new(out, level);
    encoder.write_all(body)?;
    encoder.finish().map(drop)
}

fn snappy(body: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
    out.write_all(&XERIAL_HEADER)?;
    let mut encoder = snap::raw::Encoder::new();
    for block in body.chunks(SNAPPY_BLOCK_BYTES) {
        let start = out.len();
        out.resize(start + size_of::<i32>() + snap::raw::max_compress_len(block.len()), 0);
        let bytes = encoder.compress(block, &mut out[start + size_of::<i32>()..])?;
        out[start..start + size_of::<i32>()].copy_from_slice(&(bytes as i32).to_be_bytes());
        out.truncate(start + size_of::<i32>() + bytes);
    }
    Ok(())
}

fn lz4_fast(body: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
    let info = lz4_flex::frame::FrameInfo::new()
        .block_size(lz4_flex::frame::BlockSize::Max64KB)
        .block_mode(lz4_flex::frame::BlockMode::Independent);
    let mut encoder = lz4_flex::frame::FrameEncoder::with_frame_info(info, out);
    encoder.write_all(body)?;
    encoder.finish().map(drop).map_err(io::Error::other)
}

/// Frames as above with blocks of the high compressor, which takes levels up to 12 and those above as 12.
fn lz4_high(level: i32, body: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
    out.write_all(&LZ4_HEADER)?;
    for block in body.chunks(LZ4_BLOCK_BYTES) {
        let start = out.len() + size_of::<u32>();
        out.resize(start + lz4::block::compress_bound(block.len())?, 0);
        let mode = Some(CompressionMode::HIGHCOMPRESSION(level));
        let bytes = lz4::block::compress_to_buffer(block, mode, false, &mut out[start..])?;
        // As in Java, a block that would not become shorter is kept as it is.
        let (bytes, stored) = if bytes < block.len() { (bytes, 0) } else { (block.len(), LZ4_STORED_BIT) };
        if stored != 0 {
            out[start..start + bytes].copy_from_slice(block);
        }
        out[start - size_of::<u32>()..start].copy_from_slice(&(bytes as u32 | stored).to_le_bytes());
        out.truncate(start + bytes);
    }
    out.write_all(&LZ4_END)
}

/// Replaces the content of `out` by the decompressed `bytes`, at most `bytes_max` of them.
///
/// # Errors
/// When `bytes` is not what it should be, or becomes larger than allowed.
pub fn decompress(
    codec: Compression,
    bytes: &[u8],
    bytes_max: usize,
    out: &mut Vec<u8>,
) -> Result<(), RecordsError> {
    let mut sink = Sink { codec, bytes_max, out };
    sink.out.clear();
    match codec {
        Compression::None => sink.append(bytes),
        Compression::Gzip => sink.append_all(flate2::read::MultiGzDecoder::new(bytes)),
        Compression::Snappy if bytes.starts_with(&XERIAL_HEADER[..XERIAL_MAGIC_BYTES]) => sink.xerial(bytes),
        Compression::Snappy => sink.raw_snappy(bytes),
        Compression::Lz4 => sink.lz4(bytes),
        Compression::Zstd => sink.zstd(bytes),
    }
}

/// Output that never grows beyond its limit.
struct Sink<'a> {
    codec: Compression,
    bytes_max: usize,
    out: &'a mut Vec<u8>,
}

impl Sink<'_> {
    fn malformed(&self, detail: impl ToString) -> RecordsError {
        RecordsError::Decompress { codec: self.codec, detail: detail.to_string() }
    }

    fn too_large(&self) -> RecordsError {
        RecordsError::TooLarge { codec: self.codec, bytes_max: self.bytes_max }
    }

    /// Makes room for `more` bytes: doubles, but not beyond the limit.
    fn reserve(&mut self, more: usize) -> Result<(), RecordsError> {
        let length = self.out.len();
        if more > self.bytes_max - length {
            return Err(self.too_large());
        }
        if length + more > self.out.capacity() {
            let capacity = (length + more).max(2 * length).min(self.bytes_max);
            self.out.reserve_exact(capacity - length);
        }
        Ok(())
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), RecordsError> {
        self.reserve(bytes.len())?;
        self.out.extend_from_slice(bytes);
        Ok(())
    }

    fn append_all(&mut self, mut stream: impl Read) -> Result<(), RecordsError> {
        let mut chunk = [0; CHUNK_BYTES];
        loop {
            match stream.read(&mut chunk) {
                Ok(0) => return Ok(()),
                Ok(bytes) => self.append(&chunk[..bytes])?,
                Err(error) => return Err(self.malformed(error)),
            }
        }
    }

    fn xerial(&mut self, bytes: &[u8]) -> Result<(), RecordsError> {
        let mut reader = Reader::new(bytes);
        reader.take(XERIAL_HEADER.len())?;
        while reader.remaining() > 0 {
            let length = reader.i32()?;
            let length = usize::try_from(length).map_err(|_| self.malformed("negative block length"))?;
            self.raw_snappy(reader.take(length)?)?;
        }
        Ok(())
    }

    fn raw_snappy(&mut self, bytes: &[u8]) -> Result<(), RecordsError> {
        let claimed = snap::raw::decompress_len(bytes).map_err(|error| self.malformed(error))?;
        if claimed > bytes.len().saturating_mul(SNAPPY_EXPANSION_MAX) {
            return Err(self.malformed(format!("{} bytes cannot hold {claimed}", bytes.len())));
        }
        self.reserve(claimed)?;
        let start = self.out.len();
        self.out.resize(start + claimed, 0);
        let block = &mut self.out[start..];
        let written = snap::raw::Decoder::new().decompress(bytes, block);
        let written = written.map_err(|error| self.malformed(error))?;
        self.out.truncate(start + written);
        Ok(())
    }

    fn lz4(&mut self, bytes: &[u8]) -> Result<(), RecordsError> {
        let independent = bytes.get(4).is_some_and(|flags| flags & LZ4_FLAGS.0 == LZ4_FLAGS.1);
        if !bytes.starts_with(&LZ4_MAGIC) || !independent {
            return Err(self.malformed("not a frame of independent blocks"));
        }
        self.append_all(lz4_flex::frame::FrameDecoder::new(bytes))
    }

    fn zstd(&mut self, bytes: &[u8]) -> Result<(), RecordsError> {
        // A frame need not state its size. It is then given all that is allowed; memory that is not written
        // to costs nothing.
        let size = zstd::bulk::Decompressor::upper_bound(bytes).unwrap_or(self.bytes_max);
        self.reserve(size)?;
        let mut decoder = zstd::bulk::Decompressor::new().map_err(|error| self.malformed(error))?;
        decoder.decompress_to_buffer(bytes, self.out).map_err(|error| self.malformed(error))?;
        // A buffer used before may have more room than is allowed now.
        let extra = self.out.len().saturating_sub(self.bytes_max);
        self.out.truncate(self.bytes_max);
        if extra > 0 { Err(self.too_large()) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests;
