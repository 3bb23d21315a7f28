//! The paths and programs of the user's environment, gathered by the binary and handed in.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// What the testbed takes from the user's environment. The crate reads no variable itself: the binary passes
/// a look-up to [`Environment::from_lookup`], tests fill the fields.
#[derive(Debug, Clone)]
pub struct Environment {
    /// Downloaded Kafka releases live under here (`$XDG_CACHE_HOME/kdyno`).
    pub cache_dir: PathBuf,
    /// Records of running clusters live under here (`$XDG_STATE_HOME/kdyno`).
    pub state_dir: PathBuf,
    /// `JAVA_HOME`, when set.
    pub java_home: Option<PathBuf>,
    /// Folders in which `java` and `mvn` are looked for (`PATH`).
    pub path: Vec<PathBuf>,
    /// Folders whose sub-folders are Java installations, searched when neither of the above fits.
    pub java_folders: Vec<PathBuf>,
    /// Local Maven repository to use in place of the one of the user's Maven configuration.
    pub maven_repository: Option<PathBuf>,
    /// Memory-backed file system for `storage: memory`.
    pub memory_dir: PathBuf,
    /// Folder of the lock that all users of the host share: `/tmp`, or what `KDYNO_LOCK_DIR` names.
    pub lock_dir: PathBuf,
    /// Where the metrics agent lies or why it cannot be had, once that was looked for: without a network Maven takes up to a
    /// minute to say so, and a run may start many clusters.
    pub metrics_agent: Arc<OnceLock<Result<PathBuf, String>>>,
}

impl Environment {
    /// Fills all fields from a look-up of environment variables; `None` when neither `HOME` nor the XDG
    /// variables say where per-user files go.
    #[must_use]
    pub fn from_lookup(lookup: &dyn Fn(&str) -> Option<OsString>) -> Option<Self> {
        let get = |name: &str| lookup(name).filter(|value| !value.is_empty());
        let home = get("HOME").map(PathBuf::from);
        let folder = |variable: &str, below_home: &str| {
            get(variable)
                .map(PathBuf::from)
                .filter(|path| path.is_absolute())
                .or_else(|| home.as_ref().map(|home| home.join(below_home)))
                .map(|base| base.join("kdyno"))
        };
        Some(Self {
            cache_dir: folder("XDG_CACHE_HOME", ".cache")?,
            state_dir: folder("XDG_STATE_HOME", ".local/state")?,
            java_home: get("JAVA_HOME").map(PathBuf::from),
            path: get("PATH").map(|value| std::env::split_paths(&value).collect()).unwrap_or_default(),
            java_folders: vec![PathBuf::from("/usr/lib/jvm")],
            maven_repository: get("KDYNO_MAVEN_REPOSITORY").map(PathBuf::from),
            memory_dir: PathBuf::from("/dev/shm"),
            lock_dir: get("KDYNO_LOCK_DIR").map_or_else(|| PathBuf::from("/tmp"), PathBuf::from),
            metrics_agent: Arc::default(),
        })
    }

    /// Everything below one folder, and no programs: for tests.
    #[must_use]
    pub fn in_folder(folder: &Path) -> Self {
        Self {
            cache_dir: folder.join("cache"),
            state_dir: folder.join("state"),
            java_home: None,
            path: Vec::new(),
            java_folders: Vec::new(),
            maven_repository: None,
            memory_dir: folder.join("memory"),
            lock_dir: folder.to_path_buf(),
            metrics_agent: Arc::default(),
        }
    }

    /// The first executable file of that name on [`Self::path`].
    #[must_use]
    pub fn find_program(&self, name: &str) -> Option<PathBuf> {
        self.path.iter().map(|folder| folder.join(name)).find(|candidate| is_executable(candidate))
    }
}

/// Whether the path is a file that somebody may execute.
pub(crate) fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lookup(pairs: &'static [(&'static str, &'static str)]) -> impl Fn(&str) -> Option<OsString> {
        move |name| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| OsString::from(value))
    }

    #[test]
    fn xdg_variables_win_over_home() {
        let environment =
            Environment::from_lookup(&lookup(&[("HOME", "/u"), ("XDG_CACHE_HOME", "/c"), ("PATH", "/a:/b")]))
                .expect("home is set");
        assert_eq!(environment.cache_dir, Path::new("/c/kdyno"));
        assert_eq!(environment.state_dir, Path::new("/u/.local/state/kdyno"));
        assert_eq!(environment.path, [Path::new("/a"), Path::new("/b")]);
    }

    #[test]
    fn without_home_there_is_no_environment() {
        assert!(Environment::from_lookup(&lookup(&[("HOME", ""), ("PATH", "/bin")])).is_none());
    }
}
