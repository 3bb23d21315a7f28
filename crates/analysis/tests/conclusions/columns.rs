//! Ratios of rows with intervals, and which rows differ in a column.

use crate::fixture::{RATE, RunFixture, address, invalid, plan};
use kdyno_model::caveat::Concern;
use kdyno_model::conclusion::{Conclusion, DistinctRows, of_kind};
use kdyno_model::finding::{Finding, Interval, IntervalMethod, Mark, NotResolvable, Quantity, Scope, Value};
use kdyno_model::plan::{ParamValue, Published, PublishedRow};
use kdyno_model::trial::{SearchStage, TrialReason};
use std::collections::BTreeMap;

fn distinguished(run: &RunFixture, cases: usize) -> Vec<DistinctRows> {
    of_kind(&run.judged(&plan(cases, &[RATE])).conclusions).cloned().collect()
}

fn ratios(run: &RunFixture, cases: usize) -> Vec<Finding> {
    let mut found = run.judged(&plan(cases, &[RATE])).findings;
    found.retain(|finding| finding.quantity == Quantity::RatioToFirstRow);
    found
}

fn reported(differ: &[u32], same: &[u32], why_not: Option<&str>) -> Vec<DistinctRows> {
    distinguished_from(0, differ, same, why_not)
}

fn distinguished_from(base: u32, differ: &[u32], same: &[u32], why_not: Option<&str>) -> Vec<DistinctRows> {
    let why_not = why_not.map(str::to_owned);
    vec![DistinctRows { of: address(RATE), base, differ: differ.into(), same: same.into(), why_not }]
}

#[test]
fn numbers_of_clients_and_how_far_they_overlap_have_no_ratio() {
    let of = |metric: &str| {
        let mut run = RunFixture::default();
        run.repeats(metric, &[&[6.0, 6.0, 6.0, 6.0], &[9.0, 9.0, 9.0, 9.0]]);
        let found = run.judged(&plan(2, &[metric])).findings;
        found.iter().filter(|finding| finding.quantity == Quantity::RatioToFirstRow).count()
    };
    let asked = ["writers.clients", "writers.clients_overlap_share", RATE];
    assert_eq!(asked.map(of), [0, 0, 2]);
}

#[test]
fn rows_are_distinguished_by_pairs_of_repeats() {
    let mut run = RunFixture::default();
    // The machine gets slower from repeat to repeat; the second row is always 20 % above, the third is alike.
    run.repeats(RATE, &[&[100.0, 80.0, 60.0, 40.0], &[120.0, 97.0, 72.0, 48.0], &[101.0, 79.0, 61.0, 39.5]]);
    assert_eq!(distinguished(&run, 3), reported(&[1], &[2], None));
    let ratios = ratios(&run, 3);
    let scopes: Vec<Scope> = ratios.iter().map(|ratio| ratio.scope).collect();
    assert_eq!(scopes, [0, 1, 2].map(Scope::Case));
    assert_eq!(ratios[0].estimate, Value::Is(1.0));
    let Interval::Bounds { low, high, level, method } = ratios[1].interval else { panic!("{ratios:?}") };
    assert_eq!((level, method, ratios[1].n), (0.95, IntervalMethod::StudentT, 4));
    assert!(1.18 < low && low < 1.2 && 1.2 < high && high < 1.23, "{low} {high}");
}

#[test]
fn the_more_rows_the_more_it_takes() {
    // Differences of ln with t of 3 degrees at p = 0.03: enough for one other row, not for two.
    let slightly = [104.0, 103.0, 101.0, 101.6];
    let mut run = RunFixture::default();
    run.repeats(RATE, &[&[100.0; 4], &slightly]);
    assert_eq!(distinguished(&run, 2), reported(&[1], &[], None));
    let mut run = RunFixture::default();
    run.repeats(RATE, &[&[100.0; 4], &slightly, &[100.0, 101.0, 99.0, 100.0]]);
    assert_eq!(distinguished(&run, 3), reported(&[], &[1, 2], None));
}

#[test]
fn one_trial_or_two_tell_nothing() {
    let mut run = RunFixture::default();
    run.repeats(RATE, &[&[100.0], &[200.0]]);
    assert_eq!(
        distinguished(&run, 2),
        reported(&[], &[], Some("one trial per case, so run-to-run variation is unknown (set `repeat: 6`)"))
    );
    assert_eq!(ratios(&run, 2)[1].interval, Interval::NotResolvable(NotResolvable::OneTrial));
    let mut run = RunFixture::default();
    run.repeats(RATE, &[&[100.0, 100.0], &[200.0, 201.0]]);
    assert_eq!(distinguished(&run, 2), reported(&[], &[], Some("2 trials each are too few, 3 are needed")));
    // A single row has nothing to differ from.
    let mut run = RunFixture::default();
    run.repeats(RATE, &[&[100.0, 100.0]]);
    assert_eq!((distinguished(&run, 1), ratios(&run, 1)), (vec![], vec![]));
}

