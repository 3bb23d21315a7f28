//! Ids, numbers and bytes by chance, from the system's own source.

use crate::error::TestbedError;
use std::io::Read;
use std::path::Path;

/// An id as Kafka writes them: 16 random bytes in URL-safe base64, 22 characters, no leading dash.
pub fn random_id() -> Result<String, TestbedError> {
    let mut bytes = [0u8; 16];
    loop {
        fill_random(&mut bytes)?;
        let id = base64_url(&bytes);
        // One in 64 begins with a dash, which tools would take for an option.
        if !id.starts_with('-') {
            return Ok(id);
        }
    }
}

/// Any number.
pub(super) fn random_number() -> Result<u64, TestbedError> {
    let mut bytes = [0u8; 8];
    fill_random(&mut bytes)?;
    Ok(u64::from_ne_bytes(bytes))
}

/// Fills bytes by chance.
pub(super) fn fill_random(bytes: &mut [u8]) -> Result<(), TestbedError> {
    let path = Path::new("/dev/urandom");
    let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(bytes));
    read.map_err(|e| TestbedError::io("cannot read", path, e))
}

fn base64_url(bytes: &[u8; 16]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut out = String::with_capacity(22);
    for group in bytes.chunks(3) {
        let word =
            group.iter().enumerate().fold(0u32, |word, (i, byte)| word | u32::from(*byte) << (16 - 8 * i));
        for digit in 0..=group.len() {
            out.push(char::from(ALPHABET[(word >> (18 - 6 * digit) & 63) as usize]));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_have_kafkas_form() {
        assert_eq!(base64_url(&[0; 16]), "A".repeat(22));
        assert_eq!(base64_url(&[0xff; 16]), format!("{}w", "_".repeat(21)));
        let (a, b) = (random_id().expect("random"), random_id().expect("random"));
        assert_eq!(a.len(), 22);
        assert_ne!(a, b);
    }
}
