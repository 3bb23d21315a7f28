//! Rules on Rust sources: purity, who may print, module docs, file length, unfinished work.

use super::Problem;
use super::mask::{Production, production};
use super::rules::{CRATES, CrateRule, IMPURE_PATHS, PROGRAM_PATHS};

/// Beyond this a file holds more than one idea.
pub const MAX_FILE_LINES: usize = 500;

/// One tracked text file.
#[derive(Debug, Clone)]
pub struct SourceFile {
    /// Relative to the workspace root, with forward slashes.
    pub path: String,
    /// The whole text.
    pub text: String,
}

/// Checks every Rust file; `files` may hold others too.
pub fn check(files: &[SourceFile]) -> Vec<Problem> {
    let rust: Vec<_> = files.iter().filter(|file| file.path.ends_with(".rs")).collect();
    let sources: Vec<_> = rust.iter().map(|file| (*file, production(&file.text))).collect();
    let test_files: Vec<String> =
        sources.iter().flat_map(|(file, source)| test_files(file, source)).collect();
    let mut problems = Vec::new();
    for (file, source) in &sources {
        shape(file, &mut problems);
        let is_test = test_files.iter().any(|prefix| {
            file.path == format!("{prefix}.rs") || file.path.starts_with(&format!("{prefix}/"))
        });
        if let Some(rule) = rule_of(&file.path)
            && !is_test
        {
            paths(file, &source.code, rule, &mut problems);
        }
    }
    problems
}

/// The row of a file that is compiled into a crate; none for tests, benches, build scripts, xtask.
fn rule_of(path: &str) -> Option<&'static CrateRule> {
    let (place, inside) = path.strip_prefix("crates/")?.split_once('/')?;
    inside.strip_prefix("src/")?;
    CRATES.iter().find(|rule| rule.place == place)
}

/// Paths, without extension, of the child modules that are declared under `#[cfg(test)]`.
fn test_files(file: &SourceFile, source: &Production) -> Vec<String> {
    let (folder, name) = file.path.rsplit_once('/').unwrap_or(("", &file.path));
    let stem = name.trim_end_matches(".rs");
    let folder = match stem {
        "lib" | "main" | "mod" => folder.to_owned(),
        _ => format!("{folder}/{stem}"),
    };
    source.test_modules.iter().map(|module| format!("{folder}/{module}")).collect()
}

/// Length, module doc, ignored tests, unfinished work.
fn shape(file: &SourceFile, problems: &mut Vec<Problem>) {
    let lines = file.text.lines().count();
    if lines > MAX_FILE_LINES {
        let what = format!("{lines} lines, more than {MAX_FILE_LINES}");
        problems.push(Problem::new(file, MAX_FILE_LINES + 1, what, "split it by idea"));
    }
    if !file.text.starts_with("//!") {
        let what = "no module doc".to_owned();
        problems.push(Problem::new(
            file,
            1,
            what,
            "begin with a `//!` line that says what the module is for",
        ));
    }
    let masked = super::mask::mask(&file.text);
    for (index, line) in masked.lines().enumerate() {
        for macro_name in ["todo!", "unimplemented!"] {
            if word(line, macro_name).is_some() {
                let what = format!("{macro_name} in the tree");
                problems.push(Problem::new(file, index + 1, what, "finish it, or leave it out"));
            }
        }
        if line.contains("#[ignore") {
            let what = "an ignored test".to_owned();
            problems.push(Problem::new(file, index + 1, what, "make it run, or delete it"));
        }
    }
}

/// Parts of `std::env` that do not look at the environment.
const HARMLESS: &[&str] = &["std::env::split_paths", "std::env::join_paths", "std::env::consts"];

