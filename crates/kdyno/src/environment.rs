//! The one place that reads the environment: where this user's caches, state and tools are.

use crate::failure::Failure;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// What the environment says, read once at the start of a command.
#[derive(Debug, Clone)]
pub(crate) struct Environment {
    /// Where Java, Maven, caches and records of running clusters are.
    pub(crate) testbed: kdyno_testbed::environment::Environment,
    /// Folder for data that lives as long as a run: `TMPDIR` or `/tmp`.
    pub(crate) temp_dir: PathBuf,
    /// Where the command was started.
    pub(crate) current_dir: PathBuf,
    /// This executable.
    pub(crate) self_exe: PathBuf,
}

impl Environment {
    /// Reads it.
    pub(crate) fn read() -> Result<Self, Failure> {
        let testbed = kdyno_testbed::environment::Environment::from_lookup(&look_up).ok_or_else(|| {
            Failure::tool("could not find a folder for downloads and records: HOME is not set")
                .hint("set HOME, or both XDG_CACHE_HOME and XDG_STATE_HOME")
        })?;
        let self_exe = std::env::current_exe()
            .map_err(|e| Failure::tool(format!("could not find this program's own file: {e}")))?;
        Ok(Self { testbed, temp_dir: std::env::temp_dir(), current_dir: current_dir()?, self_exe })
    }
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

/// What a run file's name ends in.
pub(crate) const ENDING: &str = "kdyno";

/// Folder of run files unless another is named.
pub(crate) fn runs_dir(named: Option<&Path>) -> Result<PathBuf, Failure> {
    Ok(current_dir()?.join(named.unwrap_or(Path::new("kdyno-runs"))))
}
