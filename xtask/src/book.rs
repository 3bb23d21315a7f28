//! `cargo xtask book`: all pages in one folder, as mdBook reads them. They keep their places there, so a link is right in the
//! repository and in the book.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, bail};

use crate::markdown;
use crate::tidy::CONTENTS;

/// Where `book.toml` says that the pages are.
const SOURCE: &str = "target/book-source";

/// Makes the folder again.
pub fn run(root: &Path) -> anyhow::Result<()> {
    let source = root.join(SOURCE);
    if source.exists() {
        fs::remove_dir_all(&source).with_context(|| format!("cannot remove {SOURCE}"))?;
    }
    let contents = read(root, CONTENTS)?;
    let pages = linked(CONTENTS, &contents);
    let mut files = pages.clone();
    for page in &pages {
        let of_page = linked(page, &read(root, page)?);
        let is_outside =
            |file: &&String| root.join(file).is_dir() || (file.ends_with(".md") && !pages.contains(*file));
        if let Some(outside) = of_page.iter().find(is_outside) {
            bail!("{page} has a link to {outside}, which {CONTENTS} does not name");
        }
        files.extend(of_page.into_iter().filter(|file| root.join(file).is_file()));
    }
    for file in &files {
        let to = source.join(file);
        fs::create_dir_all(to.parent().context("a file has a folder")?)?;
        fs::copy(root.join(file), to).with_context(|| format!("cannot copy {file}"))?;
    }
    fs::write(source.join("SUMMARY.md"), from_root(&contents))?;
    println!("book: {} pages", pages.len());
    Ok(())
}

fn read(root: &Path, path: &str) -> anyhow::Result<String> {
    fs::read_to_string(root.join(path)).with_context(|| format!("cannot read {path}"))
}

/// The files of the repository that a page has links to.
fn linked(page: &str, text: &str) -> BTreeSet<String> {
    let links = markdown::links(text);
    let paths = links.iter().filter_map(|link| Some(link.local()?.0)).filter(|path| !path.is_empty());
    paths.filter_map(|path| markdown::resolved(page, path)).collect()
}

/// The table of contents, its links as from the root. It has one link a line.
fn from_root(contents: &str) -> String {
    let lines = contents.lines().map(|line| {
        let parts = line.split_once("](").and_then(|(text, rest)| Some((text, rest.split_once(')')?)));
        parts.map_or_else(
            || format!("{line}\n"),
            |(text, (target, rest))| {
                let target = markdown::resolved(CONTENTS, target).unwrap_or_else(|| target.to_owned());
                format!("{text}]({target}){rest}\n")
            },
        )
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(files: &[(&str, &str)]) -> tempfile::TempDir {
        let place = tempfile::tempdir().expect("a folder");
        for (path, text) in files {
            let path = place.path().join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, text).expect("a file");
        }
        place
    }

    #[test]
    fn pages_and_what_they_show_keep_their_places() {
        let place = place(&[
            (CONTENTS, "# Contents\n\n[A](../README.md)\n\n- [B](guide/b.md)\n"),
            ("README.md", "# A\n[b](docs/guide/b.md#b)"),
            ("docs/guide/b.md", "# B\n![c](c.png) [a](../../README.md) [d](https://example.org)"),
            ("docs/guide/c.png", "a picture"),
            ("docs/guide/unused.png", "a picture"),
        ]);
        run(place.path()).expect("a book");
        let source = place.path().join(SOURCE);
        let contents = fs::read_to_string(source.join("SUMMARY.md")).expect("contents");
        assert_eq!(contents, "# Contents\n\n[A](README.md)\n\n- [B](docs/guide/b.md)\n");
        for path in ["README.md", "docs/guide/b.md", "docs/guide/c.png"] {
            assert!(source.join(path).is_file(), "{path}");
        }
        assert!(!source.join("docs/guide/unused.png").exists());
    }

    #[test]
    fn a_link_to_a_page_that_the_book_lacks_is_an_error() {
        let place = place(&[
            (CONTENTS, "[A](../README.md)\n"),
            ("README.md", "[b](docs/b.md)"),
            ("docs/b.md", "# B"),
        ]);
        let said = format!("{:#}", run(place.path()).expect_err("a link out of the book"));
        assert_eq!(said, "README.md has a link to docs/b.md, which docs/SUMMARY.md does not name");
    }
}
