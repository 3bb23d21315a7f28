//! The table of contents names every page once: what it leaves out is in no book.

use super::problem::{Problem, SourceFile};
use crate::markdown;

/// The table of contents, of the repository and of the book.
pub const CONTENTS: &str = "docs/SUMMARY.md";

/// Texts that are no pages for readers: fronts of documents that the program makes.
const FRONTS: &str = "scenarios/";

/// Compares the table of contents with the pages that are there.
pub fn check(files: &[SourceFile]) -> Vec<Problem> {
    let Some(contents) = files.iter().find(|file| file.path == CONTENTS) else { return Vec::new() };
    let mut problems = Vec::new();
    let mut named: Vec<String> = Vec::new();
    for link in markdown::links(&contents.text) {
        let Some(page) = markdown::resolved(CONTENTS, &link.target) else { continue };
        if named.contains(&page) {
            let what = format!("{page} a second time");
            problems.push(Problem::new(contents, link.line, what, "name each page once"));
        }
        named.push(page);
    }
    let is_page = |path: &str| path.ends_with(".md") && path != CONTENTS && !path.starts_with(FRONTS);
    for page in files.iter().filter(|file| is_page(&file.path) && !named.contains(&file.path)) {
        let what = format!("not in {CONTENTS}");
        problems.push(Problem::new(page, 1, what, "add a line for it there"));
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(contents: &str) -> Vec<String> {
        let file = |path: &str, text: &str| SourceFile { path: path.to_owned(), text: text.to_owned() };
        let files = [
            file(CONTENTS, contents),
            file("README.md", "# A"),
            file("docs/guide/b.md", "# B"),
            file("scenarios/c.md", "---"),
        ];
        check(&files).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn every_page_is_named_once() {
        assert!(found("[A](../README.md)\n- [B](guide/b.md)\n").is_empty());
        assert_eq!(
            found("[A](../README.md)\n"),
            ["docs/guide/b.md:1: not in docs/SUMMARY.md; add a line for it there"]
        );
        assert_eq!(
            found("[A](../README.md)\n- [B](guide/b.md)\n- [again](./guide/b.md)\n"),
            ["docs/SUMMARY.md:3: docs/guide/b.md a second time; name each page once"]
        );
    }
}
