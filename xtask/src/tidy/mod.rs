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
pub mod proofs;
mod published;
mod rules;
mod shape;
mod text;
mod width;
mod words;

use std::path::Path;

use anyhow::{Context, bail};

pub use self::contents::CONTENTS;
use self::problem::tracked;

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
    problems.extend(proofs::check(root, &files)?);
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
