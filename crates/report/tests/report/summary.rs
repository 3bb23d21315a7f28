//! The result in short, as it is at the end of a run.

use crate::answers::with_claims;
use crate::fixture::{ComparisonEnd, RunFixture, caveat, comparison, run, search};
use kdyno_model::caveat::{Caveat, PairsTied, ScopedCaveat, Severity};
use kdyno_model::conclusion::{Conclusion, SearchOutcome, SearchResult, Verdict};
use kdyno_model::finding::{Finding, Scope, Value};
use kdyno_model::metric::Address;
use kdyno_model::plan::{CasePlan, Depth, PairDesign, ParamValue, Strategy};
use kdyno_model::trial::TrialId;
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

/// Caveats of lost pairs, of other programs, and of brokers that waited, with long reasons.
fn disturb(run: &mut RunFixture) {
    let first = "pair 1: writers.response.p99 of trial 2 is invalid, since the load generator was late for most of it";
    let tied = PairsTied { metric: "writers.response.p99".to_owned(), pairs: 2, first: first.to_owned() };
    let lost = Caveat::PairsLost { pairs: 3, first: first.to_owned(), likewise: 2, ended_after: Some(5) };
    let scope = Scope::Comparison { case: 0 };
    let of_case = |one| ScopedCaveat { scope, ..caveat(1, Severity::Warning, one) };
    run.caveats.extend([lost, Caveat::PairsTied(tied)].map(of_case));
    let other_run =
        "run 0123456789abcdef of another user measured a cluster of five brokers for all of the window";
    let of_trial = [
        Caveat::OtherLoad { cpu_percent: 97.0 },
        Caveat::HostShared { detail: other_run.to_owned() },
        Caveat::Steal { share: 0.2 },
        Caveat::WaitedForProcessor { who: "brokers".to_owned(), share: 1.3, share_of_ready: Some(0.6) },
    ];
    run.caveats.extend(of_trial.map(|one| caveat(1, Severity::Warning, one)));
}

/// A comparison of two cases whose sides ran at once, with a dozen judged metrics each.
fn of_many_verdicts(ends: ComparisonEnd) -> RunFixture {
    let mut run = comparison(ends, Depth::Verdict);
    let plan = &mut run.header.plan;
    let [mut first, mut second] = [plan.cases[0].clone(), plan.cases[0].clone()];
    (first.label, second.label) = ("size=1 KiB, idempotence=true".to_owned(), "size=10 KiB".to_owned());
    plan.cases = vec![first, second];
    let Strategy::Compare(compare) = &mut plan.strategy else { panic!("a comparison") };
    (compare.design, compare.b) = (PairDesign::Duet, plan.cases.clone());
    let of_first = |one: &Conclusion| match one {
        Conclusion::Verdict(of) => Some(of.clone()),
        _ => None,
    };
    let verdict = run.conclusions.iter().find_map(of_first).expect("a verdict");
    for case in 0..2 {
        for quantile in ["p50", "p75", "p90", "p99", "p99.9", "max"] {
            for timing in ["response", "service"] {
                let of = Address::parse(&format!("writers.{timing}.{quantile}")).expect("a metric");
                let scope = Scope::Comparison { case };
                run.conclusions.push(Conclusion::Verdict(Verdict { scope, of, ..verdict.clone() }));
            }
        }
    }
    run
}

/// A search with a point for each of many loads, or such a search for each of several cases.
fn of_many_loads(cases: u32) -> RunFixture {
    let mut run = search(SearchOutcome::Confirmed { load_per_s: 92_000.0 });
    let of_search = |one: &Conclusion| match one {
        Conclusion::Search(of) => Some(of.clone()),
        _ => None,
    };
    let mut found = run.conclusions.iter().find_map(of_search).expect("a search");
    found.points.extend_from_within(..);
    run.conclusions.retain(|one| of_search(one).is_none());
    let case = run.header.plan.cases[0].clone();
    run.header.plan.cases.clear();
    for number in 0..cases {
        let label = if cases > 1 { format!("brokers={}", number + 3) } else { String::new() };
        run.header.plan.cases.push(CasePlan { label, ..case.clone() });
        let scope = Scope::Search { case: number };
        run.conclusions.push(Conclusion::Search(SearchResult { scope, ..found.clone() }));
    }
    run
}

