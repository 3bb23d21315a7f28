//! Rules of health, each provoked once by readings, and what they say when nothing is wrong.

use crate::fixture::{S, TrialFixture, event};
use crate::limit::elsewhere;
use kdyno_model::conclusion::{Conclusion, of_kind};
use kdyno_model::event::{EventKind, Subject};
use kdyno_model::finding::Value;
use kdyno_model::health::{Health, HealthCheck, HealthRule};
use kdyno_model::sample::{ProbeReading, series};

pub fn health(trial: &TrialFixture) -> Health {
    let conclusions = kdyno_analysis::trial::judge(trial).expect("whole rows").conclusions;
    of_kind::<Health>(&conclusions).next().expect("a conclusion about health").clone()
}

/// The check of a rule in a trial whose host counts so much per second.
fn check(rule: HealthRule, counters: &[(&str, f64)]) -> Option<HealthCheck> {
    let mut trial = TrialFixture::clean();
    for (name, per_s) in counters {
        trial.counter(Subject::Host, name, *per_s);
    }
    health(&trial).checks.into_iter().find(|check| check.rule == rule)
}

/// Its value and whether it is broken.
fn value(rule: HealthRule, counters: &[(&str, f64)]) -> (f64, bool) {
    let found = check(rule, counters).unwrap_or_else(|| panic!("no check {rule}"));
    ((found.value * 1e6).round() / 1e6, found.is_broken)
}

#[test]
fn a_quiet_trial_breaks_no_rule_and_the_heaviest_comes_first() {
    let health = health(&TrialFixture::clean());
    assert!(health.checks.iter().all(|check| !check.is_broken), "{health:?}");
    assert!(health.checks.is_sorted_by_key(|check| check.rule));
    assert!(health.checks.iter().any(|check| check.rule == HealthRule::BrokerProcessors));
}

#[test]
fn a_broker_that_ended_is_reported_once() {
    let mut trial = TrialFixture::clean();
    let ended = |trial: &TrialFixture| {
        let checks = health(trial).checks;
        let check = checks.into_iter().find(|check| check.rule == HealthRule::BrokersEnded).expect("asked");
        (check.value, check.is_broken)
    };
    assert_eq!(ended(&trial), (0.0, false));
    for _ in 0..2 {
        trial.events.push(event(EventKind::ProcessDied, Subject::Broker(1), "it ended"));
    }
    assert_eq!(ended(&trial), (1.0, true));
}

#[test]
fn shares_of_limits_are_those_of_what_was_the_limit() {
    let mut trial = TrialFixture::clean();
    for reading in &mut trial.probes {
        if reading.subject == Subject::Broker(0) && reading.series == series::CPU_USER_S_TOTAL {
            reading.value += reading.at_ns as f64 / S as f64;
        }
        if reading.subject == Subject::Host {
            let seconds = reading.at_ns as f64 / S as f64;
            match reading.series.as_str() {
                series::CPU_USER_S_TOTAL => reading.value += 0.9 * seconds,
                series::CPU_IDLE_S_TOTAL => reading.value -= 0.9 * seconds,
                _ => {}
            }
        }
    }
    let judged = kdyno_analysis::trial::judge(&trial).expect("whole rows").conclusions;
    let of_limit = judged.iter().find_map(|one| match one {
        Conclusion::Limit(limit) => {
            let is_it = |evidence: &&kdyno_model::conclusion::LimitEvidence| {
                evidence.kind == kdyno_model::conclusion::LimitKind::BrokerProcessors
            };
            limit.evidence.iter().find(is_it)?.used
        }
        _ => None,
    });
    let check = health(&trial).checks.into_iter().find(|check| check.rule == HealthRule::BrokerProcessors);
    let check = check.expect("brokers are judged");
    assert_eq!(Some(check.value), of_limit);
    assert!(check.value > 0.8 && check.is_broken, "{check:?}");
}

#[test]
fn the_generator_and_declared_limits_break_their_rules() {
    let broken = |trial: &TrialFixture, rule: HealthRule| {
        let checks = health(trial).checks;
        let found =
            checks.into_iter().find(|check| check.rule == rule).unwrap_or_else(|| panic!("no {rule}"));
        (found.is_broken, (found.value * 1e4).round() / 1e4)
    };
    let mut trial = TrialFixture::clean();
    trial.threads([("writers", 0.85)]);
    assert_eq!(broken(&trial, HealthRule::GeneratorBusy), (true, 0.85));
    for (fact, rule, near, far) in [
        ("disk.limit", HealthRule::DiskBandwidth, "160kB/s", "1MB/s"),
        ("network.limit", HealthRule::NetworkBandwidth, "1.25Mbit/s", "1Gbit/s"),
    ] {
        assert!(broken(&elsewhere(&[(fact, near)]), rule).0, "{near}");
        assert!(!broken(&elsewhere(&[(fact, far)]), rule).0, "{far}");
    }
}

#[test]
fn one_full_cpu_is_noticed_while_others_are_idle() {
    let of = |number: u32| format!("{}{number}", series::CPU_BUSY_S_TOTAL_OF);
    let (first, second) = (of(0), of(1));
    let two = [(first.as_str(), 0.2), (second.as_str(), 0.97)];
    assert_eq!(value(HealthRule::OneProcessorFull, &two), (0.97, true));
    let found = check(HealthRule::OneProcessorFull, &two).expect("asked");
    assert_eq!(found.of, "CPU 1");
    // Where the mean of all is high, no one of them stands out.
    assert_eq!(
        check(HealthRule::OneProcessorFull, &[(second.as_str(), 0.97), (series::CPU_USER_S_TOTAL, 9.0)]),
        None
    );
}

