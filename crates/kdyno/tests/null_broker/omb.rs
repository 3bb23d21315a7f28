//! `kdyno omb` without a cluster: what is printed, refused and written.

use crate::NullBroker;
use crate::common::{RUN_DEADLINE, TestFolder, ran};
use std::path::Path;

fn fixture(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/omb").join(name);
    path.to_str().expect("plain path").to_owned()
}

/// A workload without consumers: the null broker has nothing to read.
fn alone(place: &TestFolder) -> String {
    let text = std::fs::read_to_string(fixture("workloads/small.yaml")).expect("a workload");
    let file =
        place.file("alone.yaml", &text.replace("subscriptionsPerTopic: 1", "subscriptionsPerTopic: 0"));
    file.to_str().expect("plain path").to_owned()
}

#[test]
fn workloads_are_printed_as_scenarios_that_can_be_planned() {
    let place = TestFolder::new();
    let (driver, workload) = (fixture("kafka.yaml"), fixture("workloads/search.yaml"));
    let said = place.kdyno(&["omb", "-d", &driver, &workload, "--print-scenario"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let file = place.file("printed.yaml", &said.stdout);
    let dry = place.kdyno(&["run", file.to_str().expect("plain path"), "--dry-run"]);
    assert_eq!(dry.code, Some(0), "{dry:?}");
    assert!(dry.stdout.contains("search: the rate of writers"), "{dry:?}");
    let hinted = place.kdyno(&["run", &workload]);
    assert!(
        hinted.code == Some(2) && hinted.stderr.contains("kdyno omb --drivers DRIVER.yaml FILE"),
        "{hinted:?}"
    );
}

#[test]
fn what_cannot_be_run_is_refused_and_the_rest_is_run() {
    let place = TestFolder::new();
    let broker = NullBroker::start(&place);
    let backlog = place.file(
        "backlog.yaml",
        "name: b\ntopics: 1\npartitionsPerTopic: 1\nmessageSize: 10\nproducersPerTopic: 1\nproducerRate: 0\n\
         subscriptionsPerTopic: 1\nconsumerPerSubscription: 1\nconsumerBacklogSizeGB: 5\ntestDurationMinutes: 1\n",
    );
    let (backlog, alone) = (backlog.to_str().expect("plain path"), &alone(&place));
    let args =
        ["omb", "--drivers", &fixture("kafka.yaml"), backlog, alone, "--bootstrap-server", &broker.address];
    let more = ["--duration", "3s", "--warmup", "1s", "--share"];
    let said = place.start(place.command(&[&args[..], &more].concat())).wait(RUN_DEADLINE);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(
        said.stderr.contains("backlog.yaml:9:1: `consumerBacklogSizeGB`: when it is there follows"),
        "{said:?}"
    );
    let lines = said.stdout.lines().filter(|line| line.starts_with("Pub rate "));
    assert_eq!(lines.count(), 1, "a window shorter than a period: {said:?}");
    let names =
        std::fs::read_dir(place.path()).expect("a folder").map(|entry| entry.expect("an entry").file_name());
    let results: Vec<String> =
        names.filter_map(|name| name.into_string().ok()).filter(|name| name.ends_with(".json")).collect();
    assert!(results.len() == 1 && results[0].starts_with("alone-durable-"), "{results:?}");
    let text = std::fs::read_to_string(place.path().join(&results[0])).expect("a result");
    let result: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(
        result["publishRate"].as_array().map(Vec::len),
        Some(1),
        "a window shorter than a period: {result}"
    );
    assert_eq!((&result["consumeRate"][0], &result["backlog"][0]), (&0.0.into(), &0.into()), "{result}");
    has_the_fields_of_omb(&result);
    let records = &result["kdyno"]["records"];
    assert!(records["offered"].as_u64() > Some(3_900), "3 s and 1 s of 1,000 each: {result}");
    assert_eq!(records["acknowledged"], records["offered"], "{result}");
    let whole =
        place.start(place.command(&[&args[..3], &args[4..], &more, &["--output", "r.json"]].concat()));
    ran(&whole.wait(RUN_DEADLINE));
    assert!(place.path().join("r.json").is_file());
    broker.stop();
    a_result_is_printed_as_a_scenario_with_published_figures(&place);
}

#[test]
fn drivers_of_one_name_are_distinct_and_a_failed_one_is_named() {
    let place = TestFolder::new();
    let broker = NullBroker::start(&place);
    let driver = std::fs::read_to_string(fixture("kafka.yaml")).expect("a driver");
    let [low, high] = ["low.yaml", "high.yaml"]
        .map(|name| place.file(name, &driver).to_str().expect("plain path").to_owned());
    let (both, alone) = (format!("{low},{high}"), alone(&place));
    let run = |drivers: &str, address: &str| {
        let args = ["omb", "--drivers", drivers, &alone, "--bootstrap-server", address];
        let more = ["--output", "results", "--duration", "2s", "--warmup", "1s", "--share"];
        place.start(place.command(&[&args[..], &more].concat())).wait(RUN_DEADLINE)
    };
    let said = run(&both, &broker.address);
    ran(&said);
    assert!(said.stderr.contains("workload small, driver durable low"), "{said:?}");
    let notes = said.stderr.matches("`randomizedPayloadPoolSize`: not used").count();
    assert_eq!(notes, 1, "a note is about a file: {said:?}");
    let results = std::fs::read_dir(place.path().join("results")).expect("a folder of results");
    let mut drivers: Vec<String> = results
        .map(|entry| std::fs::read_to_string(entry.expect("an entry").path()).expect("a result"))
        .map(|text| serde_json::from_str::<serde_json::Value>(&text).expect("JSON")["driver"].to_string())
        .collect();
    drivers.sort();
    assert_eq!(drivers, ["\"durable high\"", "\"durable low\""]);
    broker.stop();
    let said = run(&low, "127.0.0.1:1");
    assert_eq!(said.code, Some(1), "{said:?}");
    let words = "no result of OMB's is written of workload small, driver durable: it failed; exit code 1";
    assert!(said.stderr.contains(words), "{said:?}");
}

fn a_result_is_printed_as_a_scenario_with_published_figures(place: &TestFolder) {
    let said = place.kdyno(&["import", "r.json"]);
    assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""), "{said:?}");
    let file = place.file("published.yaml", &said.stdout);
    let dry = place.kdyno(&["run", file.to_str().expect("plain path"), "--dry-run", "--json"]);
    assert_eq!(dry.code, Some(0), "{dry:?}");
    let plan: serde_json::Value = serde_json::from_str(&dry.stdout).expect("JSON");
    let published = &plan["published"];
    assert!(published["definition"].as_str().is_some_and(|of| of.starts_with("as published")), "{published}");
    assert!(published["rows"][0]["values"]["writers.acked_per_s"].as_f64() > Some(900.0), "{published}");
    place.file("foreign.json", "{\"results\": []}");
    let foreign = place.kdyno(&["import", "foreign.json"]);
    let words = "foreign.json: this is no result of OMB: there is no field `publishRate`";
    assert!(foreign.code == Some(2) && foreign.stderr.contains(words), "{foreign:?}");
    assert!(foreign.stderr.contains("hint: a series is added to a run: kdyno import RUN"), "{foreign:?}");
    let typed = place.kdyno(&["import", "foreign.json", "--time", "Timestamp"]);
    assert!(typed.code == Some(2) && typed.stderr.contains("FILE.csv"), "{typed:?}");
}