/// The run with a trial each of so many cases.
fn of_many_cases(cases: u32) -> RunFixture {
    let mut run = run();
    run.header.plan.published = None;
    let (start, case) = (run.trials[0].clone(), run.header.plan.cases[0].clone());
    let figures = run.findings.clone();
    for number in 2..cases {
        let mut case = case.clone();
        case.label = format!("brokers={number}");
        case.params.insert("brokers".to_owned(), ParamValue::Int(i64::from(number)));
        run.header.plan.cases.push(case);
        let mut next = start.clone();
        (next.trial.id, next.trial.case) = (TrialId(100 + number), number);
        let of_trial = |one: &Finding| match one.scope {
            scope if scope == Scope::Trial(start.trial.id) => {
                Some(Finding { scope: Scope::Trial(next.trial.id), ..one.clone() })
            }
            Scope::Case(0) => Some(Finding { scope: Scope::Case(number), ..one.clone() }),
            _ => None,
        };
        run.findings.extend(figures.iter().filter_map(of_trial));
        run.trials.push(next);
    }
    run
}

/// Without a table, so that the first screen has a row for each load item of each trial.
fn without_columns(mut run: RunFixture) -> RunFixture {
    run.header.plan.show.columns.clear();
    run
}

/// At 100 columns, as most terminals have at least.
#[test]
fn every_first_screen_fits_40_lines() {
    use ComparisonEnd::{Alike, Better, Invalid, Maybe, Open, Worse};
    let options = TextOptions { width: 100, colour: false };
    let confirmed = SearchOutcome::Confirmed { load_per_s: 92_000.0 };
    let lossy = || {
        let mut run = run();
        let lost = Caveat::Lost { topic: "perf".to_owned(), acknowledged: 1_000, growth: 990 };
        run.caveats.push(caveat(1, Severity::Invalid, lost));
        run
    };
    let plain = [
        run(),
        lossy(),
        with_claims(),
        search(confirmed),
        of_many_loads(1),
        of_many_loads(7),
        of_many_cases(40),
        without_columns(run()),
        without_columns(of_many_cases(40)),
        comparison(ComparisonEnd::Open, Depth::Quick),
    ];
    let ends = [Worse, Better, Alike, Maybe, Open, Invalid];
    let compared = ends.map(|ends| comparison(ends, Depth::Verdict));
    let disturbed = ends.map(|ends| [comparison(ends, Depth::Verdict), of_many_verdicts(ends)]);
    let disturbed = disturbed.into_iter().flatten().map(|mut run| {
        disturb(&mut run);
        run
    });
    for run in plain.into_iter().chain(compared).chain(disturbed) {
        let text = run_summary(&run.input(), &options);
        assert!(text.lines().count() <= 40, "{} lines: {text}", text.lines().count());
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
        let caveats = text.lines().filter(|line| line.starts_with("! ") || line.starts_with("INVALID "));
        assert!(caveats.count() <= 4, "three, and what the mark \"!\" means: {text}");
    }
}

#[test]
fn a_comparisons_caveats_are_a_line_each() {
    let mut run = of_many_verdicts(ComparisonEnd::Worse);
    disturb(&mut run);
    let text = run_summary(&run.input(), &TextOptions { width: 100, colour: false });
    assert!(!text.contains("both sides waited") && !text.contains("before its last look"), "{text}");
    assert!(text.contains("\n! ") && text.contains("more (`--details`)"), "{text}");
    let details = run_table(&run.input(), &OPTIONS).replace("\n  ", " ");
    for whole in
        ["waited for a CPU on one side alone", "before its last look", "Ties in writers.response.p99"]
    {
        assert!(details.contains(whole), "{whole}: {details}");
    }
}

#[test]
fn rows_that_do_not_fit_are_counted() {
    let text = run_summary(&of_many_cases(40).input(), &OPTIONS);
    assert!(text.contains(" more cases: `--details`.") && text.contains("\nnone "), "{text}");
    let text = run_summary(&of_many_verdicts(ComparisonEnd::Worse).input(), &OPTIONS);
    assert!(
        text.contains("size=1 KiB, idempotence=true\n") && text.contains(" more rows: `--details`."),
        "{text}"
    );
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
fn a_ratio_of_pairs_that_is_not_that_of_medians_is_called_so() {
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
