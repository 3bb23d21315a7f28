//! Folders of the user's cache that are made once: complete or not there at all, also when several processes make one
//! at once.

use crate::error::TestbedError;
use crate::folder::{create_folder, remove_folder};
use std::fs::File;
use std::path::{Path, PathBuf};

/// The folder `name` in `base`, which `fill` fills in a folder of another name if it is not there yet. `progress` is
/// called only when that is done elsewhere at the moment.
///
/// # Errors
/// What `fill` fails with, or a folder cannot be made; then nothing is there.
pub fn folder(
    base: &Path,
    name: &str,
    progress: &dyn Fn(&str),
    fill: impl FnOnce(&Path) -> Result<(), TestbedError>,
) -> Result<PathBuf, TestbedError> {
    let folder = base.join(name);
    // The folder gets its name only when it is complete, so its presence is enough.
    if folder.is_dir() {
        return Ok(folder);
    }
    create_folder(base)?;
    let _lock = lock(&base.join(format!("{name}.lock")), name, progress)?;
    if folder.is_dir() {
        return Ok(folder);
    }
    let unfinished = base.join(format!(".unfinished-{name}"));
    // A leftover of a run that was killed; the lock says that it is not in use.
    remove_folder(&unfinished)?;
    create_folder(&unfinished)?;
    let result = fill(&unfinished).and_then(|()| {
        let named = std::fs::rename(&unfinished, &folder);
        named.map_err(|e| TestbedError::io("cannot name folder", &folder, e))
    });
    if result.is_err() {
        // Best effort: the first failure is the one to report, and the next run removes the rest.
        let _ = std::fs::remove_dir_all(&unfinished);
    }
    result.map(|()| folder)
}

/// Waits for the folder's lock; the system frees it when its holder ends, however that happens.
fn lock(path: &Path, name: &str, progress: &dyn Fn(&str)) -> Result<File, TestbedError> {
    let file = File::create(path).map_err(|e| TestbedError::io("cannot create", path, e))?;
    if file.try_lock().is_err() {
        progress(&format!("another kdyno is making {name} in the cache, waiting for it"));
        file.lock().map_err(|e| TestbedError::io("cannot lock", path, e))?;
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn a_failed_creation_leaves_nothing_and_entries_are_made_once() {
        let temp = tempfile::tempdir().expect("temp");
        let base = temp.path().join("cache");
        let half = |folder: &Path| {
            std::fs::write(folder.join("half"), "").expect("write");
            Err(TestbedError::GivenUp)
        };
        let failed: Result<PathBuf, TestbedError> = super::folder(&base, "a", &|_| {}, half);
        assert!(failed.is_err() && !base.join("a").exists());
        let made = AtomicU32::new(0);
        let fill = |folder: &Path| {
            assert!(!folder.join("half").exists(), "nothing of before is left");
            made.fetch_add(1, Ordering::Relaxed);
            std::fs::write(folder.join("whole"), "").expect("write");
            Ok::<(), TestbedError>(())
        };
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let folder = super::folder(&base, "a", &|_| {}, fill).expect("made");
                    assert!(folder.join("whole").is_file());
                });
            }
        });
        assert_eq!(made.load(Ordering::Relaxed), 1);
    }
}
