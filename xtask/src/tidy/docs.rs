//! Documentation that is made from the code: the table of never-rules in docs/ARCHITECTURE.md.

use super::Problem;
use super::rules;
use super::source::SourceFile;

/// The page that holds the table.
pub const PAGE: &str = "docs/ARCHITECTURE.md";

const BEGIN: &str = "<!-- never-rules: made by `cargo xtask tidy --write` -->";
const END: &str = "<!-- /never-rules -->";

/// Compares the page with the table.
pub fn check(files: &[SourceFile]) -> Vec<Problem> {
    let instead = format!("put `{BEGIN}` and `{END}` around it, then run `cargo xtask tidy --write`");
    let problem = |line: usize, what: &str| Problem {
        path: PAGE.to_owned(),
        line,
        what: what.to_owned(),
        instead: instead.clone(),
    };
    let Some(page) = files.iter().find(|file| file.path == PAGE) else {
        return vec![problem(1, "the page with the never-rules is missing")];
    };
    let Some(fresh) = rewrite(&page.text) else {
        return vec![problem(1, "the table of never-rules is missing")];
    };
    if fresh == page.text {
        return Vec::new();
    }
    let differs = page.text.lines().zip(fresh.lines()).position(|(old, new)| old != new);
    vec![problem(differs.unwrap_or(0) + 1, "the table of never-rules differs from xtask/src/tidy/rules.rs")]
}

/// The page with a fresh table between its markers; `None` without markers.
pub fn rewrite(page: &str) -> Option<String> {
    let begin = page.find(BEGIN)? + BEGIN.len();
    let end = begin + page[begin..].find(END)?;
    Some(format!("{}\n{}{}", &page[..begin], rules::markdown(), &page[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(text: &str) -> Vec<Problem> {
        check(&[SourceFile { path: PAGE.to_owned(), text: text.to_owned() }])
    }

    #[test]
    fn a_fresh_page_passes_and_a_changed_one_is_found() {
        let fresh = rewrite(&format!("# Title\n{BEGIN}\nold\n{END}\nend\n")).expect("markers");
        assert!(complaints(&fresh).is_empty());
        let changed = fresh.replace("| `load` | `model`, `kafka` |", "| `load` | `model`, `store` |");
        let found = complaints(&changed);
        assert_eq!(found.len(), 1);
        assert!(
            changed.lines().nth(found[0].line - 1).is_some_and(|line| line.contains("`store`")),
            "{found:?}"
        );
    }

    #[test]
    fn a_page_without_table_is_found() {
        assert_eq!(complaints("# Title\n").len(), 1);
        assert_eq!(check(&[]).len(), 1);
    }

    #[test]
    fn writing_twice_changes_nothing() {
        let once = rewrite(&format!("{BEGIN}{END}")).expect("markers");
        assert_eq!(rewrite(&once).as_deref(), Some(once.as_str()));
    }
}
