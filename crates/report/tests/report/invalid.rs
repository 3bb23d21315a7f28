//! What is invalid, and what is reported of it.

use crate::answers::with_claims;
use crate::fixture::{ComparisonEnd, caveat, comparison, run, search};
use kdyno_model::caveat::{Caveat, ScopedCaveat, Severity};
use kdyno_model::conclusion::{Conclusion, SearchOutcome};
use kdyno_model::finding::{Finding, Mark, Scope, Value};
use kdyno_model::metric::Address;
use kdyno_model::outcome::Judgement;
use kdyno_model::plan::{CommandBegins, CommandPlan, CsvColumns, Depth, OutputFormat, ParsePlan};
use kdyno_report::judged::{Gate, RunAnswer, judged, of_stored_runs};
use kdyno_report::stored::StoredComparison;
use kdyno_report::terminal::{TextOptions, run_table};
use kdyno_report::{json, junit};
use std::collections::BTreeMap;

const WIDE: TextOptions = TextOptions { width: 140, colour: false };

#[test]
fn junit_reports_invalid_results_as_an_error() {
    let mut lossy = search(SearchOutcome::Confirmed { load_per_s: 92_000.0 });
    let lost = Caveat::Lost { topic: "perf".to_owned(), acknowledged: 1_000, growth: 990 };
    lossy.caveats.push(caveat(1, Severity::Invalid, lost));
    let mut claiming = with_claims();
    for one in claiming.findings.iter_mut().filter(|one| one.scope == Scope::Case(1)) {
        one.marks.insert(Mark::Invalid);
    }
    let runs = [lossy, claiming, comparison(ComparisonEnd::Invalid, Depth::Verdict)];
    for run in &runs {
        assert_eq!(judged(&run.input()), RunAnswer::Invalid, "the exit code says the same");
    }
    insta::assert_snapshot!(runs.map(|run| junit::document(&run.input(), Gate::default())).join("\n"));
}

/// What another case reported does not count, nor that the columns are of a label alone.
#[test]
fn a_command_that_failed_before_its_figures_is_no_answer() {
    let mut run = run();
    for one in &mut run.findings {
        one.marks.remove(&Mark::Invalid);
    }
    let failed =
        Caveat::CommandFailed { item: "users".to_owned(), first: "users: it wrote nothing".to_owned() };
    let failed = caveat(1, Severity::Invalid, failed);
    let Scope::Trial(trial) = failed.scope else { panic!("{failed:?}") };
    let case = run.trials.iter().find(|start| start.trial.id == trial).expect("it ran").trial.case;
    run.caveats.push(failed);
    assert_eq!(judged(&run.input()), RunAnswer::Fine, "no column is of it");
    run.header.plan.show.columns.extend(Address::parse("users.response.p95"));
    let mut other =
        run.findings.iter().find(|one| one.scope == Scope::Case(1 - case)).expect("a figure").clone();
    (other.of, other.estimate) = (Address::parse("users.response.p95").expect("a metric"), Value::Is(5e6));
    run.findings.push(other.clone());
    assert_eq!(judged(&run.input()), RunAnswer::Invalid);
    run.findings.push(Finding { scope: Scope::Case(case), ..other });
    assert_eq!(judged(&run.input()), RunAnswer::Fine, "it told what is shown before it failed");
    run.header.plan.show.columns.extend(Address::parse("check-out.response.p95"));
    assert_eq!(judged(&run.input()), RunAnswer::Fine, "nothing tells that it is of these users");
    let parse = ParsePlan {
        format: OutputFormat::Jtl,
        file: None,
        columns: CsvColumns::default(),
        labels: BTreeMap::from([("check-out".to_owned(), "Check out".to_owned())]),
        apart: None,
    };
    let command = CommandPlan {
        run: vec!["./users".to_owned()],
        http: None,
        begins: CommandBegins::At(0),
        timeout_ns: 1,
        ends_measure: false,
        environment: BTreeMap::new(),
        parse: Some(parse),
        pods: None,
    };
    run.header.plan.cases[case as usize].commands.insert("users".to_owned(), command);
    assert_eq!(judged(&run.input()), RunAnswer::Invalid);
}

#[test]
fn rows_are_compared_with_the_row_that_ratios_are_to() {
    let mut run = run();
    for one in &mut run.conclusions {
        if let Conclusion::ToldApart(of) = one {
            (of.base, of.why_not) = (1, None);
            (of.differ, of.same) = if of.differ.is_empty() { (vec![], vec![0]) } else { (vec![0], vec![]) };
        }
    }
    let reported = [
        "writers.acked_per_s: row 1 differs from row 2.",
        "writers.response.p99: row 1 is not shown to differ from row 2.",
    ];
    let (text, document) = (run_table(&run.input(), &WIDE), json::run(&run.input()).to_string());
    for words in reported {
        assert!(text.contains(words) && document.contains(words), "{words}: {text}");
    }
}

#[test]
fn stored_runs_have_three_caveats_and_all_in_details() {
    let run = run();
    let evidence = |detail: &str| {
        let of = Caveat::EvidenceOfRuns { detail: detail.to_owned() };
        ScopedCaveat { scope: Scope::Run, ..caveat(1, Severity::Warning, of) }
    };
    let all =
        ["there is no interval", "the hosts differ", "the profiles differ", "a version differs", "2 boots"];
    let judgement = Judgement { caveats: all.map(evidence).to_vec(), ..Judgement::default() };
    let labels = ["a.kdyno", "b.kdyno"].map(str::to_owned);
    let stored = StoredComparison { judgement: &judgement, first: &run.input(), labels };
    let reported = |text: &str| all.iter().filter(|one| text.contains(**one)).count();
    let text = stored.text(&WIDE);
    assert_eq!((reported(&text), text.matches("\n! ").count()), (3, 3), "{text}");
    assert!(text.contains("+ 2 more (`--details`)"), "{text}");
    let text = stored.details(&WIDE);
    assert_eq!((reported(&text), text.contains("--details")), (5, false), "{text}");
}

#[test]
fn stored_runs_tell_loss_before_anything_else() {
    let run = run();
    let lost = Caveat::Lost { topic: "perf".to_owned(), acknowledged: 1_000, growth: 990 };
    let lost = ScopedCaveat { scope: Scope::Run, ..caveat(1, Severity::Invalid, lost) };
    let judgement = Judgement { caveats: vec![lost], ..Judgement::default() };
    assert_eq!(of_stored_runs(&judgement), RunAnswer::Invalid);
    let labels = ["a.kdyno", "b.kdyno"].map(str::to_owned);
    let stored = StoredComparison { judgement: &judgement, first: &run.input(), labels };
    let text = stored.text(&WIDE);
    assert!(text.starts_with("DATA LOSS: 10 of 1,000 acknowledged records are not in the log"), "{text}");
    assert_eq!(text.matches("acknowledged records are not in the log").count(), 1, "{text}");
    assert!(stored.markdown().contains("\n- **data loss**: 10 of 1,000"), "{}", stored.markdown());
}
