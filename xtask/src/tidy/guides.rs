//! The form of what is read first: README is short, a guide begins with its command and ends with how to read the answer.

use super::problem::{Problem, SourceFile};
use crate::markdown;

const README: &str = "README.md";
/// Lines of README: three minutes.
const LINES_MAX: usize = 150;
/// Words of a sentence there.
const WORDS_MAX: usize = 30;
const GUIDES: &str = "docs/guide/";
/// The guide that is about reading from its first line to its last.
const READING: &str = "docs/guide/reading.md";

/// Checks README and the guides.
pub fn check(files: &[SourceFile]) -> Vec<Problem> {
    let readme = files.iter().filter(|file| file.path == README).flat_map(readme);
    let guides = files
        .iter()
        .filter(|file| file.path.starts_with(GUIDES) && file.path.ends_with(".md"))
        .flat_map(guide);
    readme.chain(guides).collect()
}

fn readme(file: &SourceFile) -> Vec<Problem> {
    let lines = file.text.lines().count();
    let mut problems = Vec::new();
    if lines > LINES_MAX {
        let what = format!("{lines} lines, more than {LINES_MAX}");
        problems.push(Problem::new(file, LINES_MAX + 1, what, "move some to a guide"));
    }
    for (line, words) in sentences(&file.text).into_iter().filter(|(_, words)| *words > WORDS_MAX) {
        let what = format!("a sentence of {words} words, more than {WORDS_MAX}");
        problems.push(Problem::new(file, line, what, "make two of it"));
    }
    problems
}

/// The first line and the words of each sentence. A line of a table has none; a list's entry and a heading end one.
fn sentences(text: &str) -> Vec<(usize, usize)> {
    let prose = markdown::prose(text);
    let (mut found, mut first, mut words) = (Vec::new(), 1, 0);
    for (line, text) in (1..).zip(prose.lines().chain([""])) {
        let begins = text.trim().is_empty() || text.starts_with(['-', '|', '#', '<']);
        if begins && words > 0 {
            found.push((first, std::mem::take(&mut words)));
        }
        for word in text.split_whitespace().filter(|_| !text.starts_with('|')) {
            if words == 0 {
                first = line;
            }
            words += usize::from(word.contains(char::is_alphanumeric) || word.contains('`'));
            if word.trim_end_matches(['*', ')', '"']).ends_with(['.', '?', '!']) {
                found.push((first, std::mem::take(&mut words)));
            }
        }
    }
    found
}

fn guide(file: &SourceFile) -> Vec<Problem> {
    let mut problems = Vec::new();
    if !file.text.lines().nth(1).is_some_and(|line| line.starts_with("```")) {
        let instead = "begin with the command, below the title";
        problems.push(Problem::new(file, 2, "a guide without its command first".to_owned(), instead));
    }
    let last = markdown::headings(&file.text).last().unwrap_or_default();
    if file.path != READING && !last.starts_with("Read ") {
        let instead = "end with `## Read the answer`";
        problems.push(Problem::new(
            file,
            1,
            "a guide that does not end with how to read its answer".to_owned(),
            instead,
        ));
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<String> {
        let file = SourceFile { path: path.to_owned(), text: text.to_owned() };
        check(&[file]).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_long_readme_and_a_long_sentence_are_found() {
        let sentence = format!("{}end.", "word ".repeat(WORDS_MAX));
        assert!(found(README, &format!("# A\n\n{}\n", &sentence[5..])).is_empty());
        assert_eq!(
            found(README, &format!("# A\n\nFirst. Then\nthis: {sentence}\n")),
            ["README.md:3: a sentence of 33 words, more than 30; make two of it"]
        );
        assert!(found(README, &format!("# A\n- {}\n- {}\n", &sentence[10..], &sentence[10..])).is_empty());
        assert_eq!(
            found(README, &"line.\n".repeat(LINES_MAX + 1)),
            ["README.md:151: 151 lines, more than 150; move some to a guide"]
        );
    }

    #[test]
    fn code_and_tables_are_no_sentences() {
        let words = "word ".repeat(WORDS_MAX + 1);
        assert!(found(README, &format!("```\n{words}\n```\n| {words} |\n\n`{words}`\n")).is_empty());
        assert!(found("docs/METHOD.md", &words).is_empty());
    }

    #[test]
    fn a_guide_has_its_command_first_and_how_to_read_it_last() {
        let good = "# A\n```\nkdyno\n```\n## B\n## Read the answer\nSo.\n";
        assert!(found("docs/guide/a.md", good).is_empty());
        assert_eq!(found("docs/guide/a.md", &good.replace("## Read the", "## The")).len(), 1);
        assert_eq!(found("docs/guide/a.md", &good.replacen("# A\n", "# A\nText.\n", 1)).len(), 1);
        assert!(found("docs/design/a.md", "# A\nText.\n").is_empty());
    }
}
