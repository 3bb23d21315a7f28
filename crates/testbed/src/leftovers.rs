//! Folders whose owner was killed: of clusters that lost kdyno and guard, of runs that were ended at once, and so were
//! not removed.

use crate::guard::OWNER_FILE;
use crate::process::ProcessId;
use crate::small_file;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// How every folder of ours begins that lies in a folder shared with others.
pub const FOLDER_PREFIX: &str = "kdyno-";
/// A process's name is two numbers.
const OWNER_BYTES_MAX: u64 = 4096;

/// Writes this process's name into a folder that it will remove, so that a later kdyno can distinguish a leftover from
/// one in use. A folder without a name is merely not tidied by others.
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

/// Whether the folder is this user's and names an owner that no longer runs. A link is never followed.
fn is_abandoned(folder: &Path) -> bool {
    let user = rustix::process::geteuid().as_raw();
    let is_ours = folder.symlink_metadata().is_ok_and(|meta| meta.is_dir() && meta.uid() == user);
    let owner = || serde_json::from_slice::<ProcessId>(&owner_named_in(folder)?).ok();
    is_ours && owner().is_some_and(|owner| !owner.is_alive())
}

fn owner_named_in(folder: &Path) -> Option<Vec<u8>> {
    small_file::read(&folder.join(OWNER_FILE), OWNER_BYTES_MAX).ok()
}

/// The folder around this one that a run or a guard has claimed.
pub(crate) fn claimed_around(folder: &Path) -> Option<&Path> {
    folder.ancestors().skip(1).find(|above| owner_named_in(above).is_some())
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
    /// What another user of the host puts there, so that each start of ours waits for ever or fills its memory.
    #[test]
    fn what_others_plant_holds_no_start_up() {
        use crate::small_file::tests::{in_time, plant_fifo};
        let temp = tempfile::tempdir().expect("temp");
        let planted = |name: &str| {
            let folder = temp.path().join(name);
            std::fs::create_dir(&folder).expect("folder");
            folder.join(OWNER_FILE)
        };
        plant_fifo(&planted("kdyno-fifo"));
        std::os::unix::fs::symlink("/dev/zero", planted("kdyno-endless")).expect("a link");
        let long = std::fs::File::create(planted("kdyno-long")).expect("a file");
        long.set_len(1 << 40).expect("a sparse file");
        let parent = temp.path().to_path_buf();
        assert_eq!(in_time(move || sweep(&parent)), Vec::<PathBuf>::new());
        assert_eq!(temp.path().read_dir().expect("there").count(), 3, "nothing of others is removed");
    }

    #[test]
    fn a_folder_of_another_user_is_left_alone() {
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: only root can make a folder of another user's");
            return;
        }
        let temp = tempfile::tempdir().expect("temp");
        let path = temp.path().join("kdyno-theirs");
        std::fs::create_dir(&path).expect("folder");
        let ended = ProcessId { start_ticks: u64::MAX, ..ProcessId::current() };
        std::fs::write(path.join(OWNER_FILE), serde_json::to_vec(&ended).expect("json")).expect("owner");
        std::os::unix::fs::chown(&path, Some(65534), Some(65534)).expect("given away");
        assert_eq!(sweep(temp.path()), Vec::<PathBuf>::new());
        assert!(path.exists());
    }
}
