//! The list of runs: newest first, with what is searched for, and from each row to its page or to a comparison with another.

use super::{encoded, run_address, shell};
use maud::{Markup, html};
use std::collections::BTreeSet;

/// Rows at most; what is searched for may lie beyond them and is found all the same.
const ROWS_MAX: usize = 2_000;

/// A run as it is in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedRun {
    /// Name of its file.
    pub file: String,
    /// When it began, e.g. `2026-11-21 09:30:05Z`.
    pub started: String,
    /// Scenario id.
    pub scenario: String,
    /// Profile in force.
    pub profile: String,
    /// What distinguishes it from others of its scenario: target, changed parameters.
    pub differs: String,
    /// Trials begun, of those planned.
    pub trials: String,
    /// How it ended and what came of it, in words.
    pub status: String,
    /// It goes on.
    pub is_live: bool,
}

/// What the list shows.
#[derive(Debug)]
pub struct ListPage<'a> {
    /// All runs of the folder, oldest first.
    pub runs: &'a [ListedRun],
    /// Files that are named like run files and cannot be read, with the reason.
    pub unreadable: &'a [(String, String)],
    /// Only rows that have each of these words.
    pub searched: &'a str,
    /// File of the run that another is to be compared with.
    pub chosen: Option<&'a str>,
}

/// The page.
pub fn list(of: &ListPage<'_>) -> String {
    let found: Vec<&ListedRun> = of.runs.iter().rev().filter(|run| has_words(run, of.searched)).collect();
    let left_out = found.len().saturating_sub(ROWS_MAX);
    let title = match of.chosen {
        Some(chosen) => format!("Compare {chosen} with …"),
        None => "Runs".to_owned(),
    };
    let body = html! {
        (search(of))
        p class="note" { (count(found.len(), of.runs.len())) @if left_out > 0 { "; the newest " (ROWS_MAX) " are listed" } "." }
        @if !found.is_empty() { (table(&found[..found.len() - left_out], of.chosen)) }
        @if of.chosen.is_none() && !of.runs.is_empty() { (course_form(of.runs)) }
        @if !of.unreadable.is_empty() {
            details {
                summary { "Files that cannot be read: " (of.unreadable.len()) }
                ul { @for (file, why) in of.unreadable { li { code { (file) } ": " (why) } } }
            }
        }
    };
    shell(&title, &body)
}

/// Whether a row has every word, whatever its case.
fn has_words(run: &ListedRun, searched: &str) -> bool {
    let row = [&run.file, &run.started, &run.scenario, &run.profile, &run.differs, &run.status];
    let row = row.map(|cell| cell.to_lowercase()).join("\n");
    searched.to_lowercase().split_whitespace().all(|word| row.contains(word))
}

fn count(found: usize, all: usize) -> String {
    match (found, all) {
        (_, 0) => "There are no runs here yet; `kdyno run first-light` makes one".to_owned(),
        (found, all) if found == all => format!("{all} run{}", if all == 1 { "" } else { "s" }),
        (found, all) => format!("{found} of {all} runs"),
    }
}

fn search(of: &ListPage<'_>) -> Markup {
    html! {
        form class="ask" method="get" action="/" role="search" {
            label { "Search in all columns" input type="search" name="q" value=(of.searched); }
            @if let Some(chosen) = of.chosen { input type="hidden" name="a" value=(chosen); }
            button { "Search" }
        }
    }
}

fn table(runs: &[&ListedRun], chosen: Option<&str>) -> Markup {
    html! {
        div class="scroll" role="region" aria-label="Runs" tabindex="0" {
            table class="runs" {
                thead { tr {
                    @for head in ["started", "scenario", "profile", "target, changes", "trials", "ended", "", ""] {
                        th class="words" scope="col" { (head) }
                    }
                } }
                tbody { @for run in runs { (row(run, chosen)) } }
            }
        }
    }
}

