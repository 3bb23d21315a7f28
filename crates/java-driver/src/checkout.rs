//! The state of a checkout that a client was built in.

use kdyno_testbed::{Environment, git};
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

/// How long git may take: it looks at every file of the checkout.
const GIT_TIME_MAX: Duration = Duration::from_secs(20);

/// What is known of a checkout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Checkout {
    /// The commit that is checked out; `None` when it is no repository.
    pub(crate) commit: Option<String>,
    /// Whether files differ from that commit; `None` when git is not there to say it.
    pub(crate) is_dirty: Option<bool>,
}

impl Checkout {
    pub(crate) fn look(environment: &Environment, folder: &Path) -> Self {
        let commit = git::folder(&folder.join(".git")).as_deref().and_then(git::head);
        let is_dirty = commit.as_ref().and_then(|_| is_dirty(environment, folder));
        Self { commit, is_dirty }
    }
}

/// Whether `git status` names any file. The first byte shows it; the rest is not waited for.
fn is_dirty(environment: &Environment, folder: &Path) -> Option<bool> {
    let mut child = Command::new(environment.find_program("git")?)
        .args(["status", "--porcelain"])
        .current_dir(folder)
        // It only looks: another git may hold the lock of the index.
        .env("GIT_OPTIONAL_LOCKS", "0")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let stdout = child.stdout.take();
    let (reported, heard) = channel();
    std::thread::spawn(move || reported.send(stdout.and_then(|mut stdout| stdout.read(&mut [0]).ok())));
    let read = heard.recv_timeout(GIT_TIME_MAX).ok().flatten();
    if read != Some(0) {
        // Nothing further of it is of use; this fails only if it has ended meanwhile.
        let _ = child.kill();
    }
    let status = child.wait().ok()?;
    match read {
        Some(0) => status.success().then_some(false),
        Some(_) => Some(true),
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_file_makes_a_checkout_dirty() {
        let temp = tempfile::tempdir().expect("temp");
        let mut environment = Environment::in_folder(temp.path());
        let folder = temp.path().join("kafka");
        std::fs::create_dir(&folder).expect("folder");
        assert_eq!(Checkout::look(&environment, &folder), Checkout { commit: None, is_dirty: None });
        environment.path = std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()).collect();
        let program = environment.find_program("git").expect("git on PATH");
        let git = |args: &[&str]| {
            let names = ["-c", "user.name=t", "-c", "user.email=t@example.org"];
            let status = Command::new(&program)
                .args(names)
                .args(args)
                .current_dir(&folder)
                .env("GIT_CONFIG_GLOBAL", "/dev/null")
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status();
            assert!(status.is_ok_and(|status| status.success()), "git {args:?}");
        };
        git(&["init"]);
        std::fs::write(folder.join("a"), "1").expect("write");
        git(&["add", "a"]);
        git(&["commit", "-m", "a"]);
        let clean = Checkout::look(&environment, &folder);
        assert_eq!((clean.commit.map(|commit| commit.len()), clean.is_dirty), (Some(40), Some(false)));
        std::fs::write(folder.join("a"), "2").expect("write");
        assert_eq!(Checkout::look(&environment, &folder).is_dirty, Some(true));
        environment.path.clear();
        assert_eq!(Checkout::look(&environment, &folder).is_dirty, None, "nobody can say");
    }
}
