//! How fast the disk under a folder takes what is written to it: a short look, for the limits that a target or a scenario
//! declares.
//!
//! The file has no name (or loses it before anything is written where the file system wants one), so nothing of it stays,
//! however this ends.

use crate::error::TestbedError;
use crate::host;
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Rounds, each of writes one after the other and of small ones: by what they differ, the figures are unsure.
pub const ROUNDS: u32 = 5;
/// Most bytes that are written; of a disk with little room an eighth of what is free.
pub const BYTES_MAX: u64 = 1 << 30;
/// Longest time that writing one after the other takes, all rounds together.
pub const WRITE_TIME_MAX: Duration = Duration::from_secs(10);
/// Rate of the small writes, each waited for.
pub const SYNC_TIME_MAX: Duration = Duration::from_secs(5);

/// Bytes of one write: more than any file system wants at once.
const BLOCK_BYTES: usize = 1 << 20;
/// Blocks behind which the disk is waited for: without that the page cache would be measured.
const BLOCKS_PER_SYNC: u64 = 32;
/// Bytes of a small write: a page.
const SMALL_BYTES: usize = 4096;
/// Small writes of a round at most.
const SMALL_MAX: usize = 100;

/// What one round found.
#[derive(Debug, Clone, PartialEq)]
pub struct DiskRound {
    /// Bytes written one after the other.
    pub bytes: u64,
    /// How long that took, until the disk had them all.
    pub took: Duration,
    /// How long each small write took until the disk had it; at least one.
    pub syncs: Vec<Duration>,
}

/// Bytes that [`measure`] would write into the folder at most.
///
/// # Errors
/// Its file system cannot be asked how much is free.
pub fn bytes_to_write(folder: &Path) -> Result<u64, TestbedError> {
    Ok(BYTES_MAX.min(host::free_bytes(folder)? / 8))
}

/// Writes and waits, for [`WRITE_TIME_MAX`] and [`SYNC_TIME_MAX`] at most, in [`ROUNDS`]; `None`: `stop` was set before it was
/// done.
///
/// # Errors
/// The folder cannot be written, or the disk is full.
pub fn measure(folder: &Path, stop: &AtomicBool) -> Result<Option<Vec<DiskRound>>, TestbedError> {
    let bytes_max = (bytes_to_write(folder)? / u64::from(ROUNDS)).max(BLOCK_BYTES as u64);
    let failed = |error| TestbedError::io("cannot write into", folder, error);
    let mut file = tempfile::tempfile_in(folder).map_err(failed)?;
    (0..ROUNDS).map(|_| round(&mut file, bytes_max, stop).map_err(failed)).collect()
}

/// `None`: it was stopped.
fn round(file: &mut File, bytes_max: u64, stop: &AtomicBool) -> io::Result<Option<DiskRound>> {
    // Logs grow: each round writes where nothing was yet.
    file.seek(SeekFrom::End(0))?;
    let Some((bytes, took)) = one_after_the_other(file, bytes_max, stop)? else { return Ok(None) };
    let syncs = small(file, stop)?;
    Ok(syncs.map(|syncs| DiskRound { bytes, took, syncs }))
}

/// How many bytes in how long.
fn one_after_the_other(
    file: &mut File,
    bytes_max: u64,
    stop: &AtomicBool,
) -> io::Result<Option<(u64, Duration)>> {
    let block = incompressible(BLOCK_BYTES);
    let started = Instant::now();
    let mut blocks = 0;
    while (blocks + 1) * BLOCK_BYTES as u64 <= bytes_max && started.elapsed() < WRITE_TIME_MAX / ROUNDS {
        if stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        file.write_all(&block)?;
        blocks += 1;
        if blocks % BLOCKS_PER_SYNC == 0 {
            file.sync_data()?;
        }
    }
    file.sync_data()?;
    Ok(Some((blocks * BLOCK_BYTES as u64, started.elapsed())))
}

/// How long each small write took until the disk had it; at least one.
fn small(file: &mut File, stop: &AtomicBool) -> io::Result<Option<Vec<Duration>>> {
    let page = incompressible(SMALL_BYTES);
    file.seek(SeekFrom::Start(0))?;
    let started = Instant::now();
    let mut found = Vec::new();
    while found.is_empty() || (found.len() < SMALL_MAX && started.elapsed() < SYNC_TIME_MAX / ROUNDS) {
        if stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let one = Instant::now();
        file.write_all(&page)?;
        file.sync_data()?;
        found.push(one.elapsed());
    }
    Ok(Some(found))
}

/// Bytes that neither a disk nor a network makes smaller: a xorshift generator's (Marsaglia 2003).
pub(crate) fn incompressible(bytes: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut found = Vec::with_capacity(bytes + 8);
    while found.len() < bytes {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        found.extend(state.to_le_bytes());
    }
    found.truncate(bytes);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_leaves_nothing_and_may_be_stopped() {
        let folder = tempfile::tempdir().expect("a folder");
        let left = || std::fs::read_dir(folder.path()).expect("a folder").count();
        let stop = AtomicBool::new(true);
        assert_eq!(measure(folder.path(), &stop).expect("stopped"), None);
        assert_eq!(left(), 0);
        let mut file = tempfile::tempfile_in(folder.path()).expect("a file");
        assert_eq!(left(), 0, "while it is there too");
        let go_on = AtomicBool::new(false);
        let (bytes, took) =
            one_after_the_other(&mut file, 3 << 20, &go_on).expect("written").expect("not stopped");
        assert_eq!(bytes, 3 << 20, "no more than it may");
        assert!(took > Duration::ZERO);
        assert!(!small(&mut file, &go_on).expect("written").expect("not stopped").is_empty());
        let second = round(&mut file, 2 << 20, &go_on).expect("written").expect("not stopped");
        let size = file.metadata().expect("a file").len();
        assert_eq!((second.bytes, size), (2 << 20, 5 << 20), "behind the first one");
        assert!(measure(&folder.path().join("no"), &go_on).is_err());
    }

    #[test]
    fn blocks_have_no_pattern() {
        let block = incompressible(4096);
        let mut counts = [0_u32; 256];
        block.iter().for_each(|byte| counts[usize::from(*byte)] += 1);
        assert!(counts.iter().all(|count| (1..50).contains(count)), "{counts:?}");
    }
}
