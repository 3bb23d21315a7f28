//! What an archive is made of: a program, and the source that it was built from.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

use super::command::{git, said};
use super::licences::CargoMetadata;

/// Digits of a commit in what the program says of itself.
const COMMIT_DIGITS: usize = 12;
/// Characters of a date that are its day.
const DAY_CHARS: usize = 10;

/// What an archive is made of.
pub struct Release {
    /// The workspace's folder.
    pub root: PathBuf,
    /// The program as Cargo built it.
    pub program: PathBuf,
    /// What it says of itself: `kdyno 0.1.0 (c1c876251c6e 2026-12-01)`.
    pub says: String,
    /// The commit that it was built from.
    pub commit: String,
    /// Name of the archive without its ending, and of the one folder in it.
    pub name: String,
    /// When the commit was made, in seconds since 1970: the time of every file in the archive.
    pub made_at: u64,
    /// When it was made, as a date with its time, UTC.
    pub made: String,
    /// The licences of what is linked.
    pub metadata: CargoMetadata,
}

impl Release {
    /// Looks at this source and at the program, by default the one that Cargo built for releases.
    pub fn read(root: &Path, program: Option<PathBuf>) -> anyhow::Result<Release> {
        let metadata = CargoMetadata::read(root)?;
        let program = program.unwrap_or_else(|| metadata.target.join("release/kdyno"));
        let (commit, seconds, made) = head(root)?;
        Ok(Release {
            says: says(&program, &metadata.version, &commit, &made)?,
            commit,
            name: format!("kdyno-{}-{}-linux", metadata.version, std::env::consts::ARCH),
            made_at: seconds,
            made,
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
fn says(program: &Path, version: &str, commit: &str, made: &str) -> anyhow::Result<String> {
    if !program.is_file() {
        bail!("there is no program {}: `make release` builds it", program.display());
    }
    let says = said(Command::new(program).arg("--version").env_clear())?;
    let (commit, day) =
        (commit.get(..COMMIT_DIGITS).unwrap_or(commit), made.get(..DAY_CHARS).unwrap_or(made));
    let expected = format!("kdyno {version} ({commit} {day})");
    if says != expected {
        bail!(
            "{} says `{says}`, and this source is `{expected}`: `make release` builds it",
            program.display()
        );
    }
    Ok(says)
}

/// The commit, and when it was made: in seconds since 1970, and as a date with its time.
fn head(root: &Path) -> anyhow::Result<(String, u64, String)> {
    let date = "--date=format-local:%Y-%m-%dT%H:%M:%SZ";
    let line = said(git(root).args(["log", "-1", "--format=%H %ct %cd", date]).env("TZ", "UTC0"));
    let line = line.context("an archive is made of a commit")?;
    let mut words = line.split(' ');
    let mut word = || words.next().with_context(|| format!("`{line}` is no commit with its time"));
    Ok((word()?.to_owned(), word()?.parse()?, word()?.to_owned()))
}
