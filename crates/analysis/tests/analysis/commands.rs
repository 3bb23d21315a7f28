//! What is stated of load items that are commands.

use crate::fixture::{TrialFixture, event, plans};
use kdyno_model::caveat::{Caveat, Severity};
use kdyno_model::event::{EventKind, Subject};
use kdyno_model::finding::{Mark, Value};
use kdyno_model::metric::Unit;
use kdyno_model::plan::command::series;
use kdyno_model::plan::http_load::HttpLoad;
use kdyno_model::plan::{CommandPlan, CsvColumns, OutputFormat, ParsePlan};
use kdyno_model::sample::ProbeReading;
use std::collections::BTreeMap;

/// A command with these readings.
fn command(trial: &mut TrialFixture, readings: &[(i64, &str, f64)]) {
    let plan = CommandPlan { run: vec!["./import".to_owned()], timeout_ns: 1, ..plans::command() };
    trial.start.trial.effective.commands.insert("import".to_owned(), plan);
    trial.probes.extend(readings.iter().map(|(at_ns, series, value)| ProbeReading {
        at_ns: *at_ns,
        subject: Subject::Item("import".to_owned()),
        series: (*series).to_owned(),
        value: *value,
    }));
}

#[test]
fn a_command_that_ended_by_itself_has_duration_and_its_figures() {
    let mut trial = TrialFixture::clean();
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
    assert!(trial.reported(is_failure).is_empty());
}

#[test]
fn a_trial_with_an_unseen_end_of_its_command_was_cut_short() {
    let mut trial = TrialFixture::clean();
    command(&mut trial, &[]);
    let is_cut_short = |caveat: &Caveat| matches!(caveat, Caveat::CutShort { .. });
    let subject = || Subject::Item("import".to_owned());
    trial.events.push(event(EventKind::CommandStarted, subject(), "import started"));
    assert_eq!(trial.reported(is_cut_short).len(), 1);
    // Without records, and before its first output, the last reading of any process says how far it came: from second 2
    // to 7.
    let (samples, probes) = (std::mem::take(&mut trial.samples), trial.probes.clone());
    trial.probes.retain(|reading| reading.at_ns < 8_000_000_000);
    let reported = trial.reported(is_cut_short);
    assert!(matches!(reported[0].caveat, Caveat::CutShort { measured_s: 5, .. }), "{reported:?}");
    (trial.samples, trial.probes) = (samples, probes);
    trial.events.push(event(EventKind::CommandEnded, subject(), "import ended after 3 s"));
    assert!(trial.reported(is_cut_short).is_empty());
}

#[test]
fn a_failed_command_has_a_least_duration_and_invalid_figures() {
    let mut trial = TrialFixture::clean();
    command(&mut trial, &[(9, series::ENDED_AFTER_S, 30.0)]);
    let detail = "import: it did not end within its timeout of 30 s and was ended";
    trial.events.push(event(EventKind::CommandFailed, Subject::Item("import".to_owned()), detail));
    assert_eq!(trial.value("import.duration"), Value::AtLeast(30e9));
    trial.is("import.succeeded", 0.0);
    let reported = trial.reported(|caveat| matches!(caveat, Caveat::CommandFailed { .. }));
    let [one] = reported.as_slice() else { panic!("{reported:?}") };
    assert_eq!(one.severity, Severity::Invalid);
    let marked = trial.marked(Mark::Invalid);
    assert!(marked.contains("import.duration"), "{marked:?}");
    assert!(
        !marked.contains("import.succeeded") && !marked.iter().any(|of| of.starts_with("writers")),
        "{marked:?}"
    );
}

/// A service that refuses half of what it is asked has the shorter times.
#[test]
fn failed_requests_are_reported_next_to_the_affected_times() {
    let is_it = |caveat: &Caveat| matches!(caveat, Caveat::RequestsFailed { .. });
    let with = |errors: f64| {
        let mut trial = TrialFixture::clean();
        let readings = [
            (9, series::DURATION_S, 4.0),
            (9, series::REQUESTS_TOTAL, 400.0),
            (9, series::ERRORS_TOTAL, errors),
            (9, "command_response_s.p95", 0.02),
        ];
        command(&mut trial, &readings);
        trial
    };
    assert!(with(0.0).reported(is_it).is_empty());
    let mut half = with(200.0);
    let reported = half.reported(is_it);
    let [one] = reported.as_slice() else { panic!("{reported:?}") };
    assert_eq!(one.severity, Severity::Warning);
    assert_eq!(one.caveat, Caveat::RequestsFailed { item: "import".to_owned(), errors: 200, share: 0.5 });
    let of = kdyno_model::metric::Address { subject: "import".to_owned(), metric: "response.p95".to_owned() };
    assert!(one.speaks_of(&of));
    half.events.push(event(
        EventKind::CommandFailed,
        Subject::Item("import".to_owned()),
        "import: it failed",
    ));
    assert!(half.reported(is_it).is_empty(), "more than that has been told");
}

