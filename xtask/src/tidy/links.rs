//! Links of Markdown lead somewhere: files are there, and pages have the headings that anchors name.

use std::collections::{BTreeMap, BTreeSet};

use super::problem::{Problem, SourceFile};
use crate::markdown;

/// What a page's anchors are: those of every page by its path.
type Anchors<'f> = BTreeMap<&'f str, BTreeSet<String>>;

/// Checks the links of every page; `is_there` says of a path from the root whether it is a file or a folder.
pub fn check(files: &[SourceFile], is_there: impl Fn(&str) -> bool) -> Vec<Problem> {
    let pages = || files.iter().filter(|file| file.path.ends_with(".md"));
    let anchors: Anchors<'_> =
        pages().map(|page| (page.path.as_str(), markdown::anchors(&page.text))).collect();
    let mut problems = Vec::new();
    for page in pages() {
        for link in markdown::links(&page.text) {
            let Some((path, anchor)) = link.local() else { continue };
            problems.extend(
                broken(page, path, anchor, &anchors, &is_there)
                    .map(|(what, instead)| Problem::new(page, link.line, what, &instead)),
            );
        }
    }
    problems
}

/// Pictures that no page shows.
pub fn unused(files: &[SourceFile], pictures: &[String]) -> Vec<Problem> {
    let pages = files.iter().filter(|file| file.path.ends_with(".md"));
    let of_page = |page: &SourceFile| {
        let links = markdown::links(&page.text);
        let shown = links.iter().filter_map(|link| markdown::resolved(&page.path, link.local()?.0));
        shown.collect::<Vec<_>>()
    };
    let shown: BTreeSet<String> = pages.flat_map(of_page).collect();
    let unused = pictures.iter().filter(|picture| !shown.contains(*picture)).map(|picture| Problem {
        path: picture.clone(),
        line: 1,
        what: "no page shows this picture".to_owned(),
        instead: "delete it, and take it out of web/pictures.mjs".to_owned(),
    });
    unused.collect()
}

/// What is wrong with a link to a path, the page's own where it is empty, and what to do.
fn broken(
    page: &SourceFile,
    path: &str,
    anchor: &str,
    anchors: &Anchors<'_>,
    is_there: impl Fn(&str) -> bool,
) -> Option<(String, String)> {
    let to = if path.is_empty() {
        page.path.clone()
    } else if let Some(to) = markdown::resolved(&page.path, path) {
        to
    } else {
        let what = format!("a link out of the repository: {path}");
        return Some((what, "name a file by its path from this page".to_owned()));
    };
    if !path.is_empty() && !is_there(&to) {
        let instead = "name a file by its path from this page".to_owned();
        return Some((format!("a link to what is not there: {to}"), instead));
    }
    let known = anchors.get(to.as_str())?;
    if anchor.is_empty() || known.contains(anchor) {
        return None;
    }
    let instead = nearest(anchor, known).map_or_else(
        || "it has no headings".to_owned(),
        |nearest| format!("the nearest heading is #{nearest}"),
    );
    Some((format!("a link to a heading that {to} does not have: #{anchor}"), instead))
}

/// The anchor that has most words of this one, the first of several.
fn nearest<'a>(anchor: &str, known: &'a BTreeSet<String>) -> Option<&'a String> {
    let words: BTreeSet<&str> = anchor.split('-').collect();
    let shared = |other: &String| other.split('-').filter(|word| words.contains(word)).count();
    known.iter().rev().max_by_key(|other| shared(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        let page = |path: &str, text: &str| SourceFile { path: path.to_owned(), text: text.to_owned() };
        let files = [
            page("docs/a.md", text),
            page("docs/b.md", "# B\n## The life of a record\n## Life\n"),
            page("docs/c.txt", "[not Markdown](nowhere.md)"),
        ];
        let is_there = |path: &str| ["docs/a.md", "docs/b.md", "docs/d.png", "LICENSE"].contains(&path);
        check(&files, is_there).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn links_that_lead_somewhere_pass() {
        let text = "# Here\n[a](#here) [b](b.md) [c](b.md#life) ![d](d.png) [e](../LICENSE#L3) [f](https://example.org/x.md)\n";
        assert!(found(text).is_empty(), "{:?}", found(text));
    }

    #[test]
    fn a_link_to_a_missing_file_is_found() {
        let expected = "a link to what is not there: docs/gone.md; name a file by its path from this page";
        assert_eq!(found("# A\n\n[a](gone.md#b)\n"), [format!("docs/a.md:3: {expected}")]);
        assert_eq!(found("[a](../docs/gone.md)"), [format!("docs/a.md:1: {expected}")]);
    }

    #[test]
    fn a_link_to_a_missing_heading_is_found_with_the_nearest() {
        let expected = "docs/a.md:1: a link to a heading that docs/b.md does not have: #life-of-records; \
                        the nearest heading is #the-life-of-a-record";
        assert_eq!(found("[a](b.md#life-of-records)"), [expected]);
        let expected =
            "docs/a.md:1: a link to a heading that docs/a.md does not have: #b; it has no headings";
        assert_eq!(found("[a](#b)"), [expected]);
    }

    #[test]
    fn a_picture_that_no_page_shows_is_found() {
        let file = |path: &str, text: &str| SourceFile { path: path.to_owned(), text: text.to_owned() };
        let files = [file("docs/a.md", "![b](pictures/b.png)")];
        let pictures = ["docs/pictures/b.png", "docs/pictures/c.png"].map(str::to_owned);
        let found = unused(&files, &pictures);
        assert_eq!(found.iter().map(|one| one.path.as_str()).collect::<Vec<_>>(), ["docs/pictures/c.png"]);
    }

    #[test]
    fn a_link_out_of_the_repository_is_found() {
        let expected =
            "docs/a.md:1: a link out of the repository: ../../x.md; name a file by its path from this page";
        assert_eq!(found("[a](../../x.md)"), [expected]);
    }
}
