//! Several runs as one document.

use crate::fixture::{ComparisonEnd, caveat, comparison, run, run_of_texts};
use kdyno_model::caveat::{Caveat, Severity};
use kdyno_model::plan::Depth;
use kdyno_model::run::RunStatus;
use kdyno_report::document::{Document, DocumentRun, Front, html, markdown};
use kdyno_report::html::SCRIPT;
use std::collections::BTreeSet;

fn front() -> Front {
    let text =
        "---\ntitle: Kafka on our cluster\ndate: 2026-11-27\nauthors: A, B\n---\n\n## Why\n\nWe *asked*.\n";
    Front::parse(text).expect("a front")
}

/// The values of an attribute.
fn values<'p>(page: &'p str, attribute: &str) -> Vec<&'p str> {
    page.split(&format!(" {attribute}=\"")).skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

#[test]
fn as_markdown() {
    let (first, second) = (run(), comparison(ComparisonEnd::Worse, Depth::Verdict));
    let runs = [("a.kdyno", first.input()), ("b.kdyno", second.input())];
    let runs = runs.map(|(file, input)| DocumentRun { file: file.to_owned(), input });
    let text = markdown(&Document { front: &front(), runs: &runs, kdyno: "0.1.0" });
    insta::assert_snapshot!(text);
}

#[test]
fn the_page_has_every_part_and_leads_to_it() {
    let (mut first, second) = (run(), comparison(ComparisonEnd::Worse, Depth::Verdict));
    first.stop_after(1, RunStatus::Interrupted, "");
    let runs = [("a.kdyno", first.input()), ("b.kdyno", second.input())];
    let runs = runs.map(|(file, input)| DocumentRun { file: file.to_owned(), input });
    let page = html(&Document { front: &front(), runs: &runs, kdyno: "0.1.0" });
    for words in [
        "Kafka on our cluster",
        "<em>asked</em>",
        "authors",
        "Test register",
        "Appendix",
        "Interrupted; 1 of",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
    let ids = values(&page, "id");
    let different: BTreeSet<&str> = ids.iter().copied().collect();
    assert_eq!(different.len(), ids.len(), "each id once");
    let links = values(&page, "href");
    let named = values(&page, "aria-labelledby");
    let led = links.iter().chain(&named).filter(|to| !to.starts_with("http"));
    for to in led {
        assert!(different.contains(to.trim_start_matches('#')), "{to} leads nowhere");
    }
    let trials = runs.iter().map(|run| run.input.trials.len()).sum::<usize>();
    let register = page.split("id=\"register\"").nth(1).and_then(|rest| rest.split("</table>").next());
    assert_eq!(register.map(|table| table.matches("<tr").count()), Some(trials + 1), "every trial");
}

#[test]
fn a_failed_trial_is_in_the_register() {
    let mut run = run();
    run.caveats.push(caveat(
        1,
        Severity::Warning,
        Caveat::CutShort { reason: "a broker died".to_owned(), measured_s: 7, planned_s: 60, went_on: false },
    ));
    let runs = [DocumentRun { file: "a.kdyno".to_owned(), input: run.input() }];
    let text = markdown(&Document { front: &front(), runs: &runs, kdyno: "0.1.0" });
    assert!(text.contains("| cut short |"), "{text}");
}

#[test]
fn words_from_outside_are_text() {
    let run = run_of_texts(|| "<script>alert(1)</script>\"' onload=x".to_owned());
    let runs = [DocumentRun { file: "<script>.kdyno".to_owned(), input: run.input() }];
    let front =
        Front::parse("---\ntitle: <script>x</script>\ndate: \"<img src=x>\"\n---\n<script>y</script>\n")
            .expect("a front");
    let document = Document { front: &front, runs: &runs, kdyno: "0.1.0" };
    let page = html(&document).replace(SCRIPT, "");
    assert!(!page.contains("<script") && !page.contains("<img"), "{page}");
}
