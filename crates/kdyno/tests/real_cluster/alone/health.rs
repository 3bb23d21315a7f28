//! Rules of health that real brokers are made to break. Which test breaks which rule is in
//! docs/reference/health-figures.md.

use crate::common::cgroups;
use crate::common::turns::alone;
use crate::common::{RUN_DEADLINE, TestFolder, signal};
use crate::fixture::{broken_rules, is_matrix, judged, named_limit, ran, settings_of, start_scenario};
use kdyno_model::conclusion::LimitKind;
use kdyno_model::health::HealthRule;
use kdyno_model::outcome::Judgement;
use rustix::process::Signal;
use std::time::Duration;

/// A run of one broker that is made to do too much; what came of it.
fn run(system: &str, topic: &str, writers: &str) -> Judgement {
    let place = TestFolder::new();
    let text = format!(
        "\
kdyno: 1
id: full
question: What is full?
system: {{brokers: 1, {system}}}
topics: {{perf: {{partitions: 4, replicas: 1{topic}}}}}
load: {{writers: {{produce: perf, rate: max, {writers}}}}}
phases: {{warmup: 6s, condition: none, measure: 20s, drain: 10s}}
"
    );
    let said = start_scenario(&place, &text).wait(RUN_DEADLINE);
    ran(&said);
    let details = place.details();
    assert!(details.contains("Used at "), "{details}");
    place.expect_no_processes();
    judged(&place)
}

/// A broker on one processor, whose one request handler compresses what it is sent. Outside the full table a broker with half
/// a processor breaks the first of these rules (`cpu_limit`).
#[test]
fn a_pinned_broker_with_one_handler_has_no_cpu_or_handler_left() {
    if !is_matrix() && cgroups::can_be_made() {
        return;
    }
    let _turn = alone();
    let judgement = run(
        "limits: {heap: 512MiB, pin: [[0]]}, config: {num.io.threads: 1}",
        ", config: {compression.type: gzip}",
        "clients: 4, value: 100B, client: {acks: all}",
    );
    let broken = broken_rules(&judgement);
    let first = [HealthRule::BrokerProcessors, HealthRule::RequestHandlersIdle];
    assert_eq!(broken.get(..2), Some(&first[..]), "the first of {broken:?}");
    assert_eq!(named_limit(&judgement), LimitKind::BrokerProcessors);
}

/// A broker with one network processor, which decrypts without the processor's own instructions for it.
#[test]
fn a_broker_with_one_network_processor_has_none_left_for_tls() {
    if !is_matrix() {
        return;
    }
    let _turn = alone();
    let judgement = run(
        "limits: {heap: 512MiB}, jvm: [\"-XX:-UseAES\"], config: {num.network.threads: 1}, \
         listeners: {clients: {protocol: SSL}}",
        "",
        "clients: 2, value: 10KiB, client: {acks: all, batch.size: 64KiB}",
    );
    let broken = broken_rules(&judgement);
    assert!(broken.contains(&HealthRule::NetworkProcessorsIdle), "{broken:?}");
    assert!(!broken.contains(&HealthRule::RequestHandlersIdle), "they wait for it: {broken:?}");
}

/// A heap that holds hardly more than what the log cleaner takes at the start, of a broker whose collections have to wait for
/// the next period of its quota where it can have one.
#[test]
fn a_tiny_heap_is_collected_all_the_time() {
    if !is_matrix() {
        return;
    }
    let _turn = alone();
    let has_quota = cgroups::can_be_made();
    let quota = if has_quota { ", cpus: 0.3" } else { "" };
    let judgement = run(
        &format!("limits: {{heap: 192MiB{quota}}}"),
        "",
        "clients: 8, value: 20KiB, client: {batch.size: 64KiB, linger.ms: 0}",
    );
    let broken = broken_rules(&judgement);
    let slow = has_quota.then_some(HealthRule::GcPause);
    for rule in [HealthRule::Stopped, HealthRule::HeapAfterGc].into_iter().chain(slow) {
        assert!(broken.contains(&rule), "{rule} among {broken:?}");
    }
}

/// A follower that is stopped for longer than a replica may lag, and later a broker that is gone.
#[test]
fn a_stopped_broker_is_out_of_sync_a_dead_one_leaves_no_leader() {
    if !is_matrix() {
        return;
    }
    let _turn = alone();
    let place = TestFolder::new();
    let mut running = start_scenario(
        &place,
        "\
kdyno: 1
id: replicas
question: Which replicas are there?
system: {brokers: 3, limits: {heap: 256MiB}, config: {replica.lag.time.max.ms: 2000}}
topics: {perf: {partitions: 3, replicas: 3}, alone: {partitions: 3, replicas: 1}}
load:
  writers: {produce: perf, rate: 200/s, value: 100B, client: {acks: all}}
  lonely: {produce: alone, rate: 100/s, value: 100B, client: {acks: 1}}
phases: {warmup: 4s, condition: none, measure: 40s, drain: 10s}
",
    );
    running.wait_for("· measure");
    let (stopped, killed) = (settings_of(&place, 2).1, settings_of(&place, 1).1);
    signal(stopped, Signal::STOP);
    std::thread::sleep(Duration::from_secs(6));
    signal(stopped, Signal::CONT);
    std::thread::sleep(Duration::from_secs(8));
    signal(killed, Signal::KILL);
    let said = running.wait(RUN_DEADLINE);
    ran(&said);
    let expected = [
        HealthRule::BrokersEnded,
        HealthRule::OfflinePartitions,
        HealthRule::UnderReplicated,
        HealthRule::IsrShrinks,
    ];
    let broken = broken_rules(&judged(&place));
    assert_eq!(broken.get(..4), Some(&expected[..]), "the first of {broken:?}");
    place.expect_no_processes();
}
