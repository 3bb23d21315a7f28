//! Reports as text.

use crate::fixture::{finding, plan, run, trial};
use kdyno_model::finding::{Caveat, Severity, Value};
use kdyno_model::plan::{Estimate, Plan, Role};
use kdyno_model::sample::Phase;
use kdyno_report::terminal::{
    LiveState, PlanDetail, TextOptions, live_line, plan_text, run_table, trial_summary,
};

const WIDE: TextOptions = TextOptions { width: 160, colour: false };
/// Of the fixture's plan.
const ESTIMATE: Estimate =
    Estimate { expected_ns: 180_000_000_000, load_ns: 140_000_000_000, disk_bytes: Some(3_225_600_000) };
const NARROW: TextOptions = TextOptions { width: 80, colour: false };

#[test]
fn a_run_at_160_columns() {
    let run = run();
    insta::assert_snapshot!(run_table(&run.header.plan, &run.findings, &run.caveats, &WIDE));
}

#[test]
fn the_same_at_80_columns() {
    let run = run();
    insta::assert_snapshot!(run_table(&run.header.plan, &run.findings, &run.caveats, &NARROW));
}

#[test]
fn no_line_overflows_at_any_width() {
    let run = run();
    for width in 80..=200 {
        let options = TextOptions { width, colour: false };
        let text = run_table(&run.header.plan, &run.findings, &run.caveats, &options)
            + &plan_text(&run.header.plan, &ESTIMATE, PlanDetail::Full, &options)
            + &plan_text(&run.header.plan, &ESTIMATE, PlanDetail::Short, &options);
        for line in text.lines() {
            assert!(line.chars().count() <= width, "at {width}: {line}");
        }
    }
}

#[test]
fn caveats_stand_before_every_figure() {
    let run = run();
    let text = run_table(&run.header.plan, &run.findings, &run.caveats, &WIDE);
    let caveat = text.find("below 99.5 %").expect("the caveat");
    let figure = text.find("/s").expect("a rate");
    assert!(caveat < figure, "{text}");
}

/// One trial without published figures: the shape of a first run.
fn one_trial() -> Plan {
    let mut plan = plan();
    plan.cases.truncate(1);
    plan.cases[0].label.clear();
    plan.order = vec![trial(0, 0)];
    plan.published = None;
    plan.changed.clear();
    plan
}

#[test]
fn one_case_has_neither_labels_nor_published_columns() {
    let plan = one_trial();
    let findings: Vec<_> = run().findings.into_iter().filter(|f| f.trial == trial(0, 0)).collect();
    let caveats = [(trial(0, 0), Severity::Warning, Caveat::SharedProcessors { processors: 2 })];
    insta::assert_snapshot!(run_table(&plan, &findings, &caveats, &NARROW));
}

#[test]
fn a_run_without_any_finding_says_so() {
    let text = run_table(&plan(), &[], &[], &WIDE);
    assert!(text.contains("4 of 4 trials have no figures"), "{text}");
    assert!(!text.contains("Produce:"), "{text}");
}

#[test]
fn an_invalid_repeat_does_not_count_when_another_is_valid() {
    let plan = plan();
    let findings = [
        finding(trial(0, 0), "writers.acked_per_s", Value::Is(100.0)),
        finding(trial(0, 1), "writers.acked_per_s", Value::Is(900.0)),
    ];
    let broken = Caveat::AccountingBroken { item: "writers".to_owned(), difference: 7 };
    let text = run_table(&plan, &findings, &[(trial(0, 1), Severity::Invalid, broken)], &WIDE);
    assert!(text.contains("100/s (1 of 2)"), "{text}");
}

#[test]
fn without_answers_acknowledged_is_explained() {
    let mut plan = one_trial();
    if let Some(Role::Produce(produce)) = plan.cases[0].load.get_mut("writers").map(|load| &mut load.role) {
        produce.client.acks = 0;
    }
    let findings = [finding(trial(0, 0), "writers.acked_per_s", Value::Is(100.0))];
    let text = run_table(&plan, &findings, &[], &WIDE);
    assert!(text.contains("acknowledged then means written to the socket"), "{text}");
}

#[test]
fn text_from_outside_cannot_control_the_terminal() {
    let mut plan = one_trial();
    plan.question = "a \x1b[2J question".to_owned();
    plan.scenario = "evil\x1b]0;x\x07".to_owned();
    let text = run_table(&plan, &[], &[], &TextOptions { width: 100, colour: false });
    assert!(!text.contains('\x1b'), "{text:?}");
}

#[test]
fn a_trial_that_has_just_ended() {
    let run = run();
    insta::assert_snapshot!(trial_summary(&run.header.plan, trial(1, 0), &run.findings, &run.caveats, &WIDE));
}

#[test]
fn a_dry_run() {
    insta::assert_snapshot!(plan_text(&plan(), &ESTIMATE, PlanDetail::Full, &WIDE));
}

#[test]
fn what_is_told_before_a_run_are_lines_of_the_dry_run() {
    let short = plan_text(&plan(), &ESTIMATE, PlanDetail::Short, &WIDE);
    let full = plan_text(&plan(), &ESTIMATE, PlanDetail::Full, &WIDE);
    assert!(short.lines().all(|line| full.lines().any(|other| other == line)), "{short}");
    insta::assert_snapshot!(short);
}

#[test]
fn the_only_case_of_a_plan_has_no_heading() {
    let text = plan_text(&one_trial(), &ESTIMATE, PlanDetail::Full, &WIDE);
    assert!(!text.contains("Case 1") && !text.contains("the case"), "{text}");
}

fn live() -> LiveState {
    LiveState {
        elapsed_ns: 23_000_000_000,
        phase: Phase::Measure,
        trial: 2,
        trials: 4,
        label: "brokers=6".to_owned(),
        offered_per_s: 60_000.0,
        achieved_per_s: 57_400.0,
        acknowledged_per_s: 55_204.0,
        fetched_per_s: Some(55_190.0),
        response_ns_p50: Value::Is(6.1e6),
        response_ns_p99: Value::AtLeast(1.4e9),
        open_records: 8_412,
        failed: 120,
        broker_cpu_percent: Some(143.2),
        worker_cpu_percent: Some(24.0),
        remaining_ns: Some(95_000_000_000),
    }
}

#[test]
fn the_live_line_leaves_out_what_does_not_fit() {
    let at = |width| live_line(&live(), &TextOptions { width, colour: false });
    insta::assert_snapshot!([200, 120, 100, 80, 60].map(at).join("\n"));
    for width in 60..200 {
        assert!(at(width).chars().count() <= width);
    }
}

#[test]
fn the_live_line_of_a_start_states_no_rate() {
    let line = live_line(&LiveState { phase: Phase::Startup, ..live() }, &NARROW);
    assert_eq!(line, "2/4 · brokers=6 · start-up 23 s");
}
