//! Both sides of a comparison are stated as cases are.

use crate::fixture::{P99, Run, comparing, plan};
use kdyno_analysis::run::{AnalysedTrial, side_b};
use kdyno_model::finding::{Finding, Mark, Quantity, Scope, Value};

fn of_scope(found: &[Finding], scope: Scope) -> &Finding {
    let mut of_scope = found.iter().filter(|one| (one.scope, one.quantity) == (scope, Quantity::Value));
    let finding = of_scope.next().unwrap();
    assert_eq!(of_scope.next(), None);
    finding
}

#[test]
fn side_b_of_a_case_is_stated_beside_its_side_a() {
    let plan = comparing(&[P99], &[8], &[]);
    let mut run = Run::default();
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
fn outside_of_comparisons_there_is_no_side_b() {
    let mut run = Run::default();
    run.repeats(P99, &[&[1.0, 2.0]]);
    let trials: Vec<AnalysedTrial<'_>> = run.outcomes.iter().map(AnalysedTrial::of).collect();
    assert_eq!(side_b(&plan(1, &[]), &trials), []);
}