#[test]
fn figures_that_must_not_be_used_are_not_compared() {
    let mut run = RunFixture::default();
    run.repeats(RATE, &[&[100.0; 4], &[200.0, 201.0, 202.0, 5.0]]);
    invalid(run.outcomes.last_mut().unwrap(), Concern::Everything);
    assert_eq!(distinguished(&run, 2), reported(&[1], &[], None));
    let ratio = ratios(&run, 2).remove(1);
    assert_eq!((ratio.n, ratio.is_invalid()), (3, true), "of the repeats that are left, and marked");
    for outcome in &mut run.outcomes[4..] {
        invalid(outcome, Concern::Everything);
    }
    assert_eq!(
        (distinguished(&run, 2), ratios(&run, 2)),
        (vec![], vec![]),
        "nothing is left of the second row"
    );
    // What is only known to be "at least" something has no logarithm.
    let mut run = RunFixture::default();
    run.repeats(RATE, &[&[100.0; 3], &[200.0, 201.0, 202.0]]);
    run.outcomes[5].findings[0].estimate = Value::AtLeast(300.0);
    assert_eq!(ratios(&run, 2)[1].interval, Interval::NotResolvable(NotResolvable::Censored));
    let why =
        "of some figures only a lower bound is known (records without an outcome, or a queue), or they are 0";
    assert_eq!(distinguished(&run, 2), reported(&[], &[], Some(why)));
}

#[test]
fn rows_are_compared_with_the_row_that_their_ratios_are_to() {
    // The first row has no figure that may be used.
    let mut run = RunFixture::default();
    run.repeats(RATE, &[&[1.0; 3], &[100.0; 3], &[200.0, 201.0, 202.0], &[100.0, 101.0, 99.0]]);
    for outcome in &mut run.outcomes[..3] {
        invalid(outcome, Concern::Everything);
    }
    assert_eq!(distinguished(&run, 4), distinguished_from(1, &[2], &[3], None));
    assert_eq!((ratios(&run, 4)[0].scope, ratios(&run, 4)[0].estimate), (Scope::Case(1), Value::Is(1.0)));
    // Next to published figures it is the first one that has both.
    let mut plan = plan(3, &[RATE]);
    let brokers = |brokers: i64| BTreeMap::from([("brokers".to_owned(), ParamValue::Int(brokers))]);
    for (case, number) in plan.cases.iter_mut().zip([1, 3, 5]) {
        case.params = brokers(number);
    }
    let row = |number: i64, value| PublishedRow {
        params: BTreeMap::from([("brokers".to_owned(), ParamValue::Text(number.to_string()))]),
        values: BTreeMap::from([(RATE.to_owned(), value)]),
    };
    let text = String::new;
    plan.published = Some(Published {
        title: text(),
        date: text(),
        hardware: text(),
        definition: text(),
        rows: vec![row(1, None), row(3, Some(10.0)), row(5, Some(20.0))],
    });
    let mut run = RunFixture::default();
    run.repeats(RATE, &[&[50.0, 51.0, 52.0], &[100.0; 3], &[100.0, 101.0, 99.0]]);
    let found = run.judged(&plan).conclusions;
    assert_eq!(
        found,
        distinguished_from(1, &[0], &[2], None).into_iter().map(Conclusion::ToldApart).collect::<Vec<_>>()
    );
}

#[test]
fn trials_of_a_search_are_no_repeats_of_a_case() {
    let mut run = RunFixture::default();
    run.repeats(RATE, &[&[100.0, 200.0, 400.0]]);
    run.outcomes[2].trial.reason = TrialReason::Search { stage: SearchStage::Ramp, load_per_s: 400.0 };
    run.outcomes[1].trial.reason = TrialReason::Conditioning;
    let of_case = run.judged(&plan(1, &[RATE])).findings.remove(0);
    assert_eq!((of_case.estimate, of_case.n), (Value::Is(100.0), 1));
}

#[test]
fn marks_of_either_row_are_next_to_the_ratio() {
    let mut run = RunFixture::default();
    run.repeats(RATE, &[&[100.0; 3], &[200.0, 201.0, 202.0]]);
    run.outcomes[1].findings[0].marks.insert(Mark::Drifting);
    run.outcomes[4].findings[0].marks.insert(Mark::SeveralLevels);
    let marks = |case: usize| ratios(&run, 2)[case].marks.iter().copied().collect::<Vec<_>>();
    assert_eq!((marks(0), marks(1)), (vec![Mark::Drifting], vec![Mark::Drifting, Mark::SeveralLevels]));
    let of_case = run.judged(&plan(2, &[RATE])).findings.remove(0);
    assert_eq!(of_case.marks.into_iter().collect::<Vec<_>>(), [Mark::Drifting]);
}
