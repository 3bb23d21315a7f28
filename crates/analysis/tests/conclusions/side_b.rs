//! Both sides of a comparison are stated as cases are.

use crate::fixture::{P99, RATE, RunFixture, address, comparing, plan};
use kdyno_analysis::run::{AnalysedTrial, side_b};
use kdyno_model::conclusion::{MetricRole, Says};
use kdyno_model::finding::{Finding, Mark, Quantity, Scope, Value};

fn of_scope(found: &[Finding], scope: Scope) -> &Finding {
    let mut of_scope = found.iter().filter(|one| (one.scope, one.quantity) == (scope, Quantity::Value));
    let finding = of_scope.next().unwrap();
    assert_eq!(of_scope.next(), None);
    finding
}

#[test]
fn side_b_of_a_case_is_stated_next_to_its_side_a() {
    let plan = comparing(&[P99], &[8], &[]);
    let mut run = RunFixture::default();
    run.pairs(P99, &[1.5; 8]);
    // The last trial is one of side B.
    run.outcomes.last_mut().unwrap().findings[0].marks.insert(Mark::Drifting);
    let found = run.judged(&plan).findings;
    let (a, b) = (of_scope(&found, Scope::Case(0)), of_scope(&found, Scope::SideB { case: 0 }));
    assert_eq!((a.estimate, a.n, a.marks.len()), (Value::Is(450.0), 8, 0), "the median of 100, 200 … 800");
    assert_eq!((b.estimate, b.n, b.marks.len()), (Value::Is(675.0), 8, 1), "the same by 1.5");
    assert_eq!(b.range, Some((Value::Is(150.0), Value::Is(1_200.0))));
}

#[test]
fn what_was_imported_is_compared_and_changes_no_other_verdict() {
    const CPU: &str = "imported-rds.CPU";
    let plan = comparing(&[P99], &[8], &[RATE]);
    let judged = |with: bool| {
        let mut run = RunFixture::default();
        run.pairs(P99, &[1.5; 8]);
        for (at, outcome) in run.outcomes.iter_mut().enumerate() {
            let more = |of: &str, value: f64| {
                let mut finding = outcome.findings[0].clone();
                (finding.of, finding.estimate) = (address(of), Value::Is(value));
                finding
            };
            // Side B has a third more CPU time, and hardly another rate.
            let cpu = more(CPU, if at % 2 == 0 { 0.3 } else { 0.4 });
            let rate = more(RATE, 1000.0 + [3.0, 1.0, 2.0][at % 3]);
            outcome.findings.push(rate);
            outcome.findings.extend(with.then_some(cpu));
        }
        run.verdicts(&plan)
    };
    let (before, after) = (judged(false), judged(true));
    let (imported, others): (Vec<_>, Vec<_>) =
        after.into_iter().partition(|verdict| verdict.role == MetricRole::Imported);
    assert_eq!(others, before);
    let [cpu] = &imported[..] else { panic!("{imported:?}") };
    assert_eq!((cpu.of.to_string().as_str(), cpu.a, cpu.b), (CPU, Value::Is(0.3), Value::Is(0.4)));
    assert!(cpu.ratio.is_some_and(|ratio| (ratio.estimate - 4.0 / 3.0).abs() < 1e-9), "{cpu:?}");
    // A pair with an import on one side alone has no ratio.
    let mut run = RunFixture::default();
    run.pairs(P99, &[1.5; 8]);
    let mut one_side = run.outcomes[0].findings[0].clone();
    one_side.of = address(CPU);
    run.outcomes[0].findings.push(one_side);
    let verdict = run.verdicts(&plan).pop().unwrap();
    assert!(verdict.of == address(CPU) && matches!(verdict.says, Says::Invalid { .. }), "{verdict:?}");
}

#[test]
fn outside_of_comparisons_there_is_no_side_b() {
    let mut run = RunFixture::default();
    run.repeats(P99, &[&[1.0, 2.0]]);
    let trials: Vec<AnalysedTrial<'_>> = run.outcomes.iter().map(AnalysedTrial::of).collect();
    assert_eq!(side_b(&plan(1, &[]), &trials), []);
}
