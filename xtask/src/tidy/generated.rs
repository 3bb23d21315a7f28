//! What is made from the table of rules: the page's own table in docs/ARCHITECTURE.md, and a `clippy.toml` for every
//! crate but the program, so that clippy refuses what the crate must never use. In tests it allows all.

use super::problem::{Problem, SourceFile};
use super::rules::{self, CRATES, CrateRule, Forbidden};

/// The page that holds the table.
const PAGE: &str = "docs/ARCHITECTURE.md";

const BEGIN: &str = "<!-- never-rules: made by `cargo xtask tidy --write` -->";
const END: &str = "<!-- /never-rules -->";

/// Settings that hold for every crate. Clippy reads one file, the nearest, so the others repeat them.
const SHARED: &str = "clippy.toml";

/// The line that switches the lists on where a crate is compiled for use; tests may touch the world.
const SWITCH: &str = "#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]";

/// Generated files that are missing or differ, with what they should hold.
pub fn stale(files: &[SourceFile]) -> Vec<(String, String)> {
    let text = |path: &str| files.iter().find(|file| file.path == path).map(|file| file.text.as_str());
    let shared = text(SHARED).unwrap_or_default();
    let settings = CRATES
        .iter()
        .filter(|rule| !rule.program)
        .map(|rule| (format!("crates/{}/clippy.toml", rule.place), clippy_settings(rule, shared)));
    let page = text(PAGE).and_then(rewrite).map(|fresh| (PAGE.to_owned(), fresh));
    settings.chain(page).filter(|(path, fresh)| text(path) != Some(fresh)).collect()
}

/// Compares what is generated with the table, and looks that each crate switches its lists on.
pub fn check(files: &[SourceFile]) -> Vec<Problem> {
    let problem = |path: &str, line, what: &str, instead: &str| Problem {
        path: path.to_owned(),
        line,
        what: what.to_owned(),
        instead: instead.to_owned(),
    };
    let text = |path: &str| files.iter().find(|file| file.path == path).map(|file| file.text.as_str());
    let mut problems = Vec::new();
    if text(PAGE).and_then(rewrite).is_none() {
        let instead = format!("put `{BEGIN}` and `{END}` where it belongs");
        problems.push(problem(PAGE, 1, "the table of never-rules is missing", &instead));
    }
    for (path, fresh) in stale(files) {
        let old = text(&path).unwrap_or_default();
        let differs = old.lines().zip(fresh.lines()).position(|(old, new)| old != new);
        let line = differs.unwrap_or(old.lines().count().min(fresh.lines().count())) + 1;
        let what = "differs from xtask/src/tidy/rules.rs";
        problems.push(problem(&path, line, what, "run `cargo xtask tidy --write`"));
    }
    for rule in CRATES.iter().filter(|rule| !rule.program) {
        let path = format!("crates/{}/src/lib.rs", rule.place);
        if !text(&path).is_some_and(|source| source.lines().any(|line| line == SWITCH)) {
            problems.push(problem(
                &path,
                1,
                "clippy does not know what it must never use",
                &format!("add `{SWITCH}`"),
            ));
        }
    }
    problems
}

/// The crate's `clippy.toml`.
fn clippy_settings(rule: &CrateRule, shared: &str) -> String {
    let pure = |rows: &'static [Forbidden]| if rule.pure { rows } else { &[] };
    let methods = list("disallowed-methods", &[rules::PROGRAM_METHODS, pure(rules::IMPURE_METHODS)]);
    let types = list("disallowed-types", &[pure(rules::IMPURE_TYPES)]);
    format!("# Made by `cargo xtask tidy --write` from xtask/src/tidy/rules.rs.\n{shared}{methods}{types}")
}

fn list(name: &str, tables: &[&[Forbidden]]) -> String {
    let line = |path: &str, instead: &str| format!("    {{ path = \"{path}\", reason = \"{instead}\" }},\n");
    let rows = tables.iter().copied().flatten();
    let lines: String = rows.flat_map(|row| row.paths.iter().map(|path| line(path, row.instead))).collect();
    if lines.is_empty() { String::new() } else { format!("{name} = [\n{lines}]\n") }
}

/// The page with a fresh table between its markers; `None` without markers.
fn rewrite(page: &str) -> Option<String> {
    let begin = page.find(BEGIN)? + BEGIN.len();
    let end = begin + page[begin..].find(END)?;
    Some(format!("{}\n{}{}", &page[..begin], rules::markdown(), &page[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tree that keeps the rules.
    fn tree() -> Vec<SourceFile> {
        let file = |path: &str, text: &str| SourceFile { path: path.to_owned(), text: text.to_owned() };
        let mut files = vec![
            file(SHARED, "too-many-lines-threshold = 70\n"),
            file(PAGE, &format!("# Title\n{BEGIN}\nold\n{END}\nend\n")),
        ];
        files.extend(CRATES.iter().map(|rule| file(&format!("crates/{}/src/lib.rs", rule.place), SWITCH)));
        for (path, text) in stale(&files) {
            files.retain(|file| file.path != path);
            files.push(SourceFile { path, text });
        }
        files
    }

    fn changed(path: &str, from: &str, to: &str) -> Vec<Problem> {
        let mut files = tree();
        let file = files.iter_mut().find(|file| file.path == path).expect("in the tree");
        assert!(file.text.contains(from), "{}", file.text);
        file.text = file.text.replacen(from, to, 1);
        check(&files)
    }

    #[test]
    fn a_fresh_tree_passes_and_every_change_is_found_with_its_line() {
        assert_eq!(check(&tree()), []);
        let found = changed(PAGE, "| `load` | `model`, ", "| `load` | `store`, ");
        assert_eq!((found.len(), found[0].line > 2), (1, true), "{found:?}");
        let found = changed("crates/plan/clippy.toml", "std::net::TcpStream", "std::net::Other");
        assert_eq!((found.len(), found[0].line > 2), (1, true), "{found:?}");
        assert_eq!(changed("crates/lab/src/lib.rs", "not(test)", "test").len(), 1);
        assert_eq!(changed(PAGE, BEGIN, "").len(), 1);
        let several = changed(SHARED, "70", "80");
        let libraries = CRATES.iter().filter(|rule| !rule.program).count();
        assert_eq!(several.len(), libraries, "each crate repeats the shared settings");
    }

    #[test]
    fn pure_crates_may_not_use_the_world_nor_others_the_environment() {
        let of = |place: &str| {
            let rule = CRATES.iter().find(|rule| rule.place == place).expect("a crate");
            clippy_settings(rule, "shared = 1\n")
        };
        for path in ["std::net::TcpStream", "std::fs::read", "std::time::Instant", "std::env::var"] {
            assert!(of("plan").contains(&format!("\"{path}\"")), "{path}");
        }
        assert!(of("lab").contains("\"std::env::var\"") && !of("lab").contains("std::net"));
        assert!(of("lab").contains("shared = 1\n"));
    }
}
