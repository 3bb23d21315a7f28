//! docs/ACCURACY.md: what each test of `make accuracy` showed last.

use std::path::Path;
use std::process::Command;

use anyhow::Context;

use crate::bench::process::measured;
use crate::bench::setup::{Setup, load_average};

const HEADING: [&str; 6] = ["test", "load", "figure", "truth or bare loop", "kdyno", "difference"];
/// Begins a line that says when, where and by which program some of the tests were run.
const RUN: &str = "- ";

/// What the document holds below its introduction.
#[derive(Debug, Default, PartialEq)]
struct AccuracyDocument {
    /// Names of tests that ran together, and when, where and of what.
    runs: Vec<(Vec<String>, String)>,
    /// A row's first cell is the name of its test.
    rows: Vec<Vec<String>>,
}

/// Writes the figures of these tests below the machine and the program that made them, in place of what they showed before;
/// what other tests showed stays. `order`: all tests.
pub fn write(
    root: &Path,
    bench: &Setup,
    machine: &str,
    (order, tests): (&[&str], &[&str]),
    rows: Vec<Vec<String>>,
) -> anyhow::Result<()> {
    let version = measured(Command::new(&bench.kdyno).arg("--version"))?;
    let date = measured(Command::new("date").args(["-u", "+%Y-%m-%d"]))?;
    let path = root.join("docs/ACCURACY.md");
    let before = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let (date, version) = (date.stdout.trim(), version.stdout.trim());
    let about = format!("{date}, {version}; {machine}, afterwards: {}", load_average());
    let written = read(&before).with_run(order, tests, about, rows);
    std::fs::write(&path, document(&written)).with_context(|| path.display().to_string())?;
    println!("  written to docs/ACCURACY.md");
    Ok(())
}

impl AccuracyDocument {
    fn with_run(mut self, order: &[&str], tests: &[&str], about: String, rows: Vec<Vec<String>>) -> Self {
        // Also of a test that there is no more.
        let stays = |test: &str| order.contains(&test) && !tests.contains(&test);
        self.runs.iter_mut().for_each(|(of, _)| of.retain(|test| stays(test)));
        self.runs.retain(|(of, _)| !of.is_empty());
        self.runs.push((tests.iter().map(|test| (*test).to_owned()).collect(), about));
        self.rows.retain(|row| row.first().is_some_and(|test| stays(test)));
        self.rows.extend(rows);
        self.rows.sort_by_key(|row| order.iter().position(|test| row.first().is_some_and(|of| of == test)));
        self
    }
}

fn read(text: &str) -> AccuracyDocument {
    let mut written = AccuracyDocument::default();
    for line in text.lines() {
        if let Some((tests, about)) = line.strip_prefix(RUN).and_then(|line| line.split_once(": ")) {
            written.runs.push((tests.split(", ").map(str::to_owned).collect(), about.to_owned()));
        }
        let cells = line.strip_prefix("| ").and_then(|line| line.strip_suffix(" |"));
        let cells: Vec<String> =
            cells.into_iter().flat_map(|line| line.split(" | ")).map(str::to_owned).collect();
        if cells.len() == HEADING.len() && cells != HEADING {
            written.rows.push(cells);
        }
    }
    written
}

fn document(written: &AccuracyDocument) -> String {
    let run = |(tests, about): &(Vec<String>, String)| format!("{RUN}{}: {about}\n", tests.join(", "));
    let runs: String = written.runs.iter().map(run).collect();
    format!(
        "# Accuracy\n\
         What kdyno prints on real clocks and sockets where the truth is known: from a formula, from what was sent, from a\n\
         bare loop that ran in the same minute, from other programs over the same window, or, of `verdicts`, because the\n\
         trials are simulated. Written by `make accuracy`, or test by test (`make accuracy ONLY=\"probes relay\"`), never by\n\
         hand. Machines differ, and a busy one makes every figure doubtful. The exact tests of the same truths run in\n\
         simulated time (`make test`). [Benchmarks](benchmarks.md) say what each test is and what was measured on real\n\
         brokers (`make accuracy-cluster`).\n\n\
         Tests, when and where they ran last:\n\n{runs}\n{}",
        markdown(&HEADING, &written.rows)
    )
}

/// Each row has as many cells as the heading.
fn markdown(heading: &[&str], rows: &[Vec<String>]) -> String {
    let line = |cells: Vec<&str>| format!("| {} |\n", cells.join(" | "));
    let mut text = line(heading.to_vec());
    text.push_str(&line(vec!["---"; heading.len()]).replace(' ', ""));
    for row in rows {
        text.push_str(&line(row.iter().map(String::as_str).collect()));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORDER: [&str; 3] = ["1", "8", "relay"];

    fn row(test: &str, figure: &str) -> Vec<String> {
        [test, "a load", figure, "103", "114", "1.11 ×"].map(str::to_owned).to_vec()
    }

    #[test]
    fn the_document_has_machine_and_figures_and_is_read_back() {
        let rows = vec![row("1", "p95, s"), row("8", "lag p50, µs")];
        let about = "2026-11-22, kdyno 0.1.0; machine: 2 × a processor, afterwards: 0.1".to_owned();
        let written = AccuracyDocument::default().with_run(&ORDER, &["1", "8"], about, rows);
        let text = document(&written);
        assert!(text.starts_with("# Accuracy\n"));
        assert!(text.contains("\n- 1, 8: 2026-11-22, kdyno 0.1.0; machine: 2 × a processor, "), "{text}");
        assert!(text.ends_with("|\n| 8 | a load | lag p50, µs | 103 | 114 | 1.11 × |\n"), "{text}");
        assert_eq!(read(&text), written);
    }

    #[test]
    fn a_test_that_runs_by_itself_takes_the_place_of_its_own_rows() {
        let first = AccuracyDocument::default().with_run(
            &["gone", "1", "8", "relay"],
            &["1", "8", "gone"],
            "then".to_owned(),
            vec![row("1", "a"), row("8", "b"), row("gone", "c")],
        );
        let both =
            first.with_run(&ORDER, &["1", "relay"], "now".to_owned(), vec![row("1", "d"), row("relay", "e")]);
        assert_eq!(both.rows, [row("1", "d"), row("8", "b"), row("relay", "e")]);
        let names = |of: &[&str]| of.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>();
        let expected = [(names(&["8"]), "then".to_owned()), (names(&["1", "relay"]), "now".to_owned())];
        assert_eq!(both.runs, expected);
    }
}
