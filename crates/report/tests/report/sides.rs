//! Figures of a comparison are shown with their side, both sides.

use crate::fixture::{ComparisonEnd, RunFixture, caveat, comparison, finding, run};
use kdyno_model::caveat::{Caveat, Severity};
use kdyno_model::conclusion::{Conclusion, MetricRole, Verdict};
use kdyno_model::finding::{Finding, Interval, Quantity, Scope, Value};
use kdyno_model::outcome::Judgement;
use kdyno_model::plan::{Depth, ParamValue, Strategy};
use kdyno_model::trial::TrialId;
use kdyno_report::course::{self, CourseRun};
use kdyno_report::stored::StoredComparison;
use kdyno_report::terminal::TextOptions;
use kdyno_report::{csv, json};

const WIDE: TextOptions = TextOptions { width: 200, colour: false };
const RATE: &str = "writers.acked_per_s";

/// A comparison with a trial of each side, that of B the first one, and one figure of each side.
fn both_sides() -> RunFixture {
    let mut run = comparison(ComparisonEnd::Alike, Depth::Verdict);
    let mut b = run.trials[0].clone();
    (b.trial.id, b.trial.variant) = (TrialId(2), Some("B".to_owned()));
    b.cluster.insert("kafka".to_owned(), "4.3.1".to_owned());
    run.trials.insert(0, b);
    let Strategy::Compare(compare) = &mut run.header.plan.strategy else { panic!("a comparison") };
    compare.b[0].params.insert("proxy".to_owned(), ParamValue::Text("envoy".to_owned()));
    // Findings of B first: the order of the rows does not come from that of the findings.
    run.findings = vec![
        finding(Scope::SideB { case: 0 }, RATE, Value::Is(51_000.0)),
        finding(Scope::Case(0), RATE, Value::Is(50_000.0)),
        finding(Scope::Trial(TrialId(2)), RATE, Value::Is(51_000.0)),
    ];
    run
}

#[test]
fn a_course_has_a_row_for_each_side_with_its_name_and_version() {
    let run = both_sides();
    let of = finding(Scope::Run, RATE, Value::None).of;
    let runs = [CourseRun { file: "a.kdyno".to_owned(), input: run.input() }];
    let course = course::table(&of, &runs);
    let text = course.text(&WIDE);
    assert!(text.starts_with("writers.acked_per_s over 1 run\n"), "{text}");
    let rows: Vec<Vec<&str>> = text.lines().skip(2).map(|line| line.split("  ").collect()).collect();
    let has = |row: usize, cells: [&str; 3]| {
        cells.iter().all(|cell| rows[row].iter().any(|text| text.trim() == *cell))
    };
    assert!(has(0, ["3.7.2", "A: kafka=3.7.2", "50,000/s"]), "{text}");
    assert!(has(1, ["4.3.1", "B: kafka=4.3.1", "51,000/s"]), "{text}");
    let document = course.json();
    let reported = |row: usize| {
        ["side", "kafka", "label"].map(|field| document[row][field].as_str().unwrap_or_default().to_owned())
    };
    assert_eq!((document[0]["value"].as_f64(), reported(0)[0].as_str()), (Some(50_000.0), "A"));
    assert_eq!(reported(1), ["B", "4.3.1", "B: kafka=4.3.1"]);
}

#[test]
fn a_course_marks_what_was_cut_short() {
    let mut run = both_sides();
    let cut =
        Caveat::CutShort { reason: "a broker died".to_owned(), measured_s: 7, planned_s: 60, went_on: false };
    run.caveats.push(caveat(2, Severity::Warning, cut));
    let of = finding(Scope::Run, RATE, Value::None).of;
    let course = course::table(&of, &[CourseRun { file: "a.kdyno".to_owned(), input: run.input() }]);
    let text = course.text(&WIDE);
    let marked: Vec<&str> = text.lines().filter(|line| line.starts_with("* 20")).collect();
    assert!(marked.len() == 1 && marked[0].contains("B: kafka=4.3.1"), "{text}");
    assert!(text.contains("* cut short: these figures cover only the part"), "{text}");
    let document = course.json();
    assert_eq!([0, 1].map(|row| document[row]["cut_short"].as_bool()), [Some(false), Some(true)]);
}

