//! What is stated of load items that are commands.

use crate::fixture::{Trial, event};
use kdyno_model::caveat::{Caveat, Severity};
use kdyno_model::event::{EventKind, Subject};
use kdyno_model::finding::{Mark, Value};
use kdyno_model::plan::command::series;
use kdyno_model::plan::{CommandBegins, CommandPlan};
use kdyno_model::sample::ProbeReading;
use std::collections::BTreeMap;

/// A command of which these readings are known.
fn command(trial: &mut Trial, readings: &[(i64, &str, f64)]) {
    let plan = CommandPlan {
        run: vec!["./import".to_owned()],
        http: None,
        begins: CommandBegins::At(0),
        timeout_ns: 1,
        ends_measure: false,
        environment: BTreeMap::new(),
        parse: None,
    };
    trial.start.trial.effective.commands.insert("import".to_owned(), plan);
    trial.probes.extend(readings.iter().map(|(at_ns, series, value)| ProbeReading {
        at_ns: *at_ns,
        subject: Subject::Item("import".to_owned()),
        series: (*series).to_owned(),
        value: *value,
    }));
}

#[test]
fn a_command_that_ended_by_itself_has_its_duration_and_what_it_told() {
    let mut trial = Trial::clean();
    let before = trial.findings().len();
    command(
        &mut trial,
        &[
            (9, series::DURATION_S, 4.0),
            (9, series::EXIT_CODE, 0.0),
            (9, series::CPU_S, 1.5),
            (5, series::REQUESTS_TOTAL, 300.0),
            (9, series::REQUESTS_TOTAL, 400.0),
            (9, series::ERRORS_TOTAL, 4.0),
            (9, "command_response_s.p95", 0.02),
        ],
    );
    for (metric, wanted) in [
        ("duration", 4e9),
        ("succeeded", 1.0),
        ("exit_code", 0.0),
        ("cpu_time", 1.5e9),
        ("requests", 400.0),
        ("errors", 4.0),
        ("error_share", 0.01),
        ("requests_per_s", 100.0),
        ("response.p95", 2e7),
    ] {
        trial.is(&format!("import.{metric}"), wanted);
    }
    assert_eq!(trial.findings().len(), before + 9, "nothing else is told of it");
    let is_failure = |caveat: &Caveat| matches!(caveat, Caveat::CommandFailed { .. });
    assert!(trial.told(is_failure).is_empty());
}

#[test]
fn a_command_that_failed_took_at_least_so_long_and_its_figures_are_not_to_be_used() {
    let mut trial = Trial::clean();
    command(&mut trial, &[(9, series::ENDED_AFTER_S, 30.0)]);
    let detail = "import: it did not end within its timeout of 30 s and was ended";
    trial.events.push(event(EventKind::CommandFailed, Subject::Item("import".to_owned()), detail));
    assert_eq!(trial.value("import.duration"), Value::AtLeast(30e9));
    trial.is("import.succeeded", 0.0);
    let told = trial.told(|caveat| matches!(caveat, Caveat::CommandFailed { .. }));
    let [one] = told.as_slice() else { panic!("{told:?}") };
    assert_eq!(one.severity, Severity::Invalid);
    let marked = trial.marked(Mark::Invalid);
    assert!(marked.contains("import.duration"), "{marked:?}");
    assert!(
        !marked.contains("import.succeeded") && !marked.iter().any(|of| of.starts_with("writers")),
        "{marked:?}"
    );
}

#[test]
fn what_commands_used_is_not_the_load_of_other_programs() {
    let is_other = |caveat: &Caveat| matches!(caveat, Caveat::OtherLoad { .. });
    let busy = |cpu_s: f64| {
        let mut trial = Trial::clean();
        trial.probes.retain(|reading| reading.subject != Subject::Host);
        trial.counter(Subject::Host, kdyno_model::sample::series::CPU_USER_S_TOTAL, 100.0);
        trial.counter(Subject::Host, kdyno_model::sample::series::CPU_SYSTEM_S_TOTAL, 0.0);
        command(&mut trial, &[(9, series::CPU_S, cpu_s)]);
        trial
    };
    assert_eq!(busy(0.0).told(is_other).len(), 1);
    assert!(busy(1e6).told(is_other).is_empty());
}
