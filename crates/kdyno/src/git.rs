//! The commit of a checkout, read without git: by a run, of the folder it is started in, and by `build.rs`, of
//! kdyno's own source.

use std::path::{Path, PathBuf};

/// Commit that is checked out in the repository with this `.git` folder; `None` when it has none or its files
/// cannot be read.
pub(crate) fn head(git: &Path) -> Option<String> {
    let head = std::fs::read_to_string(git.join("HEAD")).ok()?;
    let Some(reference) = head.trim().strip_prefix("ref: ") else {
        return Some(head.trim().to_owned());
    };
    if let Ok(commit) = std::fs::read_to_string(git.join(reference)) {
        return Some(commit.trim().to_owned());
    }
    let packed = std::fs::read_to_string(git.join("packed-refs")).ok()?;
    packed.lines().find_map(|line| line.strip_suffix(reference)).map(|commit| commit.trim().to_owned())
}

/// What changes when [`head`] does: files, and a folder where the branch has no file of its own yet. Only what
/// exists is named.
#[allow(dead_code, reason = "for `build.rs`")]
pub(crate) fn watched(git: &Path) -> Vec<PathBuf> {
    let head = std::fs::read_to_string(git.join("HEAD")).unwrap_or_default();
    let branch = head.trim().strip_prefix("ref: ").map(|reference| git.join(reference));
    let branch = branch.filter(|file| file.is_file()).unwrap_or_else(|| git.join("refs/heads"));
    [git.join("HEAD"), branch, git.join("packed-refs")].into_iter().filter(|path| path.exists()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_is_read_from_a_branch_or_from_the_packed_ones() {
        let dir = tempfile::tempdir().expect("temp dir");
        let git = dir.path();
        assert_eq!((head(git), watched(git)), (None, Vec::new()), "no repository");
        std::fs::create_dir_all(git.join("refs/heads")).expect("folders");
        std::fs::write(git.join("HEAD"), "ref: refs/heads/main\n").expect("write");
        assert_eq!(head(git), None, "no commit yet");
        std::fs::write(git.join("packed-refs"), "# pack\nabc refs/heads/main\n").expect("write");
        assert_eq!(head(git).as_deref(), Some("abc"));
        assert_eq!(watched(git), ["HEAD", "refs/heads", "packed-refs"].map(|name| git.join(name)));
        std::fs::write(git.join("refs/heads/main"), "def\n").expect("write");
        assert_eq!(head(git).as_deref(), Some("def"));
        assert_eq!(watched(git), ["HEAD", "refs/heads/main", "packed-refs"].map(|name| git.join(name)));
        std::fs::write(git.join("HEAD"), "0123\n").expect("write");
        assert_eq!(head(git).as_deref(), Some("0123"), "no branch");
    }
}
