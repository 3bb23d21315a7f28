//! Searches: which trials a plan makes of them, from outcomes whose figures follow a known curve.

#![allow(clippy::unwrap_used, reason = "a helper of tests panics as a test does")]

mod lengths;
mod rising;

use kdyno_analysis::run::AnalysedTrial;
use kdyno_analysis::search::lengths::settings_for;
use kdyno_analysis::search::{CONFIRMED, HIGHEST, TrialAnswer, is_in_table, judge, result};
use kdyno_model::caveat::{Caveat, Concern, ScopedCaveat, Severity};
use kdyno_model::conclusion::{Conclusion, SearchOutcome, SearchResult, Steadiness, SteadyState};
use kdyno_model::finding::{Finding, Interval, Mark, NotResolvable, Quantity, Scope, Value};
use kdyno_model::metric::{Address, Unit};
use kdyno_model::outcome::TrialOutcome;
use kdyno_model::plan::{
    Arrivals, Condition, Conditioning, Depth, FindPlan, LimitSide, Plan, Rate, Role, Strategy, Vary,
};
use kdyno_model::trial::{SearchStage, Trial, TrialReason};
use kdyno_plan::{Choices, Next, bytes_to_write_of_trial, check_question, estimate, next, plan, upcoming};
use kdyno_scenario::Scenario;
use kdyno_scenario::target::TargetFile;
use std::collections::BTreeSet;

const S: u64 = 1_000_000_000;
const TRUTH: f64 = 50_000.0;
const SESSION: u32 = 1;

const SCENARIO: &str = "\
kdyno: 1
id: sla
question: how much at 20 ms?
params: {size: 1KiB}
topics: {t: {partitions: 4}}
load:
  readers: {consume: t}
  writers: {produce: t, clients: 3, rate: 1k/s, arrivals: constant, value: $size}
phases: {warmup: 5s, condition: none, measure: 10s}
";

fn conditions() -> Vec<Condition> {
    let condition = |text: &str, must_be, limit| {
        let of = Address::parse(text.split(' ').next().unwrap()).unwrap();
        Condition { of, must_be, limit, text: text.to_owned() }
    };
    vec![
        condition("writers.failed <= 0", LimitSide::AtMost, 0.0),
        condition("writers.response.p99 <= 20ms", LimitSide::AtMost, 2e7),
    ]
}

fn find(depth: Depth) -> FindPlan {
    let conditions = conditions();
    let lengths = settings_for(depth, &conditions);
    FindPlan {
        item: "writers".into(),
        vary: Vary::Rate,
        from_per_s: 10_000.0,
        to_per_s: 500_000.0,
        within: 0.02,
        conditions,
        ramp_ns: lengths.ramp_ns,
        trial_ns: lengths.trial_ns,
        confirm_ns: lengths.confirm_ns,
        confirm_trials: lengths.confirm_trials,
        trials_max: lengths.trials_max,
    }
}

fn with(text: &str, find: FindPlan) -> Plan {
    let scenario = Scenario::parse(text, "s.yaml").unwrap();
    let mut plan = plan(&scenario, &Choices::default()).unwrap();
    plan.strategy = Strategy::Find(find);
    plan
}

fn searched(find: FindPlan) -> Plan {
    with(SCENARIO, find)
}

fn finding(of: &str, estimate: Value) -> Finding {
    Finding {
        scope: Scope::Run,
        of: Address::parse(of).unwrap(),
        quantity: Quantity::Value,
        unit: Unit::Ns,
        estimate,
        n: 1,
        range: None,
        interval: Interval::NotResolvable(NotResolvable::OneTrial),
        marks: Default::default(),
    }
}

fn outcome(trial: Trial, p99_ns: Value) -> TrialOutcome {
    let findings = vec![finding("writers.failed", Value::Is(0.0)), finding("writers.response.p99", p99_ns)];
    TrialOutcome { trial, findings, caveats: Vec::new(), conclusions: Vec::new(), session: SESSION }
}

fn add_caveat(outcome: &mut TrialOutcome, caveat: Caveat, severity: Severity) {
    let scope = Scope::Trial(outcome.trial.id);
    outcome.caveats.push(ScopedCaveat { scope, severity, concerns: Concern::Everything, caveat });
}

