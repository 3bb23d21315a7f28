//! Words that readers stumble over: refused in documents and in what the program prints, each with a plainer one.

use super::literals;
use super::problem::{Problem, SourceFile};
use super::width;
use crate::markdown;

/// A refused word or phrase in all of its spellings, in small letters, and what to write.
type Refused = (&'static [&'static str], &'static str);

/// A phrase with a refused word in it counts as the phrase.
const REFUSED: &[Refused] = &[
    (&["told"], "write prints, reports, shows or says"),
    (&["of which"], "start a sentence with its subject"),
    (&["whoever", "nobody"], "name the person or the program"),
    (&["anew"], "write again"),
    (&["besides"], "write also, in addition to or apart from"),
    (&["speaks against", "speak against"], "write caveats or reasons for doubt"),
    (&["must not be used"], "write invalid"),
    (&["cannot be told", "cannot be told apart"], "write inconclusive, or cannot be determined"),
    (&["stands beside", "stand beside"], "write is shown next to"),
    (&["held against", "hold against", "holds against"], "write checked against or compared with"),
    (&["reckon", "reckons", "reckoned", "reckoning"], "write compute"),
    (&["was asked for", "were asked for"], "write was requested"),
    (&["handed over", "hands over"], "write consumed, or sent, or passed to the client"),
    (&["processor time"], "write CPU time"),
    (&["intended instant", "intended instants"], "write scheduled send time"),
    (&["would have been seen"], "write smallest detectable change, or that noise would not hide it"),
    (&["not asked for", "not asked to"], "write not requested"),
    (&["stood still", "stands still"], "write paused or was stopped"),
    (&["lie above every", "lies above every"], "write count as slower than every"),
    (&["foretold"], "write extrapolated"),
    (&["as they stand", "stand in", "stands in"], "write are, or are in"),
    (&["tells"], "write prints, reports, shows or says"),
    (&["beside"], "write next to or with"),
    (&["yours alone"], "write needs mode 600"),
    (&["as fast as it goes"], "write at maximum rate"),
    (&["course over time"], "write time series"),
];

/// Files that need a word: path, spelling, reason. One that does not must leave this list.
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    ("crates/model/src/members.rs", "told", "the name of a field in run files"),
    ("crates/report/src/html/served/comparison.rs", "beside", "the name of a class"),
];

/// Files in whose string literals the words are refused: what the program prints.
const CODE: &[&str] = &["crates/*/src/**"];

/// What a check goes by.
struct Lists<'l> {
    exceptions: &'l [(&'l str, &'l str, &'l str)],
    code: &'l [&'l str],
}

/// Checks the documents that people write and the literals of `CODE`.
pub fn check(files: &[SourceFile]) -> Vec<Problem> {
    check_by(&Lists { exceptions: EXCEPTIONS, code: CODE }, files)
}

fn check_by(lists: &Lists<'_>, files: &[SourceFile]) -> Vec<Problem> {
    let mut exceptions = lists.exceptions.to_vec();
    let mut problems = Vec::new();
    for file in files {
        let path = file.path.as_str();
        for found in refused(file, lists.code) {
            let is_excepted = |listed: &(&str, &str, &str)| (listed.0, listed.1) == (path, found.spelling);
            exceptions.retain(|listed| !is_excepted(listed));
            if !lists.exceptions.iter().any(is_excepted) {
                let what = format!("\"{}\"", found.spelling);
                problems.push(Problem::new(file, found.line, what, found.instead));
            }
        }
    }
    problems.extend(exceptions.iter().map(|(path, word, _)| Problem {
        path: (*path).to_owned(),
        line: 1,
        what: format!("excepted for \"{word}\", has none"),
        instead: "take it out of xtask/src/tidy/words.rs".to_owned(),
    }));
    problems
}

/// A refused word in a line of a file, from 1.
#[derive(Debug, PartialEq)]
struct RefusedWord {
    line: usize,
    spelling: &'static str,
    instead: &'static str,
}

/// All refused words of a file; none where the rule does not concern it.
fn refused(file: &SourceFile, code: &[&str]) -> Vec<RefusedWord> {
    let path = &file.path;
    if path.ends_with(".md") {
        let is_written_by_hand = !width::WRITTEN.contains(&path.as_str());
        return if is_written_by_hand { search(&markdown::prose(&file.text), 1) } else { Vec::new() };
    }
    let is_tests = path.contains("/tests/") || path.ends_with("tests.rs");
    if !path.ends_with(".rs") || is_tests || !code.iter().any(|glob| matches(glob, path)) {
        return Vec::new();
    }
    literals::of_product(&file.text).iter().flat_map(|literal| search(&literal.text, literal.line)).collect()
}

/// Looks for refused words in a text that begins in line `first`; the longest spelling counts.
fn search(text: &str, first: usize) -> Vec<RefusedWord> {
    let words = words(text);
    let mut found = Vec::new();
    let mut at = 0;
    while at < words.len() {
        let spellings =
            REFUSED.iter().flat_map(|(spellings, instead)| spellings.iter().map(move |s| (*s, *instead)));
        let longest = spellings
            .filter_map(|(spelling, instead)| Some((length_at(&words[at..], spelling)?, spelling, instead)))
            .max_by_key(|(length, ..)| *length);
        if let Some((length, spelling, instead)) = longest {
            found.push(RefusedWord { line: first + words[at].line, spelling, instead });
            at += length;
        } else {
            at += 1;
        }
    }
    found
}

