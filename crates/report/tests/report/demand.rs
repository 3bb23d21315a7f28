//! What records take of resources and which is the next limit, in every form of a report.

use crate::fixture::{RunFixture, run, search};
use kdyno_model::conclusion::{AtLimit, Conclusion, Demand, LimitKind, ResourceDemand, SearchOutcome};
use kdyno_model::finding::{Interval, IntervalMethod, Scope};
use kdyno_model::health::{Health, HealthCheck, HealthRule};
use kdyno_model::trial::TrialId;
use kdyno_report::html::page;
use kdyno_report::terminal::{TextOptions, run_table};
use kdyno_report::{json, markdown};

const OPTIONS: TextOptions = TextOptions { width: 400, colour: false };

fn resource(kind: LimitKind, used: f64, further: Option<f64>, at_limit: AtLimit) -> ResourceDemand {
    let ns_per_record = 1e9 * used / 52_000.0;
    ResourceDemand {
        kind,
        loads: 4,
        trials: 9,
        used,
        ns_per_record,
        ns_per_further_record: further,
        at_limit,
    }
}

fn demand(scope: Scope, next: AtLimit) -> Demand {
    let further = Some(15_000.0);
    Demand {
        scope,
        item: "writers".to_owned(),
        tested_per_s: 52_000.0,
        resources: vec![
            resource(LimitKind::Disk, 0.94, further, AtLimit::Reached),
            resource(LimitKind::BrokerProcessors, 0.88, further, next),
            resource(LimitKind::Generator, 0.3, further, AtLimit::NotWithin),
        ],
        next: Some(LimitKind::BrokerProcessors),
        not_judged: Vec::new(),
    }
}

fn between(low: f64, high: f64) -> AtLimit {
    let interval = Interval::Bounds { low, high, level: 0.95, method: IntervalMethod::LineCrossing };
    AtLimit::At { times: 1.14, interval }
}

/// A run of one trial with this demand.
fn with(demand: Demand) -> RunFixture {
    let mut run = run();
    run.only_one_trial();
    let check = HealthCheck {
        rule: HealthRule::BrokerProcessors,
        of: "brokers".to_owned(),
        value: 0.5,
        is_broken: false,
    };
    let health = Health { scope: Scope::Trial(TrialId(1)), checks: vec![check] };
    run.conclusions.push(Conclusion::Health(health));
    run.conclusions.push(Conclusion::Demand(demand));
    run
}

fn text(demand: Demand) -> String {
    run_table(&with(demand).input(), &OPTIONS)
}

/// The sentence of the details, as documents have it.
fn details(demand: Demand) -> String {
    json::run(&with(demand).input()).to_string()
}

#[test]
fn the_next_limit_is_shown_with_its_interval_and_its_basis() {
    let next = "writers: the next limit is broker CPU, at 1.14 × the highest tested load, 52,000/s (1.11 – 1.17, \
        95 % confidence; a line through 9 trials at 4 loads).";
    let used = "Used at 52,000/s, writers: broker disks 94 %; broker CPU 88 %; the load generator 30 %.";
    let of = || demand(Scope::Case(0), between(1.11, 1.17));
    let reported = text(of());
    let health = reported.split("\nHealth\n").nth(1).unwrap_or_else(|| panic!("{reported}"));
    assert!(health.starts_with("All 1 checks hold.\n") && health.contains(used), "{health}");
    let page = page(&with(of()).input());
    for cell in ["at its limit", "1.14 × (1.11 – 1.17, 95 % confidence)", "beyond 1.3 × this load", "15.0 µs"]
    {
        assert!(page.contains(&format!(">{cell}</td>")), "{cell} in the table of the page");
    }
    let json = json::run(&with(of()).input()).to_string();
    assert!(json.contains(next.trim_end_matches('.')), "{json}");
}

#[test]
fn cpus_shared_by_brokers_and_generator_are_reported_once() {
    let mut of = demand(Scope::Case(0), AtLimit::NotWithin);
    let shared = |kind| resource(kind, 0.38, None, AtLimit::NotWithin);
    of.resources = vec![shared(LimitKind::Generator), shared(LimitKind::BrokerProcessors)];
    let reported = text(of);
    let used = "Used at 52,000/s, writers: the host's CPUs, which brokers and load generator share, 38 %.";
    assert!(reported.contains(used), "{reported}");
}

