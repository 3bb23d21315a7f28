//! What was really in force, what is declared and what was imported, in each form of output.

use crate::fixture::{ComparisonEnd, RunFixture, comparison, run};
use kdyno_model::event::Subject;
use kdyno_model::finding::{Finding, Scope, Value};
use kdyno_model::metric::{Address, Unit};
use kdyno_model::plan::{Depth, IgnoredSetting};
use kdyno_model::run::{SettingInForce, SettingOrigin, SettingsInForce, cluster_fact};
use kdyno_model::series::{ImportedPoint, ImportedSeries};
use kdyno_report::judged::Gate;
use kdyno_report::terminal::TextOptions;
use kdyno_report::{csv, html, json, junit, markdown, terminal};
use std::collections::BTreeMap;

const WIDE: TextOptions = TextOptions { width: 100, colour: false };

fn settings(reported: &[(&str, SettingOrigin, &str, Option<&str>)]) -> SettingsInForce {
    let setting = |(name, origin, value, default): &(&str, SettingOrigin, &str, Option<&str>)| {
        let default = default.map(str::to_owned);
        ((*name).to_owned(), SettingInForce::new(*origin, *value).with_default(default))
    };
    reported.iter().map(setting).collect()
}

/// A run whose cases had other threads, a topic with a setting of its own, and a Java client.
fn run_in_force() -> RunFixture {
    use SettingOrigin::{Client, Default, Derived, Static, Topic};
    let mut run = run();
    for (index, start) in run.trials.iter_mut().enumerate() {
        let threads = if start.trial.case == 0 { "8" } else { "4" };
        let brokers = settings(&[
            ("log.retention.hours", Default, "168", None),
            ("num.io.threads", Static, threads, Some("8")),
        ]);
        let topic = settings(&[
            ("partitions", Topic, "6", None),
            ("segment.bytes", Topic, "104857600", Some("1073741824")),
        ]);
        let clients = settings(&[
            ("acks", Client, "1", Some("all")),
            ("enable.idempotence", Derived, "false", Some("true")),
            ("linger.ms", Default, "5", None),
        ]);
        start.settings = BTreeMap::from([
            (Subject::Broker(0), brokers),
            (Subject::Topic("perf".to_owned()), topic),
            (Subject::Item("writers".to_owned()), clients),
        ]);
        if index == 0 {
            start.cluster.remove("kafka");
            start.cluster.insert(cluster_fact::KAFKA_VERSION.to_owned(), "4.1".to_owned());
            start.cluster.insert(cluster_fact::KAFKA_VERSION_BY.to_owned(), "its features".to_owned());
        }
    }
    run
}

#[test]
fn the_configuration_as_text() {
    let run = run_in_force();
    insta::assert_snapshot!(terminal::config_text(&run.input(), &WIDE));
}

#[test]
fn the_configuration_of_a_comparison_begins_with_the_difference() {
    let run = comparison(ComparisonEnd::Worse, Depth::Verdict);
    let text = terminal::config_text(&run.input(), &WIDE);
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let difference = "kafka=4.3.1 differs from kafka=3.7.2 in 2 settings. Not requested: num.io.threads of brokers (8 → 4). \
                      Defaults of another release: group.coordinator.threads of brokers (8 → 4).";
    assert!(words.to_lowercase().contains(&difference.to_lowercase()), "{text}");
    // In the answer it comes before the verdict.
    let table = terminal::run_table(&run.input(), &WIDE);
    let [differs, verdict] = ["differs from", "worse"].map(|part| table.find(part).expect("both are told"));
    assert!(differs < verdict, "{table}");
}

#[test]
fn the_configuration_in_page_and_document() {
    let run = run_in_force();
    let config = json::config(&run.input());
    assert_eq!(json::run(&run.input())["config"], config);
    let of = |kind: &str| {
        let settings = config[0]["settings"].as_array().expect("settings");
        settings.iter().find(|of| of["kind"] == kind).expect("told").clone()
    };
    let threads = serde_json::json!({"value": "8", "origin": "static", "default": null});
    assert_eq!(of("broker")["settings"]["num.io.threads"], threads);
    let acks = serde_json::json!({"value": "1", "origin": "client", "default": "all"});
    assert_eq!(of("client")["settings"]["acks"], acks);
    assert_eq!(of("topic")["whose"], "perf");
    let page = html::page(&run.input());
    assert!(page.contains("Really in force in") && page.contains("by the client itself"), "{page}");
}

#[test]
fn what_is_declared_is_called_so_in_every_form() {
    let mut run = run();
    run.header.plan.environment = BTreeMap::from([("storage class".to_owned(), "gp3".to_owned())]);
    let input = run.input();
    let line = "Declared, not measured: environment: storage class = gp3.";
    assert!(terminal::run_table(&input, &WIDE).contains(line));
    assert!(markdown::block(&input).contains(line));
    assert!(html::page(&input).contains("Declared, not measured: environment"));
    assert_eq!(json::run(&input)["declared"]["environment"]["storage class"], "gp3");
    let property = "<property name=\"declared.environment.storage class\" value=\"gp3\"/>";
    assert!(
        junit::document(&input, Gate::default()).contains(property),
        "{}",
        junit::document(&input, Gate::default())
    );
}

