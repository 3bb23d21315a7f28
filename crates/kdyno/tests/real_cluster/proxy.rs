//! A proxy between clients and brokers: what goes through it, what becomes of a run that loses it, and one that clients would
//! go past.

use crate::common::turns::{alone, beside_others};
use crate::common::{Place, RUN_DEADLINE, signal};
use crate::fixture::{caveats, evidences, figure, figure_of, ran, start_scenario};
use kdyno_model::event::{Event, EventKind, Subject};
use kdyno_model::plan::CasePlan;
use rustix::process::Signal;
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

/// A proxy of the user's own, which is the same one, started by a command; records that fail after 2 s.
const OWN: &str = r#"kdyno: 1
id: own
question: Does it work?
system:
  kafka: 4.1.1
  limits: {heap: 256MiB}
  jvm: QUICK_JVM
  proxy:
    command: |
      folder=$$(ls -d "$${XDG_CACHE_HOME:-$$HOME/.cache}"/kdyno/kroxylicious/*/ | tail -n 1)
      printf '{"virtualClusters": {"own": {"targetCluster": {"bootstrapServers": "%s"}, "clusterNetworkAddressConfigProvider": {"type": "kdyno.proxy.Loopback", "config": {"port": %s, "brokers": 1}}}}}' \
        "$$KDYNO_BOOTSTRAP_SERVERS" "$$KDYNO_PORT" > "$$KDYNO_FOLDER/own.yaml"
      exec "$$KDYNO_JAVA" -cp "$$folder/classes:$$folder/libs/*" kdyno.proxy.Main "$$KDYNO_FOLDER/own.yaml"
topics: {perf: {partitions: 1}}
load:
  writers: {produce: perf, rate: 200/s, value: 100B, client: {request.timeout.ms: 1000ms, delivery.timeout.ms: 2000ms, linger.ms: 0}}
  java:
    produce: perf
    rate: 100/s
    value: 100B
    client: {driver: java, version: 4.1.1, request.timeout.ms: 1000ms, delivery.timeout.ms: 2000ms, linger.ms: 0}
phases: {warmup: 1s, condition: none, measure: 6s, drain: 3s}
show: {columns: [writers.acked_per_s, proxy.memory_rss_bytes_max]}
"#;

#[test]
fn records_go_through_a_proxy_and_one_that_is_killed_is_told() {
    // Four JVMs that all have to get to work within seconds.
    let _turn = alone();
    let place = Place::new();
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
    let told = document["caveats"].as_array().expect("caveats");
    let is_of_latencies =
        |one: &Value| one["concerns"].as_str().is_some_and(|concerns| concerns.starts_with("latencies"));
    let invalid = told.iter().filter(|one| one["severity"] == "invalid" && !is_of_latencies(one));
    assert_eq!(invalid.count(), 0, "{}", document["caveats"]);
    let trials = evidences(&place);
    let cluster = |at: usize| &trials[at].start.cluster["cluster_id"];
    assert_eq!(cluster(0), cluster(1), "the brokers stay, with and without it");
    let has_proxy = |case: &CasePlan| case.components.iter().any(|component| component.is_proxy());
    assert_eq!(trials.iter().filter(|trial| has_proxy(&trial.start.trial.effective)).count(), 1);

    // What that run fetched is there now.
    let place = Place::new();
    let mut running = start_scenario(&place, OWN);
    running.wait_for("· measure");
    let proxies = running.processes("kdyno.proxy.Main");
    assert_eq!(proxies.len(), 1, "one proxy");
    signal(proxies[0], Signal::KILL);
    let said = running.wait(RUN_DEADLINE);
    ran(&said);
    assert!(said.stderr.contains("proxy ended in the middle of the trial"), "{}", said.stderr);
    place.expect_no_processes();
    let document = place.show();
    let trial = &evidences(&place)[0];
    let is_its = |event: &Event| {
        event.kind == EventKind::ProcessDied && event.subject == Subject::Component("proxy".into())
    };
    assert!(trial.events.iter().any(is_its), "{:?}", trial.events);
    assert!(caveats(&document, "warning").contains(&"process-died"), "{}", document["caveats"]);
    for item in ["writers", "java"] {
        let lost =
            figure(&document, &format!("{item}.failed")) + figure(&document, &format!("{item}.unresolved"));
        assert!(lost > 0.0, "{item}: no client knows the brokers' own addresses");
    }
}

/// A relay of kdyno's own understands nothing of Kafka.
#[test]
fn one_that_clients_would_go_past_ends_the_run() {
    let _turn = beside_others();
    let relay = format!(
        r#"command: |
      printf '{{"links": [{{"link": {{"delay_ns": 0}}, "entries": [{{"listen": %s, "to": %s, "from": 1}}]}}], "tally": "%s/tally", "seed": 1}}' \
        "$$KDYNO_PORT" "$${{KDYNO_BOOTSTRAP_SERVERS##*:}}" "$$KDYNO_FOLDER" > "$$KDYNO_FOLDER/relay.json"
      exec "{}" relay "$$KDYNO_FOLDER/relay.json""#,
        env!("CARGO_BIN_EXE_kdyno")
    );
    let place = Place::new();
    let scenario = format!(
        "kdyno: 1\nid: past\nquestion: Does it work?\nsystem:\n  kafka: 4.1.1\n  limits: {{heap: 256MiB}}\n  jvm: QUICK_JVM\n  proxy:\n    {relay}\n\
         topics: {{perf: {{partitions: 1}}}}\nload: {{writers: {{produce: perf, rate: 100/s, value: 100B}}}}\n\
         phases: {{warmup: 0s, condition: none, measure: 2s}}\n"
    );
    let said = start_scenario(&place, &scenario).wait(RUN_DEADLINE);
    assert_eq!(said.code, Some(1), "{said:?}");
    let words = "component proxy: its metadata says that broker 0 is at 127.0.0.1:";
    assert!(said.stderr.contains(words), "{}", said.stderr);
    place.expect_no_processes();
}
