//! Next to a figure that is largely the load generator's own is what it is without.

use crate::fixture::{RunFixture, finding, run};
use kdyno_model::finding::{Scope, Value};
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
