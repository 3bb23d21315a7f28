//! A proxy between clients and brokers: what becomes of a run that loses it, and one that clients would go past. What goes
//! through one is in `alone`.

use crate::common::turns::with_others;
use crate::common::{RUN_DEADLINE, TestFolder, signal};
use crate::fixture::{caveats, evidences, figure, ran, start_scenario};
use kdyno_model::event::{Event, EventKind, Subject};
use kdyno_model::plan::KROXYLICIOUS;
use kdyno_testbed::{Environment, kroxylicious};
use rustix::process::Signal;

/// A proxy of the user's own, which is the same one, started by a command; records that fail after 2 s.
const OWN: &str = r#"kdyno: 1
id: own
question: Does it work?
system:
  kafka: 4.1.1
  limits: {heap: 256MiB}
  metrics: none
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
fn a_proxy_that_is_killed_is_told_and_its_evidence_kept() {
    let turn = with_others();
    let environment = Environment::from_lookup(&|name| std::env::var_os(name)).expect("an environment");
    kroxylicious::provide(&environment, KROXYLICIOUS, &|_| {}).expect("what the command starts");
    let place = TestFolder::new();
    let mut running = start_scenario(&place, OWN);
    running.wait_for("· measure");
    let proxies = running.processes("kdyno.proxy.Main");
    assert_eq!(proxies.len(), 1, "one proxy");
    signal(proxies[0], Signal::KILL);
    let _turn = turn.waits();
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
    let _turn = with_others();
    let relay = format!(
        r#"command: |
      printf '{{"links": [{{"link": {{"delay_ns": 0}}, "entries": [{{"listen": %s, "to": %s, "from": 1}}]}}], "tally": "%s/tally", "seed": 1}}' \
        "$$KDYNO_PORT" "$${{KDYNO_BOOTSTRAP_SERVERS##*:}}" "$$KDYNO_FOLDER" > "$$KDYNO_FOLDER/relay.json"
      exec "{}" relay "$$KDYNO_FOLDER/relay.json""#,
        env!("CARGO_BIN_EXE_kdyno")
    );
    let place = TestFolder::new();
    let scenario = format!(
        "kdyno: 1\nid: past\nquestion: Does it work?\nsystem:\n  kafka: 4.1.1\n  limits: {{heap: 256MiB}}\n  metrics: none\n  jvm: QUICK_JVM\n  proxy:\n    {relay}\n\
         topics: {{perf: {{partitions: 1}}}}\nload: {{writers: {{produce: perf, rate: 100/s, value: 100B}}}}\n\
         phases: {{warmup: 0s, condition: none, measure: 2s}}\n"
    );
    let said = start_scenario(&place, &scenario).wait(RUN_DEADLINE);
    assert_eq!(said.code, Some(1), "{said:?}");
    let words = "component proxy: its metadata says that broker 0 is at 127.0.0.1:";
    assert!(said.stderr.contains(words), "{}", said.stderr);
    place.expect_no_processes();
}
