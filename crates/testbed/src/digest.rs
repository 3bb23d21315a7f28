//! SHA-256 of files.

use aws_lc_rs::digest::{Context, SHA256};
use std::fmt::Write;
use std::io::{self, Read};

/// The SHA-256 of all that is read, in hexadecimal digits.
///
/// # Errors
/// It cannot be read.
pub fn sha256(from: &mut impl Read) -> io::Result<String> {
    let mut context = Context::new(&SHA256);
    let mut piece = vec![0; 1 << 16];
    loop {
        match from.read(&mut piece)? {
            0 => return Ok(hex(context.finish().as_ref())),
            length => context.update(&piece[..length]),
        }
    }
}

/// Bytes in hexadecimal digits.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
