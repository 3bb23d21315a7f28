//! Claims and contrasts.

use crate::fixture::{P99, RATE, RunFixture, address, invalid, late, plan, queued};
use kdyno_model::caveat::Concern;
use kdyno_model::conclusion::{ClaimSays, Conclusion, JudgedClaim, PartsOf, WindowParts};
use kdyno_model::finding::{Interval, IntervalMethod, Mark, Quantity, Scope, Value};
use kdyno_model::outcome::TrialOutcome;
use kdyno_model::plan::{Claim, ClaimExpr, ClaimOp, Contrast, Plan};
use std::collections::BTreeSet;

fn metric(of: &str, case: u32) -> ClaimExpr {
    ClaimExpr::Metric { of: address(of), case }
}

fn number(number: f64) -> ClaimExpr {
    ClaimExpr::Number(number)
}

fn claiming(left: ClaimExpr, op: ClaimOp, right: ClaimExpr) -> Plan {
    let claim = Claim { text: String::new(), that: String::new(), is_threshold: false, left, op, right };
    Plan { claims: vec![claim], ..plan(2, &[]) }
}

fn judged(run: &RunFixture, plan: &Plan) -> JudgedClaim {
    let mut conclusions = run.judged(plan).conclusions;
    let Some(Conclusion::Claim(claim)) = conclusions.pop() else { panic!("no claim") };
    assert!(conclusions.is_empty() && claim.claim == 0);
    claim
}

fn says(run: &RunFixture, left: ClaimExpr, op: ClaimOp, right: ClaimExpr) -> ClaimSays {
    judged(run, &claiming(left, op, right)).says
}

#[test]
fn a_claim_holds_when_the_whole_interval_does() {
    use ClaimOp::{AtLeast, AtMost, Greater, Less};
    use ClaimSays::{CannotTell, DoesNot, Holds};
    let mut run = RunFixture::default();
    run.repeats(RATE, &[&[100.0, 80.0, 60.0], &[151.0, 119.0, 91.0]]);
    let claim = |op, factor: f64| {
        let right = ClaimExpr::Product(Box::new(number(factor)), Box::new(metric(RATE, 0)));
        says(&run, metric(RATE, 1), op, right)
    };
    assert_eq!([Less, AtMost, Greater, AtLeast].map(|op| claim(op, 1.2)), [DoesNot, DoesNot, Holds, Holds]);
    assert_eq!([Less, AtMost, Greater, AtLeast].map(|op| claim(op, 2.0)), [Holds, Holds, DoesNot, DoesNot]);
    assert_eq!([Less, AtMost, Greater, AtLeast].map(|op| claim(op, 1.5)), [CannotTell; 4]);
    // At the limit itself: what cannot be less can still be at most.
    let mut exact = RunFixture::default();
    exact.repeats(RATE, &[&[0.0; 3], &[0.0; 3]]);
    let zero = |op| says(&exact, metric(RATE, 0), op, number(0.0));
    assert_eq!([Less, AtMost, Greater, AtLeast].map(zero), [DoesNot, Holds, DoesNot, Holds]);
}

#[test]
fn sides_are_compared_repeat_by_repeat() {
    let mut run = RunFixture::default();
    run.repeats(RATE, &[&[100.0, 80.0, 60.0], &[120.0, 97.0, 72.0]]);
    let claim = judged(&run, &claiming(metric(RATE, 1), ClaimOp::Greater, metric(RATE, 0)));
    assert_eq!((claim.left, claim.right, claim.n), (Value::Is(97.0), Value::Is(80.0), 3));
    let ratio = claim.compared.unwrap();
    assert!((ratio.estimate - 1.204).abs() < 0.001, "{ratio:?}");
    let Interval::Bounds { method, level, .. } = ratio.interval else { panic!("{ratio:?}") };
    assert_eq!((method, level), (IntervalMethod::StudentT, 0.95));
    // A side that may be 0 or less is compared by the difference.
    let gain = ClaimExpr::Difference(Box::new(metric(RATE, 1)), Box::new(metric(RATE, 0)));
    let claim = judged(&run, &claiming(gain, ClaimOp::Greater, number(0.0)));
    assert_eq!((claim.says, claim.left), (ClaimSays::Holds, Value::Is(17.0)));
    assert!((claim.compared.unwrap().estimate - 49.0 / 3.0).abs() < 1e-9);
    let share = ClaimExpr::Quotient(Box::new(metric(RATE, 1)), Box::new(metric(RATE, 0)));
    let sum = ClaimExpr::Sum(Box::new(share), Box::new(number(1.0)));
    assert_eq!(says(&run, sum, ClaimOp::AtMost, number(2.3)), ClaimSays::Holds);
}

