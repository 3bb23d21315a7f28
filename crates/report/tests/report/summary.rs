//! The result in short, as it stands at the end of a run.

use crate::fixture::{Run, run};
use kdyno_model::caveat::Severity;
use kdyno_model::finding::Value;
use kdyno_model::metric::Address;
use kdyno_report::terminal::{TextOptions, run_summary, run_table};

const OPTIONS: TextOptions = TextOptions { width: 120, colour: false };

#[test]
fn a_run_in_short() {
    insta::assert_snapshot!(run_summary(&run().input(), &OPTIONS));
}

#[test]
fn notes_are_counted_and_everything_else_is_named() {
    let run = run();
    let (short, full) = (run_summary(&run.input(), &OPTIONS), run_table(&run.input(), &OPTIONS));
    let notes = full.lines().filter(|line| line.starts_with("note ")).count();
    assert!(notes > 0 && !short.lines().any(|line| line.starts_with("note ")), "{short}");
    assert!(short.contains(&format!("`kdyno show RUN --details`: {notes} note")), "{short}");
    let mut quiet = run;
    quiet.caveats.retain(|one| one.severity > Severity::Note);
    let short = run_summary(&quiet.input(), &OPTIONS);
    assert!(short.contains("`kdyno show RUN --details`: all figures"), "{short}");
}

/// Without what was published, since that needs a row for each case.
fn with_columns(columns: &[&str]) -> Run {
    let mut run = run();
    run.header.plan.published = None;
    run.header.plan.show.columns = columns.iter().map(|name| Address::parse(name).expect("a name")).collect();
    run
}

#[test]
fn figures_that_do_not_fit_beside_each_other_have_a_row_each() {
    let many = ["clients", "acked_per_s", "offered_per_s", "response.p50", "response.p99", "service.p99"];
    let many = many.map(|name| format!("writers.{name}"));
    let run = with_columns(&many.each_ref().map(String::as_str));
    let text = run_summary(&run.input(), &TextOptions { width: 80, ..OPTIONS });
    let heads: Vec<&str> =
        text.lines().filter(|line| line.contains("brokers=3") && line.contains("brokers=6")).collect();
    assert!(!heads.is_empty(), "the cases stand beside each other: {text}");
    let row = text.lines().find(|line| line.starts_with("writers acknowledged "));
    assert!(row.is_some_and(|row| row.contains("59,887 (59,871–59,903)/s")), "{text}");
    assert!(text.contains("By writers.acked_per_s brokers=6 differs from brokers=3."), "{text}");
    assert!(!text.contains("row 1"), "no rows are numbered: {text}");
}

#[test]
fn few_figures_have_a_row_for_each_case() {
    let text = run_summary(&with_columns(&["writers.acked_per_s"]).input(), &OPTIONS);
    let told = text.lines().find(|line| line.contains("59,887 (59,871–59,903)/s"));
    assert!(told.is_some_and(|row| !row.starts_with("writers")), "{text}");
    assert!(text.contains("By writers.acked_per_s row 2 differs from row 1."), "{text}");
}

#[test]
fn tables_of_nothing_but_zeros_are_left_out_and_said_to_be() {
    let clean = "No record failed, and none stayed unresolved.";
    let mut run = run();
    assert!(run_table(&run.input(), &OPTIONS).contains("records that were not acknowledged"));
    for one in
        run.findings.iter_mut().filter(|one| ["failed", "unresolved"].contains(&one.of.metric.as_str()))
    {
        one.estimate = Value::Is(0.0);
    }
    run.caveats.retain(|one| one.severity == Severity::Note);
    for text in [run_table(&run.input(), &OPTIONS), run_summary(&run.input(), &OPTIONS)] {
        assert!(text.contains(clean) && !text.contains("were not acknowledged"), "{text}");
    }
}