fn searched_load(trial: &Trial) -> Option<(SearchStage, f64)> {
    match trial.reason {
        TrialReason::Search { stage, load_per_s } => Some((stage, load_per_s)),
        _ => None,
    }
}

/// p99 is 20 ms at the truth, of slope 6.
fn curve(trial: Trial) -> TrialOutcome {
    let load = searched_load(&trial).map_or(1.0, |(_, load)| load);
    outcome(trial, Value::Is(2e7 * (load / TRUTH).powi(6)))
}

fn run(plan: &Plan, trial: impl Fn(Trial) -> TrialOutcome) -> Vec<TrialOutcome> {
    let mut outcomes = Vec::new();
    while let Next::Trial(chosen) = next(plan, &outcomes, SESSION) {
        assert_eq!(chosen.id.0 as usize, outcomes.len() + 1);
        outcomes.push(trial(*chosen));
        assert!(outcomes.len() < 100);
    }
    outcomes
}

fn concluded(plan: &Plan, outcomes: &[TrialOutcome]) -> (SearchResult, Vec<Finding>) {
    let Strategy::Find(find) = &plan.strategy else { panic!() };
    let said: Vec<AnalysedTrial<'_>> = outcomes.iter().map(AnalysedTrial::of).collect();
    let judged = result(plan, find, &said);
    let Some(Conclusion::Search(search)) = judged.conclusions.first() else { panic!() };
    (search.clone(), judged.findings)
}

#[test]
fn a_search_conditions_the_cluster_before_it_varies_the_rate() {
    let mut plan = searched(find(Depth::Verdict));
    plan.conditioning = Some(Conditioning { least_ns: 20 * S, most_ns: 60 * S });
    check_question(&plan).unwrap();
    let outcomes = run(&plan, curve);
    assert_eq!(outcomes[0].trial.reason, TrialReason::Conditioning);
    let first = &outcomes[1].trial;
    assert_eq!((first.case, first.start, first.repeat, first.label.as_str()), (0, 1, 1, "ramp 10000/s"));
    assert!(outcomes[1..].iter().all(|outcome| searched_load(&outcome.trial).is_some()));
    for outcome in &outcomes[1..] {
        let (stage, load) = searched_load(&outcome.trial).unwrap();
        let case = &outcome.trial.effective;
        let Role::Produce(produce) = &case.load["writers"].role else { panic!() };
        let Rate::Open { pieces, arrivals } = &produce.rate else { panic!() };
        assert_eq!((pieces[0].from_per_s, pieces[0].to_per_s, *arrivals), (load, load, Arrivals::Constant));
        assert_eq!((pieces.len(), case.load["writers"].clients), (1, 3));
        let (settle_s, measure_s) = match stage {
            SearchStage::Ramp => (4, 10),
            SearchStage::Bisect => (17, 50),
            SearchStage::Confirm => (20, 90),
        };
        assert_eq!((case.phases.warmup_ns, case.phases.measure_ns), (settle_s * S, measure_s * S));
    }
    // Two trials of one load draw their arrivals independently.
    let seeds: BTreeSet<u64> = outcomes[1..].iter().map(|outcome| outcome.trial.seed).collect();
    assert_eq!(seeds.len(), outcomes.len() - 1);
}

#[test]
fn marks_of_a_trials_figures_stand_at_its_point_of_the_curve() {
    let plan = searched(find(Depth::Verdict));
    let outcomes = run(&plan, |trial| {
        let mut outcome = curve(trial);
        outcome.findings[1].marks.insert(Mark::TooShortToTell);
        outcome
    });
    let (search, _) = concluded(&plan, &outcomes);
    let marks = [BTreeSet::new(), BTreeSet::from([Mark::TooShortToTell])];
    assert!(search.points.iter().all(|point| point.marks == marks), "{:?}", search.points);
}

