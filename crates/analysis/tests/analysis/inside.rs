//! What brokers report of themselves, as metrics of theirs; the window is 10 s, from second 2 to second 12.

use crate::attached::target;
use crate::fixture::TrialFixture;
use kdyno_model::event::Subject;
use kdyno_model::finding::Value;
use kdyno_model::health::HealthRule;
use kdyno_model::sample::{ProbeReading, series};

/// Adds readings of a broker's metric, at these instants in ms.
fn reported<const N: usize>(trial: &mut TrialFixture, broker: u32, name: &str, values: [(i64, f64); N]) {
    let row = |(at_ms, value)| ProbeReading {
        at_ns: at_ms * 1_000_000,
        subject: Subject::Broker(broker),
        series: name.to_owned(),
        value,
    };
    trial.probes.extend(values.map(row));
}

/// A counter that grows by so much each second, read at T0, at the ends of the window, and a little late.
fn counts(trial: &mut TrialFixture, broker: u32, name: &str, per_s: f64) {
    let at = |at_ms: i64| (at_ms, 1000.0 + per_s * at_ms as f64 / 1e3);
    reported(trial, broker, name, [0, 2_005, 10_000, 12_005].map(at));
}

fn value(trial: &TrialFixture, of: &str) -> Option<f64> {
    let findings = kdyno_analysis::trial::judge(trial).expect("whole rows").findings;
    match findings.into_iter().find(|finding| finding.of.to_string() == of)?.estimate {
        Value::Is(value) => Some(value),
        _ => None,
    }
}

fn close(trial: &TrialFixture, of: &str, expected: f64) {
    let found = value(trial, of).unwrap_or_else(|| panic!("no {of}"));
    assert!((found - expected).abs() <= 1e-6 * expected.abs(), "{of}: {found}, not {expected}");
}

fn check(trial: &TrialFixture, rule: HealthRule) -> Option<(String, f64, bool)> {
    let checks = crate::health::health(trial).checks;
    checks.into_iter().find(|check| check.rule == rule).map(|check| (check.of, check.value, check.is_broken))
}

#[test]
fn counters_are_reported_by_their_growth_in_the_window() {
    let mut trial = TrialFixture::clean();
    for (broker, mib_per_s) in [(0, 2.0), (1, 1.0)] {
        counts(&mut trial, broker, series::BYTES_IN_TOTAL, mib_per_s * 1_048_576.0);
        counts(&mut trial, broker, series::MESSAGES_IN_TOTAL, 500.0);
        counts(&mut trial, broker, "requests_total.follower_fetch", 2.0);
        counts(&mut trial, broker, series::ISR_SHRINKS_TOTAL, 0.0);
        counts(&mut trial, broker, series::LOG_FLUSHES_TOTAL, 0.0);
        counts(&mut trial, broker, series::LOG_FLUSH_S_TOTAL, 0.0);
    }
    close(&trial, "brokers.bytes_in_mib_per_s", 3.0);
    close(&trial, "broker-1.bytes_in_mib_per_s", 1.0);
    close(&trial, "brokers.messages_in_per_s", 1000.0);
    close(&trial, "brokers.follower_fetch_requests", 40.0);
    close(&trial, "brokers.log_flushes", 0.0);
    assert_eq!(value(&trial, "brokers.log_flush_mean"), None, "of none");
    assert_eq!(value(&trial, "brokers.bytes_out_mib_per_s"), None, "not told");
    assert_eq!(value(&trial, "system.bytes_in_mib_per_s"), None, "controllers tell none");
    assert_eq!(check(&trial, HealthRule::IsrShrinks), Some(("broker-0".to_owned(), 0.0, false)));
    trial.probes.retain(|one| one.subject != Subject::Broker(1) || one.series != series::BYTES_IN_TOTAL);
    assert_eq!(value(&trial, "brokers.bytes_in_mib_per_s"), None, "one of them did not tell");
}

