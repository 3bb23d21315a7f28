//! What was drawn from a run that is read from its file.

use crate::fixture::{P99, RATE, RunFixture, address, comparing, plan, queued, start};
use kdyno_analysis::drawn::DrawnRun;
use kdyno_analysis::marks;
use kdyno_model::conclusion::{Conclusion, MetricRole};
use kdyno_model::event::Subject;
use kdyno_model::finding::{Finding, Scope, Value};
use kdyno_model::metric::Unit;
use kdyno_model::outcome::Judgement;
use kdyno_model::plan::Plan;
use kdyno_model::run::RunHeader;

/// A run of trials with nothing stored but their own figures.
fn stored(plan: Plan, run: &RunFixture) -> DrawnRun {
    let findings = run.outcomes.iter().flat_map(|outcome| outcome.findings.clone());
    let caveats = run.outcomes.iter().flat_map(|outcome| outcome.caveats.clone());
    let judgement =
        Judgement { findings: findings.collect(), caveats: caveats.collect(), ..Judgement::default() };
    let header = RunHeader { run_id: 1, scenario_text: String::new(), scenario_path: String::new(), plan };
    let trials = run.outcomes.iter().map(|outcome| start(outcome, 1, 0)).collect();
    DrawnRun { header, sessions: Vec::new(), is_live: false, goes_on: None, trials, judgement }
}

fn in_scope(judgement: &Judgement, scope: Scope) -> Vec<Value> {
    judgement.findings.iter().filter(|one| one.scope == scope).map(|one| one.estimate).collect()
}

/// A comparison with a trial of each side.
fn compared() -> DrawnRun {
    let mut run = RunFixture::default();
    run.pair(1, 1, [&[(RATE, Value::Is(10.0))], &[(RATE, Value::Is(20.0))]]);
    stored(comparing(&[], &[8], &[]), &run)
}

#[test]
fn an_import_has_its_own_chart_and_replaces_an_earlier_one() {
    let subject = Subject::Imported("rds".to_owned());
    let of = address(&format!("{subject}.CPU"));
    let mut run = compared();
    let mean = |trial: &Finding, value: f64| Finding {
        of: of.clone(),
        unit: Unit::Ratio,
        estimate: Value::Is(value),
        ..trial.clone()
    };
    let before = mean(&run.judgement.findings[0], 0.9);
    let now: Vec<Finding> = (run.judgement.findings.iter().zip([0.2, 0.4]))
        .map(|(finding, value)| mean(finding, value))
        .collect();
    run.judgement.findings.push(before);
    run.judgement.findings.push(Finding { scope: Scope::Case(0), ..run.judgement.findings[0].clone() });
    let drawn = run.drawn_from_import(&subject, now.clone());
    assert!(drawn.findings.iter().all(|one| one.of == of), "{:?}", drawn.findings);
    assert_eq!(in_scope(&drawn, Scope::Case(0)), [Value::Is(0.2)], "side A");
    assert_eq!(in_scope(&drawn, Scope::SideB { case: 0 }), [Value::Is(0.4)]);
    assert!(now.iter().all(|one| drawn.findings.contains(one)), "{:?}", drawn.findings);
    let [Conclusion::Verdict(verdict)] = &drawn.conclusions[..] else { panic!("{drawn:?}") };
    assert_eq!((&verdict.of, verdict.role), (&of, MetricRole::Imported));
    assert_eq!((verdict.a, verdict.b), (Value::Is(0.2), Value::Is(0.4)));
}

#[test]
fn an_import_into_an_unanalysed_run_is_drawn_when_it_is_read() {
    let run = compared();
    let subject = Subject::Imported("rds".to_owned());
    assert_eq!(run.drawn_from_import(&subject, Vec::new()), Judgement::default());
}

#[test]
fn an_old_runs_side_b_is_drawn_from_its_trials() {
    let side_b = |run: &DrawnRun| in_scope(&run.judgement, Scope::SideB { case: 0 });
    let once = compared().stated();
    assert_eq!(side_b(&once), [Value::Is(20.0)]);
    assert_eq!(side_b(&once.stated()), [Value::Is(20.0)], "a second time it is there");
}

#[test]
fn figures_of_a_load_that_queued_are_shown_as_bounds_stored_raw() {
    let mut run = RunFixture::default();
    let figures: &[(&str, Value)] = &[(RATE, Value::Is(10.0)), (P99, Value::Is(4e6))];
    queued(run.trial(0, 1, figures));
    let outcome = &mut run.outcomes[0];
    marks::invalid(&mut outcome.findings, &outcome.caveats);
    let of_trial = |run: &DrawnRun| in_scope(&run.judgement, Scope::Trial(run.trials[0].trial.id));
    let mut read = stored(plan(1, &[P99]), &run);
    assert!(!read.is_analysed());
    read.draw(run.outcomes);
    assert!(read.is_analysed());
    assert_eq!(of_trial(&read), [Value::Is(10.0), Value::Is(4e6)]);
    let stated = read.stated();
    assert_eq!(of_trial(&stated), [Value::Is(10.0), Value::AtLeast(4e6)]);
    assert_eq!(in_scope(&stated.judgement, Scope::Case(0)), of_trial(&stated), "its case says the same");
}