/// Users are sent by one thread: what takes all of a core measures itself.
#[test]
fn users_with_a_sender_at_its_limit_are_reported() {
    let is_it = |caveat: &Caveat| matches!(caveat, Caveat::ThreadBusy { .. });
    let with = |cpu_s: f64, is_http: bool| {
        let mut trial = TrialFixture::clean();
        command(&mut trial, &[(9, series::ENDED_AFTER_S, 10.0), (9, series::CPU_S, cpu_s)]);
        let users = plans::users("http://h", false);
        let plan = trial.start.trial.effective.commands.get_mut("import").expect("it was put there");
        plan.http = is_http.then(|| HttpLoad::Users(Box::new(users)));
        trial
    };
    assert!(with(7.0, true).reported(is_it).is_empty());
    assert!(with(9.0, false).reported(is_it).is_empty(), "another program may have many threads");
    let reported = with(9.0, true).reported(is_it);
    let [one] = reported.as_slice() else { panic!("{reported:?}") };
    let wanted = Caveat::ThreadBusy { thread: "import".to_owned(), cpu_percent: 90.0 };
    assert_eq!((one.severity, &one.caveat), (Severity::Warning, &wanted));
}

#[test]
fn what_commands_used_is_not_the_load_of_other_programs() {
    let is_other = |caveat: &Caveat| matches!(caveat, Caveat::OtherLoad { .. });
    let busy = |cpu_s: f64| {
        let mut trial = TrialFixture::clean();
        trial.probes.retain(|reading| reading.subject != Subject::Host);
        trial.counter(Subject::Host, kdyno_model::sample::series::CPU_USER_S_TOTAL, 100.0);
        trial.counter(Subject::Host, kdyno_model::sample::series::CPU_SYSTEM_S_TOTAL, 0.0);
        command(&mut trial, &[(9, series::CPU_S, cpu_s)]);
        trial
    };
    assert_eq!(busy(0.0).reported(is_other).len(), 1);
    assert!(busy(1e6).reported(is_other).is_empty());
}

/// A second in which nothing began has no mean, and what is reported of the whole at the end is of no second.
#[test]
fn mean_response_times_are_of_requests_that_started_in_a_second() {
    let mut trial = TrialFixture::clean();
    let at = |at_s: i64, series, value| (at_s * 1_000_000_000, series, value);
    let counted =
        [(3, 100.0), (4, 100.0), (5, 300.0), (9, 300.0)].map(|(s, n)| at(s, series::REQUESTS_TOTAL, n));
    let took = [(3, 0.5), (4, 0.5), (5, 2.5)].map(|(s, took)| at(s, series::RESPONSE_S_TOTAL, took));
    command(&mut trial, &[&counted[..], &took].concat());
    let imported = kdyno_analysis::series::trial(&trial).expect("series").imported;
    let [rates, times] = imported.as_slice() else { panic!("{imported:?}") };
    assert_eq!((rates.name.as_str(), rates.points.len()), ("requests", 3));
    assert_eq!((times.name.as_str(), times.unit), ("mean response time of requests", Unit::Ns));
    let points: Vec<_> = times.points.iter().map(|point| (point.at_s, point.value)).collect();
    assert_eq!(points, [(3.0, 5e6), (5.0, 1e7)]);
}

/// Kafka's producer tool writes a line every five seconds: its rate is not that of the second in which the line came.
#[test]
fn a_tools_figures_of_some_seconds_are_a_rate_of_these() {
    let points = |format: OutputFormat| {
        let mut trial = TrialFixture::clean();
        let totals = [(2, 1_000.0), (7, 6_000.0), (12, 16_000.0), (13, 17_000.0)];
        let readings = totals.map(|(at_s, total)| (at_s * 1_000_000_000, series::REQUESTS_TOTAL, total));
        command(&mut trial, &readings);
        let plan = trial.start.trial.effective.commands.get_mut("import").expect("it was put there");
        plan.parse = Some(ParsePlan {
            format,
            file: None,
            columns: CsvColumns::default(),
            labels: BTreeMap::new(),
            apart: None,
        });
        let series = kdyno_analysis::series::trial(&trial).expect("series").imported.remove(0);
        series.points.iter().map(|point| (point.at_s, point.value)).collect::<Vec<_>>()
    };
    assert_eq!(points(OutputFormat::PerfTest), [(7.0, 1_000.0), (12.0, 2_000.0)], "the last is of all");
    let of_seconds = points(OutputFormat::Jtl);
    assert!(of_seconds.contains(&(7.0, 5_000.0)) && of_seconds.contains(&(8.0, 0.0)), "{of_seconds:?}");
}
