//! Space held back next to the run file, so that the end record fits on a disk that has run full.
//!
//! Free pages inside the SQLite file would not do: in WAL mode every change first needs room in the WAL.
//! So a second file of real blocks lies next to the run file while the run lasts; removing it gives back
//! more than a checkpoint and the end record can need.

use rustix::fs::FallocateFlags;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Held back from the start. A checkpoint copies at most the WAL, which SQLite keeps near 1000 pages of 4 KiB plus the
/// transaction in hand; twice that leaves room for both.
pub(crate) const RESERVE_BYTES: u64 = 8 << 20;

/// Held back again after a failure, once everything is checkpointed: the end record and its own checkpoint
/// take a few pages.
pub(crate) const RESERVE_AFTER_FAILURE_BYTES: u64 = 1 << 20;

/// Where the reserve of a run file lies.
pub(crate) fn path_of(run_file: &Path) -> PathBuf {
    sibling(run_file, "-reserve")
}

/// `run_file` with `suffix` appended to its name, as SQLite names its WAL.
pub(crate) fn sibling(run_file: &Path, suffix: &str) -> PathBuf {
    let mut name = run_file.as_os_str().to_os_string();
    name.push(suffix);
    PathBuf::from(name)
}

/// Takes the space. Fails when the disk does not have it, and then leaves nothing.
pub(crate) fn take(run_file: &Path, bytes: u64) -> io::Result<()> {
    let path = path_of(run_file);
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).open(&path)?;
    let taken = match rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, bytes) {
        Ok(()) => Ok(()),
        Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => fill(&mut file, bytes),
        Err(error) => Err(error.into()),
    };
    taken.inspect_err(|_| {
        // The error that is returned says what matters.
        let _ = std::fs::remove_file(&path);
    })
}

/// For file systems that cannot allocate: writes the bytes.
fn fill(file: &mut File, bytes: u64) -> io::Result<()> {
    let block = [0xA5; 64 << 10];
    let mut left = bytes;
    while left > 0 {
        file.write_all(&block)?;
        left = left.saturating_sub(block.len() as u64);
    }
    file.flush()
}

/// Gives the space back. A reserve that is gone already is fine.
pub(crate) fn give_back(run_file: &Path) -> io::Result<()> {
    match std::fs::remove_file(path_of(run_file)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
