//! What records take of resources whose use is known beforehand, and when these are at their limit.

use crate::fixture::{RATE, RunFixture, address, comparing, plan, plans, settings};
use crate::settings::producing;
use kdyno_model::conclusion::{
    AtLimit, Conclusion, Demand, Limit, LimitEvidence, LimitKind, ShareOf, of_kind,
};
use kdyno_model::finding::{Interval, Scope, Value};
use kdyno_model::plan::{
    Arrivals, Condition, FindPlan, LimitSide, LoadPlan, Plan, ProducePlan, Rate, RatePiece, Role, Strategy,
    Vary,
};
use kdyno_model::seed::mix;
use kdyno_model::trial::{SearchStage, TrialReason};
use std::collections::BTreeMap;

const BROKERS: LimitKind = LimitKind::BrokerProcessors;
const GENERATOR: LimitKind = LimitKind::Generator;

/// A trial of a case at a rate that used so much of each resource.
fn trial(run: &mut RunFixture, case: u32, per_s: f64, named: LimitKind, used: &[(LimitKind, f64)]) {
    let repeat = u32::try_from(run.outcomes.len()).unwrap() + 1;
    let outcome = run.trial(case, repeat, &[(RATE, Value::Is(per_s))]);
    let scope = Scope::Trial(outcome.trial.id);
    let evidence = used.iter().map(|(kind, used)| LimitEvidence {
        kind: *kind,
        used: Some(*used),
        shares: BTreeMap::new(),
        others: None,
        detail: String::new(),
    });
    outcome.conclusions.push(Conclusion::Limit(Limit {
        scope,
        item: "writers".into(),
        named,
        runner_up: None,
        delay: None,
        evidence: evidence.collect(),
    }));
}

/// Trials of one case at these rates, the brokers' processors used as a law says and nothing at its limit.
fn at(rates: &[f64], law: impl Fn(f64) -> f64) -> RunFixture {
    let mut run = RunFixture::default();
    for per_s in rates {
        trial(&mut run, 0, *per_s, LimitKind::Schedule, &[(BROKERS, law(*per_s))]);
    }
    run
}

fn demands(run: &RunFixture, plan: &Plan) -> Vec<Demand> {
    of_kind(&run.judged(plan).conclusions).cloned().collect()
}

