//! What every Rust file has: a module doc, at most so many lines, no test that is switched off.

use super::problem::{Problem, SourceFile};

/// Beyond this a file holds more than one idea.
pub const MAX_FILE_LINES: usize = 500;

/// Checks every Rust file; `files` may hold others too.
pub fn check(files: &[SourceFile]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in files.iter().filter(|file| file.path.ends_with(".rs")) {
        let mut complain = |line, what, instead| problems.push(Problem::new(file, line, what, instead));
        let lines = file.text.lines().count();
        if lines > MAX_FILE_LINES {
            let what = format!("{lines} lines, more than {MAX_FILE_LINES}");
            complain(MAX_FILE_LINES + 1, what, "split it by idea");
        }
        if !file.text.starts_with("//!") {
            let instead = "begin with a `//!` line that says what the module is for";
            complain(1, "no module doc".to_owned(), instead);
        }
        for (index, _) in
            file.text.lines().enumerate().filter(|(_, line)| line.trim_start().starts_with("#[ignore"))
        {
            complain(index + 1, "an ignored test".to_owned(), "make it run, or delete it");
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_files_missing_docs_and_ignored_tests_are_found() {
        let long = "//! a\n".to_owned() + &"const A: u8 = 0;\n".repeat(MAX_FILE_LINES);
        let file = |text: &str| SourceFile { path: "crates/lab/src/a.rs".to_owned(), text: text.to_owned() };
        assert!(check(&[file(&long)])[0].what.contains("501 lines"));
        assert!(check(&[file("use a;\n")])[0].what.contains("no module doc"));
        let ignored = check(&[file("//! a\n#[test]\n    #[ignore]\nfn f() {}\n")]);
        assert_eq!((ignored.len(), ignored[0].line), (1, 3));
        assert!(check(&[file("//! a\n// not an #[ignore]\n")]).is_empty());
    }
}
