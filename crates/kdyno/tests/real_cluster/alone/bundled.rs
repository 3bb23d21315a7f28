//! Bundled scenarios.

use crate::common::turns::alone;
use crate::common::{RUN_DEADLINE, TestFolder};
use crate::fixture::{ended, figure_of, invalid_but_for_late_load, is_matrix, ran};
use serde_json::Value;

/// Runs a bundled scenario with small heaps and returns its document.
fn bundled(place: &TestFolder, args: &[&str]) -> Value {
    // Short runs decide no claim.
    let fixed = ["--set", "heap=256MiB", "--share", "--yes", "--seed", "1", "--gate", "worse"];
    let said = place.start(place.command(&[&["run"], args, &fixed].concat())).wait(RUN_DEADLINE);
    ran(&said);
    place.expect_no_processes();
    let document = place.show();
    assert_eq!(document["status"], "completed");
    assert!(invalid_but_for_late_load(&document).is_empty(), "{}", document["caveats"]);
    document
}

/// Every second's figure of a load item in a case, warm-up and drain included, summed.
fn sum_of_seconds(place: &TestFolder, case: &str, series: &str) -> f64 {
    let csv = place.kdyno(&["export", "latest", "--format", "series-csv"]);
    ended(&csv, 0);
    let mut rows = csv.stdout.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let head = rows.next().expect("a head");
    let column = |name| head.iter().position(|column| *column == name).expect(name);
    let wanted =
        [("case", case), ("subject", "writers"), ("series", series)].map(|(name, is)| (column(name), is));
    let value = column("value");
    let mine = rows.filter(|row| wanted.iter().all(|(column, is)| row[*column] == *is));
    mine.map(|row| row[value].parse::<f64>().expect("a number")).sum()
}

#[test]
fn the_first_scenario_replicates_and_loses_nothing() {
    let _turn = alone();
    let place = TestFolder::new();
    // At a rate that brokers carry whose JVMs have just started, however busy the machine is.
    let text = include_str!("../../../../../scenarios/first-light.yaml");
    assert!(text.contains("cases:\n  - {rate: 10k/s}\n  - {rate: max}\n"), "{text}");
    let text = text
        .replace("10k/s", "500/s")
        .replace("limits: {heap: $heap}\n", "limits: {heap: $heap}\n  jvm: QUICK_JVM\n");
    let path = place.file("first-light.yaml", &text);
    let path = path.to_str().expect("plain path");
    let document =
        bundled(&place, &[path, "--set", "warmup=2s", "--set", "dur=3s", "--set", "condition=none"]);
    let (rates, metrics) = (["500/s", "max"], ["writers.failed", "writers.unresolved"]);
    for (case, rate) in rates.into_iter().enumerate() {
        assert_eq!(document["cases"][case]["params"]["rate"], rate);
        assert!(figure_of(&document, case, "writers.records_per_batch") >= 1.0);
        assert!(figure_of(&document, case, "brokers.cpu_us_per_record") > 0.0);
    }
    for trial in document["trials"].as_array().expect("trials") {
        let lines = trial["command_lines"].as_object().expect("command lines");
        assert_eq!(lines.keys().filter(|subject| subject.starts_with("broker-")).count(), 3, "{lines:?}");
    }
    assert_eq!(metrics.map(|metric| figure_of(&document, 0, metric)), [0.0, 0.0]);
    assert!(figure_of(&document, 0, "writers.response.p50") > 0.0);
    let offered_per_s = figure_of(&document, 0, "writers.offered_per_s");
    assert!((offered_per_s - 500.0).abs() < 100.0, "Poisson arrivals: {offered_per_s}");
    let all = ["offered_per_s", "acked_per_s"].map(|series| sum_of_seconds(&place, "0", series));
    assert!(all[0] > 2_000.0 && all[0] == all[1], "each record offered was acknowledged: {all:?}");
    assert!(figure_of(&document, 1, "writers.acked_per_s") > 0.0);
}

