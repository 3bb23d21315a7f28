//! Cases with invalid repeats.

use crate::fixture::{P99, RATE, RunFixture, address, late, plan, queued};
use kdyno_model::conclusion::{ClaimSays, Conclusion, JudgedClaim, of_kind};
use kdyno_model::finding::{Finding, Interval, Mark, NotResolvable, Quantity, Scope, Value};
use kdyno_model::plan::{Claim, ClaimExpr, ClaimOp, Plan};

const MS: f64 = 1e6;

fn p99_of_case(run: &RunFixture) -> Finding {
    let found = run.judged(&plan(1, &[P99])).findings.into_iter();
    let mut of_case = found.filter(|of| (of.scope, of.quantity) == (Scope::Case(0), Quantity::Value));
    of_case.find(|of| of.of == address(P99)).unwrap()
}

fn claimed(run: &RunFixture, op: ClaimOp) -> (ClaimSays, bool) {
    let metric = ClaimExpr::Metric { of: address(P99), case: 0 };
    let (text, that, right) = (String::new(), String::new(), ClaimExpr::Number(20.0 * MS));
    let claim = Claim { text, that, is_threshold: false, left: metric, op, right };
    let found = run.judged(&Plan { claims: vec![claim], ..plan(1, &[P99]) }).conclusions;
    let claim = of_kind::<JudgedClaim>(&found).next().unwrap();
    (claim.says, claim.marks[0].contains(&Mark::Invalid))
}

/// Five repeats; the last ones, so many, could not carry the load.
fn overloaded(queued_ones: usize) -> RunFixture {
    let mut run = RunFixture::default();
    let p99 = |repeat: usize| if repeat < 5 - queued_ones { 12.0 + repeat as f64 / 10.0 } else { 8_000.0 };
    let repeats: Vec<f64> = (0..5).map(|repeat| p99(repeat) * MS).collect();
    run.repeats(P99, &[&repeats]);
    run.outcomes[5 - queued_ones..].iter_mut().for_each(queued);
    run
}

#[test]
fn an_overloaded_repeat_stays_in_the_table_as_a_lower_bound() {
    let p99 = p99_of_case(&overloaded(0));
    assert_eq!((p99.estimate, p99.n, p99.is_invalid()), (Value::Is(12.2 * MS), 5, false));
    let p99 = p99_of_case(&overloaded(2));
    assert_eq!((p99.estimate, p99.n, p99.is_invalid()), (Value::Is(12.2 * MS), 5, true));
    assert_eq!(p99.range, Some((Value::Is(12.0 * MS), Value::AtLeast(8_000.0 * MS))));
    let p99 = p99_of_case(&overloaded(3));
    assert_eq!((p99.estimate, p99.is_invalid()), (Value::AtLeast(8_000.0 * MS), true));
    // Rates remain valid: what was acknowledged was handled.
    let mut run = RunFixture::default();
    run.repeats(RATE, &[&[1.0, 2.0, 3.0]]);
    queued(&mut run.outcomes[2]);
    let rate = run.judged(&plan(1, &[RATE])).findings.remove(0);
    assert_eq!((rate.estimate, rate.is_invalid()), (Value::Is(2.0), false));
}

#[test]
fn overloaded_repeats_can_refute_a_claim_and_never_prove_one() {
    assert_eq!(claimed(&overloaded(0), ClaimOp::AtMost), (ClaimSays::Holds, false));
    // It held in the others alone.
    assert_eq!(claimed(&overloaded(1), ClaimOp::AtMost), (ClaimSays::CannotTell, true));
    assert_eq!(claimed(&overloaded(5), ClaimOp::AtMost), (ClaimSays::DoesNot, true));
    assert_eq!(claimed(&overloaded(5), ClaimOp::Greater), (ClaimSays::Holds, true));
}

#[test]
fn a_repeat_with_an_invalid_figure_is_left_out_and_marked() {
    let mut run = overloaded(1);
    late(&mut run.outcomes[4]);
    let p99 = p99_of_case(&run);
    assert_eq!((p99.estimate, p99.n, p99.is_invalid()), (Value::Is(12.15 * MS), 4, true));
    assert_eq!(claimed(&run, ClaimOp::AtMost), (ClaimSays::Holds, true), "of what is left, and marked");
    // Without any other it is shown.
    run.outcomes.drain(..4);
    let p99 = p99_of_case(&run);
    assert_eq!((p99.estimate, p99.n, p99.is_invalid()), (Value::Is(8_000.0 * MS), 1, true));
}

#[test]
fn what_the_generator_spoilt_is_left_out_without_a_mark() {
    let mut run = overloaded(0);
    late(&mut run.outcomes[4]);
    let p99 = p99_of_case(&run);
    assert_eq!((p99.estimate, p99.n, p99.is_invalid()), (Value::Is(12.15 * MS), 4, false));
    run.outcomes.iter_mut().for_each(late);
    let p99 = p99_of_case(&run);
    assert_eq!((p99.n, p99.is_invalid()), (5, true), "there is nothing else");
}

#[test]
fn a_ratio_to_an_overloaded_row_has_no_interval_and_the_mark() {
    let mut run = RunFixture::default();
    run.repeats(P99, &[&[10.0 * MS; 3], &[12.0 * MS, 12.1 * MS, 8_000.0 * MS]]);
    let judged = |run: &RunFixture| run.judged(&plan(2, &[P99]));
    let ratio = |run: &RunFixture| {
        let mut found = judged(run).findings.into_iter();
        found.rfind(|of| of.quantity == Quantity::RatioToFirstRow).unwrap()
    };
    assert!(matches!(ratio(&run).interval, Interval::Bounds { .. }));
    queued(&mut run.outcomes[5]);
    let of_queue = ratio(&run);
    assert_eq!(of_queue.interval, Interval::NotResolvable(NotResolvable::Censored));
    assert!(
        of_queue.is_invalid() && matches!(of_queue.estimate, Value::Is(ratio) if (ratio - 1.21).abs() < 1e-9)
    );
    let Some(Conclusion::ToldApart(reported)) = judged(&run).conclusions.pop() else { panic!("no column") };
    let why = reported.why_not.unwrap();
    assert!(why.contains("only a lower bound is known (records without an outcome, or a queue)"), "{why}");
}
