//! Folders whose owner was killed: of clusters that lost kdyno and guard, of runs that were ended at once. Nobody was
//! left to remove them.

use crate::guard::OWNER_FILE;
use crate::process::ProcessId;
use std::path::{Path, PathBuf};

/// How every folder of ours begins that lies in a folder shared with others.
pub const FOLDER_PREFIX: &str = "kdyno-";

/// Writes this process's name into a folder that it will remove, so that a later kdyno can tell a leftover from one in
/// use. A folder without a name is merely not tidied by others.
pub fn claim(folder: &Path) {
    let me = ProcessId::current();
    let _ = serde_json::to_vec(&me).map(|bytes| std::fs::write(folder.join(OWNER_FILE), bytes));
}

/// Removes sub-folders of ours whose owner, a guard or a run, is gone; returns those removed. A folder without an
/// owner's name is left alone: it is not ours, or its owner is just starting.
pub fn sweep(parent: &Path) -> Vec<PathBuf> {
    let entries =
        parent.read_dir().into_iter().flatten().filter_map(|entry| entry.ok().map(|entry| entry.path()));
    let ours = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(FOLDER_PREFIX))
            && is_abandoned(path)
    };
    entries.filter(ours).filter(|path| std::fs::remove_dir_all(path).is_ok()).collect()
}

/// Whether the folder names an owner that no longer runs. A link is never followed.
fn is_abandoned(folder: &Path) -> bool {
    let real_folder = folder.symlink_metadata().is_ok_and(|meta| meta.is_dir());
    let owner = std::fs::read(folder.join(OWNER_FILE))
        .ok()
        .and_then(|bytes| serde_json::from_slice::<ProcessId>(&bytes).ok());
    real_folder && owner.is_some_and(|owner| !owner.is_alive())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_folders_of_ended_owners_are_removed() {
        let temp = tempfile::tempdir().expect("temp");
        let folder = |name: &str, owner: Option<ProcessId>| {
            let path = temp.path().join(name);
            std::fs::create_dir(&path).expect("folder");
            if let Some(owner) = owner {
                std::fs::write(path.join(OWNER_FILE), serde_json::to_vec(&owner).expect("json"))
                    .expect("owner");
            }
            path
        };
        let ended = ProcessId { start_ticks: u64::MAX, ..ProcessId::current() };
        let abandoned = folder("kdyno-a", Some(ended));
        let claimed = folder("kdyno-d", None);
        claim(&claimed);
        let kept = [
            claimed,
            folder("kdyno-b", Some(ProcessId::current())),
            folder("kdyno-c", None),
            folder("other", Some(ended)),
        ];
        assert_eq!(sweep(temp.path()), std::slice::from_ref(&abandoned));
        assert!(!abandoned.exists() && kept.iter().all(|path| path.exists()));
    }
}
