//! Where the time goes, in every form of a report.

use crate::fixture::{RunFixture, finding, run};
use kdyno_model::finding::{Mark, Scope, Value};
use kdyno_report::html::page;
use kdyno_report::terminal::{TextOptions, run_table};
use kdyno_report::{csv, json, markdown};

const OPTIONS: TextOptions = TextOptions { width: 300, colour: false };
const TITLE: &str = "Where the time goes";

fn with(scope: Scope, run: &mut RunFixture) {
    for (of, ms) in [
        ("writers.linger.mean", 5.25),
        ("writers.request.mean", 3.75),
        ("brokers.produce_total_mean", 3.0),
        ("brokers.produce_local_mean", 0.006_5),
        ("brokers.produce_remote_mean", 2.46),
        ("brokers.produce_response_queue_mean", 0.0),
    ] {
        run.findings.push(finding(scope, of, Value::Is(ms * 1e6)));
    }
}

#[test]
fn stages_of_records_are_shown_with_those_of_their_requests() {
    let mut run = run();
    run.only_one_trial();
    with(Scope::Case(0), &mut run);
    let text = run_table(&run.input(), &OPTIONS);
    let reported = text.split(&format!("\n{TITLE}\n")).nth(1).unwrap_or_else(|| panic!("{text}"));
    let lines: Vec<&str> =
        reported.lines().map(str::trim).take_while(|line| !line.starts_with("Means")).collect();
    let at = |name: &str| {
        let found = lines.iter().position(|line| line.starts_with(name));
        found.unwrap_or_else(|| panic!("no {name} in {lines:?}"))
    };
    let order =
        ["writers: linger", "writers: request", "brokers: total", "brokers: local", "brokers: remote"];
    assert!(order.map(at).is_sorted(), "{lines:?}");
    assert!(lines[at("brokers: local")].ends_with("  < 0.5 ms"), "{lines:?}");
    assert!(
        lines[at("brokers: response queue")].ends_with("  < 0.5 ms"),
        "0 is less than is resolved: {lines:?}"
    );
    assert!(lines[at("brokers: remote")].ends_with("  2 ms"), "{lines:?}");
    assert!(lines[at("writers: request")].ends_with("3.75 ms"), "{lines:?}");
    assert!(!reported.contains("brokers: response send"), "nobody told it");
    assert!(reported.contains("Kafka rounds each stage of each request to whole milliseconds"), "{reported}");
    for form in [page(&run.input()), markdown::block(&run.input())] {
        assert!(form.contains(TITLE) && !form.contains("6.50 µs") && !form.contains("2.46 ms"), "{form}");
    }
    let json = json::run(&run.input()).to_string();
    assert!(json.contains("produce_remote_mean"), "{json}");
    assert!(csv::findings(&run.input()).contains("produce_remote_mean"));
}

/// A stage that is only known to be at least so long has its place in the bar, and what must not be used looks like that.
#[test]
fn stages_that_are_least_values_are_drawn_as_such() {
    let mut run = run();
    run.only_one_trial();
    with(Scope::Case(0), &mut run);
    assert!(!bars(&run).contains("Dashed"), "{}", bars(&run));
    for one in run.findings.iter_mut().filter(|one| one.of.subject == "writers") {
        match one.of.metric.as_str() {
            "linger.mean" => one.estimate = Value::AtLeast(3.96e6),
            "request.mean" => _ = one.marks.insert(Mark::Invalid),
            _ => {}
        }
    }
    let bars = bars(&run);
    assert!(bars.contains("seg look-") && bars.contains(" least\"") && bars.contains(" pale\""), "{bars}");
    assert!(
        bars.contains("≥ 3.96 ms") && bars.contains("Dashed: the stage took at least so long. Pale: invalid"),
        "{bars}"
    );
}

/// The figure of the bars.
fn bars(run: &RunFixture) -> String {
    let page = page(&run.input());
    let (_, figure) = page.split_once("<figure id=\"stage-bars\"").expect("the bars");
    figure.split("</figure>").next().expect("its end").to_owned()
}

#[test]
fn without_what_brokers_tell_there_is_no_table() {
    let text = run_table(&run().input(), &OPTIONS);
    assert!(!text.contains(TITLE), "{text}");
}

#[test]
fn each_case_has_its_column() {
    let mut run = run();
    with(Scope::Case(0), &mut run);
    with(Scope::Case(1), &mut run);
    let labels: Vec<String> = run.header.plan.cases.iter().map(|case| case.label.clone()).collect();
    let text = run_table(&run.input(), &OPTIONS);
    let reported = text.split(&format!("\n{TITLE}\n")).nth(1).expect("the table");
    let head = reported.lines().find(|line| line.contains("stage")).expect("a head");
    assert!(head.contains(&labels[0]) && head.contains(&labels[1]), "{head}: {labels:?}");
}
