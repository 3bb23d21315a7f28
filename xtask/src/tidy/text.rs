//! Rules on every tracked text file: unfinished work, machine paths, registry hosts.

use super::Problem;
use super::source::SourceFile;

/// This file spells out what it forbids; the lock file names registries by its nature.
const EXEMPT: &[&str] = &["xtask/src/tidy/text.rs", "Cargo.lock"];

/// Marks of unfinished work, as whole words.
const UNFINISHED: &[&str] = &["TODO", "FIXME", "XXX", "HACK"];

/// Folders of one machine; a trailing `/` asks for a name after it.
const MACHINE_PATHS: &[&str] = &["/work/", "/root/", "/home/", "/Users/"];

/// Hosts that packages come from. Tools know where to look; the tree need not.
const REGISTRY_HOSTS: &[&str] = &[
    "crates.io",
    "repo.maven.apache.org",
    "repo1.maven.org",
    "registry.npmjs.org",
    "pypi.org",
    "deb.debian.org",
    "archive.ubuntu.com",
    "artifactory",
];

/// Checks every line of every file.
pub fn check(files: &[SourceFile]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in files.iter().filter(|file| !EXEMPT.contains(&file.path.as_str())) {
        for (index, line) in file.text.lines().enumerate() {
            problems
                .extend(check_line(line).map(|(what, instead)| Problem::new(file, index + 1, what, instead)));
        }
    }
    problems
}

/// The first thing wrong with a line, and what to do.
fn check_line(line: &str) -> Option<(String, &'static str)> {
    if let Some(mark) = UNFINISHED.iter().find(|mark| whole_word(line, mark)) {
        return Some((format!("{mark} in the tree"), "finish it, or open an issue and leave no mark"));
    }
    if let Some(path) = MACHINE_PATHS.iter().find(|path| machine_path(line, path)) {
        return Some((
            format!("a path of one machine ({path}…)"),
            "use a relative path or a temporary folder",
        ));
    }
    let host = REGISTRY_HOSTS.iter().find(|host| line.contains(**host))?;
    Some((format!("a package registry host ({host})"), "name the package; its tool knows the host"))
}

fn whole_word(line: &str, word: &str) -> bool {
    line.split(|c: char| !c.is_alphanumeric() && c != '_').any(|part| part == word)
}

/// An absolute path below `folder`, not the tail of a longer path such as `crates/work/`.
fn machine_path(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(start, _)| {
        let before = line[..start].chars().next_back();
        let after = line[start + folder.len()..].chars().next();
        !before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '}' | ')' | '/' | '$'))
            && after.is_some_and(|c| c.is_alphanumeric() || matches!(c, '.' | '_'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_forbidden_text_is_found() {
        for bad in [
            "// TODO: later",
            "# FIXME",
            "cd /work/main",
            "log.dirs=/home/ann/kafka",
            "'/root/.m2/settings.xml'",
            "https://static.crates.io/x",
            "<url>https://repo.maven.apache.org/maven2</url>",
        ] {
            assert!(check_line(bad).is_some(), "{bad}");
        }
    }

    #[test]
    fn innocent_text_passes() {
        for good in [
            "TODOS and mastodon",
            "$HOME/.cache",
            "target/work/x",
            "${dir}/work/x",
            "https://example.com/home/x",
            "a /home/ folder",
            "share of /work",
        ] {
            assert_eq!(check_line(good), None, "{good}");
        }
    }

    #[test]
    fn file_and_line_are_named() {
        let text = "a\nb TODO\n".to_owned();
        let found = check(&[SourceFile { path: "docs/x.md".to_owned(), text }]);
        assert_eq!(found[0].to_string().split(": ").next(), Some("docs/x.md:2"));
    }
}
