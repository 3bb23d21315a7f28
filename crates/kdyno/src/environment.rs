//! The one place that reads the environment: where this user's caches, state and tools are.

use crate::failure::Failure;
use kdyno_testbed::git;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::{Path, PathBuf};

/// What the environment says, read once at the start of a command.
#[derive(Debug, Clone)]
pub(crate) struct ProgramEnvironment {
    /// Where Java, Maven, caches and records of running clusters are.
    pub(crate) testbed: kdyno_testbed::environment::Environment,
    /// Folder for data that lives as long as a run: `TMPDIR` or `/tmp`.
    pub(crate) temp_dir: PathBuf,
    /// This executable.
    pub(crate) self_exe: PathBuf,
}

impl ProgramEnvironment {
    /// Reads it.
    pub(crate) fn read() -> Result<Self, Failure> {
        let testbed = kdyno_testbed::environment::Environment::from_lookup(&look_up).ok_or_else(|| {
            Failure::tool("could not find a folder for downloads and records: HOME is not set")
                .hint("set HOME, or both XDG_CACHE_HOME and XDG_STATE_HOME")
        })?;
        let self_exe = std::env::current_exe()
            .map_err(|e| Failure::tool(format!("could not find this program's own file: {e}")))?;
        check_null_device(Path::new("/dev/null"))?;
        Ok(Self { testbed, temp_dir: std::env::temp_dir(), self_exe })
    }
}

/// Makes sure that processes can be started whose output goes nowhere: without this file the system's words sound as if their
/// program were missing.
fn check_null_device(path: &Path) -> Result<(), Failure> {
    File::options().read(true).write(true).open(path).map(drop).map_err(|e| {
        let message = format!("no process can be started here: {} cannot be opened: {e}", path.display());
        Failure::tool(message)
            .hint("a container or chroot needs it: bind /dev, or `mknod -m 666 /dev/null c 1 3`")
    })
}

/// An environment variable; without HOME, which services often have not, the home that the system knows of this user.
fn look_up(name: &str) -> Option<OsString> {
    let home = || (name == "HOME").then(std::env::home_dir).flatten().map(PathBuf::into_os_string);
    std::env::var_os(name).or_else(home)
}

/// Where the command was started.
pub(crate) fn current_dir() -> Result<PathBuf, Failure> {
    std::env::current_dir().map_err(|e| Failure::tool(format!("could not find the current folder: {e}")))
}

/// Longest path upwards in which a repository's head is looked for.
const FOLDERS_UP_MAX: usize = 32;

/// Commit of the repository around `folder`, where there is one and it can be read without git.
pub(crate) fn git_head(folder: &Path) -> Option<String> {
    let git = folder.ancestors().take(FOLDERS_UP_MAX).find_map(|dir| git::folder(&dir.join(".git")))?;
    git::head(&git)
}

/// What a run file's name ends in.
pub(crate) const ENDING: &str = "kdyno";

/// Folder of run files unless another is named.
pub(crate) fn runs_dir(named: Option<&Path>) -> Result<PathBuf, Failure> {
    let given = option("KDYNO_OUT");
    let folder = named.or(given.as_deref().map(Path::new)).unwrap_or(Path::new("kdyno-runs"));
    Ok(current_dir()?.join(folder))
}

/// An option that is given by a variable; an empty one is none.
fn option(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// Whether the environment agrees to what needs an answer (`-y`).
pub(crate) fn is_agreed() -> bool {
    option("KDYNO_YES").is_some_and(|given| is_yes(&given))
}

/// What is no clear yes is none.
fn is_yes(given: &OsStr) -> bool {
    ["1", "true", "yes", "y", "on"].iter().any(|yes| given.eq_ignore_ascii_case(yes))
}

/// Fills in the cluster that the environment names, where none was typed: its addresses and its login belong together, and
/// neither goes with those of another cluster.
pub(crate) fn fill_in_cluster(
    bootstrap_server: &mut Vec<String>,
    command_config: &mut Option<PathBuf>,
) -> Result<(), Failure> {
    if bootstrap_server.is_empty() && command_config.is_none() {
        let given = option("KDYNO_BOOTSTRAP_SERVER").map(|given| given.to_string_lossy().into_owned());
        let addresses = given.iter().flat_map(|given| given.split(',')).map(str::trim);
        bootstrap_server.extend(addresses.filter(|one| !one.is_empty()).map(str::to_owned));
        *command_config = option("KDYNO_COMMAND_CONFIG").map(PathBuf::from);
    }
    if bootstrap_server.is_empty() && command_config.is_none() {
        return Err(Failure::usage("no cluster was named").hint(
            "--bootstrap-server HOST:PORT or --command-config FILE, or in the environment KDYNO_BOOTSTRAP_SERVER or \
             KDYNO_COMMAND_CONFIG",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repository_may_lie_further_up() {
        let dir = tempfile::tempdir().expect("temp dir");
        std::fs::create_dir_all(dir.path().join(".git")).expect("folders");
        std::fs::create_dir_all(dir.path().join("a/b")).expect("folders");
        std::fs::write(dir.path().join(".git/HEAD"), "abc\n").expect("write");
        assert_eq!(git_head(&dir.path().join("a/b")).as_deref(), Some("abc"));
    }

    #[test]
    fn a_missing_null_device_is_named() {
        let dir = tempfile::tempdir().expect("temp dir");
        assert!(check_null_device(Path::new("/dev/null")).is_ok());
        let failure = check_null_device(&dir.path().join("null")).expect_err("it is not there");
        assert!(failure.message.contains("/null cannot be opened: No such file"), "{failure:?}");
    }

    #[test]
    fn only_a_clear_yes_agrees() {
        assert!(["1", "true", "YES", "y", "on"].into_iter().all(|given| is_yes(OsStr::new(given))));
        assert!(!["0", "false", "no", "maybe", " "].into_iter().any(|given| is_yes(OsStr::new(given))));
    }
}