#[test]
fn of_what_is_used_up_no_room_is_promised() {
    let reported = details(demand(Scope::Case(0), AtLimit::Reached));
    let next =
        "writers: the next limit is broker CPU: 88 % is used at the highest tested load already, 52,000/s";
    assert!(reported.contains(next) && !reported.contains("within 1.3 ×"), "{reported}");
}

#[test]
fn an_end_at_the_bound_may_be_any_beyond_it() {
    let reported = details(demand(Scope::Case(0), between(1.05, Demand::PREDICTED_MAX)));
    assert!(reported.contains("(1.05 – 1.3 or more, 95 % confidence;"), "{reported}");
}

#[test]
fn no_figure_is_shown_for_a_limit_beyond_the_bound() {
    let reported = details(demand(Scope::Case(0), AtLimit::NotWithin));
    let said = "writers: nothing that was judged is used up within 1.3 × the highest tested load, 52,000/s; the nearest is \
        broker CPU (a line through 9 trials at 4 loads)";
    assert!(reported.contains(said), "{reported}");
    let reported = details(demand(Scope::Case(0), AtLimit::CannotTell));
    let said = "writers: the next limit is broker CPU; inconclusive whether it lies within 1.3 × the highest \
        tested load, 52,000/s (";
    assert!(reported.contains(said), "{reported}");
    let mut unknown = demand(Scope::Case(0), between(1.1, 1.2));
    unknown.next = None;
    assert!(!details(unknown).contains("next limit"));
}

#[test]
fn one_load_predicts_nothing() {
    let mut one = demand(Scope::Case(0), AtLimit::OneLoad);
    one.next = None;
    for of in &mut one.resources {
        (of.loads, of.trials, of.ns_per_further_record, of.at_limit) = (1, 3, None, AtLimit::OneLoad);
    }
    let run = with(one);
    for reported in
        [run_table(&run.input(), &OPTIONS), page(&run.input()), json::run(&run.input()).to_string()]
    {
        assert!(!reported.contains("next limit") && !reported.contains("within 1.3 ×"), "{reported}");
    }
    assert!(page(&run.input()).contains(">not extrapolated from one load</td>"));
}

#[test]
fn what_was_not_judged_is_named_with_the_next_limit() {
    let mut of = demand(Scope::Case(0), AtLimit::NotWithin);
    of.resources.retain(|of| of.kind != LimitKind::Disk);
    of.not_judged = vec![LimitKind::Disk, LimitKind::Network];
    let said = "(a line through 9 trials at 4 loads); not judged: broker disks and the network";
    let reported = details(of.clone());
    assert!(reported.contains(&format!("nothing that was judged is used up within 1.3 × the highest tested load, 52,000/s; the nearest is broker CPU {said}")), "{reported}");
    of.resources[0].at_limit = between(1.11, 1.17);
    of.next = Some(LimitKind::Link);
    of.resources[0].kind = LimitKind::Link;
    let reported = details(of);
    assert!(
        reported.contains("the link between zones, by the limit that is declared, at 1.14 ×"),
        "{reported}"
    );
}

/// What has other programs, unjudged resources and a bend against it is among the details, not with the result.
#[test]
fn the_summary_is_without_it() {
    let predicted = |scope| demand(scope, between(1.11, 1.17));
    let mut of_search = search(SearchOutcome::Confirmed { load_per_s: 92_000.0 });
    of_search.conclusions.push(Conclusion::Demand(predicted(Scope::Search { case: 0 })));
    for run in [with(predicted(Scope::Case(0))), of_search] {
        let reported = run_table(&run.input(), &OPTIONS);
        assert!(!reported.contains("next limit"), "{reported}");
        assert!(!markdown::block(&run.input()).contains("next limit"));
        assert!(page(&run.input()).contains("the next limit is broker CPU"));
    }
}