#[test]
fn a_broker_that_returns_as_another_process_counts_from_zero() {
    let mut trial = TrialFixture::clean();
    let with = |trial: &mut TrialFixture, name: &str, values: [f64; 4]| {
        let at = [2_000, 5_000, 8_000, 12_000];
        reported(trial, 0, name, [0, 1, 2, 3].map(|index| (at[index], values[index])));
    };
    with(&mut trial, "requests_total.produce", [1000.0, 1300.0, 20.0, 420.0]);
    with(&mut trial, "request_s_total.produce.local", [50.0, 51.5, 0.1, 2.1]);
    // 300, then 20 of the new process, then 400; 1.5 s, 0.1 s, 2 s.
    close(&trial, "broker-0.produce_requests", 720.0);
    close(&trial, "broker-0.produce_local_mean", 3.6 / 720.0 * 1e9);
}

#[test]
fn a_sum_that_seems_to_shrink_is_no_new_process() {
    let mut trial = TrialFixture::clean();
    reported(&mut trial, 0, "requests_total.produce", [(2_000, 100.0), (7_000, 101.0), (12_000, 201.0)]);
    reported(&mut trial, 0, "request_s_total.produce.total", [(2_000, 9.0), (7_000, 8.9), (12_000, 9.9)]);
    close(&trial, "broker-0.produce_total_mean", 1.0 / 101.0 * 1e9);
}

#[test]
fn means_of_all_brokers_weigh_each_by_its_requests() {
    let mut trial = TrialFixture::clean();
    for (broker, per_s, seconds_per_s) in [(0, 90.0, 0.09), (1, 10.0, 0.11)] {
        counts(&mut trial, broker, "requests_total.produce", per_s);
        counts(&mut trial, broker, "request_s_total.produce.remote", seconds_per_s);
    }
    close(&trial, "brokers.produce_remote_mean", 2e6);
    close(&trial, "broker-1.produce_remote_mean", 11e6);
}

#[test]
fn idle_shares_are_those_of_the_busiest_broker_and_listener() {
    let mut trial = TrialFixture::clean();
    counts(&mut trial, 0, series::REQUEST_HANDLER_IDLE_S_TOTAL, 0.9);
    // With the controller's, which does nothing.
    counts(&mut trial, 1, series::REQUEST_HANDLER_IDLE_S_TOTAL_OF_BOTH, 1.2);
    close(&trial, "broker-0.request_handler_idle", 0.9);
    close(&trial, "brokers.request_handler_idle", 0.2);
    let (of, share, is_broken) = check(&trial, HealthRule::RequestHandlersIdle).expect("asked");
    assert!(of == "broker-1" && (share - 0.2).abs() < 1e-6 && is_broken, "{of} {share}");
    let listener = |name: &str| format!("{}{name}", series::NETWORK_PROCESSOR_IDLE_S_TOTAL_OF);
    counts(&mut trial, 0, &listener("CLIENTS"), 0.5);
    counts(&mut trial, 0, &listener("CONTROLLER"), 1.0);
    reported(&mut trial, 1, series::NETWORK_PROCESSOR_IDLE_SHARE, [(0, 0.1), (2_005, 0.3), (12_005, 0.5)]);
    close(&trial, "broker-0.network_processor_idle", 0.5);
    close(&trial, "broker-1.network_processor_idle", 0.4);
    assert_eq!(check(&trial, HealthRule::NetworkProcessorsIdle).map(|found| found.2), Some(false));
    // One that ended early reported totals, of too short a time; the share that it also reported is of its start.
    trial.probes.retain(|one| one.subject != Subject::Broker(1));
    reported(&mut trial, 1, &listener("CLIENTS"), [(0, 0.0), (4_000, 3.9)]);
    reported(&mut trial, 1, series::NETWORK_PROCESSOR_IDLE_SHARE, [(0, 0.1), (4_000, 0.2)]);
    assert_eq!(value(&trial, "broker-1.network_processor_idle"), None);
}

#[test]
fn idle_time_of_two_unnamed_pools_is_assigned_by_its_size() {
    for (per_s, share) in [(1.9, 0.9), (1.003, 1.0), (0.25, 0.25)] {
        let mut trial = TrialFixture::clean();
        counts(&mut trial, 0, series::REQUEST_HANDLER_IDLE_S_TOTAL, per_s);
        close(&trial, "broker-0.request_handler_idle", share);
    }
}

