//! `cargo xtask tidy`: the rules that neither the compiler nor clippy can keep.

mod deps;
mod docs;
mod mask;
mod published;
mod rules;
mod source;
mod text;

use std::fmt;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail};

use self::source::SourceFile;

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
    fn new(file: &SourceFile, line: usize, what: String, instead: &str) -> Problem {
        Problem { path: file.path.clone(), line, what, instead: instead.to_owned() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}; {}", self.path, self.line, self.what, self.instead)
    }
}

/// Checks the tree below `root`; with `write`, refreshes generated documentation first.
pub fn run(root: &Path, write: bool) -> anyhow::Result<()> {
    if write {
        let page = root.join(docs::PAGE);
        let text = std::fs::read_to_string(&page).with_context(|| format!("cannot read {}", docs::PAGE))?;
        let fresh =
            docs::rewrite(&text).with_context(|| format!("{} has no never-rules markers", docs::PAGE))?;
        if fresh != text {
            std::fs::write(&page, fresh)?;
            println!("tidy: wrote {}", docs::PAGE);
        }
    }
    let files = tracked(root)?;
    let mut problems = deps::check(root, &deps::read(root)?);
    problems.extend(source::check(&files));
    problems.extend(text::check(&files));
    problems.extend(published::check(&files));
    problems.extend(docs::check(&files));
    problems.sort();
    problems.dedup();
    for problem in &problems {
        println!("{problem}");
    }
    if problems.is_empty() {
        println!("tidy: {} files keep the rules", files.len());
        return Ok(());
    }
    bail!("tidy: {} broken rules", problems.len());
}

/// Every text file that Git tracks or would track.
fn tracked(root: &Path) -> anyhow::Result<Vec<SourceFile>> {
    // A checkout may belong to another user (a container); reading its list of files is harmless.
    let arguments =
        ["-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let output =
        Command::new("git").args(arguments).current_dir(root).output().context("cannot start git")?;
    if !output.status.success() {
        bail!("git ls-files: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    let mut files = Vec::new();
    for path in String::from_utf8(output.stdout)?.split('\0').filter(|path| !path.is_empty()) {
        // A file deleted but not yet committed is listed and gone; a binary file has no lines.
        let Ok(bytes) = std::fs::read(root.join(path)) else { continue };
        if let Ok(text) = String::from_utf8(bytes) {
            files.push(SourceFile { path: path.to_owned(), text });
        }
    }
    Ok(files)
}