#[test]
fn marks_of_every_figure_are_kept_with_the_side_made_of_it() {
    let mut run = RunFixture::default();
    run.repeats(RATE, &[&[100.0, 80.0, 60.0], &[120.0, 97.0, 72.0]]);
    run.outcomes[1].findings[0].marks.insert(Mark::Drifting);
    run.outcomes[5].findings[0].marks.insert(Mark::ShortTerm);
    let sum = ClaimExpr::Sum(Box::new(metric(RATE, 0)), Box::new(metric(RATE, 1)));
    let claim = judged(&run, &claiming(sum, ClaimOp::Greater, metric(RATE, 0)));
    let both = BTreeSet::from([Mark::Drifting, Mark::ShortTerm]);
    assert_eq!(claim.marks, [both.clone(), BTreeSet::from([Mark::Drifting])]);
    let contrast = Contrast { name: String::new(), from: 0, to: 1, of: vec![address(RATE)] };
    let found = run.judged(&Plan { contrasts: vec![contrast], ..plan(2, &[]) }).findings;
    let ratio = found.iter().find(|finding| finding.quantity == Quantity::RatioOfContrast).unwrap();
    assert_eq!(ratio.marks, both);
}

#[test]
fn an_inconclusive_claim_says_why() {
    let reason = |run: &RunFixture| {
        let claim = judged(run, &claiming(metric(RATE, 1), ClaimOp::Less, metric(RATE, 0)));
        assert_eq!(claim.says, ClaimSays::CannotTell);
        claim.reason.unwrap()
    };
    let mut run = RunFixture::default();
    run.repeats(RATE, &[&[1.0], &[2.0]]);
    assert_eq!(
        reason(&run),
        "one trial per case, so run-to-run variation is unknown (set `repeat: 3` or more)"
    );
    let mut run = RunFixture::default();
    run.repeats(RATE, &[&[1.0; 2], &[2.0; 2]]);
    assert_eq!(reason(&run), "2 repeats are too few, 3 are needed");
    let mut run = RunFixture::default();
    run.repeats(RATE, &[&[1.0; 3], &[2.0; 3]]);
    for outcome in &mut run.outcomes[..3] {
        invalid(outcome, Concern::Everything);
    }
    assert_eq!(reason(&run), "no repeat has all the figures that it needs, fit for use");
    let mut run = RunFixture::default();
    run.repeats(RATE, &[&[1.0; 3], &[2.0; 3]]);
    for outcome in &mut run.outcomes[3..] {
        outcome.session = 2;
    }
    assert_eq!(reason(&run), "its cases ran in different sessions");
}

/// One trial with a figure, and between which figures the parts of its window lie.
fn one_trial(value: f64, parts: Option<(f64, f64)>) -> RunFixture {
    let mut run = RunFixture::default();
    let outcome = run.trial(0, 1, &[(P99, Value::Is(value))]);
    let scope = Scope::Trial(outcome.trial.id);
    let of = parts.map(|(low, high)| PartsOf { of: address(P99), low, high }).into_iter().collect();
    outcome.conclusions.push(Conclusion::WindowParts(WindowParts { scope, of }));
    run
}

