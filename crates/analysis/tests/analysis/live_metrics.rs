//! What a run that goes on exposes to a monitoring system.

use crate::fixture::{TrialFixture, WRITERS, histogram};
use crate::java::java;
use kdyno_analysis::live_metrics::LiveItems;
use kdyno_model::event::Subject;
use kdyno_model::evidence::TrialEvidence;
use kdyno_model::live_metrics::{LiveMetric, metrics};
use kdyno_model::plan::{RoleKind, TransactionsPlan};
use kdyno_model::sample::{Counts, Grain, Phase, ProbeReading, Sample, Timing, series};
use std::collections::BTreeMap;

fn silent() -> TrialEvidence {
    let mut trial = TrialFixture::clean();
    trial.samples.clear();
    trial.probes.clear();
    trial.start.streams.retain(|stream| stream.role == RoleKind::Produce);
    trial.0
}

fn add(trial: &mut TrialEvidence, written: u32, acknowledged: u64, response_ms: u64) {
    let failed = [("TIMED_OUT".to_owned(), 2)].into();
    trial.samples.push(Sample {
        id: WRITERS,
        sequence: trial.samples.len() as u64,
        grain: Grain::Second,
        phase: Phase::Measure,
        t0_second: written,
        written_second: written,
        counts: Counts { offered: acknowledged + 2, acknowledged, failed, ..Counts::default() },
        histograms: [(Timing::Response, histogram(&[(response_ms * 1_000_000, acknowledged)], 2))].into(),
        sums_ns: [].into(),
    });
}

fn read(trial: &mut TrialEvidence, subject: Subject, series: &str, at_s: i64, value: f64) {
    trial.probes.push(ProbeReading {
        at_ns: at_s * 1_000_000_000,
        subject,
        series: series.to_owned(),
        value,
    });
}

fn values(items: &LiveItems, metric: &'static LiveMetric) -> Vec<(Vec<String>, f64)> {
    let of_it = items.values().into_iter().filter(|value| value.metric == metric);
    of_it.map(|value| (value.labels, value.value)).collect()
}

fn labels<const N: usize>(of: [&str; N]) -> Vec<String> {
    of.map(str::to_owned).to_vec()
}

fn one(items: &LiveItems, metric: &'static LiveMetric) -> f64 {
    let [(_, value)] = values(items, metric)[..] else { panic!("{:?}", values(items, metric)) };
    value
}

#[test]
fn whole_seconds_are_counted_once_however_often_their_rows_come() {
    let mut trial = silent();
    let mut items = LiveItems::default();
    for second in 0..6 {
        add(&mut trial, second, 100, 5);
        items.take("a=1", &trial, second + 1);
        items.take("a=1", &trial, second + 1);
        assert_eq!(one(&items, &metrics::RECORDS_ACKNOWLEDGED), f64::from(100 * (second + 1)));
    }
    assert_eq!(values(&items, &metrics::RECORDS_FAILED)[0].0, ["a=1", "writers", "TIMED_OUT"]);
    assert_eq!(one(&items, &metrics::RECORDS_FAILED), 12.0);
    assert_eq!(one(&items, &metrics::RECORDS_OFFERED), 612.0);
}

#[test]
fn counters_are_0_before_anything_is_counted_and_are_not_reset() {
    let mut trial = TrialFixture::clean();
    trial.samples.clear();
    trial.probes.clear();
    let mut items = LiveItems::default();
    items.begin("a=1", &trial.start.trial.effective.load);
    assert_eq!(values(&items, &metrics::RECORDS_ACKNOWLEDGED), [(labels(["a=1", "writers"]), 0.0)]);
    assert_eq!(values(&items, &metrics::RECORDS_CONSUMED), [(labels(["a=1", "readers"]), 0.0)]);
    let failed = [["a=1", "writers", "delivery-timeout"], ["a=1", "writers", "max-block"]];
    assert_eq!(values(&items, &metrics::RECORDS_FAILED), failed.map(|failed| (labels(failed), 0.0)));
    add(&mut trial, 0, 100, 5);
    items.take("a=1", &trial, 1);
    items.end(trial.start.trial.id);
    items.begin("a=1", &trial.start.trial.effective.load);
    assert_eq!(values(&items, &metrics::RECORDS_ACKNOWLEDGED), [(labels(["a=1", "writers"]), 100.0)]);
    let reported = values(&items, &metrics::RECORDS_FAILED);
    assert!(
        reported.contains(&(labels(["a=1", "writers", "TIMED_OUT"]), 2.0)) && reported.len() == 3,
        "{reported:?}"
    );
    // Records of a transaction can fail for one reason more.
    trial.writers().transactions = Some(TransactionsPlan { every_ns: 1, records: None, abort_share: 0.0 });
    items.begin("a=2", &trial.start.trial.effective.load);
    let reported = values(&items, &metrics::RECORDS_FAILED);
    assert!(reported.contains(&(labels(["a=2", "writers", "transaction-aborted"]), 0.0)), "{reported:?}");
}

