//! What the trials of a run say together.

use crate::fixture::{case, plans};
use kdyno_analysis::run::{AnalysedTrial, judge};
use kdyno_model::caveat::{Caveat, Concern, ScopedCaveat, Severity};
use kdyno_model::finding::{Finding, Interval, NotResolvable, Quantity, Scope, Value};
use kdyno_model::metric::{Address, Unit};
use kdyno_model::plan::{Isolation, ListedTrial, ParamValue, Plan, Published, PublishedRow, Strategy};
use kdyno_model::table::TableRow;
use kdyno_model::trial::{Trial, TrialId, TrialReason};
use std::collections::{BTreeMap, BTreeSet};

const RATE: &str = "writers.acked_per_s";
const REACHED: &str = "writers.target_reached";

/// A run of trials with one rate each.
struct RateRun {
    plan: Plan,
    trials: Vec<(Trial, u32, Vec<Finding>, Vec<ScopedCaveat>)>,
}

impl RateRun {
    /// A plan with one case for each number of brokers.
    fn new(brokers: &[i64]) -> Self {
        let cases = brokers.iter().map(|brokers| {
            let mut case = case();
            case.params = params(ParamValue::Int(*brokers));
            case
        });
        let plan = Plan {
            strategy: Strategy::List(vec![ListedTrial { case: 0, repeat: 1 }]),
            isolation: Isolation::Cluster,
            ..plans::plan(cases.collect())
        };
        Self { plan, trials: Vec::new() }
    }

    /// Figures that a source gives, by number of brokers.
    fn publish(&mut self, metric: &str, rows: &[(i64, Option<f64>)]) {
        let text = String::new;
        let rows = rows.iter().map(|(brokers, number)| PublishedRow {
            // As text: it is printed as the case's number is.
            params: params(ParamValue::Text(brokers.to_string())),
            values: BTreeMap::from([(metric.to_owned(), *number)]),
        });
        let published = Published {
            title: text(),
            date: text(),
            hardware: text(),
            definition: text(),
            rows: rows.collect(),
        };
        self.plan.published = Some(published);
    }

    /// A trial of a case in a session, with its rate.
    fn trial(&mut self, case: u32, session: u32, rate: Value) -> TrialId {
        let id = TrialId(u32::try_from(self.trials.len()).unwrap() + 1);
        let before =
            self.trials.iter().filter(|(trial, of, ..)| (trial.case, *of) == (case, session)).count();
        let trial = Trial {
            id,
            case,
            variant: None,
            pair: None,
            repeat: u32::try_from(before).unwrap() + 1,
            start: 1,
            label: String::new(),
            reason: TrialReason::Listed { of: 1 },
            seed: 1,
            effective: self.plan.cases[case as usize].clone(),
        };
        let stated = [(RATE, Unit::RecordsPerS, rate), (REACHED, Unit::YesNo, Value::Is(1.0))];
        let stated = stated.map(|(name, unit, estimate)| Finding {
            scope: Scope::Trial(id),
            of: Address::parse(name).unwrap(),
            quantity: Quantity::Value,
            unit,
            estimate,
            n: 1,
            range: None,
            interval: Interval::NotResolvable(NotResolvable::OneTrial),
            marks: BTreeSet::new(),
        });
        self.trials.push((trial, session, stated.into(), Vec::new()));
        id
    }

    fn make_invalid(&mut self, id: TrialId) {
        let caveat = Caveat::AccountingBroken { item: "writers".into(), difference: 1 };
        let caveat = ScopedCaveat {
            scope: Scope::Trial(id),
            severity: Severity::Invalid,
            concerns: Concern::Everything,
            caveat,
        };
        self.trials[id.0 as usize - 1].3.push(caveat);
    }

    fn findings(&self) -> Vec<Finding> {
        let trials = self.trials.iter().map(|(trial, session, findings, caveats)| AnalysedTrial {
            trial,
            session: *session,
            findings,
            caveats,
            conclusions: &[],
        });
        let trials: Vec<_> = trials.collect();
        let found = judge(&self.plan, &trials, &[], &[], false);
        assert_eq!(found, judge(&self.plan, &trials, &[], &[], false), "the same trials, the same findings");
        found.findings
    }

    /// The rate's finding of a case.
    fn of_case(&self, case: u32) -> Option<Finding> {
        let mut found = self.findings();
        found.retain(|finding| {
            (finding.scope, finding.quantity) == (Scope::Case(case), Quantity::Value)
                && finding.of.to_string() == RATE
        });
        assert!(found.len() <= 1, "{found:?}");
        found.pop()
    }