/// Forbidden paths: written out, or imported through nested braces.
fn paths(file: &SourceFile, code: &str, rule: &CrateRule, problems: &mut Vec<Problem>) {
    let pure: &[_] = if rule.pure { IMPURE_PATHS } else { &[] };
    let quiet: &[_] = if rule.program { &[] } else { PROGRAM_PATHS };
    let code =
        HARMLESS.iter().fold(code.to_owned(), |code, path| code.replace(path, &" ".repeat(path.len())));
    let imported = imports(&code);
    let mut found: Vec<(usize, &str, &str)> = Vec::new();
    for (forbidden, instead) in pure.iter().chain(quiet) {
        for (index, line) in code.lines().enumerate() {
            if word(line, forbidden).is_some() {
                found.push((index + 1, forbidden, instead));
            }
        }
        for (line, path) in &imported {
            if path == forbidden || path.strip_prefix(forbidden).is_some_and(|rest| rest.starts_with("::")) {
                found.push((*line, forbidden, instead));
            }
        }
    }
    found.sort_unstable();
    found.dedup_by(|later, earlier| later.0 == earlier.0 && related(later.1, earlier.1));
    for (line, forbidden, instead) in found {
        problems.push(Problem::new(file, line, format!("{} must not use {forbidden}", rule.place), instead));
    }
}

/// Two rules that speak of the same call: `process::exit` within `std::process::exit`.
fn related(one: &str, other: &str) -> bool {
    one.contains(other) || other.contains(one)
}

/// The offset of `needle` in `line` where it is a whole path, not the tail or head of a longer name.
fn word(line: &str, needle: &str) -> Option<usize> {
    let part_of_name = |c: char| c.is_alphanumeric() || c == '_';
    let mut from = 0;
    while let Some(offset) = line[from..].find(needle) {
        let start = from + offset;
        let end = start + needle.len();
        let before = line[..start].chars().next_back();
        let after = line[end..].chars().next();
        if !before.is_some_and(part_of_name) && (needle.ends_with('!') || !after.is_some_and(part_of_name)) {
            return Some(start);
        }
        from = end;
    }
    None
}

/// Every path that `use` statements bring in, braces multiplied out, with its line.
fn imports(code: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(offset) = code[from..].find("use ") {
        let start = from + offset;
        from = start + 4;
        let before = code[..start].chars().next_back();
        if before.is_some_and(|c| !c.is_whitespace() && !matches!(c, ';' | '{' | '}' | ']' | ')')) {
            continue;
        }
        let end = code[from..].find(';').map_or(code.len(), |offset| from + offset);
        multiply("", &code[from..end], from, &mut |at, path| {
            found.push((1 + code[..at].matches('\n').count(), path));
        });
        from = end;
    }
    found
}

