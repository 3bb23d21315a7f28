//! What members and coordinator have in common.

use crate::wire::Reader;

pub(super) const MS: u64 = 1_000_000;
pub(super) const SECOND: u64 = 1_000 * MS;
pub(super) const BROKER: i32 = 7;
pub(super) const TOPIC: &str = "t";
pub(super) const TOPIC_ID: [u8; 16] = [9; 16];

/// Version and body of a request.
pub(super) fn parse(bytes: &[u8], is_flexible: impl Fn(i16, i16) -> bool) -> (i16, i16, Vec<u8>) {
    let mut reader = Reader::new(bytes);
    let mut read = || -> crate::wire::Result<(i16, i16, Vec<u8>)> {
        reader.i32()?;
        let (key, version) = (reader.i16()?, reader.i16()?);
        reader.i32()?;
        reader.string(false)?;
        reader.skip_tags(is_flexible(key, version))?;
        let rest = reader.remaining();
        Ok((key, version, reader.take(rest)?.to_vec()))
    };
    read().expect("one request")
}
