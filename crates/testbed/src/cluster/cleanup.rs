//! The folders of a cluster that is about to start.

use crate::error::TestbedError;
use crate::folder::{check_name, create_private};
use std::path::PathBuf;

/// Removes folders unless the guard has taken that over.
pub(super) struct Cleanup(Vec<PathBuf>);

impl Cleanup {
    /// Makes these folders. What somebody else has made under such a name is neither used nor removed.
    pub(super) fn of_made(folders: &[PathBuf]) -> Result<Self, TestbedError> {
        let mut made = Self(Vec::new());
        for folder in folders {
            check_name(folder)?;
            create_private(folder)?;
            made.0.push(folder.clone());
        }
        Ok(made)
    }

    pub(super) fn disarm(mut self) {
        self.0.clear();
    }
}

impl Drop for Cleanup {
    fn drop(&mut self) {
        for folder in &self.0 {
            // The failure that led here is the one to report.
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_is_there_is_neither_taken_nor_removed() {
        let temp = tempfile::tempdir().expect("temp");
        let path = |name: &str| temp.path().join(name);
        std::fs::create_dir(path("theirs")).expect("a folder");
        std::fs::write(path("theirs/file"), "").expect("a file");
        assert!(Cleanup::of_made(&[path("ours"), path("theirs")]).is_err());
        assert!(path("theirs/file").exists() && !path("ours").exists());
        Cleanup::of_made(&[path("ours")]).expect("made").disarm();
        assert!(path("ours").exists());
    }
}