/// How many words a spelling takes, where the words begin with it.
fn length_at(words: &[Word], spelling: &str) -> Option<usize> {
    let parts: Vec<&str> = spelling.split(' ').collect();
    let begins = words.len() >= parts.len()
        && parts.iter().zip(words).all(|(part, word)| *part == word.text)
        && words[1..parts.len()].iter().all(|word| word.follows);
    begins.then_some(parts.len())
}

/// A word in small letters.
struct Word {
    /// Its line in the text, from 0.
    line: usize,
    text: String,
    /// Only blanks are between it and the word before it.
    follows: bool,
}

fn words(text: &str) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    let (mut line, mut in_word, mut follows) = (0, false, false);
    for c in text.chars() {
        if c.is_alphanumeric() || c == '_' {
            if !in_word {
                words.push(Word { line, text: String::new(), follows });
                follows = true;
            }
            if let Some(word) = words.last_mut() {
                word.text.extend(c.to_lowercase());
            }
            in_word = true;
        } else {
            follows &= c.is_whitespace();
            in_word = false;
        }
        line += usize::from(c == '\n');
    }
    words
}

/// Whether a path is one of a glob: `*` is anything within a name, `**` any number of names.
fn matches(glob: &str, path: &str) -> bool {
    fn names_match(glob: &[&str], path: &[&str]) -> bool {
        match (glob, path) {
            ([], []) => true,
            (["**", rest @ ..], _) => (0..=path.len()).any(|skipped| names_match(rest, &path[skipped..])),
            ([name, glob @ ..], [first, path @ ..]) => name_matches(name, first) && names_match(glob, path),
            _ => false,
        }
    }
    fn name_matches(glob: &str, name: &str) -> bool {
        glob.split_once('*').map_or(glob == name, |(begin, end)| {
            name.len() >= begin.len() + end.len() && name.starts_with(begin) && name.ends_with(end)
        })
    }
    names_match(&glob.split('/').collect::<Vec<_>>(), &path.split('/').collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NO_LISTS: Lists<'_> = Lists { exceptions: &[], code: &[] };

    fn file(path: &str, text: &str) -> SourceFile {
        SourceFile { path: path.to_owned(), text: text.to_owned() }
    }

    fn found(lists: &Lists<'_>, path: &str, text: &str) -> Vec<String> {
        check_by(lists, &[file(path, text)]).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_refused_word_is_found_with_a_plainer_one() {
        for (text, expected) in [
            ("# A\nIt is told.\n", "docs/a.md:2: \"told\"; write prints, reports, shows or says"),
            ("Nobody's", "docs/a.md:1: \"nobody\"; name the person or the program"),
            ("runs, of\nwhich one", "docs/a.md:1: \"of which\"; start a sentence with its subject"),
            ("| a | was asked for |", "docs/a.md:1: \"was asked for\"; write was requested"),
        ] {
            assert_eq!(found(&NO_LISTS, "docs/a.md", text), [expected], "{text}");
        }
    }

    #[test]
    fn the_longest_spelling_counts_once() {
        let spellings = |text| search(text, 1).iter().map(|found| found.spelling).collect::<Vec<_>>();
        assert_eq!(spellings("cannot be told apart"), ["cannot be told apart"]);
        assert_eq!(spellings("cannot be told, and told"), ["cannot be told", "told"]);
    }

    #[test]
    fn other_words_code_and_generated_pages_pass() {
        for text in [
            "the untold, a next to b",
            "a sum of, which",
            "`told` and `a\ntold`",
            "```\ntold\n```",
            "told_by",
        ] {
            assert!(found(&NO_LISTS, "docs/a.md", text).is_empty(), "{text}");
        }
        assert!(found(&NO_LISTS, width::WRITTEN[0], "told").is_empty());
        assert_eq!(
            found(&NO_LISTS, "a.md", "an open ` here\n\ntold").len(),
            1,
            "a span ends with its paragraph"
        );
    }

    #[test]
    fn literals_of_listed_code_are_searched() {
        let code = Lists { code: &["crates/*/src/**"], ..NO_LISTS };
        let text = "// told\nfn f() {\n    let told = \"as \\\n        told\";\n}\n";
        assert_eq!(found(&code, "crates/a/src/b/c.rs", text).len(), 1);
        for path in ["xtask/src/a.rs", "crates/a/tests/a.rs", "crates/a/src/b/tests.rs", "crates/a/src/a.txt"]
        {
            assert!(found(&code, path, text).is_empty(), "{path}");
        }
        assert!(found(&NO_LISTS, "crates/a/src/b/c.rs", text).is_empty());
    }

    #[test]
    fn exceptions_are_for_one_word_of_one_file_and_must_be_needed() {
        let lists = Lists { exceptions: &[("a.md", "told", "a title")], ..NO_LISTS };
        assert!(found(&lists, "a.md", "told").is_empty());
        assert_eq!(found(&lists, "a.md", "told anew"), ["a.md:1: \"anew\"; write again"]);
        assert_eq!(found(&lists, "b.md", "told").len(), 2);
        let needless = "a.md:1: excepted for \"told\", has none; take it out of xtask/src/tidy/words.rs";
        assert_eq!(found(&lists, "a.md", "said"), [needless]);
    }

    #[test]
    fn a_glob_matches_names_and_folders() {
        for (glob, path, is_one) in [
            ("crates/*/src/**", "crates/a/src/b/c.rs", true),
            ("crates/*/src/**", "crates/a/b/src/c.rs", false),
            ("**/*.rs", "a.rs", true),
            ("docs/a*.md", "docs/ab.md", true),
            ("docs/a*.md", "docs/ba.md", false),
            ("docs", "docs/a.md", false),
        ] {
            assert_eq!(matches(glob, path), is_one, "{glob} {path}");
        }
    }
}
