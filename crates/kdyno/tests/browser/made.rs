//! Files of pages: a run, a comparison, a search, a document, hostile texts, a run with nothing known.

use crate::common::TestFolder;
use crate::fixture::{ComparisonEnd, RunFixture, comparison, run, run_of_texts, search};
use crate::node::{Page, file_url, look_at};
use kdyno_model::conclusion::SearchOutcome;
use kdyno_model::plan::Depth;
use kdyno_report::document::{Document, DocumentRun, Front, html};
use kdyno_report::html::page;

/// What must be text wherever it comes from.
const HOSTILE: &str = "<script>alert('x')</script><img src=x onerror=alert(1)>\"&";

fn hostile() -> RunFixture {
    run_of_texts(|| HOSTILE.to_owned())
}

/// The page of a run that was cut off before anything was known of it.
fn nothing_known() -> RunFixture {
    let mut run = run();
    run.sessions[0].1 = None;
    (run.findings, run.series, run.trials) = (vec![], vec![], vec![]);
    (run.caveats, run.conclusions, run.events, run.noise) = (vec![], vec![], vec![], vec![]);
    run
}

fn document(title: &str, runs: &[RunFixture]) -> String {
    let front = format!(
        "---\ntitle: {title}\ndate: 2026-11-27\nauthors: A, B\n---\n\n## Why\n\nWe *asked*. {title}\n"
    );
    let front = Front::parse(&front).expect("a front");
    let runs: Vec<DocumentRun<'_>> =
        runs.iter().map(|run| DocumentRun { file: "a.kdyno".to_owned(), input: run.input() }).collect();
    html(&Document { front: &front, runs: &runs, kdyno: "0.1.0" })
}

#[test]
fn files_of_pages_pass_in_a_browser() {
    let place = TestFolder::new();
    let compared = || comparison(ComparisonEnd::Worse, Depth::Verdict);
    let found = search(SearchOutcome::Confirmed { load_per_s: 92_000.0 });
    let pages = [
        ("run", page(&run().input()), "Over time"),
        ("comparison", page(&compared().input()), "← B better"),
        ("search", page(&found.input()), "confirmed by 2 trials of their own"),
        ("document", document("Kafka on our cluster", &[run(), compared()]), "Test register"),
        ("hostile", page(&hostile().input()), HOSTILE),
        ("hostile-document", document(HOSTILE, &[hostile()]), HOSTILE),
        ("nothing-known", page(&nothing_known().input()), "0 of 4 trials complete"),
    ];
    let pages = pages.map(|(name, text, says)| {
        let path = place.file(&format!("{name}.html"), &text);
        let pictures = ["run", "comparison", "search", "document"].contains(&name);
        let first = ["run", "comparison", "search"].contains(&name);
        Page { pictures, first, ..Page::new(name, file_url(&path), &[says]) }
    });
    look_at(&place, &pages);
    place.expect_no_processes();
}