fn row(run: &ListedRun, chosen: Option<&str>) -> Markup {
    let is_chosen = chosen == Some(run.file.as_str());
    let compare = match chosen {
        None => format!("/?a={}", encoded(&run.file)),
        Some(chosen) => format!("/compare?a={}&b={}", encoded(chosen), encoded(&run.file)),
    };
    html! {
        tr class=[is_chosen.then_some("chosen")] {
            th class="words" scope="row" { a href=(run_address(&run.file)) { (run.started) } }
            @for cell in [&run.scenario, &run.profile] { td class="words" { (cell) } }
            td class="words changes" { (run.differs) }
            td class="words" { (run.trials) }
            td class=(if run.is_live { "words live" } else { "words" }) { (run.status) }
            td class="words" {
                @if is_chosen { "chosen" }
                @else {
                    @let word = if chosen.is_some() { "with this" } else { "compare" };
                    a href=(compare) aria-label=(format!("{word}: {} {}", run.scenario, run.started)) { (word) }
                }
            }
            td class="words exports" {
                @for format in ["json", "csv", "series-csv", "series-parquet"] {
                    a href=(format!("/export/{format}/{}", encoded(&run.file))) { (format) } " "
                }
            }
        }
    }
}

/// Asks for a metric over all runs of a scenario.
fn course_form(runs: &[ListedRun]) -> Markup {
    let scenarios: BTreeSet<&str> = runs.iter().map(|run| run.scenario.as_str()).collect();
    html! {
        section aria-labelledby="course" {
            h2 id="course" { "A metric over all runs of a scenario" }
            form class="ask" method="get" action="/course" {
                label { "Scenario" select name="scenario" { @for one in &scenarios { option { (one) } } } }
                label { "Metric" input name="of" placeholder="writers.acked_per_s"; }
                button { "Show over time" }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(file: &str, scenario: &str, is_live: bool) -> ListedRun {
        ListedRun {
            file: file.to_owned(),
            started: "2026-11-21 09:30:05Z".to_owned(),
            scenario: scenario.to_owned(),
            profile: "laptop".to_owned(),
            differs: "target <b>staging</b>".to_owned(),
            trials: "3/3".to_owned(),
            status: if is_live { "running" } else { "complete" }.to_owned(),
            is_live,
        }
    }

    fn rows(page: &str) -> usize {
        page.matches("<tr").count().saturating_sub(1)
    }

    #[test]
    fn words_find_rows_and_two_clicks_lead_to_a_comparison() {
        let runs = [run("a.kdyno", "first-light", false), run("b c.kdyno", "catch-up", true)];
        let page =
            |searched: &str, chosen| list(&ListPage { runs: &runs, unreadable: &[], searched, chosen });
        assert_eq!(rows(&page("", None)), 2);
        let whole = page("", None);
        for class in ["table class=\"runs\"", "td class=\"words changes\"", "td class=\"words exports\""] {
            assert!(whole.contains(class), "cells wrap by {class}: {whole}");
        }
        assert_eq!(rows(&page("CATCH running", None)), 1);
        assert_eq!(rows(&page("catch complete", None)), 0);
        let first = page("", None);
        assert!(first.find("catch-up") < first.find("first-light"), "the newest stands first");
        assert!(first.contains("href=\"/?a=b%20c.kdyno\"") && first.contains("&lt;b&gt;staging"), "{first}");
        let second = page("", Some("b c.kdyno"));
        assert!(second.contains("href=\"/compare?a=b%20c.kdyno&amp;b=a.kdyno\""), "{second}");
        assert!(!second.contains("b=b%20c.kdyno"), "a run is not compared with itself");
    }

    #[test]
    fn a_folder_of_nothing_says_what_makes_a_run() {
        let unreadable = [("x.kdyno".to_owned(), "it is no run file".to_owned())];
        let page =
            list(&ListPage { runs: &[], unreadable: &unreadable, searched: "\"><script>", chosen: None });
        assert!(page.contains("kdyno run first-light") && page.contains("it is no run file"), "{page}");
        assert!(!page.replace(crate::html::SCRIPT, "").contains("<script"), "{page}");
    }

    #[test]
    fn many_runs_are_cut_and_found_all_the_same() {
        let mut runs: Vec<ListedRun> =
            (0..2_500).map(|n| run(&format!("r{n}.kdyno"), "many", false)).collect();
        runs[0].scenario = "oldest".to_owned();
        let page = |searched| list(&ListPage { runs: &runs, unreadable: &[], searched, chosen: None });
        assert_eq!(rows(&page("")), ROWS_MAX);
        assert!(page("").contains("the newest 2000 are listed"));
        assert_eq!(rows(&page("oldest")), 1);
    }
}
