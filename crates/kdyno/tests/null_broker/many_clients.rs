//! Two thousand clients of one worker, of the full table ten thousand, each with a connection of its own.

use crate::common::{RUN_DEADLINE, TestFolder, is_matrix, ran};

/// Arrivals are constant, so that each client has a record each second: of Poisson arrivals one of 10,000 clients has none
/// in 12 s in one run of 16 (10,000 × e^−12 = 0.06), one of 2,000 in 6 s almost always.
const SCENARIO: &str = "\
kdyno: 1
id: many
question: Does it work?
system: {kafka: null-broker}
topics: {perf: {partitions: 6}}
load:
  writers: {produce: perf, clients: CLIENTS, rate: CLIENTS/s, arrivals: constant, value: 100B}
phases: {warmup: 2s, measure: MEASURE, drain: 60s}
show: {columns: [writers.acked_per_s, writers.connect.max, workers.memory_rss_bytes_max]}
";

/// Most resident memory of the worker, bytes.
const MEMORY_BYTES_MAX: f64 = 1e9;

#[test]
fn thousands_of_clients_lose_nothing_in_less_than_a_gigabyte() {
    let (clients, seconds): (u32, u64) = if is_matrix() { (10_000, 12) } else { (2_000, 6) };
    let place = TestFolder::new();
    let text = SCENARIO.replace("CLIENTS", &clients.to_string());
    let text = text.replace("MEASURE", &format!("{}s", seconds - 2));
    let scenario = place.file("many.yaml", &text);
    let args = ["run", scenario.to_str().expect("plain path"), "--share", "--yes"];
    ran(&place.start(place.command(&args)).wait(RUN_DEADLINE));
    let file = kdyno_store::RunFile::open(&place.run_file()).expect("the run file");
    let trial = file.trials().expect("its trials").remove(0);
    let totals = file.evidence(trial.trial.id).expect("evidence").totals.remove(0);
    let counts = &totals.counts;
    assert_eq!(totals.clients.len(), clients as usize);
    let share = seconds - 2;
    assert!(totals.clients.iter().all(|client| client.records >= share), "each sent its share");
    assert!(counts.offered > u64::from(clients) * share, "{counts:?}");
    assert_eq!(counts.acknowledged, counts.offered, "{counts:?}");
    let document = place.show();
    let findings = document["findings"].as_array().expect("findings");
    let is_memory = |finding: &&serde_json::Value| {
        finding["subject"] == "workers" && finding["metric"] == "memory_rss_bytes_max"
    };
    let memory = findings.iter().find(is_memory).and_then(|finding| finding["value"].as_f64());
    assert!(memory.is_some_and(|bytes| 1e6 < bytes && bytes < MEMORY_BYTES_MAX), "{memory:?}");
    place.expect_no_processes();
}
