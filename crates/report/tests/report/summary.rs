//! The result in short, as it is at the end of a run.

use crate::answers::with_claims;
use crate::fixture::{ComparisonEnd, RunFixture, comparison, run, search};
use kdyno_model::caveat::Severity;
use kdyno_model::conclusion::SearchOutcome;
use kdyno_model::finding::Value;
use kdyno_model::metric::Address;
use kdyno_model::plan::Depth;
use kdyno_report::terminal::{TextOptions, answer_alone, run_summary, run_table};

const OPTIONS: TextOptions = TextOptions { width: 120, colour: false };

#[test]
fn a_run_in_short() {
    insta::assert_snapshot!(run_summary(&run().input(), &OPTIONS));
}

#[test]
fn a_first_screen_has_at_most_three_caveats_and_counts_the_rest() {
    let run = run();
    let (short, full) = (run_summary(&run.input(), &OPTIONS), run_table(&run.input(), &OPTIONS));
    let of_full = |line: &&str| ["note ", "warning ", "invalid "].iter().any(|name| line.starts_with(name));
    let all = full.lines().filter(of_full).count();
    let shown = short.lines().filter(|line| line.starts_with("INVALID ") || line.starts_with("! w")).count();
    assert!(all > 3 && shown == 3, "{short}");
    assert!(short.contains(&format!("\n+ {} more (`--details`)\n", all - shown)), "{short}");
    assert!(short.find("INVALID ") < short.find("Acknowledged rate"), "what is invalid comes first: {short}");
    let mut noted = run;
    noted.caveats.retain(|one| one.severity == Severity::Note);
    let short = run_summary(&noted.input(), &OPTIONS);
    assert!(short.contains("\n+ 1 note (`--details`)\n"), "{short}");
}

/// At 100 columns, as most terminals have at least.
#[test]
fn every_first_screen_fits_40_lines() {
    let options = TextOptions { width: 100, colour: false };
    let confirmed = SearchOutcome::Confirmed { load_per_s: 92_000.0 };
    let runs = [
        run(),
        search(confirmed),
        comparison(ComparisonEnd::Worse, Depth::Verdict),
        comparison(ComparisonEnd::Open, Depth::Quick),
        with_claims(),
    ];
    for run in runs {
        let text = run_summary(&run.input(), &options);
        assert!(text.lines().count() <= 40, "{} lines: {text}", text.lines().count());
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    }
}

#[test]
fn a_comparison_and_a_search_in_short() {
    let confirmed = SearchOutcome::Confirmed { load_per_s: 92_000.0 };
    let runs = [
        comparison(ComparisonEnd::Worse, Depth::Verdict),
        comparison(ComparisonEnd::Open, Depth::Quick),
        search(confirmed),
    ];
    let texts = runs.map(|run| run_summary(&run.input(), &OPTIONS));
    insta::assert_snapshot!(texts.join("\n----\n"));
}

#[test]
fn a_ratio_of_pairs_is_called_so_where_that_of_the_medians_is_another() {
    let text = |ends| run_summary(&comparison(ends, Depth::Verdict).input(), &OPTIONS);
    let (alike, apart) = (text(ComparisonEnd::Worse), text(ComparisonEnd::Open));
    assert!(alike.contains(" B ÷ A ") && !alike.contains("ratio of pairs"), "{alike}");
    assert!(apart.contains("\nratio of pairs: estimated from B ÷ A of each pair"), "{apart}");
}

#[test]
fn an_interval_that_overlaps_the_margin_is_said_to() {
    let text = run_summary(&comparison(ComparisonEnd::Maybe, Depth::Verdict).input(), &OPTIONS);
    let said = "worse in CPU per record of the brokers, but the interval overlaps the margin;";
    assert!(text.replace("\n  ", " ").contains(said), "{text}");
}

#[test]
fn the_answer_alone_is_its_sentences() {
    let text = answer_alone(&comparison(ComparisonEnd::Worse, Depth::Verdict).input(), &OPTIONS);
    assert!(text.starts_with("kafka=4.3.1 is worse than kafka=3.7.2: CPU per record"), "{text}");
    assert!(!text.contains("Details"), "{text}");
}

/// Without what was published, since that needs a row for each case.
fn with_columns(columns: &[&str]) -> RunFixture {
    let mut run = run();
    run.header.plan.published = None;
    run.header.plan.show.columns = columns.iter().map(|name| Address::parse(name).expect("a name")).collect();
    run
}

#[test]
fn figures_too_wide_for_one_row_have_a_row_each() {
    let many = ["clients", "acked_per_s", "offered_per_s", "response.p50", "response.p99", "service.p99"];
    let many = many.map(|name| format!("writers.{name}"));
    let run = with_columns(&many.each_ref().map(String::as_str));
    let text = run_summary(&run.input(), &TextOptions { width: 80, ..OPTIONS });
    let heads: Vec<&str> =
        text.lines().filter(|line| line.contains("brokers=3") && line.contains("brokers=6")).collect();
    assert!(!heads.is_empty(), "the cases stand beside each other: {text}");
    let row = text.lines().find(|line| line.starts_with("writers acknowledged "));
    assert!(row.is_some_and(|row| row.contains("59,887 (59,871–59,903)/s")), "{text}");
    assert!(!text.contains("row 1"), "no rows are numbered: {text}");
}

#[test]
fn few_figures_have_a_row_for_each_case() {
    let text = run_summary(&with_columns(&["writers.acked_per_s"]).input(), &OPTIONS);
    let reported = text.lines().find(|line| line.contains("59,887 (59,871–59,903)/s"));
    assert!(reported.is_some_and(|row| !row.starts_with("writers")), "{text}");
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
