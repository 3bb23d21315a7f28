//! `cargo xtask tidy`: the rules that neither the compiler nor clippy can keep, and what clippy keeps them by.

mod circles;
mod contents;
mod deps;
mod generated;
mod glossary;
mod guides;
mod kinds;
mod links;
mod literals;
mod problem;
mod published;
mod rules;
mod shape;
mod text;
mod width;
mod words;

use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail};

pub use self::contents::CONTENTS;
use self::problem::SourceFile;

/// Checks the tree below `root`; with `write`, refreshes what is generated first.
pub fn run(root: &Path, write: bool) -> anyhow::Result<()> {
    if write {
        for (path, fresh) in generated::stale(&tracked(root)?) {
            std::fs::write(root.join(&path), fresh).with_context(|| format!("cannot write {path}"))?;
            println!("tidy: wrote {path}");
        }
    }
    let files = tracked(root)?;
    let mut problems = deps::check(root, &deps::read(root)?);
    problems.extend(shape::check(&files));
    problems.extend(circles::check(&files));
    problems.extend(text::check(&files));
    problems.extend(width::check(&files));
    problems.extend(words::check(&files));
    problems.extend(published::check(&files));
    problems.extend(glossary::check(&files));
    problems.extend(guides::check(&files));
    problems.extend(kinds::check(&files));
    problems.extend(links::check(&files, |path| root.join(path).exists()));
    problems.extend(links::unused(&files, &pictures(root)?));
    problems.extend(contents::check(&files));
    problems.extend(generated::check(&files));
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

/// Where the pictures of documents are.
const PICTURES: &str = "docs/guide/pictures";

/// The paths of all pictures of documents.
fn pictures(root: &Path) -> anyhow::Result<Vec<String>> {
    let entries =
        std::fs::read_dir(root.join(PICTURES)).with_context(|| format!("cannot read {PICTURES}"))?;
    let path = |entry: std::io::Result<std::fs::DirEntry>| -> anyhow::Result<String> {
        Ok(format!("{PICTURES}/{}", entry?.file_name().to_string_lossy()))
    };
    entries.map(path).collect()
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
