//! Which sides a comparison stops at, and what of a run may be shown.

use super::*;
use kdyno_model::plan::{EvidenceUnit, PairDesign};
use kdyno_plan::{Choices, Next};
use kdyno_scenario::Scenario;

fn plan() -> Plan {
    let text = "kdyno: 1\nid: small\nquestion: How?\nrepeat: 2\nsystem: {kafka: 4.1.1}\n\
                topics: {perf: {partitions: 1}}\nload: {writers: {produce: perf, rate: 1/s, value: 100B}}\n\
                phases: {warmup: 0s, measure: 1s, condition: 1s..5s}\n";
    let scenario = Scenario::parse(text, "test").expect("a scenario");
    kdyno_plan::plan(&scenario, &Choices::default()).expect("a plan")
}

#[test]
fn the_side_that_did_not_start_has_its_name_in_the_comparison() {
    let mut plan = plan();
    let Next::Trial(mut trial) = kdyno_plan::next(&plan, &[], 1) else { panic!("a list has trials") };
    let error = || LabError::Testbed(kdyno_testbed::TestbedError::Guard("no Java".to_owned()));
    assert!(matches!(of_side(&plan, &trial, error()), LabError::Testbed(_)), "there are no sides");
    let labels = ["kafka=3.7.2".to_owned(), "kafka=4.3.1".to_owned()];
    plan.strategy = Strategy::Compare(ComparePlan {
        labels,
        b: Vec::new(),
        judge: Vec::new(),
        looks: vec![8],
        pairs_per_start: 1,
        unit: EvidenceUnit::Start,
        may_differ: Vec::new(),
        changes: Vec::new(),
        design: PairDesign::Turns,
        further: Vec::new(),
    });
    for (side, label) in [("A", "A (kafka=3.7.2)"), ("B", "B (kafka=4.3.1)")] {
        trial.variant = Some(side.to_owned());
        let reported = of_side(&plan, &trial, error());
        assert!(reported.testbed().is_some(), "its logs are kept");
        let words = format!("side {label} of the comparison did not start: ");
        assert!(reported.to_string().starts_with(&words), "{reported}");
    }
}

#[test]
fn what_is_known_before_a_trial_names_no_host() {
    let mut private = Private::default();
    private.add(["b1.corp.example:9092".to_owned()]);
    let detail = "it could not be seen: broker b1.corp.example:9092 refused the connection".to_owned();
    let unsettled = event(EventKind::ClusterUnsettled, Subject::Brokers, detail);
    let kept = without_private(unsettled, &private);
    assert_eq!(kept.detail, "it could not be seen: broker HOST refused the connection");
}

#[test]
fn a_run_that_its_budget_ended_is_not_completed() {
    assert_eq!(status(None, false), RunStatus::Completed);
    assert_eq!(status(None, true), RunStatus::OutOfTime);
    assert_eq!(status(Some(&LabError::Interrupted), true), RunStatus::Interrupted);
}

#[test]
fn trials_that_condition_are_among_those_that_are_counted() {
    assert_eq!(trials_planned(&plan()), Some(3));
}
