//! `kdyno omb` on a real broker: OMB's lines and its result, with producers and consumers.

use crate::common::turns::with_others;
use crate::common::{RUN_DEADLINE, TestFolder, ran};
use crate::fixture::{bootstrap, stand, take_down};
use serde_json::Value;
use std::path::Path;

/// Beginnings of the result's fields that have an entry for each ten seconds, and those of a map of quantiles.
const LATENCIES: [(&str, &str); 3] = [
    ("publishLatency", "aggregatedPublishLatency"),
    ("publishDelayLatency", "aggregatedPublishDelayLatency"),
    ("endToEndLatency", "aggregatedEndToEndLatency"),
];
const ENDINGS: [&str; 8] = ["Avg", "50pct", "75pct", "95pct", "99pct", "999pct", "9999pct", "Max"];

/// The fields that chart scripts read, all there and of as many periods.
fn assert_has_the_fields(result: &Value, periods: usize) {
    let entries =
        |name: &str| result[name].as_array().unwrap_or_else(|| panic!("no {name}: {result}")).clone();
    for name in ["publishRate", "publishErrorRate", "consumeRate", "backlog"] {
        assert_eq!(entries(name).len(), periods, "{name}");
    }
    for (name, aggregated) in LATENCIES {
        for ending in ENDINGS {
            assert_eq!(entries(&format!("{name}{ending}")).len(), periods, "{name}{ending}");
            assert!(result[format!("{aggregated}{ending}")].is_number(), "{aggregated}{ending}");
        }
        let quantiles = result[format!("{aggregated}Quantiles")].as_object().expect("quantiles").clone();
        assert!(quantiles.contains_key("100.0"), "{aggregated}: {quantiles:?}");
        assert!(
            quantiles.iter().all(|(at, value)| at.parse::<f64>().is_ok() && value.is_number()),
            "{quantiles:?}"
        );
    }
}

#[test]
fn a_workload_of_omb_runs_and_has_its_result() {
    let turn = with_others();
    let place = TestFolder::new();
    stand(&place, "omb", "kafka: newest, metrics: none");
    let _turn = turn.waits();
    let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/omb");
    let (driver, workload) = (files.join("kafka.yaml"), files.join("workloads/small.yaml"));
    let address = bootstrap(&place);
    let [driver, workload] = [&driver, &workload].map(|path| path.to_str().expect("plain path"));
    let args =
        ["omb", "--drivers", driver, workload, "--bootstrap-server", &address, "--output", "result.json"];
    let more = ["--duration", "13s", "--warmup", "2s", "--share"];
    let said = place.start(place.command(&[&args[..], &more].concat())).wait(RUN_DEADLINE);
    ran(&said);
    let lines: Vec<&str> = said.stdout.lines().filter(|line| line.starts_with("Pub rate ")).collect();
    assert_eq!(lines.len(), 2, "ten seconds, and those that are left: {said:?}");
    assert!(lines[0].contains("| Cons rate ") && lines[0].contains("| Pub Latency (ms) avg: "), "{lines:?}");
    assert!(said.stderr.contains("`randomizedPayloadPoolSize`: not used"), "{said:?}");
    let text = std::fs::read_to_string(place.path().join("result.json")).expect("a result");
    let result: Value = serde_json::from_str(&text).expect("JSON");
    assert_has_the_fields(&result, 2);
    assert_eq!((&result["workload"], &result["driver"]), (&"small".into(), &"durable".into()));
    assert_eq!((&result["messageSize"], &result["partitions"]), (&100.into(), &2.into()));
    let own = &result["kdyno"];
    let records = &own["records"];
    // 13 s and 2 s of 1,000 each, and all were read.
    assert!(records["offered"].as_u64().is_some_and(|offered| (14_990..=15_010).contains(&offered)), "{own}");
    assert_eq!(
        (&records["acknowledged"], &records["consumed"]),
        (&records["offered"], &records["offered"]),
        "{own}"
    );
    assert_eq!((&records["failed"], &records["unresolved"]), (&0.into(), &0.into()), "{own}");
    let at = |name: &str| result[name].as_f64().expect("a number");
    let response = own["response"]["writers"]["99pct"].as_f64().expect("a response");
    assert!(
        at("aggregatedEndToEndLatency50pct") > 0.0 && at("aggregatedPublishLatency50pct") > 0.0,
        "{result}"
    );
    assert!(response >= at("aggregatedPublishLatency99pct"), "it has the wait before the send too: {result}");
    assert!(!text.contains(&address), "an address is kept: {text}");
    take_down(&place, "omb");
}
