//! Next to a figure that is largely the load generator's own is what it is without.

use crate::fixture::{RunFixture, finding, run};
use kdyno_model::conclusion::{ClaimSays, Conclusion, JudgedClaim};
use kdyno_model::finding::{Scope, Value};
use kdyno_model::plan::{Claim, ClaimExpr, ClaimOp};
use kdyno_model::trial::TrialId;
use kdyno_report::html::page;
use kdyno_report::markdown;
use kdyno_report::terminal::{PrintedOnce, TextOptions, run_table, trial_summary};

const OPTIONS: TextOptions = TextOptions { width: 300, colour: false };
const NOTE: &str = "which is a fifth of them or more";

/// A run of one trial whose p99 of 48.7 ms is so much without the generator.
fn with(without_ns: f64) -> RunFixture {
    let mut run = run();
    run.only_one_trial();
    run.conclusions.clear();
    for scope in [Scope::Case(0), Scope::Trial(TrialId(1))] {
        run.findings.push(finding(scope, "writers.without_generator.p99", Value::Is(without_ns)));
    }
    run
}

fn forms(run: &RunFixture) -> [String; 3] {
    [run_table(&run.input(), &OPTIONS), page(&run.input()), markdown::block(&run.input())]
}

fn summary(run: &RunFixture) -> String {
    trial_summary(&run.trials[0].trial, &run.findings, &run.caveats, &mut PrintedOnce::default(), &OPTIONS)
}

#[test]
fn a_fifth_of_a_figure_is_printed_next_to_it() {
    let run = with(30e6);
    for form in forms(&run) {
        assert!(
            form.contains("own delay, which is a fifth of them or more: writers.response.p99 30.0 ms"),
            "{form}"
        );
    }
    assert!(
        summary(&run).contains("p99 48.7 ms (30.0 ms without the load generator) max"),
        "{}",
        summary(&run)
    );
}

#[test]
fn less_of_it_is_not() {
    let run = with(40e6);
    for form in forms(&run) {
        assert!(!form.contains(NOTE) && !form.contains("without the load generator)"), "{form}");
    }
    assert!(!summary(&run).contains("without the load generator"), "{}", summary(&run));
}

/// A run that is red for what the load generator did says so.
#[test]
fn a_threshold_has_what_the_cluster_took() {
    let sentence = |without_ns: f64| {
        let mut run = with(without_ns);
        let of = finding(Scope::Run, "writers.response.p99", Value::None).of;
        run.header.plan.claims = vec![Claim {
            text: "writers.response.p99 > 40ms".to_owned(),
            that: String::new(),
            left: ClaimExpr::Metric { of, case: 0 },
            op: ClaimOp::AtMost,
            right: ClaimExpr::Number(40e6),
            is_threshold: true,
        }];
        run.conclusions.push(Conclusion::Claim(JudgedClaim {
            claim: 0,
            says: ClaimSays::DoesNot,
            left: Value::Is(48.7e6),
            right: Value::Is(40e6),
            marks: Default::default(),
            compared: None,
            n: 1,
            reason: None,
            by_bound: false,
        }));
        kdyno_report::claim_sentences(&run.input()).concat()
    };
    let red = sentence(30e6);
    assert!(red.contains("> 40ms (it was 48.7 ms; 30.0 ms without the load generator)"), "{red}");
    assert!(sentence(45e6).contains("> 40ms (it was 48.7 ms)"), "{}", sentence(45e6));
}