/// Stopped for six seconds, it answers with what it counted meanwhile; the instant of that is the middle of them.
#[test]
fn a_broker_that_answered_late_has_no_second_pool_for_it() {
    let mut trial = TrialFixture::clean();
    let idle = [(0, 0.0), (2_005, 1.9), (12_000, 14.8), (22_005, 21.8)];
    reported(&mut trial, 0, series::REQUEST_HANDLER_IDLE_S_TOTAL, idle);
    assert!(value(&trial, "broker-0.request_handler_idle").is_some(), "as if the controller's were in it");
    reported(
        &mut trial,
        0,
        series::AGENT_ANSWERED_S_TOTAL,
        [(0, 0.01), (2_005, 0.02), (12_000, 6.02), (22_005, 6.03)],
    );
    assert_eq!(
        value(&trial, "broker-0.request_handler_idle"),
        None,
        "more than one pool can be in this window"
    );
}

#[test]
fn busy_handlers_next_to_an_idle_pool_are_not_idle() {
    let in_window = |at_ms: i64| (at_ms, 1000.0 + 1.1 * at_ms as f64 / 1e3);
    let mut trial = TrialFixture::clean();
    reported(&mut trial, 0, series::REQUEST_HANDLER_IDLE_S_TOTAL, [0, 2_005, 10_000, 12_005].map(in_window));
    assert_eq!(value(&trial, "broker-0.request_handler_idle"), None, "one pool or two: nobody knows");
    // Before the load both were idle.
    reported(&mut trial, 0, series::REQUEST_HANDLER_IDLE_S_TOTAL, [(-10_000, 1000.0 - 19.5)]);
    close(&trial, "broker-0.request_handler_idle", 0.1);
}

#[test]
fn states_are_the_worst_that_was_seen_in_the_window() {
    let mut trial = TrialFixture::clean();
    reported(&mut trial, 0, series::UNDER_REPLICATED_PARTITIONS, [(1_000, 9.0), (2_005, 0.0), (12_005, 2.0)]);
    reported(
        &mut trial,
        1,
        series::UNDER_REPLICATED_PARTITIONS,
        [(2_005, 1.0), (12_005, 0.0), (15_000, 7.0)],
    );
    reported(&mut trial, 1, series::OFFLINE_PARTITIONS, [(2_005, 4.0), (12_005, 0.0)]);
    close(&trial, "brokers.under_replicated_partitions", 3.0);
    close(&trial, "brokers.offline_partitions", 4.0);
    assert_eq!(check(&trial, HealthRule::UnderReplicated), Some(("broker-0".to_owned(), 2.0, true)));
    assert_eq!(check(&trial, HealthRule::OfflinePartitions), Some(("broker-1".to_owned(), 4.0, true)));
}

#[test]
fn readings_of_less_than_half_of_the_window_say_nothing() {
    let mut trial = TrialFixture::clean();
    reported(&mut trial, 0, series::MESSAGES_IN_TOTAL, [(1_000, 0.0), (8_000, 700.0)]);
    close(&trial, "broker-0.messages_in_per_s", 100.0);
    trial.probes.retain(|one| one.series != series::MESSAGES_IN_TOTAL);
    reported(&mut trial, 0, series::MESSAGES_IN_TOTAL, [(1_000, 0.0), (6_000, 500.0)]);
    assert_eq!(value(&trial, "broker-0.messages_in_per_s"), None);
}

#[test]
fn remote_brokers_report_cpu_time_and_are_not_local_programs() {
    let mut trial = TrialFixture::clean();
    trial.probes.retain(|reading| !matches!(reading.subject, Subject::Broker(_)));
    trial.start.trial.effective.system = target(None);
    let before = kdyno_analysis::trial::judge(&trial).expect("whole rows");
    for broker in [1, 2] {
        counts(&mut trial, broker, series::PROCESS_CPU_S_TOTAL, 0.25);
    }
    close(&trial, "brokers.cpu_percent", 50.0);
    // 1,000 records/s.
    close(&trial, "brokers.cpu_us_per_record", 500.0);
    close(&trial, "broker-2.cpu_us_per_record", 250.0);
    let after = kdyno_analysis::trial::judge(&trial).expect("whole rows");
    assert_eq!(before.caveats, after.caveats);
    let limits = |judged: &kdyno_model::outcome::Judgement| {
        let is_limit = |one: &&kdyno_model::conclusion::Conclusion| {
            matches!(one, kdyno_model::conclusion::Conclusion::Limit(_))
        };
        format!("{:?}", judged.conclusions.iter().filter(is_limit).collect::<Vec<_>>())
    };
    assert_eq!(limits(&before), limits(&after));
}
