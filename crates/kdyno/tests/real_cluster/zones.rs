//! Clients and brokers in zones: what goes over the relay and what does not, and what becomes of a run that loses it.

use crate::common::turns::with_others;
use crate::common::{RUN_DEADLINE, TestFolder, signal};
use crate::fixture::{
    caveats, ended, event_kinds, evidences, figure, figure_of, is_matrix, ran, start_scenario,
};
use kdyno_model::event::{EventKind, Subject};
use rustix::process::Signal;

/// Two brokers in zone a, clients in b, records that fail after 2 s.
fn apart() -> String {
    String::from(
        "kdyno: 1\nid: apart\nquestion: Does it work?\n\
         system: {kafka: 4.1.1, brokers: 2, limits: {heap: 256MiB}, metrics: none, jvm: QUICK_JVM, zones: {brokers: [a], clients: [b], delay: 2ms}}\n\
         topics: {perf: {partitions: 4}}\n\
         load: {writers: {produce: perf, rate: 200/s, value: 100B, zone: b, client: {request.timeout.ms: 1000ms, \
         delivery.timeout.ms: 2000ms, linger.ms: 0}}}\n\
         phases: {warmup: 1s, condition: none, measure: 6s, drain: 3s}\n\
         show: {columns: [writers.acked_per_s, relay-0.relayed_mib_per_s]}\n",
    )
}

#[test]
fn a_killed_relay_is_reported_and_its_evidence_kept() {
    let turn = with_others();
    let place = TestFolder::new();
    let mut running = start_scenario(&place, &apart());
    running.wait_for("· measure");
    let relays = running.processes("relay.json");
    assert_eq!(relays.len(), 1, "one relay");
    signal(relays[0], Signal::KILL);
    let _turn = turn.waits();
    let said = running.wait(RUN_DEADLINE);
    ran(&said);
    assert!(said.stderr.contains("relay-0 ended in the middle of the trial"), "{}", said.stderr);
    place.expect_no_processes();
    let document = place.show();
    let trial = &evidences(&place)[0];
    let is_its = |event: &kdyno_model::event::Event| {
        event.kind == EventKind::ProcessDied && event.subject == Subject::Relay(0)
    };
    assert!(trial.events.iter().any(is_its), "{:?}", trial.events);
    assert!(caveats(&document, "warning").contains(&"process-died"), "{}", document["caveats"]);
    let lost = figure(&document, "writers.failed") + figure(&document, "writers.unresolved");
    assert!(lost > 0.0, "nobody reaches the brokers any more");
    assert!((figure(&document, "writers.offered_per_s") - 200.0).abs() < 30.0, "the schedule does not wait");
}

#[test]
fn a_broker_behind_the_relay_may_go_and_the_other_one_serves() {
    if !is_matrix() {
        return;
    }
    let _turn = with_others();
    let place = TestFolder::new();
    let mut running = start_scenario(&place, &apart());
    running.wait_for("· measure");
    signal(running.processes("kafka.Kafka")[0], Signal::KILL);
    ran(&running.wait(RUN_DEADLINE));
    place.expect_no_processes();
    let document = place.show();
    assert!(event_kinds(&document).contains(&"process-died".to_owned()));
    let trial = &evidences(&place)[0];
    let died = |event: &&kdyno_model::event::Event| event.kind == EventKind::ProcessDied;
    assert!(trial.events.iter().filter(died).all(|event| event.subject.is_broker()), "the relay goes on");
    // Refused connections are carried over: the client learns that the broker is gone.
    assert!(figure(&document, "writers.failed") > 0.0);
    assert!(figure(&document, "writers.acked_per_s") > 50.0, "half of the partitions have a leader");
}

