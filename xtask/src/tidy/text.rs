//! Rules on every tracked text file: unfinished work, somebody's home folder, registry hosts.

use super::problem::{Problem, SourceFile};

/// This file spells out what it forbids; lock files name registries by their nature.
const EXEMPT: &[&str] = &["xtask/src/tidy/text.rs", "Cargo.lock", "apps/library/Cargo.lock"];

/// Marks of unfinished work, as whole words.
const UNFINISHED: &[&str] = &["TODO", "FIXME", "XXX", "HACK"];

/// What home folders begin with; a name follows.
const HOME_FOLDERS: &[&str] = &["/root/", "/home/", "/Users/"];

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
    if let Some(path) = HOME_FOLDERS.iter().find(|path| is_home_folder(line, path)) {
        return Some((
            format!("somebody's home folder ({path}…)"),
            "use a relative path or a temporary folder",
        ));
    }
    let host = REGISTRY_HOSTS.iter().find(|host| line.contains(**host))?;
    Some((format!("a package registry host ({host})"), "name the package; its tool knows the host"))
}

fn whole_word(line: &str, word: &str) -> bool {
    line.split(|c: char| !c.is_alphanumeric() && c != '_').any(|part| part == word)
}

/// An absolute path below `folder`, not the tail of a longer path such as `srv/home/`.
fn is_home_folder(line: &str, folder: &str) -> bool {
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
            "cd /Users/ann/kdyno",
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
            "target/home/x",
            "${dir}/home/x",
            "https://example.com/home/x",
            "a /home/ folder",
            "the folder /root",
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
