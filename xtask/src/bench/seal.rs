//! The cryptography of TLS by itself: seals records of one size in memory, by the provider that kdyno has. A hidden mode of
//! this program, because it must be a process of its own.

use std::hint::black_box;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use aws_lc_rs::aead::{AES_128_GCM, AES_256_GCM, Aad, Algorithm, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};

use super::pipe::filler;

/// Cipher suites of TLS 1.3 by Java's names, and what seals their records.
pub const SUITES: [(&str, &Algorithm); 2] =
    [("TLS_AES_128_GCM_SHA256", &AES_128_GCM), ("TLS_AES_256_GCM_SHA384", &AES_256_GCM)];

/// Plaintext of a full record of TLS.
const RECORD_BYTES: usize = 16 * 1024;

/// The head of such a record, which is sealed with it: application data, its length with a type and a tag.
const HEAD: [u8; 5] = [23, 3, 3, 0x40, 0x11];

/// Records between two looks at the clock.
const RECORDS_PER_LOOK: u64 = 64;

/// Seals the same record again and again for a while, each time under another number; prints how many bytes it sealed.
/// Where there is a pool, its next bytes are copied into the record first, as a session does with what it is given.
pub fn run(suite: &str, pool_bytes: usize, length: Duration) -> anyhow::Result<()> {
    let known = SUITES.into_iter().find(|(name, _)| *name == suite);
    let (_, algorithm) = known.with_context(|| format!("no suite is called {suite}"))?;
    let failed = |_| anyhow!("the provider does not seal by {suite}");
    let key = UnboundKey::new(algorithm, &vec![7; algorithm.key_len()]).map_err(failed)?;
    let key = LessSafeKey::new(key);
    let mut record = vec![b'K'; RECORD_BYTES];
    let pool = filler(pool_bytes);
    let mut plaintexts = pool.chunks_exact(RECORD_BYTES).cycle();
    let begin = Instant::now();
    let mut number: u64 = 0;
    while begin.elapsed() < length {
        for _ in 0..RECORDS_PER_LOOK {
            if let Some(plaintext) = plaintexts.next() {
                record.copy_from_slice(plaintext);
            }
            let mut nonce = [0; NONCE_LEN];
            nonce[NONCE_LEN - 8..].copy_from_slice(&number.to_be_bytes());
            let nonce = Nonce::assume_unique_for_key(nonce);
            let tag = key.seal_in_place_separate_tag(nonce, Aad::from(HEAD), &mut record).map_err(failed)?;
            let _ = black_box(tag);
            number += 1;
        }
    }
    println!("{}", number * RECORD_BYTES as u64);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_suites_seal_and_no_other() {
        for (suite, _) in SUITES {
            for pool_bytes in [0, 2 * RECORD_BYTES] {
                run(suite, pool_bytes, Duration::from_millis(1)).expect("it seals");
            }
        }
        let error = run("TLS_NULL", 0, Duration::ZERO).expect_err("no such suite").to_string();
        assert!(error.contains("TLS_NULL"), "{error}");
    }
}
