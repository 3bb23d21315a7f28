//! What a run comes to, and which of its parts are red.

use crate::answers::with_claims;
use crate::fixture::{ComparisonEnd, RunFixture, caveat, comparison, search};
use kdyno_model::caveat::{Caveat, Severity};
use kdyno_model::conclusion::{ClaimSays, Conclusion, SearchOutcome};
use kdyno_model::finding::{Mark, Value};
use kdyno_model::metric::Address;
use kdyno_model::plan::{ClaimExpr, ClaimOp, Depth};
use kdyno_report::judged::{Gate, RunAnswer, judged, unmet};
use kdyno_report::terminal::{self, TextOptions};
use kdyno_report::{html, junit, markdown};

const CONFIRMED: SearchOutcome = SearchOutcome::Confirmed { load_per_s: 92_000.0 };

/// The claims that are red in JUnit are those that make the exit code red.
#[test]
fn junit_fails_what_the_gate_fails() {
    let mut run = with_claims();
    run.conclusions.retain(|one| format!("{one:?}").contains("CannotTell"));
    let failures = |gate| junit::document(&run.input(), gate).matches("<failure").count();
    assert_eq!([Gate::Worse, Gate::Claims, Gate::Strict].map(failures), [0, 1, 1]);
    let open = comparison(ComparisonEnd::Open, Depth::Verdict);
    let failures = |gate| junit::document(&open.input(), gate).matches("<failure").count();
    assert_eq!([Gate::Worse, Gate::Claims].map(failures), [0, 0]);
    assert!(failures(Gate::Strict) > 0);
}

#[test]
fn a_threshold_says_what_the_figure_was() {
    let mut run = with_claims();
    run.header.plan.claims[1].is_threshold = true;
    run.header.plan.claims[1].text = "writers.acked_per_s < 2 * other".to_owned();
    let sentences = kdyno_report::claim_sentences(&run.input());
    assert!(
        sentences[1].starts_with("Failed: fail_if writers.acked_per_s < 2 * other (it was "),
        "{sentences:?}"
    );
    assert_eq!(judged(&run.input()), RunAnswer::NotMet);
    assert_eq!(unmet(&run.input()), ["a `fail_if` is true"]);
    let document = junit::document(&run.input(), Gate::Worse);
    assert!(
        document.contains("classname=\"fail_if\" name=\"writers.acked_per_s &lt; 2 * other\"><failure"),
        "{document}"
    );
    // Its silence about the cluster excuses no load that was never carried.
    run.header.plan.claims.iter_mut().for_each(|claim| claim.is_threshold = true);
    let nothing = Caveat::NothingAcknowledged { item: "writers".to_owned(), records: 5 };
    run.caveats.push(caveat(1, Severity::Warning, nothing));
    assert_eq!(judged(&run.input()), RunAnswer::Invalid);
}

/// As typed it is what did not come true, which reads as the opposite of what happened.
#[test]
fn a_threshold_that_passes_is_worded_by_what_the_figure_was() {
    let mut run = with_claims();
    let of = Address::parse("writers.response.p99").expect("an address");
    let of = || ClaimExpr::Metric { of: of.clone(), case: 0 };
    let limit = || ClaimExpr::Number(50e6);
    let place = run.conclusions.iter().position(|one| matches!(one, Conclusion::Claim(_))).expect("a claim");
    let mut sentence = |sides: [ClaimExpr; 2], op: ClaimOp, values: [f64; 2]| {
        let Conclusion::Claim(one) = &mut run.conclusions[place] else { panic!("a claim") };
        (one.says, one.n, one.claim) = (ClaimSays::Holds, 1, 1);
        (one.compared, one.reason, one.marks) = (None, None, Default::default());
        [one.left, one.right] = values.map(Value::Is);
        let claim = &mut run.header.plan.claims[1];
        [claim.left, claim.right] = sides;
        (claim.op, claim.is_threshold, claim.text) = (op, true, "as typed".to_owned());
        kdyno_report::claim_sentences(&run.input())[0].clone()
    };
    let text = sentence([of(), limit()], ClaimOp::AtMost, [12.3e6, 50e6]);
    let words = "Passed: writers.response.p99 (brokers=3) was 12.3 ms, not above 50.0 ms (fail_if)";
    assert!(text.starts_with(words), "{text}");
    let text = sentence([limit(), of()], ClaimOp::Greater, [50e6, 12.3e6]);
    assert!(text.contains("p99 (brokers=3) was 12.3 ms, below 50.0 ms (fail_if)"), "{text}");
    let twice = ClaimExpr::Product(Box::new(of()), Box::new(ClaimExpr::Number(2.0)));
    let text = sentence([of(), twice], ClaimOp::AtMost, [12.3e6, 24.6e6]);
    assert!(text.starts_with("Passed: fail_if as typed is not true (it was 12.3 ms against "), "{text}");
}

