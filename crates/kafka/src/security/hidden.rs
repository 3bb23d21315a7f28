//! Bytes that no output shows.

use std::fmt;
use zeroize::Zeroizing;

/// A password, a token or a private key: without comparison and display, overwritten when it is dropped.
#[derive(Clone)]
pub struct Hidden(Zeroizing<Vec<u8>>);

impl Hidden {
    /// Takes the bytes over.
    pub fn new(bytes: Vec<u8>) -> Self {
        Self(Zeroizing::new(bytes))
    }

    /// The bytes, for the one place that needs them.
    pub fn expose(&self) -> &[u8] {
        &self.0
    }
}

impl From<Vec<u8>> for Hidden {
    fn from(bytes: Vec<u8>) -> Self {
        Self::new(bytes)
    }
}

impl fmt::Debug for Hidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(hidden)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_are_not_shown() {
        assert_eq!(format!("{:?}", Hidden::new(b"hunter2".to_vec())), "(hidden)");
    }
}
