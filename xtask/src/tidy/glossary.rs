//! One word, one meaning: a term has one entry in the glossary.

use std::collections::BTreeMap;

use super::problem::{Problem, SourceFile};

const GLOSSARY: &str = "docs/GLOSSARY.md";

/// Looks for terms with two entries.
pub fn check(files: &[SourceFile]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in files.iter().filter(|file| file.path == GLOSSARY) {
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

/// The term of each row of a table, with its line; what is in brackets after it makes no other term of it.
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
        let file = SourceFile { path: path.to_owned(), text: text.to_owned() };
        check(&[file]).iter().map(ToString::to_string).collect()
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
}