/// In each form the answer says that its threshold seems to be the wrong way round.
#[test]
fn a_threshold_that_good_figures_fail_says_so_in_its_answer() {
    let mut run = with_claims();
    let of = Address::parse("writers.response.p99").expect("an address");
    let of = || ClaimExpr::Metric { of: of.clone(), case: 0 };
    let limit = || ClaimExpr::Number(50e6);
    let sentence = |run: &mut RunFixture, left, op, right| {
        let claim = &mut run.header.plan.claims[1];
        (claim.left, claim.op, claim.right, claim.is_threshold) = (left, op, right, true);
        kdyno_report::claim_sentences(&run.input())[1].clone()
    };
    let warning =
        |sign: &str| format!("it fails when the figure is low, which is good: {sign} may be meant.");
    let text = sentence(&mut run, of(), ClaimOp::AtLeast, limit());
    assert!(text.ends_with(&warning(">")), "{text}");
    for form in [markdown::block(&run.input()), html::page(&run.input())] {
        assert!(form.contains("it fails when the figure is low"), "{form}");
    }
    let options = TextOptions { width: 400, colour: false };
    assert!(terminal::answer_alone(&run.input(), &options).contains("it fails when the figure is low"));
    assert!(junit::document(&run.input(), Gate::Claims).contains("it fails when the figure is low"));
    let text = sentence(&mut run, limit(), ClaimOp::AtMost, of());
    assert!(text.ends_with(&warning("<")), "{text}");
    let text = sentence(&mut run, of(), ClaimOp::AtMost, limit());
    assert!(!text.contains("may be meant"), "{text}");
}

#[test]
fn a_true_threshold_comes_before_invalid_figures() {
    let mut run = with_claims();
    run.header.plan.show.columns.push(Address::parse("writers.response.p99").expect("an address"));
    assert_eq!(judged(&run.input()), RunAnswer::Invalid, "a column that is shown");
    run.header.plan.claims[1].is_threshold = true;
    assert_eq!(judged(&run.input()), RunAnswer::NotMet);
    for one in &mut run.findings {
        one.marks.insert(Mark::Invalid);
    }
    assert_eq!(judged(&run.input()), RunAnswer::Invalid, "its own figure is invalid too");
    for one in &mut run.conclusions {
        if let Conclusion::Claim(claim) = one {
            claim.by_bound = claim.claim == 1;
        }
    }
    assert_eq!(judged(&run.input()), RunAnswer::NotMet, "which does not matter where a bound decides");
    let lost = Caveat::Lost { topic: "perf".to_owned(), acknowledged: 9, growth: 8 };
    run.caveats.push(caveat(1, Severity::Invalid, lost));
    assert_eq!(judged(&run.input()), RunAnswer::Invalid);
}

#[test]
fn the_answer_decides_what_a_run_comes_to() {
    let of = |ends| judged(&comparison(ends, Depth::Verdict).input());
    assert_eq!(of(ComparisonEnd::Worse), RunAnswer::Worse);
    assert_eq!(of(ComparisonEnd::Better), RunAnswer::Fine);
    assert_eq!(of(ComparisonEnd::Alike), RunAnswer::Fine);
    assert_eq!(of(ComparisonEnd::Maybe), RunAnswer::Inconclusive, "whether it matters is the question");
    assert_eq!(of(ComparisonEnd::Open), RunAnswer::Inconclusive);
    assert_eq!(of(ComparisonEnd::Invalid), RunAnswer::Invalid);
    assert_eq!(
        judged(&comparison(ComparisonEnd::Worse, Depth::Quick).input()),
        RunAnswer::Inconclusive,
        "no verdict"
    );

    let none_meets = search(SearchOutcome::EveryLoadFails { lowest_per_s: 1.0 });
    assert_eq!(unmet(&none_meets.input()), ["no load meets the conditions of the search"]);
    let of = |outcome| judged(&search(outcome).input());
    assert_eq!(of(CONFIRMED), RunAnswer::Fine);
    assert_eq!(of(SearchOutcome::EveryLoadFails { lowest_per_s: 1.0 }), RunAnswer::NotMet);
    assert_eq!(of(SearchOutcome::EveryLoadPasses { highest_per_s: 1.0 }), RunAnswer::Fine);
    assert_eq!(of(SearchOutcome::GeneratorLimit { highest_passed_per_s: None }), RunAnswer::Inconclusive);
    assert_eq!(
        of(SearchOutcome::GeneratorLimit { highest_passed_per_s: Some(1.0) }),
        RunAnswer::Inconclusive
    );
    let none = SearchOutcome::NoFigures { load_per_s: 1.0, highest_passed_per_s: None };
    assert_eq!((of(none), of(SearchOutcome::Unfinished)), (RunAnswer::Inconclusive, RunAnswer::Inconclusive));
    assert_eq!(of(SearchOutcome::NotConfirmed { highest_passed_per_s: 1.0 }), RunAnswer::Inconclusive);

    let mut run = with_claims();
    assert_eq!(judged(&run.input()), RunAnswer::NotMet, "one claim does not hold");
    assert_eq!(unmet(&run.input()), ["a claim does not hold"]);
    let nothing = Caveat::NothingAcknowledged { item: "writers".to_owned(), records: 5 };
    run.caveats.push(caveat(1, Severity::Warning, nothing));
    assert_eq!(judged(&run.input()), RunAnswer::NotMet, "it may be what was claimed");
    let claims = std::mem::take(&mut run.header.plan.claims);
    let conclusions = std::mem::take(&mut run.conclusions);
    assert_eq!(judged(&run.input()), RunAnswer::Invalid, "nobody claimed anything");
    (run.header.plan.claims, run.conclusions) = (claims, conclusions);
    run.caveats.pop();
    run.conclusions.retain(|one| !format!("{one:?}").contains("DoesNot"));
    assert_eq!(judged(&run.input()), RunAnswer::Undecided, "one cannot be told");
}