#[test]
fn a_claim_that_one_trial_misses_by_far_does_not_hold() {
    let says = |value, parts, op, limit| says(&one_trial(value, parts), metric(P99, 0), op, number(limit));
    let at_most = |value, parts, limit| says(value, parts, ClaimOp::AtMost, limit);
    assert_eq!(at_most(20.1, Some((18.0, 24.0)), 1.0), ClaimSays::DoesNot);
    assert_eq!(says(1.0, Some((0.9, 1.2)), ClaimOp::AtLeast, 20.0), ClaimSays::DoesNot);
    for (value, parts, limit, why) in [
        (20.1, Some((18.0, 24.0)), 11.0, "not twice as much"),
        (20.1, Some((0.9, 24.0)), 1.0, "a part of the window meets it"),
        (
            20.1,
            Some((2.0, 48.0)),
            1.0,
            "the parts lie further from each other than the limit from the figure",
        ),
        (20.1, None, 1.0, "nothing is known of its parts"),
        (0.5, Some((0.4, 0.6)), 1.0, "one trial never proves anything"),
    ] {
        assert_eq!(at_most(value, parts, limit), ClaimSays::CannotTell, "{why}");
    }
    // The mark on another figure, and in the second of two trials alone.
    let twice = ClaimExpr::Product(Box::new(number(2.0)), Box::new(metric(P99, 0)));
    let both = one_trial(20.0, Some((18.0, 24.0)));
    let claim = claiming(twice, ClaimOp::Less, number(4.0));
    assert_eq!(judged(&both, &claim).says, ClaimSays::DoesNot);
    // A side that may be 0 or less has no such factor.
    let loss = ClaimExpr::Difference(Box::new(number(5.0)), Box::new(metric(P99, 0)));
    let claim = claiming(loss, ClaimOp::AtMost, number(-6.0));
    assert_eq!(judged(&one_trial(20.0, Some((15.0, 25.0))), &claim).says, ClaimSays::CannotTell);
    let mut two = one_trial(20.0, Some((18.0, 24.0)));
    two.trial(0, 2, &[(P99, Value::Is(0.9))]);
    let claim = claiming(metric(P99, 0), ClaimOp::AtMost, number(1.0));
    assert_eq!(judged(&two, &claim).says, ClaimSays::CannotTell);
}

#[test]
fn a_threshold_is_about_this_run_alone() {
    let judged = |run: &RunFixture, op, limit| {
        let mut plan = claiming(metric(P99, 0), op, number(limit));
        plan.claims[0].is_threshold = true;
        judged(run, &plan)
    };
    let run = one_trial(20.1, None);
    assert_eq!(judged(&run, ClaimOp::AtMost, 20.0).says, ClaimSays::DoesNot);
    let held = judged(&run, ClaimOp::AtMost, 20.2);
    assert_eq!((held.says, held.reason, held.n), (ClaimSays::Holds, None, 1));
    // With a figure that is at least so much, more of it may change the answer or not.
    let mut at_least = one_trial(0.0, None);
    at_least.outcomes[0].findings[0].estimate = Value::AtLeast(30.0);
    assert_eq!(judged(&at_least, ClaimOp::AtMost, 20.0).says, ClaimSays::DoesNot);
    assert_eq!(judged(&at_least, ClaimOp::AtMost, 40.0).says, ClaimSays::CannotTell);
    assert_eq!(judged(&at_least, ClaimOp::AtLeast, 20.0).says, ClaimSays::Holds);
    // Nothing divided by nothing is no figure, and no figure is no answer.
    let zeros = one_trial(0.0, None);
    let share = ClaimExpr::Quotient(Box::new(metric(P99, 0)), Box::new(metric(P99, 0)));
    let mut plan = claiming(share, ClaimOp::AtMost, number(1.0));
    plan.claims[0].is_threshold = true;
    let open = self::judged(&zeros, &plan);
    assert_eq!((open.says, open.n), (ClaimSays::CannotTell, 0));
    let mut none = one_trial(20.1, None);
    invalid(&mut none.outcomes[0], Concern::Everything);
    let open = judged(&none, ClaimOp::AtMost, 20.2);
    assert_eq!((open.says, open.n), (ClaimSays::CannotTell, 0));
}

/// What one trial of these reasons at 30 shows: whether it stays at most so much, at least so much, and whether a bound says so.
fn by_bound(reasons: &[fn(&mut TrialOutcome)], op: ClaimOp, limit: f64) -> (ClaimSays, bool) {
    let mut run = one_trial(30.0, None);
    reasons.iter().for_each(|reason| reason(&mut run.outcomes[0]));
    let mut plan = claiming(metric(P99, 0), op, number(limit));
    plan.claims[0].is_threshold = true;
    let found = judged(&run, &plan);
    (found.says, found.by_bound)
}

