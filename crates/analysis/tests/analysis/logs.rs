//! What the cluster reports of logs and groups; the window is 10 s, from second 2 to second 12.

use crate::fixture::TrialFixture;
use kdyno_model::event::Subject;
use kdyno_model::finding::Value;
use kdyno_model::health::HealthRule;
use kdyno_model::sample::{ProbeReading, series};

/// Adds readings at these instants in ms.
fn reported<const N: usize>(
    trial: &mut TrialFixture,
    subject: &Subject,
    name: &str,
    values: [(i64, f64); N],
) {
    let row = |(at_ms, value)| ProbeReading {
        at_ns: at_ms * 1_000_000,
        subject: subject.clone(),
        series: name.to_owned(),
        value,
    };
    trial.probes.extend(values.map(row));
}

fn value(trial: &TrialFixture, of: &str) -> Option<Value> {
    let findings = kdyno_analysis::trial::judge(trial).expect("whole rows").findings;
    let mut found = findings.into_iter().filter(|finding| finding.of.to_string() == of);
    let value = found.next().map(|finding| finding.estimate);
    assert!(found.next().is_none(), "{of} is told twice");
    value
}

const MIB: f64 = 1_048_576.0;

#[test]
fn logs_grow_by_the_difference_of_readings_at_the_windows_ends() {
    let mut trial = TrialFixture::clean();
    let all =
        [(Subject::Broker(0), 500.0, 3.0), (Subject::Broker(1), 500.0, 1.0), (Subject::Brokers, 1000.0, 4.0)];
    for (subject, mib, mib_per_s) in all {
        let at = |at_ms: i64| (at_ms, mib * MIB + mib_per_s * MIB * at_ms as f64 / 1e3);
        reported(&mut trial, &subject, series::LOG_BYTES, [0, 2_010, 10_000, 12_030].map(at));
        let own = |at_ms: i64| (at_ms, mib_per_s * MIB * at_ms as f64 / 1e3);
        reported(&mut trial, &subject, series::RUN_LOG_BYTES, [0, 2_010, 10_000, 12_030].map(own));
    }
    let close = |trial: &TrialFixture, of: &str, expected: f64| {
        let Some(Value::Is(found)) = value(trial, of) else { panic!("no {of}") };
        assert!((found - expected).abs() < 1e-6 * expected, "{of}: {found}, not {expected}");
    };
    close(&trial, "brokers.run_log_growth_mib_per_s", 4.0);
    close(&trial, "broker-1.run_log_growth_mib_per_s", 1.0);
    close(&trial, "brokers.log_growth_mib_per_s", 4.0);
    close(&trial, "broker-0.run_log_bytes", 36.09 * MIB);
    close(&trial, "brokers.log_bytes", (1000.0 + 4.0 * 12.03) * MIB);
    assert_eq!(value(&trial, "system.log_bytes"), None);
    let late = |one: &ProbeReading| one.subject == Subject::Broker(1) && one.at_ns > 11_000_000_000;
    trial.probes.retain(|one| !late(one));
    close(&trial, "broker-1.log_bytes", 510.0 * MIB);
    trial.probes.retain(|one| one.subject != Subject::Brokers || one.at_ns == 0);
    let of_all = value(&trial, "brokers.run_log_growth_mib_per_s");
    assert_eq!(of_all, None, "not all of them told at the end");
    assert!(value(&trial, "broker-0.run_log_growth_mib_per_s").is_some());
}

#[test]
fn replicas_are_reported_at_the_worst_reading_of_all_topics() {
    let mut trial = TrialFixture::clean();
    let lacking = [
        ("a", [(2_000, 0.0), (10_000, 2.0), (12_000, 0.0)]),
        ("b", [(2_000, 1.0), (10_000, 1.0), (12_000, 0.0)]),
    ];
    for (topic, values) in lacking {
        let subject = Subject::Topic(topic.to_owned());
        reported(&mut trial, &subject, series::UNDER_REPLICATED_PARTITIONS, values);
        reported(&mut trial, &subject, series::IN_SYNC_REPLICAS_LEAST, [(2_000, 3.0), (10_000, 2.0)]);
    }
    let rule = |trial: &TrialFixture| {
        let checks = crate::health::health(trial).checks;
        let found = checks.into_iter().find(|check| check.rule == HealthRule::UnderReplicated);
        found.map(|check| (check.of, check.value, check.is_broken))
    };
    assert_eq!(rule(&trial), Some(("brokers".to_owned(), 3.0, true)), "nobody else tells it");
    reported(&mut trial, &Subject::Broker(0), series::UNDER_REPLICATED_PARTITIONS, [(5_000, 99.0)]);
    assert_eq!(rule(&trial), Some(("broker-0".to_owned(), 99.0, true)));
    assert_eq!(value(&trial, "brokers.run_under_replicated_partitions"), Some(Value::Is(3.0)));
    assert_eq!(value(&trial, "brokers.run_in_sync_replicas_least"), Some(Value::Is(2.0)));
}

#[test]
fn groups_are_reported_at_both_ends_of_the_window() {
    let mut trial = TrialFixture::clean();
    let group = Subject::Group("g.x".to_owned());
    reported(
        &mut trial,
        &group,
        series::COMMITTED_LAG_RECORDS,
        [(0, 1.0), (2_001, 70.0), (10_000, 8.0), (12_001, 9.0)],
    );
    reported(&mut trial, &group, series::COMMITTED_LAG_S_AT_LEAST, [(0, 0.0), (2_001, 2.5)]);
    reported(&mut trial, &group, series::COMMITTED_LAG_S, [(10_000, 0.5), (12_001, 0.25)]);
    assert_eq!(value(&trial, "group:g.x.committed_lag_at_start"), Some(Value::Is(70.0)));
    assert_eq!(value(&trial, "group:g.x.committed_lag_at_end"), Some(Value::Is(9.0)));
    assert_eq!(value(&trial, "group:g.x.committed_lag_time_at_start"), Some(Value::AtLeast(2.5e9)));
    assert_eq!(value(&trial, "group:g.x.committed_lag_time_at_end"), Some(Value::Is(0.25e9)));
}