/// In the full table: its plan, and what is shown with published figures, have tests without brokers.
#[test]
fn a_bundled_report_runs_on_zookeeper_next_to_published_figures() {
    if !is_matrix() {
        return;
    }
    let _turn = alone();
    let place = TestFolder::new();
    let document = bundled(
        &place,
        &["reports/huawei-rate", "--profile", "smoke", "--set", "dur=2s", "--set", "drain=2s"],
    );
    for (case, row) in [(0, 0), (1, 3), (2, 2)] {
        let params = &document["published"]["rows"][row]["params"];
        assert_eq!(document["cases"][case]["params"]["replicas"], params["replicas"]);
        assert!(figure_of(&document, case, "writers.acked_per_s") > 0.0);
    }
    let lines = document["trials"][0]["command_lines"].as_object().expect("command lines");
    let subjects: Vec<&str> = lines.keys().map(String::as_str).collect();
    assert_eq!(subjects, ["broker-0", "broker-1", "broker-2", "relay-0", "zookeeper-0"]);
    // All of it goes by way of the relay, and nothing of the other rows.
    assert!(figure_of(&document, 2, "relay-0.relayed_mib_per_s") > 0.05);
    assert_eq!(figure_of(&document, 0, "relay-0.relayed_mib_per_s"), 0.0);

    let table = place.kdyno(&["show", "latest"]).stdout;
    assert!(table.contains("published") && table.contains("Huawei DMS for Kafka"), "{table}");
    // By replicas, acks, batch and zone: what this run has tested, and what it has not.
    let rows = |wanted: [&str; 4]| -> Vec<&str> {
        let cells = |line: &&str| line.split_whitespace().skip(1).take(4).eq(wanted);
        table.lines().filter(cells).collect()
    };
    let (ours, others) = (rows(["1", "1", "1KiB", "same"]), rows(["1", "1", "1KiB", "other"]));
    assert!(!ours.is_empty() && ours.iter().all(|row| !row.contains("not tested")), "{table}");
    assert!(!others.is_empty() && others.iter().all(|row| !row.contains("not tested")), "{table}");
    let missing = rows(["1", "1", "16KiB", "same"]);
    assert!(!missing.is_empty() && missing.iter().all(|row| row.contains("not tested")), "{table}");
    for (printed, row) in [(ours[0], 0), (others[0], 2)] {
        let published = document["published"]["rows"][row]["values"]["writers.acked_per_s"].as_f64();
        let rate = published.expect("a published rate") as u64;
        assert!(printed.contains(&format!("{},{:03}/s", rate / 1000, rate % 1000)), "{rate}: {table}");
    }
}

/// In the full table: scenarios that no other test runs whole.
#[test]
fn bundled_smoke_runs_of_late_readers_and_of_the_fast_workload() {
    if !is_matrix() {
        return;
    }
    let _turn = alone();
    let place = TestFolder::new();
    // At rates that brokers carry whose JVMs have just started, however busy the machine is.
    let rates = ["--set", "rate=1k/s", "--set", "backlog=2k/s"];
    let late = bundled(&place, &[&["catch-up", "--profile", "smoke"][..], &rates].concat());
    for case in 0..2 {
        assert!(figure_of(&late, case, "late.fetched_per_s") > 0.0);
        assert!(figure_of(&late, case, "late.caught_up") > 0.0);
        assert_eq!(figure_of(&late, case, "writers.failed"), 0.0);
    }
    let backlog = |case| figure_of(&late, case, "late.fetched_per_s");
    assert!(
        backlog(1) > backlog(0),
        "they read what was there before they came: {} {}",
        backlog(1),
        backlog(0)
    );

    let place = TestFolder::new();
    let fast = bundled(&place, &["reports/ibm-fast", "--profile", "smoke"]);
    assert_eq!(fast["cases"].as_array().map(Vec::len), Some(3), "secured, through a proxy, and not secured");
    assert!(figure_of(&fast, 1, "proxy.cpu_us_per_record") > 0.0);
    for case in 0..3 {
        assert!(figure_of(&fast, case, "writers.acked_per_s") > 0.0);
        assert!(figure_of(&fast, case, "readers.fetched_per_s") > 0.0);
        assert_eq!(figure_of(&fast, case, "writers.failed"), 0.0);
    }
}
