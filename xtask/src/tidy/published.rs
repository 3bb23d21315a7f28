//! A published figure is in a scenario file and nowhere else, so that no number can drift from
//! its source and no result of ours can be mistaken for somebody else's.

use std::collections::BTreeMap;

use super::problem::{Problem, SourceFile};

/// Smaller or rounder numbers turn up everywhere by chance: digits before the point, and digits
/// without the zeros at either end.
const MIN_DIGITS: usize = 4;

/// Looks for the figures of all scenario files in all other files.
pub fn check(files: &[SourceFile]) -> Vec<Problem> {
    let is_scenario =
        |file: &&SourceFile| file.path.starts_with("scenarios/") && file.path.ends_with(".yaml");
    let mut figures: BTreeMap<String, &str> = BTreeMap::new();
    for file in files.iter().filter(is_scenario) {
        for figure in published_figures(&file.text) {
            figures.insert(figure, &file.path);
        }
    }
    let mut problems = Vec::new();
    let others = files.iter().filter(|file| !is_scenario(file) && !file.path.ends_with("Cargo.lock"));
    for file in others {
        for (index, line) in file.text.lines().enumerate() {
            let hit = numbers(line).into_iter().find_map(|number| figures.get_key_value(&number));
            if let Some((figure, scenario)) = hit {
                let what = format!("the published figure {figure} of {scenario}");
                problems.push(Problem::new(
                    file,
                    index + 1,
                    what,
                    "refer to the scenario; invent figures for tests",
                ));
            }
        }
    }
    problems
}

/// The measured values in `published: rows:` of a scenario: keys with a dot are metrics, keys
/// without one are parameters and no figures.
fn published_figures(scenario: &str) -> Vec<String> {
    let mut inside = false;
    let mut figures = Vec::new();
    for line in scenario.lines() {
        let line = line.split(" #").next().unwrap_or_default();
        if !line.starts_with([' ', '\t', '-', '#']) && !line.is_empty() {
            inside = line.starts_with("published:");
        }
        if !inside {
            continue;
        }
        for pair in line.split([',', '{', '}']) {
            let Some((key, value)) = pair.split_once(": ") else { continue };
            let key = key.trim().trim_start_matches("- ").trim_matches(['"', '\'']);
            if key.contains('.') && !key.contains(' ') {
                figures.extend(numbers(value).into_iter().next());
            }
        }
    }
    figures
}

/// Numbers of enough digits, written without separators: `1,234,567.0` → `1234567`.
fn numbers(line: &str) -> Vec<String> {
    let part_of_number =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, ',' | '_' | '.' | '\u{202f}' | '\u{a0}');
    let mut found = Vec::new();
    for token in line.split(|c: char| !part_of_number(c)) {
        let token = token.trim_matches(|c: char| !c.is_ascii_alphanumeric());
        let digits: String = token.chars().filter(|c| c.is_ascii_digit() || *c == '.').collect();
        if token.chars().any(|c| c.is_ascii_alphabetic()) || digits.matches('.').count() > 1 {
            continue;
        }
        let plain =
            if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.') } else { &digits };
        let significant = plain.replace('.', "");
        let significant = significant.trim_start_matches('0').trim_end_matches('0');
        let whole = plain.split('.').next().unwrap_or_default();
        if significant.len() >= MIN_DIGITS && whole.len() >= MIN_DIGITS {
            found.push(plain.to_owned());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCENARIO: &str = "kdyno: 1\nprofiles:\n  published: {rate: 99887}\npublished:\n  \
        source: {title: A report of 2022, date: 2022-10-25}\n  rows:\n    \
        - {brokers: 12345, writers.acked_per_s: 717171}\n    - brokers: 6\n      writers.acked_per_s: 8765.5\n      \
        probe.response.p99: 12\n      brokers.cpu: 823.7\n      readers.per_s: 8000\nexpect: [{that: \"x.y: 44556\"}]\n";

    #[test]
    fn metrics_of_published_rows_are_figures_and_nothing_else_is() {
        assert_eq!(published_figures(SCENARIO), ["717171", "8765.5"]);
    }

    #[test]
    fn a_figure_is_found_however_it_is_written() {
        for text in ["of 717,171 records/s", "717_171", "| 717171 |", "717171.0", "(8,765.5)"] {
            let files = [
                SourceFile { path: "scenarios/reports/a.yaml".to_owned(), text: SCENARIO.to_owned() },
                SourceFile { path: "docs/a.md".to_owned(), text: format!("\n{text}\n") },
            ];
            let found = check(&files);
            assert_eq!(found.len(), 1, "{text}: {found:?}");
            assert_eq!((found[0].path.as_str(), found[0].line), ("docs/a.md", 2), "{text}");
        }
    }

    #[test]
    fn other_numbers_pass() {
        for text in ["717172", "a717171b", "1.717171.2", "12", "8000", "823.7"] {
            let files = [
                SourceFile { path: "scenarios/a.yaml".to_owned(), text: SCENARIO.to_owned() },
                SourceFile { path: "README.md".to_owned(), text: text.to_owned() },
            ];
            assert!(check(&files).is_empty(), "{text}");
        }
    }
}
