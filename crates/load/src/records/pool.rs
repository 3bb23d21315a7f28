//! Bytes that values are cut from.

use std::rc::Rc;

/// A stream of bytes without end that values are cut from.
#[derive(Debug)]
pub(super) struct BytePool {
    pub(super) bytes: Rc<[u8]>,
    pub(super) at: usize,
}

impl BytePool {
    /// Appends the next bytes.
    #[inline]
    pub(super) fn append(&mut self, out: &mut Vec<u8>, bytes: usize) {
        let mut left = bytes;
        while left > 0 {
            let part = &self.bytes[self.at..];
            let part = &part[..part.len().min(left)];
            out.extend_from_slice(part);
            left -= part.len();
            self.at = (self.at + part.len()) % self.bytes.len();
        }
    }
}