/// The fields of OMB's `TestResult` and one more; its chart script and its reader of results go by them.
fn has_the_fields_of_omb(result: &serde_json::Value) {
    const LATENCIES: [&str; 3] = ["ublishLatency", "ublishDelayLatency", "ndToEndLatency"];
    const STATISTICS: [&str; 8] = ["Avg", "50pct", "75pct", "95pct", "99pct", "999pct", "9999pct", "Max"];
    let head = ["workload", "driver", "messageSize", "topics", "partitions", "producersPerTopic"];
    let over_time =
        ["consumersPerTopic", "publishRate", "publishErrorRate", "consumeRate", "backlog", "kdyno"];
    let mut expected: Vec<String> = head.into_iter().chain(over_time).map(str::to_owned).collect();
    for (latency, first) in LATENCIES.into_iter().zip(["p", "p", "e"]) {
        let aggregated = format!("aggregated{}{latency}", first.to_uppercase());
        expected.extend(STATISTICS.map(|statistic| format!("{first}{latency}{statistic}")));
        expected.extend(STATISTICS.map(|statistic| format!("{aggregated}{statistic}")));
        expected.push(format!("{aggregated}Quantiles"));
    }
    expected.sort();
    let mut fields: Vec<String> = result.as_object().expect("a map").keys().cloned().collect();
    fields.sort();
    assert_eq!(fields, expected);
    // Its rows over time are others than those of all latencies of a stream that ended well.
    let [delay, whole] = [&result["publishDelayLatencyAvg"][0], &result["aggregatedPublishDelayLatencyAvg"]];
    assert!(whole.as_f64() > Some(0.0) && delay.as_f64() > Some(0.0), "{delay} of {whole}");
    // Java reads them as `long`.
    let delays = &result["aggregatedPublishDelayLatencyQuantiles"];
    for whole in [
        &result["publishDelayLatency99pct"][0],
        &result["aggregatedPublishDelayLatencyMax"],
        &result["backlog"][0],
    ] {
        assert!(whole.is_u64(), "{whole}");
    }
    assert!(
        delays.as_object().expect("a map").iter().all(|(at, us)| at.parse::<f64>().is_ok() && us.is_u64()),
        "{delays}"
    );
}
