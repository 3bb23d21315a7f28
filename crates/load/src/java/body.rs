//! Reads the body of a frame.

use std::str;
use thiserror::Error;

/// What the process said makes no sense; holds what.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub(super) struct FrameError(pub &'static str);

pub(super) fn be<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut found = [0; N];
    found.copy_from_slice(&bytes[at..at + N]);
    found
}

/// Reads a body.
pub(super) struct BodyReader<'a>(pub(super) &'a [u8]);

impl<'a> BodyReader<'a> {
    pub(super) fn take(&mut self, bytes: usize) -> Result<&'a [u8], FrameError> {
        let (taken, rest) = self.0.split_at_checked(bytes).ok_or(FrameError("a frame that ends too soon"))?;
        self.0 = rest;
        Ok(taken)
    }

    pub(super) fn u8(&mut self) -> Result<u8, FrameError> {
        Ok(self.take(1)?[0])
    }

    pub(super) fn u16(&mut self) -> Result<u16, FrameError> {
        Ok(u16::from_be_bytes(be(self.take(2)?, 0)))
    }

    pub(super) fn u32(&mut self) -> Result<u32, FrameError> {
        Ok(u32::from_be_bytes(be(self.take(4)?, 0)))
    }

    pub(super) fn i32(&mut self) -> Result<i32, FrameError> {
        Ok(i32::from_be_bytes(be(self.take(4)?, 0)))
    }

    pub(super) fn u64(&mut self) -> Result<u64, FrameError> {
        Ok(u64::from_be_bytes(be(self.take(8)?, 0)))
    }

    /// A number that is −1 where it is not known.
    pub(super) fn known(&mut self) -> Result<Option<u64>, FrameError> {
        Ok(u64::try_from(i64::from_be_bytes(be(self.take(8)?, 0))).ok())
    }

    pub(super) fn string(&mut self) -> Result<&'a str, FrameError> {
        let length = self.u32()? as usize;
        str::from_utf8(self.take(length)?).map_err(|_| FrameError("text that is no UTF-8"))
    }

    pub(super) fn items(&mut self, bytes: usize) -> Result<&'a [u8], FrameError> {
        let count = self.u32()? as usize;
        self.take(count.checked_mul(bytes).ok_or(FrameError("a frame that ends too soon"))?)
    }
}