#[test]
fn a_verdict_confirms_a_load_and_states_it_with_the_estimate() {
    let plan = searched(find(Depth::Verdict));
    let outcomes = run(&plan, curve);
    let (search, findings) = concluded(&plan, &outcomes);
    let SearchOutcome::Confirmed { load_per_s } = search.outcome else { panic!("{:?}", search.outcome) };
    assert!((load_per_s / (0.98 * TRUTH) - 1.0).abs() < 2e-3, "{load_per_s}");
    let estimate = search.estimate.unwrap();
    assert!((estimate.estimate / TRUTH - 1.0).abs() < 1e-3);
    assert!(
        matches!(estimate.interval, Interval::Bounds { low, high, .. } if low <= high && high < 1.05 * TRUTH)
    );
    assert!((search.slope.unwrap() - 6.0).abs() < 0.01);
    // The second condition binds: the first one is met by all.
    assert_eq!((search.binds, search.depth), (Some(1), Depth::Verdict));
    assert_eq!(
        (search.varied.to_string().as_str(), search.scope),
        ("writers.rate", Scope::Search { case: 0 })
    );
    assert_eq!(search.points.len(), outcomes.len());
    assert!(search.points.iter().all(|point| point.passed == Some(point.load_per_s <= TRUTH)));
    let by_name = |name: &str| findings.iter().find(|finding| finding.of.metric == name).unwrap();
    assert_eq!(by_name(CONFIRMED).estimate, Value::Is(load_per_s));
    assert_eq!((by_name(CONFIRMED).n, by_name(CONFIRMED).unit), (3, Unit::RecordsPerS));
    assert_eq!(by_name(HIGHEST).estimate, Value::Is(estimate.estimate));
    // The row of the table is made of the trials at that load only.
    let conclusions = [Conclusion::Search(search)];
    let standing = outcomes.iter().filter(|outcome| is_in_table(&conclusions, &outcome.trial));
    assert!(
        standing
            .clone()
            .all(|outcome| searched_load(&outcome.trial) == Some((SearchStage::Confirm, load_per_s)))
    );
    assert_eq!(standing.count(), 3);
    // Through three trials there is a line; an interval takes a fourth.
    let lines = (3..outcomes.len()).map(|done| concluded(&plan, &outcomes[..done]).0.estimate);
    let too_few = Interval::NotResolvable(NotResolvable::TooFewTrials { needed: 4 });
    assert_eq!(lines.flatten().next().unwrap().interval, too_few);
    // Half-way there is no outcome, and what is known remains.
    let (half, _) = concluded(&plan, &outcomes[..outcomes.len() - 2]);
    assert_eq!(half.outcome, SearchOutcome::Unfinished);
    assert!(half.estimate.is_some() && half.first_failing_per_s.is_some());
}

#[test]
fn a_quick_look_confirms_by_two_trials_of_its_length() {
    let plan = searched(find(Depth::Quick));
    let outcomes = run(&plan, curve);
    let (search, _) = concluded(&plan, &outcomes);
    let SearchOutcome::Confirmed { load_per_s } = search.outcome else { panic!("{:?}", search.outcome) };
    assert!(load_per_s > 0.97 * TRUTH && load_per_s <= TRUTH, "{load_per_s}");
    let confirming: Vec<_> = outcomes
        .iter()
        .filter(|it| matches!(searched_load(&it.trial), Some((SearchStage::Confirm, _))))
        .collect();
    assert_eq!(confirming.len(), 2);
    assert!(confirming.iter().all(|outcome| outcome.trial.effective.phases.measure_ns == 20 * S));
}

#[test]
fn clients_of_a_fixed_rate_are_added() {
    let mut find = find(Depth::Verdict);
    (find.vary, find.from_per_s) = (Vary::Clients { per_client_per_s: 5_000.0 }, 5_000.0);
    let plan = searched(find);
    let outcomes = run(&plan, curve);
    for outcome in &outcomes {
        let (_, load) = searched_load(&outcome.trial).unwrap();
        let case = &outcome.trial.effective;
        assert_eq!(f64::from(case.load["writers"].clients) * 5_000.0, load);
        let share = case.workers[0].shares.iter().find(|share| share.item == "writers").unwrap();
        assert_eq!(share.client_count, case.load["writers"].clients);
    }
    assert_eq!(outcomes[0].trial.label, "ramp 1 client");
    assert_eq!(outcomes[1].trial.label, "ramp 2 clients");
    let (search, _) = concluded(&plan, &outcomes);
    assert_eq!(search.varied.to_string(), "writers.clients");
    assert!(matches!(search.outcome, SearchOutcome::Confirmed { load_per_s: 45_000.0 | 50_000.0 }));
}