#[test]
fn csv_has_the_verdict_and_the_interval_that_judges_equivalence() {
    let mut run = both_sides();
    let Some(Conclusion::Verdict(verdict)) = run.conclusions.first().cloned() else { panic!("a verdict") };
    let Some(Interval::Bounds { low, high, .. }) = verdict.equivalence_interval else { panic!("bounds") };
    let quantity = Quantity::RatioBToA;
    run.findings
        .push(Finding { quantity, ..finding(verdict.scope, &verdict.of.to_string(), Value::Is(1.0)) });
    let text = csv::findings(&run.input());
    let judged: Vec<&str> = text.lines().filter(|line| line.contains(",ratio_b_to_a,")).collect();
    assert!(judged.len() == 1 && judged[0].ends_with(&format!(",equivalent,{low},{high},")), "{text}");
    assert!(
        text.lines()
            .skip(1)
            .filter(|line| !line.contains(",ratio_b_to_a,"))
            .all(|line| line.ends_with(",,,false"))
    );
}

#[test]
fn a_course_of_cases_without_sides_names_none() {
    let run = run();
    let of = finding(Scope::Run, RATE, Value::None).of;
    let course = course::table(&of, &[CourseRun { file: "a.kdyno".to_owned(), input: run.input() }]);
    let document = course.json();
    assert!(document[0]["side"].is_null() && document[0]["label"] == "brokers=3", "{document}");
    assert_eq!(document[0]["kafka"], "3.7.2");
}

#[test]
fn documents_have_the_side_of_each_figure_in_a_field() {
    let run = both_sides();
    let text = csv::findings(&run.input());
    let head: Vec<&str> = text.lines().next().expect("a head").split(',').collect();
    let fields: Vec<Vec<&str>> = text.lines().skip(1).map(|line| line.split(',').collect()).collect();
    let of = |row: usize, name: &str| {
        fields[row][head.iter().position(|one| *one == name).expect("a column")].to_owned()
    };
    let reported = |row| ["scope", "case", "side", "label", "param.proxy", "value"].map(|name| of(row, name));
    assert_eq!(reported(0), ["case", "0", "B", "B: kafka=4.3.1", "envoy", "51000"]);
    assert_eq!(reported(1), ["case", "0", "A", "A: kafka=3.7.2", "none", "50000"]);
    assert_eq!((of(2, "scope"), of(2, "side")), ("trial".to_owned(), "B".to_owned()));

    let document = json::run(&run.input());
    let scope = |row: usize| document["findings"][row]["scope"].clone();
    assert_eq!((&scope(0)["kind"], &scope(0)["side"]), (&"case".into(), &"B".into()));
    assert_eq!((&scope(1)["kind"], &scope(1)["side"]), (&"case".into(), &"A".into()));
    assert_eq!(scope(2)["side"], "B");
    let of_list = json::run(&crate::fixture::run().input());
    assert!(of_list["findings"].as_array().expect("a list").iter().all(|one| one["scope"]["side"].is_null()));
}

#[test]
fn stored_runs_that_compare_two_sides_have_a_table_for_each() {
    let run = both_sides();
    let Some(Conclusion::Verdict(first)) = run.conclusions.first() else { panic!("a verdict") };
    let of_scope = |scope, a| {
        let (role, a) = (MetricRole::Exploratory, Value::Is(a));
        Conclusion::Verdict(Verdict { scope, role, a, ..first.clone() })
    };
    let conclusions = vec![of_scope(Scope::Case(0), 6.25), of_scope(Scope::SideB { case: 0 }, 7.5)];
    let judgement = Judgement { conclusions, ..Judgement::default() };
    let labels = ["a.kdyno", "b.kdyno"].map(str::to_owned);
    let stored = StoredComparison { judgement: &judgement, first: &run.input(), labels };
    for text in [stored.text(&WIDE), stored.markdown()] {
        let place = |what: &str| text.find(what).unwrap_or_else(|| panic!("no {what}: {text}"));
        let of_a = place("side A of the runs, kafka=3.7.2");
        let of_b = place("side B of the runs, kafka=4.3.1");
        assert!(of_a < place("6.25 µs") && place("6.25 µs") < of_b && of_b < place("7.50 µs"), "{text}");
    }
    let document = stored.json();
    let side = |row: usize| document["conclusions"][row]["scope"]["side"].clone();
    assert_eq!((side(0), side(1)), ("A".into(), "B".into()));
}
