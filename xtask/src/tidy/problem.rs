//! What every rule reads and what it answers with.

use std::fmt;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail};

/// One tracked text file.
#[derive(Debug, Clone)]
pub struct SourceFile {
    /// Relative to the workspace root, with forward slashes.
    pub path: String,
    /// The whole text.
    pub text: String,
}

/// One broken rule.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// File, relative to the workspace root.
    pub path: String,
    /// Line, from 1.
    pub line: usize,
    /// What is wrong.
    pub what: String,
    /// What to do instead.
    pub instead: String,
}

impl Problem {
    /// A problem in a line of a file.
    pub fn new(file: &SourceFile, line: usize, what: String, instead: &str) -> Problem {
        Problem { path: file.path.clone(), line, what, instead: instead.to_owned() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}; {}", self.path, self.line, self.what, self.instead)
    }
}

/// Every text file that Git tracks or would track.
pub fn tracked(root: &Path) -> anyhow::Result<Vec<SourceFile>> {
    // A file deleted but not yet committed is listed and gone; a binary file has no lines.
    let read =
        |path: String| Some(SourceFile { text: std::fs::read_to_string(root.join(&path)).ok()?, path });
    Ok(listed(root)?.into_iter().filter_map(read).collect())
}

/// The path of every file that Git tracks or would track.
pub fn listed(root: &Path) -> anyhow::Result<Vec<String>> {
    // A checkout may belong to another user (a container); reading its list of files is harmless.
    let arguments =
        ["-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let output =
        Command::new("git").args(arguments).current_dir(root).output().context("cannot start git")?;
    if !output.status.success() {
        bail!("git ls-files: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    let paths = String::from_utf8(output.stdout)?;
    Ok(paths.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect())
}