    /// Every ratio, with what it speaks of.
    fn ratios(&self) -> Vec<(Scope, f64)> {
        let found = self.findings().into_iter().filter(|found| found.quantity == Quantity::RatioToFirstRow);
        found
            .map(|found| {
                assert_eq!(found.unit, Unit::Ratio);
                assert!(matches!(found.interval, Interval::NotResolvable(_)), "{found:?}");
                match found.estimate {
                    // Exact but for the way through logarithms.
                    Value::Is(ratio) => (found.scope, (ratio * 1e12).round() / 1e12),
                    other => panic!("{other:?}"),
                }
            })
            .collect()
    }
}

fn params(brokers: ParamValue) -> BTreeMap<String, ParamValue> {
    BTreeMap::from([("brokers".to_owned(), brokers)])
}

#[test]
fn a_case_is_the_median_of_its_trials_with_all_their_metrics() {
    let mut run = RateRun::new(&[1, 3]);
    for rate in [300.0, 100.0, 200.0] {
        run.trial(0, 1, Value::Is(rate));
    }
    let rate = run.of_case(0).unwrap();
    assert_eq!((rate.estimate, rate.n, rate.unit), (Value::Is(200.0), 3, Unit::RecordsPerS));
    assert_eq!(rate.range, Some((Value::Is(100.0), Value::Is(300.0))));
    assert_eq!(rate.interval, Interval::NotResolvable(NotResolvable::TooFewTrials { needed: 6 }));
    assert!(!rate.is_invalid());
    let metrics: Vec<_> = run.findings().into_iter().map(|finding| finding.of.to_string()).collect();
    assert_eq!(metrics, [RATE, REACHED], "the case that had no trial states nothing");
}

#[test]
fn six_trials_have_an_interval() {
    let mut run = RateRun::new(&[1]);
    for rate in [6.0, 2.0, 5.0, 3.0, 1.0, 4.0] {
        run.trial(0, 1, Value::Is(rate));
    }
    let Interval::Bounds { low, high, level, .. } = run.of_case(0).unwrap().interval else {
        panic!("{:?}", run.of_case(0))
    };
    assert_eq!((low, high), (1.0, 6.0));
    assert!((level - 31.0 / 32.0).abs() < 1e-12, "{level}");
}

#[test]
fn a_metric_that_no_trial_has_is_stated_without_a_value() {
    let mut run = RateRun::new(&[1]);
    run.trial(0, 1, Value::None);
    let rate = run.of_case(0).unwrap();
    assert_eq!((rate.estimate, rate.n, rate.range), (Value::None, 0, None));
    assert_eq!(rate.interval, Interval::NotResolvable(NotResolvable::NoValue));
    run.trial(0, 1, Value::Is(5.0));
    let rate = run.of_case(0).unwrap();
    assert_eq!((rate.estimate, rate.n), (Value::Is(5.0), 1));
    assert_eq!(rate.interval, Interval::NotResolvable(NotResolvable::OneTrial));
}

#[test]
fn invalid_trials_count_only_where_all_are_and_leave_a_mark() {
    let mut run = RateRun::new(&[1]);
    let first = run.trial(0, 1, Value::Is(900.0));
    run.make_invalid(first);
    let rate = run.of_case(0).unwrap();
    assert_eq!((rate.estimate, rate.n, rate.is_invalid()), (Value::Is(900.0), 1, true));
    run.trial(0, 1, Value::Is(100.0));
    let rate = run.of_case(0).unwrap();
    assert_eq!((rate.estimate, rate.n, rate.is_invalid()), (Value::Is(100.0), 1, true));
}

#[test]
fn a_cases_figures_come_from_one_session() {
    let mut run = RateRun::new(&[1]);
    for (session, rate) in [(1, 1.0), (1, 2.0), (2, 50.0)] {
        run.trial(0, session, Value::Is(rate));
    }
    assert_eq!(run.of_case(0).unwrap().estimate, Value::Is(1.5), "most of its trials ran in the first");
    run.trial(0, 2, Value::Is(60.0));
    let rate = run.of_case(0).unwrap();
    assert_eq!((rate.estimate, rate.n), (Value::Is(55.0), 2), "of as many the newest");
}