#[test]
fn each_case_has_a_search_of_its_own() {
    let text = SCENARIO.replace("topics:", "cases: [{size: 1KiB}, {size: 2KiB}]\ntopics:");
    let plan = with(&text, find(Depth::Quick));
    let outcomes = run(&plan, curve);
    let cases: Vec<u32> = outcomes.iter().map(|outcome| outcome.trial.case).collect();
    assert!(cases.is_sorted() && cases.contains(&0) && cases.contains(&1));
    // Both run on one cluster, and each repeats from 1.
    assert!(outcomes.iter().all(|outcome| outcome.trial.start == 1));
    let second = outcomes.iter().find(|outcome| outcome.trial.case == 1).unwrap();
    assert_eq!((second.trial.repeat, second.trial.label.as_str()), (1, "2 KiB ramp 10000/s"));
    let Strategy::Find(search) = &plan.strategy else { panic!() };
    let said: Vec<AnalysedTrial<'_>> = outcomes.iter().map(AnalysedTrial::of).collect();
    assert_eq!(result(&plan, search, &said).conclusions.len(), 2);
}

#[test]
fn records_that_were_never_acknowledged_fail_the_quantile() {
    let plan = searched(find(Depth::Verdict));
    // "At least 1 ms" is below the limit, and yet it is unknown how late these records would have been.
    let outcomes = run(&plan, |trial| outcome(trial, Value::AtLeast(1e6)));
    let (search, findings) = concluded(&plan, &outcomes);
    assert_eq!(search.outcome, SearchOutcome::EveryLoadFails { lowest_per_s: 10_000.0 });
    assert_eq!((search.estimate, search.first_failing_per_s), (None, Some(10_000.0)));
    assert!(findings.iter().all(|finding| finding.of.metric != CONFIRMED));
}

#[test]
fn a_growing_queue_is_a_failure_and_a_late_generator_is_not() {
    let growth =
        || Caveat::QueueGrowth { item: "writers".into(), start_s: 0.0, growth_s: 9.0, allowed_s: 0.05 };
    let late = || Caveat::GeneratorLate {
        item: "writers".into(),
        quantile: "p99".into(),
        late_ns: 1,
        response_ns: 2,
    };
    let plan = searched(find(Depth::Quick));
    let queued = run(&plan, |trial| {
        let load = searched_load(&trial).unwrap().1;
        let mut outcome = outcome(trial, Value::Is(1e6));
        if load > TRUTH {
            add_caveat(&mut outcome, growth(), Severity::Invalid);
        }
        outcome
    });
    let (search, _) = concluded(&plan, &queued);
    let SearchOutcome::Confirmed { load_per_s } = search.outcome else { panic!("{search:?}") };
    assert!(load_per_s > 0.9 * TRUTH && load_per_s <= TRUTH);
    let limited = run(&plan, |trial| {
        let load = searched_load(&trial).unwrap().1;
        let mut outcome = curve(trial);
        if load > 0.9 * TRUTH {
            // Both at once: a generator that is late lets a queue grow too.
            add_caveat(&mut outcome, growth(), Severity::Invalid);
            add_caveat(&mut outcome, late(), Severity::Invalid);
        }
        outcome
    });
    let (search, _) = concluded(&plan, &limited);
    assert!(
        matches!(search.outcome, SearchOutcome::GeneratorLimit { highest_passed_per_s: Some(load) } if load < TRUTH)
    );
    // Then even a figure that meets the conditions says nothing: not all of the load was there.
    let Next::Trial(trial) = next(&plan, &[], SESSION) else { panic!() };
    let mut both = outcome(*trial, Value::Is(1e6));
    add_caveat(&mut both, growth(), Severity::Invalid);
    add_caveat(&mut both, late(), Severity::Invalid);
    assert_eq!(concluded(&plan, &[both]).0.points[0].passed, None);
    // A late generator only makes latencies longer, so what passes with it has passed.
    let passing = run(&plan, |trial| {
        let mut outcome = outcome(trial, Value::Is(1e6));
        add_caveat(&mut outcome, late(), Severity::Invalid);
        outcome
    });
    let (search, _) = concluded(&plan, &passing);
    assert_eq!(search.outcome, SearchOutcome::EveryLoadPasses { highest_per_s: 500_000.0 });
}

