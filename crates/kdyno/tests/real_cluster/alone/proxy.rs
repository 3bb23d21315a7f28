//! Kroxylicious between clients and brokers: what goes through it.

use crate::common::turns::alone;
use crate::common::{RUN_DEADLINE, TestFolder};
use crate::fixture::{evidences, figure_of, ran, start_scenario};
use kdyno_model::plan::CasePlan;
use serde_json::Value;

/// Two brokers with and without Kroxylicious: both clients, a group, a command, over TLS and behind a login.
const THROUGH: &str = r#"kdyno: 1
id: through
question: Does it work?
params: {proxy: none}
cases: [{proxy: none}, {proxy: kroxylicious}]
system:
  kafka: 4.1.1
  brokers: 2
  limits: {heap: 256MiB}
  metrics: none
  jvm: QUICK_JVM
  listeners: {clients: {protocol: SASL_SSL, sasl: SCRAM-SHA-512, tls: 1.2}}
  proxy: $proxy
topics: {perf: {partitions: 4}}
load:
  writers: {produce: perf, rate: 500/s, value: 100B}
  java: {produce: perf, rate: 100/s, value: 100B, client: {driver: java, version: 4.1.1}}
  readers: {consume: perf, clients: 2, group: readers}
  asks:
    command: 'test "$$KDYNO_PARAM_proxy" = none || test "$$KDYNO_BOOTSTRAP_SERVERS" = "$$KDYNO_ADDRESS_proxy"'
phases: {warmup: 1s, condition: none, measure: 4s, drain: 20s}
show: {columns: [writers.acked_per_s, proxy.cpu_us_per_record]}
"#;

#[test]
fn records_go_through_a_proxy_and_none_is_lost() {
    // Four JVMs that all have to get to work within seconds.
    let _turn = alone();
    let place = TestFolder::new();
    let said = start_scenario(&place, THROUGH).wait(RUN_DEADLINE);
    ran(&said);
    place.expect_no_processes();
    let document = place.show();
    for case in 0..2 {
        for item in ["writers", "java"] {
            assert_eq!(figure_of(&document, case, &format!("{item}.failed")), 0.0, "{said:?}");
        }
        assert!(figure_of(&document, case, "readers.fetched_per_s") > 300.0, "{said:?}");
        assert_eq!(figure_of(&document, case, "asks.succeeded"), 1.0, "{said:?}");
    }
    assert!(figure_of(&document, 1, "proxy.cpu_us_per_record") > 0.0);
    assert!(figure_of(&document, 1, "proxy.memory_rss_bytes_max") > 50e6);
    // Whatever a busy host does to latencies, nothing may be lost, sent twice or miscounted on the way.
    let reported = document["caveats"].as_array().expect("caveats");
    let is_of_latencies =
        |one: &Value| one["concerns"].as_str().is_some_and(|concerns| concerns.starts_with("latencies"));
    let invalid = reported.iter().filter(|one| one["severity"] == "invalid" && !is_of_latencies(one));
    assert_eq!(invalid.count(), 0, "{}", document["caveats"]);
    let trials = evidences(&place);
    let cluster = |at: usize| &trials[at].start.cluster["cluster_id"];
    assert_eq!(cluster(0), cluster(1), "the brokers stay, with and without it");
    let has_proxy = |case: &CasePlan| case.components.iter().any(|component| component.is_proxy());
    assert_eq!(trials.iter().filter(|trial| has_proxy(&trial.start.trial.effective)).count(), 1);
}
