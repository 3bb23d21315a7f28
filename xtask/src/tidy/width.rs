//! Pages of Markdown are read in editors, terminals and diffs: their lines are short.

use super::problem::{Problem, SourceFile};

/// The longest line, in characters.
const LONGEST: usize = 120;

/// Pages that programs write, with lines as long as their texts.
pub(super) const WRITTEN: &[&str] = &[
    "docs/ACCURACY.md",
    "docs/reference/caveats.md",
    "docs/reference/csv.md",
    "docs/reference/health.md",
    "docs/reference/metrics.md",
    "docs/reference/scenario.md",
];

/// Looks for long lines in the pages of the root folder and of docs/.
pub fn check(files: &[SourceFile]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in files.iter().filter(|file| is_page(&file.path)) {
        for (line, length) in long_lines(&file.text) {
            let what = format!("{length} characters, more than {LONGEST}");
            problems.push(Problem::new(file, line, what, "break the line"));
        }
    }
    problems
}

/// Pages that people write for readers of the repository.
fn is_page(path: &str) -> bool {
    let ours = path.starts_with("docs/") || !path.contains('/');
    ours && path.ends_with(".md") && !WRITTEN.contains(&path)
}

/// The number, from 1, and the length of each line that is too long. A row of a table cannot be broken, and code
/// between fences is as long as it has to be.
fn long_lines(text: &str) -> Vec<(usize, usize)> {
    let mut in_code = false;
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let start = line.trim_start();
        if start.starts_with("```") {
            in_code = !in_code;
        }
        let length = line.chars().count();
        if length > LONGEST && !in_code && !start.starts_with('|') {
            found.push((index + 1, length));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<String> {
        let file = SourceFile { path: path.to_owned(), text: text.to_owned() };
        check(&[file]).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_long_line_of_a_page_is_found() {
        let text = format!("# Title\n{}\n{}\n", "é".repeat(LONGEST), "é".repeat(LONGEST + 1));
        for page in ["README.md", "docs/METHOD.md", "docs/guide/ci.md"] {
            let expected = format!("{page}:3: 121 characters, more than 120; break the line");
            assert_eq!(found(page, &text), [expected]);
        }
    }

    #[test]
    fn rows_of_tables_and_code_may_be_longer() {
        let long = "a".repeat(LONGEST + 1);
        let text = format!("| {long} |\n  ```text\n{long}\n  ```\n{long}\n");
        assert_eq!(long_lines(&text), [(5, LONGEST + 1)]);
    }

    #[test]
    fn written_pages_and_other_files_may_have_long_lines() {
        let long = "a".repeat(LONGEST + 1);
        for path in ["docs/ACCURACY.md", "docs/reference/scenario.md", "apps/library/README.md", "a.rs"] {
            assert!(found(path, &long).is_empty(), "{path}");
        }
    }
}
