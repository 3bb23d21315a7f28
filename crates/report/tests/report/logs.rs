//! What the cluster reports of logs and groups, in every form of a report.

use crate::fixture::{finding, run};
use kdyno_model::finding::{Scope, Value};
use kdyno_report::html::page;
use kdyno_report::terminal::{TextOptions, run_table};
use kdyno_report::{json, markdown};

const OPTIONS: TextOptions = TextOptions { width: 300, colour: false };
const LOGS: &str = "Logs";
const GROUPS: &str = "Committed lag of consumer groups";

#[test]
fn logs_and_groups_have_a_table_each_with_the_known_columns() {
    let mut run = run();
    run.only_one_trial();
    let text = run_table(&run.input(), &OPTIONS);
    assert!(!text.contains(GROUPS) && !text.contains("\nLogs\n"), "{text}");
    for (of, value) in [
        ("brokers.run_log_bytes", Value::Is(3e6)),
        ("brokers.run_log_growth_mib_per_s", Value::Is(4.25)),
        ("broker-0.run_log_bytes", Value::Is(2e6)),
        ("group:others.committed_lag_at_start", Value::Is(700.0)),
        ("group:others.committed_lag_at_end", Value::Is(1234.0)),
        ("group:others.committed_lag_time_at_end", Value::AtLeast(12e9)),
    ] {
        run.findings.push(finding(Scope::Case(0), of, value));
    }
    let text = run_table(&run.input(), &OPTIONS);
    let table = |title: &str| {
        let reported =
            text.split(&format!("\n{title}\n")).nth(1).unwrap_or_else(|| panic!("no {title}: {text}"));
        let lines = reported.lines().map(str::to_owned).skip_while(String::is_empty);
        lines.take_while(|line| !line.is_empty()).collect::<Vec<String>>()
    };
    let logs = table(LOGS);
    let row = |table: &[String], name: &str| {
        let found = table.iter().find(|line| line.trim_start().starts_with(name));
        found.cloned().unwrap_or_else(|| panic!("no {name}: {table:?}"))
    };
    assert!(row(&logs, "brokers").contains("4.25"), "{logs:?}");
    assert!(row(&logs, "broker-0").contains("–"), "its growth is not known: {logs:?}");
    assert!(!logs.iter().any(|line| line.contains("all topics")), "nobody told it: {logs:?}");
    let groups = table(GROUPS);
    let reported = row(&groups, "others");
    assert!(reported.contains("700") && reported.contains("1,234") && reported.contains("12"), "{groups:?}");
    assert!(!groups.iter().any(|line| line.contains("time at start")), "{groups:?}");
    assert!(page(&run.input()).contains(GROUPS) && markdown::block(&run.input()).contains(GROUPS));
    assert!(json::run(&run.input()).to_string().contains("committed_lag_at_end"));
}

#[test]
fn growth_cut_by_retention_is_reported_as_that() {
    let mut run = run();
    let reported = [(0, 34.9, 310.0), (1, 102.0, 100.0)];
    for (case, grown, written) in reported {
        let of_case = |of: &str, value| finding(Scope::Case(case), of, Value::Is(value));
        run.findings.push(of_case("brokers.log_growth_mib_per_s", grown));
        run.findings.push(of_case("brokers.bytes_in_mib_per_s", written));
    }
    let note =
        "Logs grew by less than was written to all replicas (34.9 of 310 MiB/s (brokers=3)): retention or";
    for case in &mut run.header.plan.cases {
        case.topics.values_mut().for_each(|topic| topic.replicas = 1);
    }
    let text = run_table(&run.input(), &OPTIONS);
    assert!(text.contains(note), "{text}");
    // With three replicas of each record 102 are a third of what was written in the other case too.
    for case in &mut run.header.plan.cases {
        case.topics.values_mut().for_each(|topic| topic.replicas = 3);
    }
    let text = run_table(&run.input(), &OPTIONS);
    assert!(text.contains("(34.9 of 930 MiB/s (brokers=3); 102 of 300 MiB/s (brokers=6))"), "{text}");
}

/// A terminal is narrower than the table: each part of it says of which broker and case its rows are, and shares are percent.
#[test]
fn each_part_of_a_wide_table_names_broker_and_case() {
    let mut run = run();
    for case in [0, 1] {
        for (of, value) in [
            ("broker-0.request_handler_idle", 0.9942),
            ("broker-0.network_processor_idle", 0.5),
            ("broker-0.stopped_share", 0.002_41),
            ("broker-0.gc_pause_max", 22.2e6),
            ("broker-0.heap_used_bytes_max", 2.0e8),
            ("broker-0.log_flushes", 100.0),
            ("broker-0.log_flush_mean", 768e3),
        ] {
            run.findings.push(finding(Scope::Case(case), of, Value::Is(value)));
        }
    }
    let text = run_table(&run.input(), &TextOptions { width: 80, colour: false });
    let reported = text.split("\nBroker metrics\n").nth(1).unwrap_or_else(|| panic!("{text}"));
    let heads: Vec<&str> = reported.lines().filter(|line| line.starts_with("broker  ")).collect();
    assert!(heads.len() > 1 && heads.iter().all(|head| head.contains("case")), "{heads:?}");
    assert!(
        reported.contains("99.4 %") && reported.contains("0.241 %") && reported.contains("50.0 %"),
        "{reported}"
    );
}
