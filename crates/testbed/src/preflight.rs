//! Looks before a run: is there room for what it will write?

use crate::environment::Environment;
use crate::error::TestbedError;
use kdyno_model::plan::Storage;
use std::path::{Path, PathBuf};

/// Left free on every disk: a file system that is nearly full slows down before it fails.
const RESERVE_BYTES: u64 = 1 << 30;

/// Bytes that an unprivileged program may still write below the folder, which need not exist yet.
///
/// # Errors
/// No part of the path can be looked at.
pub fn free_bytes(folder: &Path) -> Result<u64, TestbedError> {
    let existing = folder.ancestors().find(|path| path.exists()).unwrap_or(Path::new("."));
    let existing = if existing.as_os_str().is_empty() { Path::new(".") } else { existing };
    let stat =
        rustix::fs::statvfs(existing).map_err(|e| TestbedError::io("cannot look at", existing, e.into()))?;
    Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
}

/// The folders in which brokers' logs will lie.
#[must_use]
pub fn log_folders(storage: &Storage, work_dir: &Path, environment: &Environment) -> Vec<PathBuf> {
    match storage {
        Storage::Disk => vec![work_dir.to_path_buf()],
        Storage::Memory => vec![environment.memory_dir.clone()],
        Storage::Dirs(drives) => drives.clone(),
    }
}

/// Checks that the bytes a run writes (replicas included, evenly spread over the folders) fit.
///
/// # Errors
/// They do not; the message has the figures.
pub fn check_room(folders: &[PathBuf], write_bytes: u64) -> Result<(), TestbedError> {
    let each = write_bytes / folders.len().max(1) as u64;
    for folder in folders {
        let free = free_bytes(folder)?;
        if each.saturating_add(RESERVE_BYTES) > free {
            return Err(TestbedError::Disk {
                message: format!(
                    "the run would write {} MB to {}, which has {} MB free ({} MB stay reserved)",
                    each / 1_000_000,
                    folder.display(),
                    free / 1_000_000,
                    RESERVE_BYTES / 1_000_000
                ),
                hint:
                    "shorten the run, lower the rate or the replicas, or let the logs lie elsewhere (storage)"
                        .to_string(),
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_much_is_refused_with_figures() {
        let temp = tempfile::tempdir().expect("temp");
        let folders = [temp.path().join("not/yet/there")];
        assert!(free_bytes(&folders[0]).expect("free") > 0);
        let error = check_room(&folders, u64::MAX).expect_err("no disk is that large");
        assert!(error.to_string().contains("18446744073709 MB"), "{error}");
        assert!(error.to_string().contains("MB free"), "{error}");
    }
}