#[test]
fn a_drive_is_judged_by_its_use_and_by_the_time_of_operations() {
    let busy = [("disk_busy_s_total.vda", 0.9)];
    assert_eq!(value(HealthRule::DriveBusy, &busy), (0.9, true));
    let slow = |writes_per_s: f64| {
        [
            busy[0],
            ("disk_writes_total.vda", writes_per_s),
            ("disk_write_s_total.vda", 0.03 * writes_per_s),
            ("disk_reads_total.vda", writes_per_s),
            ("disk_read_s_total.vda", 0.001 * writes_per_s),
        ]
    };
    assert_eq!(value(HealthRule::DriveWriteTime, &slow(100.0)), (30e6, true));
    assert_eq!(value(HealthRule::DriveReadTime, &slow(100.0)), (1e6, false));
    let slow_reads =
        [("disk_busy_s_total.vda", 0.9), ("disk_reads_total.vda", 100.0), ("disk_read_s_total.vda", 2.5)];
    assert_eq!(value(HealthRule::DriveReadTime, &slow_reads), (25e6, true));
    assert_eq!(check(HealthRule::DriveWriteTime, &slow(0.1)), None, "a mean of so few says nothing");
}

#[test]
fn retransmissions_drops_and_pressure_are_shares_of_totals() {
    let sent = |again: f64| {
        [(series::TCP_SEGMENTS_SENT_TOTAL, 5000.0), (series::TCP_SEGMENTS_RETRANSMITTED_TOTAL, again)]
    };
    assert_eq!(value(HealthRule::Retransmits, &sent(5000.0)), (0.5, true));
    assert_eq!(value(HealthRule::Retransmits, &sent(1.0)), (0.0002, false));
    assert_eq!(value(HealthRule::PacketsDropped, &[(series::NET_RECEIVE_DROPPED_TOTAL, 3.0)]), (3.0, true));
    assert_eq!(value(HealthRule::MemoryPressure, &[(series::MEMORY_PRESSURE_S_TOTAL, 0.05)]), (0.05, true));
}

#[test]
fn the_least_memory_in_the_window_counts() {
    let with_dip = |at_s: u64| {
        let mut trial = TrialFixture::clean();
        for second in 0..20 {
            let available = if second == at_s { 3.0 } else { 50.0 };
            for (name, value) in
                [(series::MEMORY_TOTAL_BYTES, 100.0), (series::MEMORY_AVAILABLE_BYTES, available)]
            {
                trial.probes.push(ProbeReading {
                    at_ns: i64::try_from(second * S).expect("small"),
                    subject: Subject::Host,
                    series: name.to_owned(),
                    value,
                });
            }
        }
        let checks = health(&trial).checks;
        checks.into_iter().find(|check| check.rule == HealthRule::MemoryAvailable).expect("it is judged")
    };
    // The window goes from second 2 to 12.
    assert!(with_dip(7).is_broken);
    assert!(!with_dip(0).is_broken, "before the window");
}

#[test]
fn the_broker_with_the_longest_collections_is_reported() {
    let mut trial = TrialFixture::clean();
    for (broker, stopped, pause_s, heap) in [(0, 0.01, 0.02, 0.3), (1, 0.06, 0.15, 0.9)] {
        let broker = Subject::Broker(broker);
        trial.counter(broker.clone(), series::GC_PAUSE_S_TOTAL, stopped / 2.0);
        trial.counter(broker.clone(), series::SAFEPOINT_S_TOTAL, stopped);
        for second in 0..14 {
            for (name, value) in [
                // The window goes from second 2 to 12, and a reading is about the second before it.
                (
                    series::GC_PAUSE_S_LONGEST,
                    match second {
                        2 | 13 => 9.0,
                        12 => pause_s,
                        _ => 0.001,
                    },
                ),
                (series::HEAP_AFTER_GC_SHARE, if second == 7 { heap } else { 0.95 }),
            ] {
                trial.probes.push(ProbeReading {
                    // Just after the instant that was meant.
                    at_ns: (second * S).cast_signed() + 200_000,
                    subject: broker.clone(),
                    series: name.to_owned(),
                    value,
                });
            }
        }
    }
    let checks = health(&trial).checks;
    for (rule, expected) in
        [(HealthRule::GcPause, 0.15e9), (HealthRule::Stopped, 0.06), (HealthRule::HeapAfterGc, 0.9)]
    {
        let check = checks.iter().find(|check| check.rule == rule).unwrap_or_else(|| panic!("no {rule}"));
        assert!((check.value / expected - 1.0).abs() < 1e-9 && check.is_broken, "{check:?}");
        assert_eq!(check.of, "broker-1");
    }
    let findings = trial.judged().findings;
    let figure = |of: &str| {
        let found = findings.iter().find(|one| one.of.to_string() == of).map(|one| one.estimate);
        if let Some(Value::Is(value)) = found { value } else { panic!("{of}: {found:?}") }
    };
    // Each broker has the figures too, and all have those of the one that is held up most.
    for (of, expected) in [
        ("broker-0.gc_pause_max", 0.02e9),
        ("broker-1.gc_pause_max", 0.15e9),
        ("brokers.gc_pause_max", 0.15e9),
        ("broker-0.stopped_share", 0.01),
        ("brokers.stopped_share", 0.06),
    ] {
        assert!((figure(of) / expected - 1.0).abs() < 1e-9, "{of}: {}", figure(of));
    }
}

#[test]
fn the_cost_of_the_probes_is_reported() {
    let mut trial = TrialFixture::clean();
    trial.counter(Subject::Kdyno, series::PROBES_CPU_S_TOTAL, 0.05);
    let checks = health(&trial).checks;
    let check = checks.iter().find(|check| check.rule == HealthRule::ProbesBusy).expect("it is judged");
    assert!(check.is_broken && (check.value - 0.05).abs() < 1e-9, "{check:?}");
}
