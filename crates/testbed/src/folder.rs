//! Folders, with the path in what goes wrong.

use crate::error::TestbedError;
use std::path::Path;

/// Makes a folder and those above it; one that is there already is fine.
pub(crate) fn create_folder(path: &Path) -> Result<(), TestbedError> {
    std::fs::create_dir_all(path).map_err(|e| TestbedError::io("cannot create folder", path, e))
}

/// Removes a folder with all that is in it; one that is not there is fine.
pub(crate) fn remove_folder(path: &Path) -> Result<(), TestbedError> {
    match std::fs::remove_dir_all(path) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
            Err(TestbedError::io("cannot remove folder", path, e))
        }
        _ => Ok(()),
    }
}
