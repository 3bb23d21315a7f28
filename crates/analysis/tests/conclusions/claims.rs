//! Claims and contrasts.

use crate::fixture::{P99, RATE, RunFixture, address, invalid, late, plan, queued};
use kdyno_model::caveat::Concern;
use kdyno_model::conclusion::{ClaimSays, Conclusion, JudgedClaim, PartsOf, WindowParts};
use kdyno_model::finding::{Interval, IntervalMethod, Mark, Quantity, Scope, Value};
use kdyno_model::outcome::TrialOutcome;
use kdyno_model::plan::{Claim, ClaimExpr, ClaimOp, Contrast, Plan};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
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

/// One trial with a p99, and between which figures the parts of its window lie.
fn one_trial(value: f64, parts: Option<(f64, f64)>) -> RunFixture {
    one_trial_of(P99, value, parts)
}

fn one_trial_of(metric: &str, value: f64, parts: Option<(f64, f64)>) -> RunFixture {
    let mut run = RunFixture::default();
    let outcome = run.trial(0, 1, &[(metric, Value::Is(value))]);
    let scope = Scope::Trial(outcome.trial.id);
    let of = parts.map(|(low, high)| PartsOf { of: address(metric), low, high }).into_iter().collect();
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
        (20.1, Some((19.6, 20.6)), 19.5, "a tail of another trial may differ by more"),
        (20.1, Some((19.6, 20.6)), 13.0, "it may differ by a half as well"),
        (20.1, Some((15.0, 24.0)), 12.0, "the window shows that parts of it differ"),
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
    // In an even window: by a factor of 1.6.
    assert_eq!(at_most(20.1, Some((19.6, 20.6)), 12.0), ClaimSays::DoesNot);
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
fn a_rate_of_one_trial_misses_a_claim_by_a_tenth() {
    let at_least = |limit| {
        let run = one_trial_of(RATE, 900.0, Some((890.0, 910.0)));
        says(&run, metric(RATE, 0), ClaimOp::AtLeast, number(limit))
    };
    assert_eq!([at_least(980.0), at_least(1_000.0)], [ClaimSays::CannotTell, ClaimSays::DoesNot]);
}

/// Two tails differ by more than one does, and what is left of one tail without the other by more still.
#[test]
fn a_claim_of_several_figures_has_the_spread_of_all() {
    let even = |value: f64| (P99, value, Some((0.99 * value, 1.01 * value)));
    let p50 = "writers.response.p50";
    let with = |left: ClaimExpr, p99: f64, other: f64, limit: f64| {
        let (metric, value, parts) = even(p99);
        let mut run = one_trial_of(metric, value, parts);
        let outcome = &mut run.outcomes[0];
        let mut finding = outcome.findings[0].clone();
        (finding.of, finding.estimate) = (address(p50), Value::Is(other));
        outcome.findings.push(finding);
        let Some(Conclusion::WindowParts(parts)) = outcome.conclusions.last_mut() else { panic!() };
        parts.of.push(PartsOf { of: address(p50), low: 0.99 * other, high: 1.01 * other });
        says(&run, left, ClaimOp::AtMost, number(limit))
    };
    let both = || (Box::new(metric(P99, 0)), Box::new(metric(p50, 0)));
    let quotient = || ClaimExpr::Quotient(both().0, both().1);
    let difference = || ClaimExpr::Difference(both().0, both().1);
    // 1.7 · √2 · 0.283: a factor of 1.97.
    assert_eq!(with(quotient(), 20.0, 10.0, 1.05), ClaimSays::CannotTell);
    assert_eq!(with(quotient(), 20.0, 10.0, 1.0), ClaimSays::DoesNot);
    // In 20 − 10 the tail's 28 % are 57 % of the difference, and the median's are 28: a factor of 2.93.
    assert_eq!(with(difference(), 20.0, 10.0, 3.5), ClaimSays::CannotTell);
    assert_eq!(with(difference(), 20.0, 10.0, 3.3), ClaimSays::DoesNot);
    let sum = ClaimExpr::Sum(both().0, both().1);
    assert_eq!(with(sum, 20.0, 10.0, 18.0), ClaimSays::DoesNot, "no more than the tail's own");
}

/// Windows of ten parts, each like the one before, in trials that differ by their own, and the claim's limit is the truth.
#[test]
fn few_trials_of_what_just_keeps_a_claim_are_said_to_miss_it() {
    const TRIALS: u32 = 20_000;
    let mut random = Pcg64::seed_from_u64(20_261_201);
    let mut normal = || {
        let (u, v): (f64, f64) = (random.random(), random.random());
        (-2.0 * (1.0 - u).ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    };
    // Share of trials that are said to miss it: of a figure with this sd between trials, an sd of parts, and how alike
    // neighbours are; the truth lies `beyond` the limit, in logarithms.
    let mut missed = |of: &str, trials: f64, part: f64, alike: f64, beyond: f64| {
        let op = if of == P99 { ClaimOp::AtMost } else { ClaimOp::AtLeast };
        let sign = if of == P99 { 1.0 } else { -1.0 };
        let mut count = 0;
        for _ in 0..TRIALS {
            let own = trials * normal();
            let mut wave = normal();
            let parts: Vec<f64> = (0..10)
                .map(|_| {
                    wave = alike * wave + (1.0 - alike * alike).sqrt() * normal();
                    (sign * (beyond + own + part * wave)).exp()
                })
                .collect();
            let mean = parts.iter().map(|part| part.ln()).sum::<f64>() / 10.0;
            let low = parts.iter().copied().fold(f64::INFINITY, f64::min);
            let high = parts.iter().copied().fold(0.0, f64::max);
            let run = one_trial_of(of, mean.exp(), Some((low, high)));
            count += u32::from(says(&run, metric(of, 0), op, number(1.0)) == ClaimSays::DoesNot);
        }
        f64::from(count) / f64::from(TRIALS)
    };
    // The share's own standard error is 0.15 %.
    for (of, trials, parts) in [(P99, 0.4 / 2_f64.sqrt(), [0.01, 0.1, 0.3]), (RATE, 0.06, [0.002, 0.03, 0.2])]
    {
        for part in parts {
            for alike in [0.0, 0.5, 0.8] {
                let share = missed(of, trials, part, alike, 0.0);
                assert!(share <= 0.05, "{of}, parts differ by {part} ({alike}): {share}");
            }
        }
    }
    // What is missed by far is found, and even windows of tails that differ most by as much as METHOD says.
    assert!(missed(P99, 0.283, 0.05, 0.5, 2.2_f64.ln()) > 0.8);
    assert!(missed(RATE, 0.06, 0.01, 0.5, 0.2) > 0.8);
    assert!((0.06..0.1).contains(&missed(P99, 0.33, 0.01, 0.0, 0.0)));
    assert!((0.1..0.14).contains(&missed(P99, 0.4, 0.01, 0.0, 0.0)));
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