#[test]
fn rows_follow_the_source_after_what_it_does_not_have() {
    let mut run = RateRun::new(&[3, 7, 1]);
    run.publish(RATE, &[(1, Some(10.0)), (2, None), (3, Some(30.0))]);
    let row = |case, published| TableRow { case, published };
    assert_eq!(
        run.plan.table_rows(),
        [row(Some(1), None), row(Some(2), Some(0)), row(None, Some(1)), row(Some(0), Some(2))]
    );
    // A row that names more of the case's parameters fits better; of equal ones the first is taken.
    let published = run.plan.published.as_mut().unwrap();
    published.rows[0].params.clear();
    let again = published.rows[2].clone();
    published.rows.push(again);
    let matched = |case: usize| run.plan.published.as_ref().unwrap().row_of(&run.plan.cases[case]);
    assert_eq!((matched(0), matched(1), matched(2)), (Some(2), Some(0), Some(0)));
}

#[test]
fn ratios_are_to_the_first_row_that_has_both_figures() {
    let mut run = RateRun::new(&[1, 3, 5, 7]);
    run.publish(RATE, &[(1, None), (3, Some(10.0)), (4, Some(25.0)), (5, Some(20.0))]);
    for (case, rate) in [(0, 50.0), (1, 100.0), (2, 300.0), (3, 40.0)] {
        run.trial(case, 1, Value::Is(rate));
    }
    assert_eq!(
        run.ratios(),
        [
            // In the order of the table: what was not published first.
            (Scope::Case(3), 0.4),
            (Scope::Case(0), 0.5),
            (Scope::Case(1), 1.0),
            (Scope::Case(2), 3.0),
            (Scope::PublishedRow(1), 1.0),
            (Scope::PublishedRow(2), 2.5),
            (Scope::PublishedRow(3), 2.0),
        ]
    );
}

#[test]
fn a_ratio_is_of_the_repeats_that_both_rows_have() {
    let mut run = RateRun::new(&[1, 3]);
    run.publish(RATE, &[(1, Some(10.0)), (3, Some(20.0))]);
    for (case, rate) in [(0, 100.0), (1, 400.0), (1, 900.0), (1, 900.0)] {
        run.trial(case, 1, Value::Is(rate));
    }
    let mut found = run.findings();
    found.retain(|finding| finding.quantity == Quantity::RatioToFirstRow);
    let counts: Vec<_> = found.into_iter().map(|finding| (finding.scope, finding.n)).collect();
    let published = [0, 1].map(|row| (Scope::PublishedRow(row), 1));
    assert_eq!(counts, [[(Scope::Case(0), 1), (Scope::Case(1), 1)], published].concat());
    assert_eq!(run.ratios()[1], (Scope::Case(1), 4.0), "what ran in another repeat is of another draw");
}

#[test]
fn without_two_rows_of_both_there_are_no_ratios() {
    let with = |third: Value, invalid: bool, session: u32| {
        let mut run = RateRun::new(&[1, 3]);
        run.publish(RATE, &[(1, Some(10.0)), (3, Some(20.0)), (5, Some(30.0))]);
        run.trial(0, 1, Value::Is(100.0));
        let id = run.trial(1, session, third);
        if invalid {
            run.make_invalid(id);
        }
        run.ratios().len()
    };
    assert_eq!(with(Value::Is(200.0), false, 1), 5);
    assert_eq!(with(Value::AtLeast(200.0), false, 1), 0, "only known to be at least something");
    assert_eq!(with(Value::Is(0.0), false, 1), 0);
    assert_eq!(with(Value::None, false, 1), 0);
    assert_eq!(with(Value::Is(200.0), true, 1), 0, "a figure that must not be used");
    assert_eq!(with(Value::Is(200.0), false, 2), 0, "two sessions are not compared");
}

#[test]
fn a_row_of_another_session_has_no_ratio() {
    let mut run = RateRun::new(&[1, 3, 5]);
    run.publish(RATE, &[(1, Some(10.0)), (3, Some(20.0)), (5, Some(30.0))]);
    for (case, session) in [(0, 1), (1, 2), (2, 1)] {
        run.trial(case, session, Value::Is(100.0));
    }
    let ours: Vec<_> = run.ratios().into_iter().map(|(scope, _)| scope).filter(is_case).collect();
    assert_eq!(ours, [Scope::Case(0), Scope::Case(2)]);
}

fn is_case(scope: &Scope) -> bool {
    matches!(scope, Scope::Case(_))
}

#[test]
fn a_yes_or_no_has_no_ratio() {
    let mut run = RateRun::new(&[1, 3]);
    run.publish(REACHED, &[(1, Some(1.0)), (3, Some(1.0))]);
    for case in [0, 1] {
        run.trial(case, 1, Value::Is(100.0));
    }
    assert_eq!(run.ratios(), []);
}