/// A consumer with a zone reads from the replica there, and its bytes stay there (KIP-392).
#[test]
fn a_consumer_with_its_rack_reads_from_the_follower_of_its_zone() {
    let _turn = with_others();
    let place = TestFolder::new();
    let text = "kdyno: 1\nid: near\nquestion: Does it work?\nparams: {rack: a}\ncases: [{rack: a}, {rack: b}]\n\
        system: {kafka: 4.1.1, brokers: 2, limits: {heap: 256MiB}, metrics: none, jvm: QUICK_JVM, \
        config: {replica.selector.class: org.apache.kafka.common.replica.RackAwareReplicaSelector}, \
        zones: {brokers: [a, b], delay: 1ms}}\n\
        topics: {perf: {partitions: 2, replicas: 2}}\n\
        load: {writers: {produce: perf, rate: 200/s, value: 10KiB}, \
        readers: {consume: perf, zone: b, client: {client.rack: $rack}}}\n\
        phases: {warmup: 2s, condition: none, measure: 5s, drain: 4s}\n\
        show: {columns: [readers.fetched_per_s, relay-0.relayed_mib_per_s]}\n";
    ran(&start_scenario(&place, text).wait(RUN_DEADLINE));
    place.expect_no_processes();
    let document = place.show();
    // Per record, since a busy host may carry fewer of them than are offered.
    let relayed_kib = |case| {
        let fetched = figure_of(&document, case, "readers.fetched_per_s");
        assert!(fetched > 20.0, "case {case}: {fetched} records/s fetched");
        figure_of(&document, case, "relay-0.relayed_mib_per_s") * 1024.0 / fetched
    };
    let (far, near) = (relayed_kib(0), relayed_kib(1));
    assert!(far > 7.5, "records of 10 KiB come from the other zone: {far} KiB over the relay for each");
    assert!(near < 1.0, "records of 10 KiB stay in the zone: {near} KiB over the relay for each");
}

/// TLS, logins and a Java client pass; what is acknowledged by both brokers has been to the other zone and back.
#[test]
fn listeners_java_clients_and_replicas_also_use_the_relays() {
    if !is_matrix() {
        return;
    }
    let _turn = with_others();
    let place = TestFolder::new();
    let text = "kdyno: 1\nid: far\nquestion: Does it work?\n\
        system: {kafka: 4.1.1, brokers: 2, limits: {heap: 256MiB}, jvm: QUICK_JVM, listeners: {clients: {protocol: SASL_SSL}}, \
        config: {min.insync.replicas: 2}, \
        zones: {brokers: [a, b], delay: 10ms, jitter: 1ms, bandwidth: 100MiB/s, between_brokers: yes}}\n\
        topics: {perf: {partitions: 2, replicas: 2}}\n\
        load: {writers: {produce: perf, rate: 100/s, value: 1KiB, client: {acks: all, linger.ms: 0}}, \
        readers: {consume: perf, zone: b, client: {driver: java}}}\n\
        phases: {warmup: 3s, condition: none, measure: 5s, drain: 6s}\n\
        show: {columns: [writers.request.p50, relay-0.delay_error.p50, relay-1.relayed_mib_per_s]}\n";
    let said = start_scenario(&place, text).wait(RUN_DEADLINE);
    ran(&said);
    place.expect_no_processes();
    let document = place.show();
    // A follower asks over the link and is answered over it.
    let request_ms = figure(&document, "writers.request.p50") / 1e6;
    assert!((18.0..200.0).contains(&request_ms), "{request_ms} ms");
    assert!(figure(&document, "readers.fetched_per_s") > 90.0);
    assert!(figure(&document, "relay-0.relayed_mib_per_s") > 0.02, "half of what is read");
    assert!(figure(&document, "relay-1.relayed_mib_per_s") > 0.09, "all that is replicated");
    assert!(figure(&document, "relay-0.delay_error.p50") < 5e6);
}

#[test]
fn links_between_zones_are_printed_before_anything_starts() {
    let place = TestFolder::new();
    let path = place.file("apart.yaml", &apart());
    let said = place.kdyno(&["run", path.to_str().expect("plain path"), "--dry-run"]);
    ended(&said, 0);
    let reported = format!("{}{}", said.stdout, said.stderr);
    assert!(reported.contains("zones: a (broker-0 broker-1) | b (clients alone)"), "{reported}");
    assert!(reported.contains("delay 2ms one way, bandwidth not limited"), "{reported}");
    assert!(reported.contains("in zone b"), "{reported}");
}