#[test]
fn what_was_imported_is_called_so_in_every_form() {
    let mut run = run();
    let id = run.trials[0].trial.id;
    let template = run.findings[0].clone();
    run.findings.push(Finding {
        scope: Scope::Trial(id),
        of: Address { subject: "imported-rds".to_owned(), metric: "CPU".to_owned() },
        unit: Unit::Ratio,
        estimate: Value::Is(0.42),
        n: 2,
        range: Some((Value::Is(0.4), Value::Is(0.44))),
        marks: Default::default(),
        ..template
    });
    let point = |at_s, value| ImportedPoint { at_s, value };
    let series = run.series.iter_mut().find(|series| series.trial == id).expect("its series");
    series.imported.push(ImportedSeries {
        subject: Subject::Imported("rds".to_owned()),
        name: "CPU".to_owned(),
        unit: Unit::Ratio,
        points: vec![point(0.0, 0.4), point(10.0, 0.44), point(20.0, 0.43), point(60.0, 0.41)],
    });
    let input = run.input();
    let text = terminal::run_table(&input, &WIDE);
    assert!(text.contains("Imported, not measured by kdyno") && text.contains("imported-rds.CPU"), "{text}");
    assert!(markdown::block(&input).contains("imported-rds.CPU"));
    let page = html::page(&input);
    assert!(page.contains("CPU of imported-rds, not measured by kdyno"), "a chart");
    let document = json::run(&input);
    let of_trial = document["series"].as_array().expect("series");
    let imported = of_trial.iter().find_map(|one| one["imported"].as_array().filter(|all| !all.is_empty()));
    assert_eq!(imported.expect("told")[0]["value"][1], 0.44);
    assert!(csv::series(&input).contains("imported-rds,CPU (ratio),,10,0.44"), "{}", csv::series(&input));
    assert!(csv::findings(&input).contains("imported-rds,CPU,"));
}

#[test]
fn mbeans_of_the_plan_have_a_table_also_without_a_reading() {
    const LEADERS: &str = "kafka.server:type=ReplicaManager,name=LeaderCount/Value";
    let mut run = run();
    let first = &mut run.trials[0].trial;
    let id = first.id;
    let cluster = first.effective.system.cluster_mut().expect("a local cluster");
    cluster.mbeans = vec![LEADERS.to_owned(), "kafka.server:type=No/Such".to_owned()];
    let template = run.findings[0].clone();
    run.findings.push(Finding {
        scope: Scope::Trial(id),
        of: Address { subject: "broker-0".to_owned(), metric: format!("mbean:{LEADERS}") },
        unit: Unit::Count,
        estimate: Value::Is(12.0),
        n: 2,
        range: Some((Value::Is(11.0), Value::Is(13.0))),
        marks: Default::default(),
        ..template
    });
    let series = run.series.iter_mut().find(|series| series.trial == id).expect("its series");
    series.imported.push(ImportedSeries {
        subject: Subject::Broker(0),
        name: format!("mbean:{LEADERS}"),
        unit: Unit::Count,
        points: vec![ImportedPoint { at_s: 0.0, value: 11.0 }, ImportedPoint { at_s: 10.0, value: 13.0 }],
    });
    let input = run.input();
    let text = terminal::run_table(&input, &TextOptions { width: 200, colour: false });
    let line = |words: &str| text.lines().find(|line| line.contains(words)).unwrap_or_default().to_owned();
    assert!(line("ReplicaManager LeaderCount/Value").contains("broker-0"), "{text}");
    assert!(line("No/Such").contains("not read"), "{text}");
    let page = html::page(&input);
    assert!(page.contains("LeaderCount/Value of broker-0"), "a chart");
    assert!(!page.contains("of broker-0, not measured by kdyno"), "a broker's own");
    assert!(csv::series(&input).contains("LeaderCount/Value (count)"), "{}", csv::series(&input));
}

#[test]
fn ignored_settings_of_the_brokers_file_are_in_every_form() {
    let mut run = run();
    assert!(!terminal::run_table(&run.input(), &WIDE).contains("brokers' file"));
    let clusters = run.header.plan.cases.iter_mut().filter_map(|case| case.system.cluster_mut());
    for cluster in clusters {
        cluster.ignored.insert("zookeeper.session.timeout.ms".to_owned(), IgnoredSetting::Removed(4, 0));
    }
    let input = run.input();
    let line = "Ignored of the brokers' file: zookeeper.session.timeout.ms (Kafka 4.0 removed it).";
    for text in [terminal::run_table(&input, &WIDE), terminal::config_text(&input, &WIDE)] {
        assert_eq!(text.matches(line).count(), 1, "{text}");
    }
    assert!(html::page(&input).contains("zookeeper.session.timeout.ms (Kafka 4.0 removed it)"));
    assert!(markdown::block(&input).contains("session.timeout.ms (Kafka 4.0 removed it)"));
}
