//! The commit of a checkout, read without git: by a run, of the folder it is started in and of a Kafka that it was built
//! from; and by `build.rs` of the program, of kdyno's own source.

use std::path::{Path, PathBuf};

/// The folder that `.git` is or, in a linked worktree or a submodule, names; `None` when there is none.
pub fn folder(dot_git: &Path) -> Option<PathBuf> {
    if dot_git.is_dir() {
        return Some(dot_git.to_owned());
    }
    let text = std::fs::read_to_string(dot_git).ok()?;
    let named = dot_git.parent()?.join(text.strip_prefix("gitdir:")?.trim());
    named.is_dir().then_some(named)
}

/// Where branches are: a linked worktree has a folder of its own for its head and shares the rest.
fn common(git: &Path) -> PathBuf {
    let shared = std::fs::read_to_string(git.join("commondir"));
    shared.map_or_else(|_| git.to_owned(), |path| git.join(path.trim()))
}

/// Commit that is checked out in the repository with this `.git` folder; `None` when it has none or its files
/// cannot be read.
pub fn head(git: &Path) -> Option<String> {
    let head = std::fs::read_to_string(git.join("HEAD")).ok()?;
    let Some(reference) = head.trim().strip_prefix("ref: ") else {
        return Some(head.trim().to_owned());
    };
    let common = common(git);
    if let Ok(commit) = std::fs::read_to_string(common.join(reference)) {
        return Some(commit.trim().to_owned());
    }
    let packed = std::fs::read_to_string(common.join("packed-refs")).ok()?;
    packed.lines().find_map(|line| line.strip_suffix(reference)).map(|commit| commit.trim().to_owned())
}

/// What changes when [`head`] does: files, and a folder where the branch has no file of its own yet. Only what
/// exists is named.
pub fn watched(git: &Path) -> Vec<PathBuf> {
    let head = std::fs::read_to_string(git.join("HEAD")).unwrap_or_default();
    let common = common(git);
    let branch = head.trim().strip_prefix("ref: ").map(|reference| common.join(reference));
    let branch = branch.filter(|file| file.is_file()).unwrap_or_else(|| common.join("refs/heads"));
    [git.join("HEAD"), branch, common.join("packed-refs")].into_iter().filter(|path| path.exists()).collect()
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

    #[test]
    fn a_linked_worktree_is_followed_to_its_repository() {
        let dir = tempfile::tempdir().expect("temp dir");
        let (main, own) = (dir.path().join("main/.git"), dir.path().join("main/.git/worktrees/other"));
        let checkout = dir.path().join("other");
        for folder in [&main.join("refs/heads"), &own, &checkout] {
            std::fs::create_dir_all(folder).expect("folders");
        }
        let write = |path: &Path, text: &str| std::fs::write(path, text).expect("write");
        write(&checkout.join(".git"), "gitdir: ../main/.git/worktrees/other\n");
        write(&own.join("commondir"), "../..\n");
        write(&own.join("HEAD"), "ref: refs/heads/topic\n");
        write(&main.join("HEAD"), "ref: refs/heads/main\n");
        write(&main.join("refs/heads/topic"), "abc\n");
        let git = folder(&checkout.join(".git")).expect("a repository");
        assert_eq!(head(&git).as_deref(), Some("abc"));
        assert_eq!(watched(&git).len(), 2, "its own head and the branch: {:?}", watched(&git));
        assert_eq!(folder(&main), Some(main.clone()));
        assert_eq!(folder(&dir.path().join("none")), None);
    }
}
