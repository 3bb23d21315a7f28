//! One word, one meaning: a term has one entry in the glossary, and one that nothing uses has none.

use std::collections::BTreeMap;

use super::problem::{Problem, SourceFile};

const GLOSSARY: &str = "docs/GLOSSARY.md";

/// Pages that name what is no longer there.
const HISTORY: &str = "CHANGELOG.md";

/// Looks for terms with two entries, and for terms without a use.
pub fn check(files: &[SourceFile]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in files.iter().filter(|file| file.path == GLOSSARY) {
        let is_use = |file: &&SourceFile| {
            (file.path.ends_with(".md") || file.path.ends_with(".rs"))
                && ![GLOSSARY, HISTORY].contains(&file.path.as_str())
        };
        let uses: Vec<String> = files.iter().filter(is_use).map(|file| plain(&file.text)).collect();
        let is_used =
            |term: &str| term.split(", ").all(|word| uses.iter().any(|text| text.contains(&plain(word))));
        for (line, term) in terms(&file.text).filter(|(_, term)| !is_used(term)) {
            let what = format!("no page and no code uses `{term}`");
            problems.push(Problem::new(file, line, what, "take the entry out"));
        }
        let mut first: BTreeMap<String, usize> = BTreeMap::new();
        for (line, term) in terms(&file.text) {
            if let Some(before) = first.get(&term) {
                let what = format!("`{term}` has an entry in line {before} already");
                problems.push(Problem::new(file, line, what, "make one entry of both"));
            } else {
                first.insert(term, line);
            }
        }
    }
    problems
}

/// In small letters, with one blank between two words however they are joined.
fn plain(text: &str) -> String {
    let words =
        text.split(|c: char| c.is_whitespace() || matches!(c, '-' | '_')).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ").to_lowercase()
}

/// The term of each row of a table, with its line; what stands in brackets after it makes no other term of it.
fn terms(text: &str) -> impl Iterator<Item = (usize, String)> {
    let cell = |line: &str| Some(line.strip_prefix("| ")?.split(" |").next()?.to_lowercase());
    let rows = text.lines().enumerate().filter_map(move |(index, line)| Some((index + 1, cell(line)?)));
    rows.filter(|(_, term)| term != "term").map(|(line, term)| {
        let term = term.split(" (").next().unwrap_or_default().trim().to_owned();
        (line, term)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<String> {
        let file = |path: &str, text: &str| SourceFile { path: path.to_owned(), text: text.to_owned() };
        let uses = file("crates/a.rs", "// A look at each run-file.\nlet start = committed;\n");
        let history = file(HISTORY, "- The *duet* is gone.");
        check(&[file(path, text), uses, history]).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_term_with_two_entries_is_found() {
        let text = "| term | meaning |\n|---|---|\n| look | a |\n| start | b |\n\n| term | meaning |\n|---|---|\n| Look (of a search) | c |\n";
        assert_eq!(
            found(GLOSSARY, text),
            ["docs/GLOSSARY.md:8: `look` has an entry in line 3 already; make one entry of both"]
        );
        assert!(found("docs/METHOD.md", text).is_empty(), "other pages have tables of other things");
    }

    #[test]
    fn terms_that_begin_alike_are_two() {
        assert!(found(GLOSSARY, "| run | a |\n| run file | b |\n").is_empty());
    }

    #[test]
    fn a_term_that_nothing_uses_is_found() {
        for (term, is_unused) in [("Run file", false), ("duet", true), ("committed, aborted", true)] {
            let problems = found(GLOSSARY, &format!("| {term} | a |\n"));
            assert_eq!(!problems.is_empty(), is_unused, "{term}: {problems:?}");
        }
        let expected = "docs/GLOSSARY.md:1: no page and no code uses `duet`; take the entry out";
        assert_eq!(found(GLOSSARY, "| duet | a |\n"), [expected]);
    }
}
