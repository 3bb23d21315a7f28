//! Load items that Kafka's Java client carries, in every form of a report.

use crate::fixture::{RunFixture, finding, run};
use kdyno_model::finding::{Scope, Value};
use kdyno_model::plan::{Driver, Estimate, JavaClient, JavaDriver};
use kdyno_model::trial::TrialId;
use kdyno_report::html::page;
use kdyno_report::terminal::{PlanDetail, TextOptions, plan_text, run_table, settings_text};
use kdyno_report::{csv, json};
use std::collections::BTreeMap;

const OPTIONS: TextOptions = TextOptions { width: 160, colour: false };
const NOTE: &str = "Of a Java client schedule delay, block and service are seen";

/// The writers of a run of one trial run on a Java client, with everything reported that can be.
fn by_java() -> RunFixture {
    let mut run = run();
    run.only_one_trial();
    let properties =
        [("acks", "all"), ("linger.ms", "5")].map(|(name, value)| (name.to_owned(), value.to_owned()));
    let driver = Driver::Java(JavaDriver {
        client: JavaClient::Version("4.1.1".to_owned()),
        jvm: vec!["-Xmx1g".to_owned()],
        properties: BTreeMap::from(properties),
    });
    let plan = &mut run.header.plan;
    plan.cases[0].load.get_mut("writers").expect("writers").driver = driver;
    run.trials[0].trial.effective = plan.cases[0].clone();
    let seen = ["records_per_batch", "bytes_per_request"];
    run.findings.retain(|one| one.of.subject != "writers" || !seen.contains(&one.of.metric.as_str()));
    for (metric, value) in [
        ("client_cpu_us_per_record", 3.25),
        ("client_threads_cpu_us_per_record", 1.75),
        ("client_allocated_bytes_per_record", 640.0),
        ("client_gc", 41e6),
        ("client_heap_bytes_max", 314_572_800.0),
    ] {
        let scope = Scope::Trial(TrialId(1));
        run.findings.push(finding(scope, &format!("writers.{metric}"), Value::Is(value)));
    }
    run
}

#[test]
fn a_plan_names_the_client_of_each_item_and_its_settings() {
    let run = by_java();
    let estimate = Estimate { expected_ns: 1, longest_ns: 1, load_ns: 1, disk_bytes: None, kept_bytes: None };
    let short = plan_text(&run.header.plan, &estimate, PlanDetail::Full, &OPTIONS);
    assert!(short.contains(", driver java 4.1.1 -Xmx1g\n"), "{short}");
    let full = settings_text(&run.header.plan, &OPTIONS);
    let reported =
        "driver java 4.1.1 -Xmx1g; given acks=all linger.ms=5; everything else as by default in that client";
    assert!(full.contains(reported), "{full}");
    assert!(!full.contains("driver native"), "kdyno's own is not told: {full}");
}

#[test]
fn the_cost_of_a_java_client_has_a_table_of_its_own() {
    let java = by_java();
    let text = run_table(&java.input(), &OPTIONS);
    let table = text.split("Java clients: what they cost").nth(1).expect("the table");
    let row = table.lines().find(|line| line.contains("writers")).expect("a row");
    for reported in ["3.25", "1.75", "640 B", "41.0 ms", "300 MiB", "java 4.1.1 -Xmx1g"] {
        assert!(row.contains(reported), "{reported}: {row}");
    }
    assert!(text.split_whitespace().collect::<Vec<_>>().join(" ").contains(NOTE), "{text}");
    let html = page(&java.input());
    assert!(html.contains("Java clients: what they cost") && html.contains(NOTE));

    let native = run();
    let (text, html) = (run_table(&native.input(), &OPTIONS), page(&native.input()));
    assert!(!text.contains("Java client") && !html.contains("Java client"), "{text}");
}

#[test]
fn documents_name_the_driver() {
    let java = by_java();
    let document = json::run(&java.input());
    let streams = document["trials"][0]["streams"].as_array().expect("streams");
    let driver =
        |item: &str| streams.iter().find(|one| one["item"] == item).expect("a stream")["driver"].clone();
    assert_eq!((driver("writers"), driver("readers")), ("java 4.1.1 -Xmx1g".into(), "native".into()));
    let table = csv::findings(&java.input());
    let (head, rows) = table.split_once("\r\n").expect("a head");
    assert!(head.ends_with(",marks,driver,verdict,equivalence_low,equivalence_high,cut_short"), "{head}");
    let row = |text: &str| rows.lines().find(|line| line.contains(text)).expect("a row").to_owned();
    assert!(
        row(",writers,client_gc,").ends_with(",java 4.1.1 -Xmx1g,,,,false"),
        "{}",
        row(",writers,client_gc,")
    );
    assert!(row(",readers,fetched_per_s,").ends_with(",native,,,,false"));
    assert!(row(",brokers,").ends_with(",,,,,false"));
}

/// A mean of its own service takes the place of a native client's stages.
#[test]
fn where_the_milliseconds_went_has_the_service_of_a_java_client() {
    let table = |run: &RunFixture| {
        let text = run_table(&run.input(), &OPTIONS);
        text.split("\nWhere the time goes\n").nth(1).unwrap_or_else(|| panic!("{text}")).to_owned()
    };
    let with = |mut run: RunFixture| {
        for (of, ms) in [("writers.service.mean", 4.5), ("brokers.produce_total_mean", 3.0)] {
            run.findings.push(finding(Scope::Case(0), of, Value::Is(ms * 1e6)));
        }
        run
    };
    let reported = table(&with(by_java()));
    assert!(reported.contains("writers: service in all") && reported.contains("4.50 ms"), "{reported}");
    assert!(reported.contains("A Java client reports no stages"), "{reported}");
    let mut native = run();
    native.only_one_trial();
    assert!(!table(&with(native)).contains("service in all"));
}