#[test]
fn counters_continue_with_the_next_trial_of_the_same_case_only() {
    let mut items = LiveItems::default();
    for (number, case) in [(1, "a=1"), (2, "a=2"), (3, "a=1")] {
        let mut trial = silent();
        trial.start.trial.id.0 = number;
        add(&mut trial, 0, 100, 5);
        items.take(case, &trial, 1);
        items.end(trial.start.trial.id);
    }
    let reported = values(&items, &metrics::RECORDS_ACKNOWLEDGED);
    let expected = [("a=1", 200.0), ("a=2", 100.0)];
    assert_eq!(reported, expected.map(|(case, count)| (vec![case.to_owned(), "writers".to_owned()], count)));
}

#[test]
fn response_times_are_those_of_the_newest_whole_second() {
    let mut trial = silent();
    let mut items = LiveItems::default();
    add(&mut trial, 0, 100, 500);
    add(&mut trial, 1, 100, 7);
    add(&mut trial, 2, 100, 900);
    items.take("", &trial, 2);
    let reported = values(&items, &metrics::RESPONSE);
    assert_eq!(
        reported.iter().map(|(labels, _)| labels[2].as_str()).collect::<Vec<_>>(),
        ["0.5", "0.99", "1"]
    );
    assert!(reported.iter().all(|(_, seconds)| (0.0069..0.0072).contains(seconds)), "{reported:?}");
    items.take("", &trial, 4);
    assert_eq!(values(&items, &metrics::RESPONSE), [], "nothing was acknowledged in the newest second");
}

#[test]
fn processes_and_the_host_have_their_last_readings() {
    let mut trial = silent();
    let mut items = LiveItems::default();
    for (at_s, seconds) in [(2, 4.0), (1, 3.0)] {
        read(&mut trial, Subject::Broker(0), series::CPU_USER_S_TOTAL, at_s, seconds);
        read(&mut trial, Subject::Host, series::CPU_STEAL_S_TOTAL, at_s, seconds / 2.0);
        read(&mut trial, Subject::Host, series::DISK_WRITE_BYTES_TOTAL, at_s, 1e6 * seconds);
        read(&mut trial, Subject::Broker(0), series::OPEN_FILES, at_s, 7.0);
    }
    items.take("a=1", &trial, 1);
    // The next case's trial has just begun: its readings count from a T0 of its own.
    trial.probes.retain(|reading| reading.at_ns == 1_000_000_000 || reading.subject != Subject::Host);
    for reading in &mut trial.probes {
        reading.value += if reading.subject == Subject::Host { 3.0 } else { 0.0 };
    }
    items.take("a=2", &trial, 1);
    let cpu = values(&items, &metrics::PROCESS_CPU);
    assert_eq!(cpu[0], (["a=1", "broker-0", "user"].map(str::to_owned).to_vec(), 4.0));
    assert_eq!(cpu.len(), 2, "{cpu:?}");
    items.begin("a=3", &BTreeMap::new());
    assert_eq!(values(&items, &metrics::PROCESS_CPU), [], "a process that goes on stands there once");
    assert_eq!(values(&items, &metrics::HOST_CPU), [(vec!["steal".to_owned()], 4.5)]);
    assert_eq!(values(&items, &metrics::HOST_DISK), [(vec!["write".to_owned()], 3e6 + 3.0)]);
}

#[test]
fn lag_is_reported_where_all_consumers_of_an_item_report_it() {
    let mut trial = TrialFixture::clean();
    trial.samples.clear();
    let consumers: Vec<_> =
        trial.start.streams.iter().filter(|stream| stream.role == RoleKind::Consume).collect();
    let first = (*consumers.first().expect("a consumer")).clone();
    let mut second = first.clone();
    second.id.worker += 1;
    trial.start.streams = vec![first.clone(), second.clone()];
    let row = |id, written, lag_records| Sample {
        id,
        sequence: u64::from(written),
        grain: Grain::Second,
        phase: Phase::Measure,
        t0_second: written,
        written_second: written,
        counts: Counts { fetched: 1, lag_records, ..Counts::default() },
        histograms: [].into(),
        sums_ns: [].into(),
    };
    trial.samples.extend([row(first.id, 0, Some(5)), row(second.id, 0, Some(7))]);
    trial.samples.extend([row(first.id, 1, Some(5)), row(second.id, 1, None)]);
    let mut items = LiveItems::default();
    items.take("", &trial.0, 1);
    assert_eq!(one(&items, &metrics::LAG_RECORDS), 12.0);
    items.take("", &trial.0, 2);
    assert_eq!(values(&items, &metrics::LAG_RECORDS), []);
    assert_eq!(one(&items, &metrics::RECORDS_CONSUMED), 4.0);
}

#[test]
fn unseen_figures_of_a_java_client_are_not_reported_as_0() {
    let mut trial = silent();
    add(&mut trial, 0, 100, 5);
    for (is_java, reported) in [(false, 1), (true, 0)] {
        if is_java {
            trial.start.trial.effective.load.get_mut("writers").expect("the item").driver = java();
        }
        let mut items = LiveItems::default();
        items.take("", &trial, 1);
        for metric in [&metrics::THROTTLED, &metrics::REQUESTS, &metrics::BATCHES, &metrics::BATCH_RETRIES] {
            assert_eq!(values(&items, metric).len(), reported, "{}", metric.name);
        }
        assert_eq!(one(&items, &metrics::RECORDS_ACKNOWLEDGED), 100.0);
    }
}
