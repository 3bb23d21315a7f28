//! What an archive is made of: a program, and the source that it was built from.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

use super::command::{git, said};
use super::licences::CargoMetadata;

/// Digits of a commit in what the program says of itself.
const COMMIT_DIGITS: usize = 12;

/// What an archive is made of.
pub struct Release {
    /// The workspace's folder.
    pub root: PathBuf,
    /// The program as Cargo built it.
    pub program: PathBuf,
    /// What it says of itself: `kdyno 0.1.0 (c1c876251c6e)`.
    pub says: String,
    /// Name of the archive without its ending, and of the one folder in it.
    pub name: String,
    /// When the commit was made, in seconds since 1970: the time of every file in the archive.
    pub made_at: u64,
    /// The licences of what is linked.
    pub metadata: CargoMetadata,
}

impl Release {
    /// Looks at this source and at the program, by default the one that Cargo built for releases.
    pub fn read(root: &Path, program: Option<PathBuf>) -> anyhow::Result<Release> {
        let metadata = CargoMetadata::read(root)?;
        let program = program.unwrap_or_else(|| metadata.target.join("release/kdyno"));
        Ok(Release {
            says: says(root, &program, &metadata.version)?,
            name: format!("kdyno-{}-{}-linux", metadata.version, std::env::consts::ARCH),
            made_at: made_at(root)?,
            root: root.to_owned(),
            program,
            metadata,
        })
    }

    /// Whether the source is not what was committed.
    pub fn is_changed(&self) -> bool {
        said(git(&self.root).args(["status", "--porcelain"])).is_ok_and(|changes| !changes.is_empty())
    }
}

/// What the program says of itself, which must be this version and this commit.
fn says(root: &Path, program: &Path, version: &str) -> anyhow::Result<String> {
    if !program.is_file() {
        bail!("there is no program {}: `make release` builds it", program.display());
    }
    let says = said(Command::new(program).arg("--version").env_clear())?;
    let commit = ["rev-parse", "--verify", "HEAD"];
    let commit = said(git(root).args(commit)).context("an archive is made of a commit")?;
    let expected = format!("kdyno {version} ({})", commit.get(..COMMIT_DIGITS).unwrap_or(&commit));
    if says != expected {
        bail!(
            "{} says `{says}`, and this source is `{expected}`: `make release` builds it",
            program.display()
        );
    }
    Ok(says)
}

/// When the commit was made.
fn made_at(root: &Path) -> anyhow::Result<u64> {
    let seconds = said(git(root).args(["log", "-1", "--format=%ct"]))?;
    seconds.parse().with_context(|| format!("`{seconds}` is no time in seconds since 1970"))
}