/// Whether the first trial of a search passed, with invalid caveats: its one condition is of something else than
/// latencies, and is met or not.
fn passed_with(is_met: bool, caveats: &[(Concern, Caveat)]) -> Option<bool> {
    let mut find = find(Depth::Quick);
    let of = Address::parse("writers.failed_share").unwrap();
    find.conditions = vec![Condition { of, must_be: LimitSide::AtMost, limit: 1e-3, text: String::new() }];
    let Next::Trial(trial) = next(&searched(find.clone()), &[], SESSION) else { panic!() };
    let scope = Scope::Trial(trial.id);
    let mut outcome = outcome(*trial, Value::Is(1e6));
    outcome.findings = vec![finding("writers.failed_share", Value::Is(if is_met { 0.0 } else { 0.5 }))];
    outcome.caveats.extend(caveats.iter().map(|(concerns, caveat)| ScopedCaveat {
        scope,
        severity: Severity::Invalid,
        concerns: concerns.clone(),
        caveat: caveat.clone(),
    }));
    judge(&find, AnalysedTrial::of(&outcome)).unwrap().point.passed()
}

#[test]
fn a_load_that_was_not_sustained_fails_under_any_condition() {
    let queue = |item: &str, start_s, growth_s| {
        let item = || item.to_owned();
        let caveat = Caveat::QueueGrowth { item: item(), start_s, growth_s, allowed_s: 0.05 };
        (Concern::Latencies { item: item() }, caveat)
    };
    let growth = |item: &str| queue(item, 0.0, 13.0);
    let late = |item: &str| {
        let (item, quantile) = (|| item.to_owned(), || "p50".to_owned());
        let caveat = Caveat::GeneratorLate { item: item(), quantile: quantile(), late_ns: 1, response_ns: 2 };
        (Concern::LatenciesFrom { item: item(), quantile: quantile() }, caveat)
    };
    assert_eq!(passed_with(true, &[]), Some(true));
    assert_eq!(passed_with(true, &[growth("writers")]), Some(false));
    // The load that is raised runs next to others, which were not sustained either.
    assert_eq!(passed_with(true, &[growth("bulk")]), Some(false));
    // What they owed when the window began, and no more later, is carried.
    assert_eq!(passed_with(true, &[queue("bulk", 13.0, 0.0)]), Some(true));
    assert_eq!(passed_with(true, &[queue("writers", 13.0, 0.0)]), Some(false));
    // A generator that did not send in time lets a queue grow too; that of another item does not.
    assert_eq!(passed_with(true, &[growth("writers"), late("writers")]), None);
    assert_eq!(passed_with(true, &[growth("writers"), late("bulk")]), Some(false));
    assert_eq!(passed_with(false, &[late("writers")]), Some(false), "latencies are not what is judged");
}

#[test]
fn only_the_generators_limit_for_the_raised_load_ends_a_search() {
    let short = |item: &str| {
        let caveat = Caveat::CalibrationShort { item: item.to_owned(), ratio: 1.5, generator: None };
        [(Concern::Rates { item: item.to_owned() }, caveat)]
    };
    assert_eq!(passed_with(false, &short("writers")), None);
    assert_eq!(passed_with(true, &short("writers")), Some(true), "it was offered, and what it met it met");
    assert_eq!(
        (passed_with(false, &short("bulk")), passed_with(true, &short("bulk"))),
        (Some(false), Some(true))
    );
}

/// What a trial with one condition and one figure says.
fn reading(must_be: LimitSide, limit: f64, value: Value) -> TrialAnswer {
    let mut find = find(Depth::Quick);
    let of = Address::parse("writers.acked_per_s").unwrap();
    find.conditions = vec![Condition { of, must_be, limit, text: String::new() }];
    let Next::Trial(trial) = next(&searched(find.clone()), &[], SESSION) else { panic!() };
    let mut outcome = outcome(*trial, Value::None);
    outcome.findings = vec![finding("writers.acked_per_s", value)];
    judge(&find, AnalysedTrial::of(&outcome)).unwrap().point.reading
}