fn demand(run: &RunFixture) -> Demand {
    let mut found = demands(run, &plan(1, &[]));
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

fn near(found: f64, wanted: f64) {
    assert!((found / wanted - 1.0).abs() < 1e-9, "{found} is not {wanted}");
}

/// The multiple of the tested load at which the first resource is at its limit.
fn times(demand: &Demand) -> f64 {
    let AtLimit::At { times, .. } = demand.resources[0].at_limit else { panic!("{demand:?}") };
    times
}

#[test]
fn a_constant_demand_has_the_limit_of_the_utilisation_law() {
    // 16 µs of all processors a record: 62,500/s at most.
    let law = |per_s: f64| per_s * 16e-6;
    let found = demand(&at(&[40_000.0, 50_000.0], law));
    near(times(&found), 62_500.0 / 50_000.0);
    let brokers = &found.resources[0];
    near(brokers.ns_per_record, 16_000.0);
    near(brokers.used, 0.8);
    assert_eq!((brokers.kind, brokers.loads, brokers.trials, found.next), (BROKERS, 2, 2, Some(BROKERS)));
    assert_eq!((found.scope, found.item.as_str()), (Scope::Case(0), "writers"));
    let AtLimit::At { interval: Interval::NotResolvable(_), .. } = brokers.at_limit else {
        panic!("two points do not scatter: {brokers:?}")
    };
    let several = demand(&at(&[20_000.0, 30_000.0, 40_000.0, 50_000.0], law));
    near(times(&several), 1.25);
    near(several.resources[0].ns_per_further_record.unwrap(), 16_000.0);
    assert_eq!((several.resources[0].loads, several.resources[0].trials), (4, 4));
}

/// Batches that are fuller at a higher load make a record cheaper: one load does not show by how much.
#[test]
fn one_load_predicts_nothing() {
    let mut run = at(&[50_000.0], |per_s| per_s * 16e-6);
    for used in [0.79, 0.80, 0.83, 0.8, 0.8, 0.8] {
        trial(&mut run, 0, 50_000.0, LimitKind::Schedule, &[(BROKERS, used)]);
    }
    let found = demand(&run);
    let brokers = &found.resources[0];
    assert_eq!((found.next, brokers.at_limit, brokers.ns_per_further_record), (None, AtLimit::OneLoad, None));
    assert_eq!((brokers.loads, brokers.trials), (1, 7));
    near(brokers.used, 0.8);
    near(brokers.ns_per_record, 16_000.0);
}

#[test]
fn what_was_not_judged_is_named() {
    let mut run = at(&[40_000.0, 50_000.0], |per_s| per_s * 16e-6);
    for outcome in &mut run.outcomes {
        let Some(Conclusion::Limit(limit)) = outcome.conclusions.last_mut() else { panic!("a limit") };
        limit.evidence.extend([LimitKind::Disk, LimitKind::Network].map(|kind| LimitEvidence {
            kind,
            used: None,
            shares: BTreeMap::new(),
            others: None,
            detail: String::new(),
        }));
    }
    assert_eq!(demand(&run).not_judged, [LimitKind::Disk, LimitKind::Network]);
}

/// What other programs use does not follow the load, but takes what the load could use.
#[test]
fn other_programs_are_no_demand() {
    // Records take 8 µs of the host; others take 0.1 of it at one load and 0.36 at the other, by chance.
    let of = |others: [f64; 2]| {
        let mut run = RunFixture::default();
        for (per_s, others) in [40_000.0, 65_000.0].into_iter().zip(others) {
            let used = per_s * 8e-6 + others;
            trial(&mut run, 0, per_s, LimitKind::Schedule, &[(BROKERS, used)]);
            let Some(Conclusion::Limit(limit)) = run.outcomes.last_mut().unwrap().conclusions.last_mut()
            else {
                panic!("a limit")
            };
            limit.evidence[0].shares = BTreeMap::from([(ShareOf::Host, used)]);
            limit.evidence[0].others = Some(others);
        }
        demand(&run)
    };
    // With 0.64 of the host 80,000/s are the most.
    let found = of([0.36, 0.36]);
    near(times(&found), 80_000.0 / 65_000.0);
    near(found.resources[0].used, 65_000.0 * 8e-6 / 0.64);
    near(of([0.0, 0.0]).resources[0].ns_per_record, 8_000.0);
}

#[test]
fn a_demand_that_falls_with_the_load_needs_more_than_one_load() {
    // Requests cost 0.3 whatever is in them; fuller batches make a record cheaper: 70,000/s at most.
    let law = |per_s: f64| 0.3 + per_s * 10e-6;
    let found = demand(&at(&[30_000.0, 40_000.0, 55_000.0], law));
    near(times(&found), 70_000.0 / 55_000.0);
    near(found.resources[0].ns_per_record, 1e9 * law(55_000.0) / 55_000.0);
    near(found.resources[0].ns_per_further_record.unwrap(), 10_000.0);
    // Loads that hardly differ are one: a line through them would be one through their noise.
    let close = demand(&at(&[52_000.0, 55_000.0, 56_000.0], law));
    assert_eq!((close.resources[0].loads, close.resources[0].ns_per_further_record), (1, None));
    let far = demand(&at(&[1_000.0, 2_000.0, 56_000.0], law));
    assert_eq!((far.resources[0].loads, far.resources[0].trials), (1, 1), "batches are others there");
}

#[test]
fn a_line_is_of_one_of_a_generators_shares() {
    // Its busiest thread has a base and hardly grows; the host is full at 60,000/s. Below 25,000/s the thread has more.
    let mut run = RunFixture::default();
    for per_s in [20_000.0, 30_000.0, 40_000.0, 50_000.0] {
        let of = [(ShareOf::Thread, 0.35 + per_s * 3e-6), (ShareOf::Host, per_s / 60_000.0)];
        let used = of.iter().map(|(_, used)| *used).fold(0.0, f64::max);
        trial(&mut run, 0, per_s, LimitKind::Schedule, &[(GENERATOR, used)]);
        let Some(Conclusion::Limit(limit)) = run.outcomes.last_mut().unwrap().conclusions.last_mut() else {
            panic!("a limit")
        };
        limit.evidence[0].shares = of.into();
    }
    let found = demand(&run);
    near(times(&found), 60_000.0 / 50_000.0);
    near(found.resources[0].ns_per_further_record.unwrap(), 1e9 / 60_000.0);
    assert_eq!((found.resources[0].loads, found.resources[0].trials), (4, 4));
    // A load with an unknown share is left out, and no other share replaces it.
    let Some(Conclusion::Limit(limit)) = run.outcomes[0].conclusions.last_mut() else { panic!("a limit") };
    limit.evidence[0].shares.remove(&ShareOf::Host);
    let found = demand(&run);
    near(times(&found), 60_000.0 / 50_000.0);
    assert_eq!((found.resources[0].loads, found.resources[0].trials), (3, 3));
}

#[test]
fn a_limit_beyond_the_bound_is_reported_without_a_figure() {
    // 1.29 and 1.31 times what was tested.
    let law = |per_s: f64| per_s * 16e-6;
    let swept = |top: f64| demand(&at(&[20_000.0, 30_000.0, top], law));
    near(times(&swept(62_500.0 / 1.29)), 1.29);
    assert_eq!(swept(62_500.0 / 1.31).resources[0].at_limit, AtLimit::NotWithin);
    // Repeats that scatter: the line's bounds lie on both sides of the bound.
    let mut run = RunFixture::default();
    for (per_s, used) in [(25_000.0, 0.36), (25_000.0, 0.40), (50_000.0, 0.74), (50_000.0, 0.76)] {
        trial(&mut run, 0, per_s, LimitKind::Schedule, &[(BROKERS, used)]);
    }
    assert_eq!(demand(&run).resources[0].at_limit, AtLimit::CannotTell);
}

#[test]
fn a_disk_that_is_declared_comes_next_where_it_is_nearer() {
    let mut run = RunFixture::default();
    let used = [(BROKERS, 0.95), (LimitKind::Disk, 0.85), (GENERATOR, 0.4), (LimitKind::Network, 0.8)];
    for load in [0.5, 1.0] {
        trial(&mut run, 0, 50_000.0 * load, BROKERS, &used.map(|(kind, share)| (kind, share * load)));
    }
    let found = demand(&run);
    let order: Vec<LimitKind> = found.resources.iter().map(|of| of.kind).collect();
    assert_eq!(order, [BROKERS, LimitKind::Disk, LimitKind::Network, GENERATOR]);
    assert_eq!(found.resources[0].at_limit, AtLimit::Reached);
    assert_eq!(found.next, Some(LimitKind::Disk));
    let AtLimit::At { times, .. } = found.resources[1].at_limit else { panic!("{found:?}") };
    near(times, 1.0 / 0.85);
    assert_eq!(found.resources[3].at_limit, AtLimit::NotWithin);
}

#[test]
fn what_is_at_its_limit_comes_next_where_all_was_carried() {
    let mut run = RunFixture::default();
    let used = [(BROKERS, 0.99), (GENERATOR, 0.4), (LimitKind::RequestsInFlight, 0.1)];
    for load in [0.5, 1.0] {
        let used = used.map(|(kind, share)| (kind, share * load));
        trial(&mut run, 0, 50_000.0 * load, LimitKind::Schedule, &used);
    }
    let found = demand(&run);
    assert_eq!((found.next, found.resources[0].at_limit), (Some(BROKERS), AtLimit::Reached));
}

#[test]
fn next_to_an_unknown_limit_none_is_next() {
    let mut run = RunFixture::default();
    for load in [0.5, 1.0] {
        trial(&mut run, 0, 50_000.0 * load, LimitKind::Unknown, &[(BROKERS, 0.85 * load)]);
    }
    let found = demand(&run);
    assert_eq!(found.next, None);
    near(times(&found), 1.0 / 0.85);
    // Requests in flight are asked where the schedule was the limit, and are full from 80 % on.
    let in_flight = |named| {
        let mut run = RunFixture::default();
        for load in [0.5, 1.0] {
            let used = [(LimitKind::RequestsInFlight, 0.79 * load), (BROKERS, 0.5 * load)];
            trial(&mut run, 0, 50_000.0 * load, named, &used);
        }
        demand(&run).next
    };
    assert_eq!(in_flight(LimitKind::Schedule), Some(LimitKind::RequestsInFlight));
    assert_eq!(in_flight(LimitKind::Replication), Some(BROKERS));
    let mut none = RunFixture::default();
    trial(&mut none, 0, 50_000.0, LimitKind::Unknown, &[]);
    assert_eq!(demands(&none, &plan(1, &[])), []);
}

fn written_at(per_s: f64) -> LoadPlan {
    let pieces = vec![RatePiece { from_per_s: per_s, to_per_s: per_s, length_ns: 1 }];
    let rate = Rate::Open { pieces, arrivals: Arrivals::Poisson };
    plans::item(1, Role::Produce(ProducePlan { rate, ..producing() }))
}

/// A run of three cases at 20,000/s, 40,000/s and 65,000/s, where 80,000/s is the most.
fn swept(change: impl Fn(&mut Plan)) -> Vec<Demand> {
    let mut plan = plan(3, &[]);
    let mut run = RunFixture::default();
    for (case, per_s) in (0..).zip([20_000.0, 40_000.0, 65_000.0]) {
        let own = &mut plan.cases[case as usize];
        own.label = format!("rate={per_s}");
        own.load.insert("writers".into(), written_at(per_s));
        trial(&mut run, case, per_s, LimitKind::Schedule, &[(BROKERS, 0.2 + per_s * 10e-6)]);
    }
    change(&mut plan);
    for outcome in &mut run.outcomes {
        outcome.trial.effective = plan.cases[outcome.trial.case as usize].clone();
    }
    demands(&run, &plan)
}

#[test]
fn cases_that_differ_in_the_rate_alone_are_loads_of_one() {
    let found = swept(|_| {});
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(
        (found[0].scope, found[0].resources[0].loads),
        (Scope::Case(2), 3),
        "the case with the highest rate"
    );
    near(times(&found[0]), 80_000.0 / 65_000.0);
    let apart = swept(|plan| {
        plan.cases[1].load.get_mut("writers").unwrap().clients = 2;
    });
    let reported: Vec<(Scope, u32)> = apart.iter().map(|one| (one.scope, one.resources[0].loads)).collect();
    assert_eq!(reported, [(Scope::Case(2), 2), (Scope::Case(1), 1)]);
}

#[test]
fn the_sides_of_a_comparison_are_distinguished() {
    let mut plan = comparing(&[], &[8], &[]);
    settings(&mut plan).labels = ["a".into(), "b".into()];
    let mut run = RunFixture::default();
    run.pair(1, 1, [&[(RATE, Value::Is(50_000.0))], &[(RATE, Value::Is(50_000.0))]]);
    for (outcome, used) in run.outcomes.iter_mut().zip([0.8, 0.9]) {
        outcome.conclusions.push(Conclusion::Limit(Limit {
            scope: Scope::Trial(outcome.trial.id),
            item: "writers".into(),
            named: LimitKind::Schedule,
            runner_up: None,
            delay: None,
            evidence: vec![LimitEvidence {
                kind: BROKERS,
                used: Some(used),
                shares: BTreeMap::new(),
                others: None,
                detail: String::new(),
            }],
        }));
    }
    let reported: Vec<(Scope, f64)> =
        demands(&run, &plan).iter().map(|one| (one.scope, one.resources[0].used)).collect();
    assert_eq!(reported, [(Scope::Case(0), 0.8), (Scope::SideB { case: 0 }, 0.9)]);
}

#[test]
fn of_a_search_the_trials_count_in_which_brokers_have_settled() {
    let mut plan = plan(1, &[]);
    plan.strategy = Strategy::Find(FindPlan {
        item: "writers".into(),
        vary: Vary::Rate,
        from_per_s: 1.0,
        to_per_s: 1e6,
        within: 0.02,
        conditions: vec![Condition {
            of: address("writers.response.p99"),
            must_be: LimitSide::AtMost,
            limit: 1.0,
            text: String::new(),
        }],
        ramp_ns: 1,
        trial_ns: 1,
        confirm_ns: 1,
        confirm_trials: 3,
        trials_max: 40,
    });
    let mut run = at(&[80_000.0, 30_000.0, 40_000.0, 50_000.0], |per_s| 0.1 + per_s * 14e-6);
    let stages = [SearchStage::Ramp, SearchStage::Bisect, SearchStage::Bisect, SearchStage::Confirm];
    for (outcome, stage) in run.outcomes.iter_mut().zip(stages) {
        outcome.trial.reason = TrialReason::Search { stage, load_per_s: 1.0 };
    }
    let found = demands(&run, &plan);
    assert_eq!((found[0].scope, found[0].resources[0].loads), (Scope::Search { case: 0 }, 3));
    near(found[0].tested_per_s, 50_000.0);
    near(times(&found[0]), 0.9 / 14e-6 / 50_000.0);
}

/// 2,000 runs of five loads with noise of 1 % of the resource: how often the interval holds the load at which it is full.
#[test]
fn intervals_hold_the_true_limit_as_often_as_they_say() {
    let (truth, tested) = (60_000.0, 50_000.0);
    let (mut held, mut reported) = (0, 0);
    for seed in 0..2_000u64 {
        let normal = |at: u64| {
            let uniform = |of: u64| (mix(mix(seed, 77), of) >> 11) as f64 / (1u64 << 53) as f64;
            (-2.0 * uniform(2 * at).max(1e-300).ln()).sqrt()
                * (std::f64::consts::TAU * uniform(2 * at + 1)).cos()
        };
        let rates = [25_000.0, 30_000.0, 36_000.0, 43_000.0, tested];
        let mut run = RunFixture::default();
        for (at, per_s) in (0u64..).zip(rates) {
            let used = 0.2 + 0.8 * per_s / truth + 0.01 * normal(at);
            trial(&mut run, 0, per_s, LimitKind::Schedule, &[(BROKERS, used)]);
        }
        let AtLimit::At { times, interval: Interval::Bounds { low, high, level, .. }, .. } =
            demand(&run).resources[0].at_limit
        else {
            continue;
        };
        assert!(level == 0.95 && times <= Demand::PREDICTED_MAX && high <= Demand::PREDICTED_MAX);
        reported += 1;
        held += u32::from(low <= truth / tested && truth / tested <= high);
    }
    let share = f64::from(held) / f64::from(reported);
    // 0.95 with a standard error of 0.005.
    assert!(reported > 1_900 && (share - 0.95).abs() < 0.025, "{held} of {reported}");
}
