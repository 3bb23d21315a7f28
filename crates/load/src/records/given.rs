//! Keys or values that come from a file or a topic, side by side in memory.

/// Byte strings by number, at least one.
#[derive(Debug)]
pub struct ByteStrings {
    bytes: Box<[u8]>,
    /// Where each of them ends.
    ends: Box<[u32]>,
}

impl ByteStrings {
    /// Puts them side by side; `None`: there is none, or they are 4 GiB and more together.
    pub fn new<'p>(pieces: impl IntoIterator<Item = &'p [u8]>) -> Option<Self> {
        let (mut bytes, mut ends) = (Vec::new(), Vec::new());
        for piece in pieces {
            bytes.extend_from_slice(piece);
            ends.push(u32::try_from(bytes.len()).ok()?);
        }
        (!ends.is_empty()).then(|| Self { bytes: bytes.into(), ends: ends.into() })
    }

    /// How many there are.
    pub(super) fn count(&self) -> u32 {
        self.ends.len() as u32
    }

    /// Bytes of one in the mean, rounded up.
    pub(super) fn mean_bytes(&self) -> u32 {
        (self.bytes.len() as u64).div_ceil(self.ends.len() as u64) as u32
    }

    /// One of them.
    #[inline]
    pub(super) fn get(&self, number: u32) -> &[u8] {
        let at = number as usize;
        let begin = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[begin as usize..self.ends[at] as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_found_again() {
        let given = ByteStrings::new([&b"one"[..], b"", b"three"]).expect("some");
        assert_eq!((given.count(), given.mean_bytes()), (3, 3));
        assert_eq!([given.get(0), given.get(1), given.get(2)], [&b"one"[..], b"", b"three"]);
        assert!(ByteStrings::new([]).is_none());
    }
}