#[test]
fn conditions_include_their_limit_and_are_measured_by_logarithm() {
    use LimitSide::{AtLeast, AtMost};
    let complete = |passed, excess| TrialAnswer::Complete { passed, excess };
    let (best, worst) = (f64::NEG_INFINITY, f64::INFINITY);
    assert_eq!(reading(AtMost, 20.0, Value::Is(20.0)), complete(true, 0.0));
    assert_eq!(reading(AtMost, 20.0, Value::Is(40.0)), complete(false, 2f64.ln()));
    assert_eq!(reading(AtMost, 20.0, Value::Is(0.0)), complete(true, best));
    assert_eq!(reading(AtMost, 0.0, Value::Is(0.0)), complete(true, best));
    assert_eq!(reading(AtMost, 0.0, Value::Is(1.0)), complete(false, worst));
    assert_eq!(reading(AtMost, 20.0, Value::AtLeast(1.0)), complete(false, worst));
    assert_eq!(reading(AtLeast, 20.0, Value::Is(10.0)), complete(false, 2f64.ln()));
    assert_eq!(reading(AtLeast, 20.0, Value::AtLeast(40.0)), complete(true, -(2f64.ln())));
    assert_eq!(reading(AtLeast, 20.0, Value::Is(0.0)), complete(false, worst));
    assert_eq!(reading(AtLeast, 20.0, Value::None), TrialAnswer::Nothing);
    assert_eq!(reading(AtMost, 20.0, Value::Is(f64::NAN)), complete(false, worst));
}

#[test]
fn a_pass_of_a_cut_or_figureless_trial_proves_nothing() {
    let plan = searched(find(Depth::Quick));
    let cut =
        |measured_s| Caveat::CutShort { reason: "stopped".into(), measured_s, planned_s: 20, went_on: false };
    let judged = |p99_ns: f64, measured_s| {
        let Next::Trial(trial) = next(&plan, &[], SESSION) else { panic!() };
        let mut outcome = outcome(*trial, Value::Is(p99_ns));
        add_caveat(&mut outcome, cut(measured_s), Severity::Warning);
        concluded(&plan, &[outcome]).0.points[0].passed
    };
    assert_eq!((judged(1e6, 19), judged(1e9, 9), judged(1e9, 10)), (None, None, Some(false)));
    let nothing = run(&plan, |trial| outcome(trial, Value::None));
    assert_eq!(nothing.len(), 2);
    let (search, findings) = concluded(&plan, &nothing);
    let none = SearchOutcome::NoFigures { load_per_s: 10_000.0, highest_passed_per_s: None };
    assert_eq!((search.outcome, findings.len()), (none, 0));
    // A figure that must not be used for another reason is none either.
    let broken = run(&plan, |trial| {
        let mut outcome = outcome(trial, Value::Is(1e6));
        let caveat = Caveat::AccountingBroken { item: "writers".into(), difference: 1 };
        add_caveat(&mut outcome, caveat, Severity::Invalid);
        outcome
    });
    assert_eq!(broken.len(), 2);
}

#[test]
fn impossible_searches_are_refused_and_would_end_at_once() {
    let refused = |change: fn(&mut FindPlan)| {
        let mut find = find(Depth::Verdict);
        change(&mut find);
        let plan = searched(find);
        assert_eq!(next(&plan, &[], SESSION), Next::Stop);
        let error = check_question(&plan).unwrap_err();
        format!("{error}: {}", error.hint.as_deref().unwrap_or_default())
    };
    let above = refused(|find| find.from_per_s = 600_000.0);
    assert!(above.contains("would begin at 600000/s, above its end at 500000/s"), "{above}");
    let item = refused(|find| find.item = "readers".into());
    assert!(
        item.contains("no load item `readers` produces") && item.contains("those that do: writers"),
        "{item}"
    );
    let mut unconditional = find(Depth::Verdict);
    unconditional.conditions.clear();
    let unconditional = check_question(&searched(unconditional)).unwrap_err().to_string();
    assert!(unconditional.contains("without a condition every load passes"), "{unconditional}");
    let mut many = find(Depth::Verdict);
    many.vary = Vary::Clients { per_client_per_s: 10.0 };
    let many = check_question(&searched(many)).unwrap_err().to_string();
    assert!(many.contains("50000 clients of 10/s would be needed"), "{many}");
}