#[test]
fn a_bound_decides_a_threshold_of_an_invalid_figure() {
    use ClaimOp::{AtLeast, AtMost};
    use ClaimSays::{CannotTell, DoesNot, Holds};
    let at_least = |op, limit| by_bound(&[queued], op, limit);
    assert_eq!([at_least(AtMost, 20.0), at_least(AtMost, 40.0)], [(DoesNot, true), (CannotTell, false)]);
    assert_eq!([at_least(AtLeast, 20.0), at_least(AtLeast, 40.0)], [(Holds, true), (CannotTell, false)]);
    let at_most = |op, limit| by_bound(&[late], op, limit);
    assert_eq!([at_most(AtMost, 40.0), at_most(AtMost, 20.0)], [(Holds, true), (CannotTell, false)]);
    assert_eq!([at_most(AtLeast, 40.0), at_most(AtLeast, 20.0)], [(DoesNot, true), (CannotTell, false)]);
    // What is invalid for both has no bound, and a valid figure needs none.
    for limit in [20.0, 40.0] {
        assert_eq!(by_bound(&[queued, late], AtMost, limit), (CannotTell, false));
    }
    assert_eq!(by_bound(&[], AtMost, 40.0), (Holds, false));
    // A claim about the cluster is not judged by one.
    let mut run = one_trial(30.0, None);
    late(&mut run.outcomes[0]);
    assert_eq!(says(&run, metric(P99, 0), AtMost, number(40.0)), CannotTell);
    // A choice among repeats is none either.
    let mut run = RunFixture::default();
    run.repeats(P99, &[&[30.0, 31.0, 32.0]]);
    invalid(&mut run.outcomes[1], Concern::Everything);
    let mut plan = claiming(metric(P99, 0), AtMost, number(20.0));
    plan.claims[0].is_threshold = true;
    assert!(!judged(&run, &plan).by_bound);
}

#[test]
fn records_without_outcome_can_refute_but_never_prove_a_claim() {
    let mut run = RunFixture::default();
    run.repeats(P99, &[&[30.0, 31.0, 32.0]]);
    run.outcomes[1].findings[0].estimate = Value::AtLeast(31.0);
    let p99 = |op, limit: f64| judged(&run, &claiming(metric(P99, 0), op, number(limit)));
    assert_eq!(p99(ClaimOp::AtMost, 20.0).says, ClaimSays::DoesNot);
    assert_eq!(p99(ClaimOp::AtLeast, 20.0).says, ClaimSays::Holds);
    assert_eq!(p99(ClaimOp::AtMost, 40.0).says, ClaimSays::CannotTell);
    assert_eq!(p99(ClaimOp::AtLeast, 40.0).says, ClaimSays::CannotTell);
    assert!(matches!(p99(ClaimOp::AtMost, 20.0).compared.unwrap().interval, Interval::NotResolvable(_)));
    // On the right side it is the other way round.
    let right = |op, limit: f64| says(&run, number(limit), op, metric(P99, 0));
    assert_eq!(right(ClaimOp::AtMost, 20.0), ClaimSays::Holds);
    assert_eq!(right(ClaimOp::AtMost, 40.0), ClaimSays::CannotTell);
    // Divided by something that is at least 31 it is at most something: nothing is known from below.
    let share = ClaimExpr::Quotient(Box::new(number(1.0)), Box::new(metric(P99, 0)));
    assert_eq!(says(&run, share, ClaimOp::AtLeast, number(0.001)), ClaimSays::CannotTell);
}

#[test]
fn contrasts_are_ratios_from_case_to_case_in_the_plans_order() {
    let contrast =
        |from, to| Contrast { name: String::new(), from, to, of: vec![address(RATE), address(P99)] };
    let plan = Plan { contrasts: vec![contrast(0, 1), contrast(1, 0)], ..plan(2, &[]) };
    let mut run = RunFixture::default();
    run.repeats(RATE, &[&[100.0, 80.0, 60.0], &[200.0, 161.0, 120.0]]);
    let mut found = run.judged(&plan).findings;
    found.retain(|finding| finding.quantity == Quantity::RatioOfContrast);
    let stated: Vec<_> =
        found.iter().map(|finding| (finding.scope, finding.of.to_string(), finding.n)).collect();
    let of = |case, name: &str, n| (Scope::Case(case), name.to_owned(), n);
    assert_eq!(stated, [of(1, RATE, 3), of(1, P99, 0), of(0, RATE, 3), of(0, P99, 0)]);
    let Value::Is(ratio) = found[0].estimate else { panic!("{found:?}") };
    let Interval::Bounds { low, high, .. } = found[0].interval else { panic!("{found:?}") };
    assert!((ratio - 2.004).abs() < 0.001 && low < 2.0 && 2.0 < high, "{ratio} {low} {high}");
    assert_eq!(found[1].estimate, Value::None);
}
