//! What a comparison says whose budget lets no further trial begin.

use crate::fixture::{P99, RunFixture, comparing, settings};
use kdyno_analysis::run::{AnalysedTrial, judge};
use kdyno_model::conclusion::{Says, Verdict, of_kind};
use kdyno_model::finding::Scope;
use kdyno_model::plan::Plan;

const WORSE: Says = Says::Different { material: true, worse: true };

/// So many ratios around 1.2, alike but for 1 ‰.
fn worse(count: u32) -> Vec<f64> {
    (0..count).map(|at| 1.2 * (1.0 + 0.001 * (f64::from(at) - 4.0))).collect()
}

fn out_of_time(plan: &Plan, run: &RunFixture) -> Vec<Verdict> {
    let trials: Vec<AnalysedTrial<'_>> = run.outcomes.iter().map(AnalysedTrial::of).collect();
    of_kind(&judge(plan, &trials, &[], &[], true).conclusions).cloned().collect()
}

#[test]
fn what_the_budget_ended_is_judged_by_what_it_has() {
    let says = |looks: &[u32], ratios: &[f64]| {
        let mut run = RunFixture::default();
        run.pairs(P99, ratios);
        out_of_time(&comparing(&[P99], looks, &[]), &run).remove(0).says
    };
    // A single look spends all of the error, also one unit before it.
    assert_eq!(says(&[8], &worse(7)), WORSE);
    // The first of three may spend 1 %, and of seven units p is 2 ÷ 128 at best: it is not given more.
    assert!(matches!(says(&[8, 16, 24], &worse(7)), Says::Inconclusive { .. }));
    // After the first look it is the part of the next one.
    assert_eq!(says(&[8, 16, 24], &[worse(8), vec![1.2; 3]].concat()), WORSE);
    let more = Says::Inconclusive { more_needed: Some(3) };
    assert_eq!(says(&[8], &worse(5)), more, "more may come when it goes on");
}

/// What is said of two cases that have so many pairs.
fn of_two_cases(pairs: [u32; 2]) -> Vec<(Scope, Says)> {
    let mut plan = comparing(&[P99], &[8], &[]);
    plan.cases.push(plan.cases[0].clone());
    let b = settings(&mut plan).b[0].clone();
    settings(&mut plan).b.push(b);
    let mut run = RunFixture::default();
    for (case, count) in (0..).zip(pairs) {
        let before = run.outcomes.len();
        run.pairs(P99, &worse(count));
        for outcome in &mut run.outcomes[before..] {
            outcome.trial.case = case;
        }
    }
    out_of_time(&plan, &run).into_iter().map(|verdict| (verdict.scope, verdict.says)).collect()
}

#[test]
fn no_look_is_spent_early_while_another_case_may_be_decided() {
    let [first, second] = [0, 1].map(|case| Scope::Comparison { case });
    let more = |units| Says::Inconclusive { more_needed: Some(units) };
    // The second case has not begun, or has fewer units than any verdict needs.
    assert_eq!(of_two_cases([7, 0]), [(first, more(1))]);
    assert_eq!(of_two_cases([7, 5]), [(first, more(1)), (second, more(3))]);
    // A verdict that was drawn at its look stays.
    assert_eq!(of_two_cases([8, 5]), [(first, WORSE), (second, more(3))]);
    assert_eq!(of_two_cases([8, 6]), [(first, WORSE), (second, WORSE)]);
    assert_eq!(of_two_cases([7, 6]), [(first, WORSE), (second, WORSE)]);
}
