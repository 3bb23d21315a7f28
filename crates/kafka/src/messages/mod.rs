//! Requests and responses, one module per API key, and the headers and frames around them.
//!
//! Messages in `generated` are made by `cargo xtask messages --write` from Kafka's own specifications: a line
//! for each field, which the macro in `field` turns into bounded readers and writers for both sides. Produce
//! and Fetch are written by hand: their records are neither copied nor collected. The tests compare all with
//! the `kafka-protocol` crate, an independent implementation. Framing, headers and version rules:
//! <https://kafka.apache.org/protocol#protocol_messages>.

mod api;
mod field;
mod generated;
mod leader_hints;
pub mod m00_produce;
pub mod m01_fetch;
mod requests;
#[cfg(test)]
mod tests;
mod versions;

pub use api::{Api, Message, Request};
pub use field::{Field, Form, Structure};
pub use generated::*;
pub use leader_hints::{BrokerEndpoint, LeaderHint, LeaderHints};
pub use requests::*;
pub use versions::{ApiVersionError, VersionMap};

pub(crate) use field::message;
pub(crate) use versions::read_api_versions;

use crate::wire::{Reader, Result, WireError, Writer};

/// Appends a request header: version 1, or version 2 when the request's version is `flexible`.
///
/// The client id keeps its classic encoding in both, so that a broker which does not know the version can
/// still read who asks. It must be at most `i16::MAX` bytes long.
pub fn request_header(
    out: &mut Vec<u8>,
    api_key: i16,
    version: i16,
    flexible: bool,
    correlation_id: i32,
    client_id: &str,
) {
    out.put_i16(api_key);
    out.put_i16(version);
    out.put_i32(correlation_id);
    out.put_string(client_id, false);
    out.put_no_tags(flexible);
}

/// Reads a reply's header from the front of `reader` and returns its correlation id. `flexible` is that of
/// the request, except for ApiVersions, whose reply always has the classic header.
///
/// # Errors
/// When the frame is shorter than its header.
pub fn response_header(reader: &mut Reader<'_>, api_key: i16, flexible: bool) -> Result<i32> {
    let correlation_id = reader.i32()?;
    reader.skip_tags(flexible && api_key != m18_api_versions::API.key)?;
    Ok(correlation_id)
}

/// Appends a frame, that is what `body` appends with its length in four bytes before it.
pub fn write_frame(out: &mut Vec<u8>, body: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.put_i32(0);
    body(out);
    let length = (out.len() - start - size_of::<i32>()) as i32;
    out[start..start + size_of::<i32>()].copy_from_slice(&length.to_be_bytes());
}

/// Length of a frame's content, from the four bytes before it.
///
/// # Errors
/// When the length is negative or above `bytes_max`; nothing of that size is then to be allocated or awaited.
pub fn frame_length(prefix: [u8; 4], bytes_max: usize) -> Result<usize> {
    let length = i32::from_be_bytes(prefix);
    match usize::try_from(length) {
        Ok(length) if length <= bytes_max => Ok(length),
        _ => Err(WireError::Length { what: "frame", length: i64::from(length) }),
    }
}

#[cfg(test)]
mod frame_tests {
    use super::*;
    use crate::wire::FRAME_BYTES_MAX;

    #[test]
    fn headers_have_the_bytes_of_the_specification() {
        let mut classic = Vec::new();
        request_header(&mut classic, 3, 4, false, 7, "me");
        assert_eq!(classic, [0, 3, 0, 4, 0, 0, 0, 7, 0, 2, b'm', b'e']);
        let mut flexible = Vec::new();
        request_header(&mut flexible, 3, 9, true, 7, "me");
        assert_eq!(flexible, [0, 3, 0, 9, 0, 0, 0, 7, 0, 2, b'm', b'e', 0]);
    }

    #[test]
    fn the_reply_of_api_versions_has_no_tags_in_its_header() {
        let bytes = [0, 0, 0, 9, 0, 35];
        let mut reader = Reader::new(&bytes);
        assert_eq!(response_header(&mut reader, 18, true), Ok(9));
        assert_eq!(reader.remaining(), 2);
        let mut reader = Reader::new(&bytes);
        assert_eq!(response_header(&mut reader, 3, true), Ok(9));
        assert_eq!(reader.remaining(), 1);
    }

    #[test]
    fn a_frame_carries_its_length_and_a_hostile_length_is_refused() {
        let mut out = vec![0xff];
        write_frame(&mut out, |out| out.put(b"abc"));
        assert_eq!(out, [0xff, 0, 0, 0, 3, b'a', b'b', b'c']);
        assert_eq!(frame_length([0, 0, 0, 3], FRAME_BYTES_MAX), Ok(3));
        for hostile in [[0xff; 4], [0x7f, 0xff, 0xff, 0xff], [0x80, 0, 0, 0]] {
            assert!(frame_length(hostile, FRAME_BYTES_MAX).is_err());
        }
    }
}
