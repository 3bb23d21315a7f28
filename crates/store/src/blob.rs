//! Blobs of packed columns: the form of their bytes.
//!
//! A blob is: 1 byte form ([`FORM_PLAIN`] or [`FORM_DEFLATED`]), 4 bytes length of the plain bytes (big
//! endian), then the plain or deflated bytes. Plain bytes are `postcard`.

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::borrow::Cow;
use std::io::{Read, Write};

const FORM_PLAIN: u8 = 0;
const FORM_DEFLATED: u8 = 1;
const HEAD_BYTES: usize = 5;

/// Largest plain form of one blob. A phase row of eight full histograms is below 600 KB, the totals of a
/// hundred thousand clients below 2 MB; what claims more is damaged.
pub(crate) const PLAIN_BYTES_MAX: usize = 16 << 20;

/// Below this a blob is not worth deflating.
const DEFLATE_BYTES_MIN: usize = 64;

/// Why a blob cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PackError {
    #[error("a packed column is cut off")]
    Short,
    #[error("a packed column has the unknown form {0}")]
    Form(u8),
    #[error("a packed column claims {0} bytes, more than {PLAIN_BYTES_MAX}")]
    Huge(usize),
    #[error("a packed column has another length than it claims")]
    Length,
    #[error("a packed column does not decode: {0}")]
    Content(String),
    #[error("a packed column names the unknown timing {0}")]
    Timing(u8),
}

pub(crate) fn plain<T: Serialize>(value: &T) -> Result<Vec<u8>, PackError> {
    postcard::to_stdvec(value).map_err(|error| PackError::Content(error.to_string()))
}

pub(crate) fn seal(plain: &[u8]) -> Result<Vec<u8>, PackError> {
    let length = u32::try_from(plain.len()).ok().filter(|_| plain.len() <= PLAIN_BYTES_MAX);
    let length = length.ok_or(PackError::Huge(plain.len()))?;
    let mut blob = Vec::with_capacity(HEAD_BYTES + plain.len());
    blob.push(FORM_DEFLATED);
    blob.extend_from_slice(&length.to_be_bytes());
    if plain.len() >= DEFLATE_BYTES_MIN {
        let mut encoder = DeflateEncoder::new(blob, Compression::default());
        encoder.write_all(plain).map_err(|error| PackError::Content(error.to_string()))?;
        blob = encoder.finish().map_err(|error| PackError::Content(error.to_string()))?;
        if blob.len() < HEAD_BYTES + plain.len() {
            return Ok(blob);
        }
        blob.truncate(HEAD_BYTES);
    }
    blob[0] = FORM_PLAIN;
    blob.extend_from_slice(plain);
    Ok(blob)
}

/// How many plain bytes a blob claims to have.
pub(crate) fn plain_bytes(blob: &[u8]) -> Result<usize, PackError> {
    let Some((&[_, a, b, c, d], _)) = blob.split_first_chunk::<HEAD_BYTES>() else {
        return Err(PackError::Short);
    };
    let length = usize::try_from(u32::from_be_bytes([a, b, c, d])).map_err(|_| PackError::Length)?;
    if length > PLAIN_BYTES_MAX { Err(PackError::Huge(length)) } else { Ok(length) }
}

/// The plain bytes of a blob.
pub(crate) fn open(blob: &[u8]) -> Result<Cow<'_, [u8]>, PackError> {
    let length = plain_bytes(blob)?;
    let (form, body) = (blob[0], &blob[HEAD_BYTES..]);
    match form {
        FORM_PLAIN if body.len() == length => Ok(Cow::Borrowed(body)),
        FORM_PLAIN => Err(PackError::Length),
        FORM_DEFLATED => Ok(Cow::Owned(inflate(body, length)?)),
        other => Err(PackError::Form(other)),
    }
}

/// Inflates to exactly `length` bytes; memory grows with what is really there, not with the claim.
fn inflate(body: &[u8], length: usize) -> Result<Vec<u8>, PackError> {
    let mut plain = Vec::new();
    let limit = length as u64 + 1;
    DeflateDecoder::new(body)
        .take(limit)
        .read_to_end(&mut plain)
        .map_err(|error| PackError::Content(error.to_string()))?;
    if plain.len() == length { Ok(plain) } else { Err(PackError::Length) }
}

pub(crate) fn decode<T: DeserializeOwned>(plain: &[u8]) -> Result<(T, &[u8]), PackError> {
    postcard::take_from_bytes(plain).map_err(|error| PackError::Content(error.to_string()))
}