/// `a::{b, c::{d, e as f}}` → `a::b`, `a::c::d`, `a::c::e`; `at` is the offset of `tree` in the file.
fn multiply(prefix: &str, tree: &str, at: usize, report: &mut dyn FnMut(usize, String)) {
    if let Some(open) = tree.find('{') {
        let inner_end = tree.rfind('}').unwrap_or(tree.len());
        let head = format!("{prefix}{}", tree[..open].trim());
        let mut depth = 0;
        let mut start = open + 1;
        for (index, c) in tree.char_indices().filter(|(index, _)| *index > open && *index <= inner_end) {
            match c {
                '{' => depth += 1,
                '}' if index < inner_end => depth -= 1,
                ',' if depth == 0 => {
                    multiply(&head, &tree[start..index], at + start, report);
                    start = index + 1;
                }
                _ => {}
            }
        }
        if start < inner_end {
            multiply(&head, &tree[start..inner_end], at + start, report);
        }
        return;
    }
    let name = tree.split(" as ").next().unwrap_or_default().trim();
    if !name.is_empty() {
        let leading = tree.len() - tree.trim_start().len();
        let path = format!("{prefix}{name}");
        report(at + leading, path.trim_start_matches("::").trim_end_matches("::self").to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(path: &str, text: &str) -> Vec<String> {
        let text = format!("//! A module.\n{text}");
        let files = [SourceFile { path: path.to_owned(), text }];
        check(&files).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_forbidden_import_in_a_pure_crate_is_found_with_its_line() {
        let found = complaints("crates/plan/src/lib.rs", "use std::fs;\n");
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("crates/plan/src/lib.rs:2: plan must not use std::fs"), "{found:?}");
        assert!(found[0].contains("take the text or bytes as an argument"), "{found:?}");
    }

    #[test]
    fn every_forbidden_path_is_found_in_each_pure_crate() {
        for place in ["model", "plan", "analysis", "report"] {
            for (path, _) in IMPURE_PATHS {
                let found =
                    complaints(&format!("crates/{place}/src/a.rs"), &format!("fn f() {{ {path}(); }}"));
                assert_eq!(found.len(), 1, "{place} {path}: {found:?}");
            }
        }
    }

    #[test]
    fn imports_are_seen_through_nested_braces() {
        let text =
            "use std::{\n    collections::{BTreeMap, HashMap as Map},\n    net::{self, TcpStream},\n};\n";
        let found = complaints("crates/report/src/a.rs", text);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found.iter().any(|line| line.contains(":3: ") && line.contains("HashMap")), "{found:?}");
        assert!(found.iter().any(|line| line.contains(":4: ") && line.contains("std::net")), "{found:?}");
    }

    #[test]
    fn other_crates_may_do_what_the_pure_may_not() {
        let text = "use std::net::TcpStream;\nfn f() { std::env::split_paths(x); }";
        assert_eq!(complaints("crates/testbed/src/a.rs", text), Vec::<String>::new());
    }

    #[test]
    fn only_the_binary_prints_reads_the_environment_and_exits() {
        for bad in [
            "println!(\"x\")",
            "eprintln!(\"x\")",
            "print!(\"x\")",
            "std::process::exit(1)",
            "std::env::args()",
        ] {
            let text = format!("fn f() {{ {bad}; }}");
            let found = complaints("crates/lab/src/a.rs", &text);
            assert_eq!(found.len(), 1, "{bad}: {found:?}");
            assert_eq!(complaints("crates/kdyno/src/a.rs", &text).len(), 0, "{bad}");
            assert_eq!(complaints("crates/lab/tests/a.rs", &text).len(), 0, "{bad}");
            assert_eq!(complaints("crates/lab/build.rs", &text).len(), 0, "{bad}");
        }
    }

    #[test]
    fn comments_strings_and_tests_may_name_what_code_may_not() {
        let text = "// std::fs\nconst A: &str = \"std::net\";\n#[cfg(test)]\nmod tests { use std::fs; }\n";
        assert_eq!(complaints("crates/model/src/a.rs", text), Vec::<String>::new());
    }

    #[test]
    fn a_file_that_is_a_test_module_is_test_code() {
        let file = |path: &str, text: &str| SourceFile { path: path.to_owned(), text: text.to_owned() };
        let files = [
            file("crates/plan/src/lib.rs", "//! a\n#[cfg(test)]\nmod checks;\n"),
            file("crates/plan/src/checks.rs", "//! b\nuse std::fs;\n"),
            file("crates/plan/src/checks/more.rs", "//! b\nuse std::fs;\n"),
            file("crates/plan/src/other.rs", "//! c\nuse std::fs;\n"),
        ];
        let found: Vec<_> = check(&files).iter().map(ToString::to_string).collect();
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("crates/plan/src/other.rs:2:"), "{found:?}");
    }

    #[test]
    fn long_files_missing_docs_and_unfinished_work_are_found() {
        let long = "//! a\n".to_owned() + &"const A: u8 = 0;\n".repeat(MAX_FILE_LINES);
        let file = |text: &str| SourceFile { path: "crates/lab/src/a.rs".to_owned(), text: text.to_owned() };
        assert!(check(&[file(&long)])[0].what.contains("501 lines"));
        assert!(check(&[file("use a;\n")])[0].what.contains("no module doc"));
        assert!(check(&[file("//! a\nfn f() { todo!() }\n")])[0].what.contains("todo!"));
        assert!(check(&[file("//! a\n#[test]\n#[ignore]\nfn f() {}\n")])[0].what.contains("ignored test"));
    }
}
