//! End-to-end latencies: what was handed over, what never was, and where it is unknown.

use crate::fixture::{MS, PER_SECOND, READERS, S, TrialFixture, WRITERS, event, histogram};
use kdyno_analysis::series;
use kdyno_model::caveat::{Caveat, Severity};
use kdyno_model::event::{EventKind, Subject};
use kdyno_model::finding::{Mark, Value};
use kdyno_model::generator::LostWorkers;
use kdyno_model::plan::{
    IsolationLevel, LoadSpan, Payload, ReadDepth, Role, RoleKind, StartOffset, WorkerPlan,
};
use kdyno_model::run::{StreamInfo, cluster_fact};
use kdyno_model::sample::{Grain, Phase, ProbeReading, Sample, StreamId, Timing, series as of_clock};

fn reader_seconds(trial: &mut TrialFixture) -> impl Iterator<Item = &mut Sample> {
    trial.samples.iter_mut().filter(|row| row.id == READERS && row.grain == Grain::Second)
}

/// A trial whose readers were handed all records but `missing` ones of second 5, each after 6 ms, 1 ms of it hand-over.
fn trial(missing: u64) -> TrialFixture {
    let mut trial = TrialFixture::clean();
    for row in reader_seconds(&mut trial) {
        let kept = PER_SECOND - if row.t0_second == 5 { missing } else { 0 };
        (row.counts.end_to_end, row.counts.discarded) = (kept, 3);
        timed(row, Timing::EndToEnd, 6 * MS, kept);
    }
    for (phase, seconds, end) in [(Phase::Warmup, 2, 2), (Phase::Measure, 10, 12)] {
        let kept = PER_SECOND * seconds - if phase == Phase::Measure { missing } else { 0 };
        let row = trial.push(READERS, Grain::Phase, phase, end, end);
        for (timing, ns) in
            [(Timing::EndToEnd, 6 * MS), (Timing::UntilFetched, 5 * MS), (Timing::HandOver, MS)]
        {
            timed(row, timing, ns, kept);
        }
    }
    trial.take_totals();
    trial
}

fn timed(row: &mut Sample, timing: Timing, ns: u64, records: u64) {
    row.histograms.insert(timing, histogram(&[(ns, records)], 3));
    row.sums_ns.insert(timing, u128::from(records * ns));
}

fn is_stated(trial: &TrialFixture, address: &str) -> bool {
    trial.findings().iter().any(|finding| finding.of.to_string() == address)
}

fn about(value: Value, ms: f64) -> bool {
    matches!(value, Value::Is(ns) if (ns / 1e6 - ms).abs() < 0.01 * ms)
}

#[test]
fn percentiles_are_next_to_their_population() {
    let trial = trial(0);
    for (metric, count) in [("end_to_end", 10_000.0), ("censored", 0.0), ("discarded", 30.0)] {
        assert_eq!(trial.value(&format!("readers.{metric}")), Value::Is(count), "{metric}");
    }
    for quantile in ["p50", "p99.9", "max"] {
        assert!(about(trial.value(&format!("readers.end_to_end.{quantile}")), 6.0), "{quantile}");
    }
    assert_eq!(trial.value("readers.end_to_end.mean"), Value::Is(6e6));
    assert_eq!(trial.value("readers.until_fetched.mean"), Value::Is(5e6));
    assert_eq!(trial.value("readers.hand_over.mean"), Value::Is(1e6));
    assert!(!is_stated(&trial, "writers.end_to_end.p50") && !is_stated(&trial, "readers.response.p50"));
    let course = series::trial(&trial).unwrap();
    let readers = course.streams.iter().find(|stream| stream.role == RoleKind::Consume).unwrap();
    assert!(
        readers
            .seconds
            .iter()
            .filter(|point| point.second < 12)
            .all(|point| about(point.end_to_end_ns_p99, 6.0))
    );
    assert!(readers.percentiles.is_empty() && !readers.end_to_end_percentiles.is_empty());
}

/// 200 of 10,000 never came: p50 is known, p99 is at least what they have waited, from the end of their second on.
#[test]
fn what_never_came_lies_above_every_quantile() {
    let trial = trial(200);
    assert_eq!(trial.value("readers.censored"), Value::Is(200.0));
    assert_eq!(trial.value("readers.end_to_end"), Value::Is(9_800.0));
    assert!(about(trial.value("readers.end_to_end.p95"), 6.0));
    let Value::AtLeast(p99_ns) = trial.value("readers.end_to_end.p99") else { panic!("at least") };
    assert_eq!(p99_ns, 5e9, "from the end of second 5 to the beginning of second 11");
    assert!(matches!(trial.value("readers.end_to_end.mean"), Value::AtLeast(_)));
    assert!(about(trial.value("readers.hand_over.p99"), 1.0), "of those that came");
    let course = series::trial(&trial).unwrap();
    let readers = course.streams.iter().find(|stream| stream.role == RoleKind::Consume).unwrap();
    let p99 = |second| readers.seconds.iter().find(|point| point.second == second).unwrap().end_to_end_ns_p99;
    assert!(matches!(p99(5), Value::AtLeast(_)) && about(p99(6), 6.0));
}

/// Writers on another host are lost in second 4, before what never came was due.
#[test]
fn what_was_due_after_a_lost_host_is_not_censored() {
    let mut trial = trial(200);
    trial.start.trial.effective.generators.lost_workers = LostWorkers::Report;
    let writers = trial.start.streams.iter().find(|stream| stream.id == WRITERS).unwrap().clone();
    let id = StreamId { worker: 1, ..WRITERS };
    trial.start.streams.push(StreamInfo { id, ..writers });
    trial.push(id, Grain::Second, Phase::Measure, 4, 4).counts.offered = 1;
    trial.events.push(event(EventKind::WorkerEnded, Subject::Worker(1), "worker 1 ended"));
    for (metric, count) in [("censored", 0.0), ("end_to_end", 2_000.0)] {
        assert_eq!(trial.value(&format!("readers.{metric}")), Value::Is(count), "{metric}");
    }
    assert!(about(trial.value("readers.end_to_end.max"), 6.0));
}

/// The clock of another host: what lies below zero counts with its sign.
#[test]
fn latencies_below_zero_keep_their_sign() {
    let mut trial = trial(0);
    for row in trial.samples.iter_mut().filter(|row| row.id == READERS && row.grain == Grain::Phase) {
        // Six of ten lie 2 ms before their t0.
        let records = row.sums_ns[&Timing::HandOver] as u64 / MS;
        timed(row, Timing::EndToEnd, 6 * MS, records / 10 * 4);
        timed(row, Timing::EndToEndBelowZero, 2 * MS, records / 10 * 6);
    }
    assert!(about(trial.value("readers.end_to_end.p99"), 6.0));
    let Value::Is(p50_ns) = trial.value("readers.end_to_end.p50") else { panic!("a value") };
    assert!((-2e6..=-1.99e6).contains(&p50_ns), "{p50_ns}");
    let Value::Is(mean_ns) = trial.value("readers.end_to_end.mean") else { panic!("a value") };
    assert!((mean_ns - 1.2e6).abs() < 1.0, "{mean_ns}");
}

/// On one host they have one clock, whatever it is; with the writers elsewhere they have two.
#[test]
fn a_way_from_one_clock_to_another_one_is_not_reported() {
    let mut trial = trial(0);
    let case = &mut trial.start.trial.effective;
    case.generators.hosts = vec!["one".to_owned(), "two".to_owned()];
    case.workers.push(WorkerPlan { worker: 1, shares: Vec::new() });
    let fact = cluster_fact::generator("one", cluster_fact::OWN_CLOCK);
    trial.start.cluster.insert(fact, cluster_fact::YES.to_owned());
    let differ = |trial: &TrialFixture| {
        let found = trial.judged().caveats.into_iter().map(|one| one.caveat);
        found.filter(|caveat| matches!(caveat, Caveat::ClocksDiffer(_))).collect::<Vec<_>>()
    };
    assert!(is_stated(&trial, "readers.end_to_end.p50") && differ(&trial).is_empty());
    trial.start.streams.iter_mut().filter(|stream| stream.name == "writers").for_each(|stream| {
        stream.id.worker = 1;
    });
    for metric in ["end_to_end", "end_to_end.p50", "hand_over.p99"] {
        assert!(!is_stated(&trial, &format!("readers.{metric}")), "{metric}");
    }
    let mut read = |at_ns, series: &str, value| {
        let (subject, series) = (Subject::Worker(0), series.to_owned());
        trial.probes.push(ProbeReading { at_ns, subject, series, value });
    };
    read(0, of_clock::CLOCK_BOUND_S, 1.0 / 2048.0);
    read(S as i64, of_clock::CLOCK_BOUND_S, 0.5);
    let found = differ(&trial);
    assert_eq!(found.len(), 1);
    let Caveat::ClocksDiffer(found) = &found[0] else { panic!("one of clocks") };
    assert_eq!((found.item.as_str(), found.bound_ns, found.drift_ns_per_s), ("readers", 488_281, None));
    trial.probes.push(ProbeReading {
        at_ns: 15 * S as i64,
        subject: Subject::Worker(0),
        series: of_clock::CLOCK_DRIFT_PPM.to_owned(),
        value: -12.0,
    });
    let Caveat::ClocksDiffer(found) = &differ(&trial)[0] else { panic!("one of clocks") };
    assert_eq!(found.drift_ns_per_s, Some(12_000), "the lab's own clock has none");
    // Where the error is little the lab has kept them, and what it is.
    trial.probes.push(ProbeReading {
        at_ns: 0,
        subject: Subject::Item("readers".to_owned()),
        series: of_clock::CLOCK_ERROR_S.to_owned(),
        value: 3.1e-4,
    });
    assert!(about(trial.value("readers.end_to_end.p50"), 6.0));
    let Caveat::ClocksDiffer(found) = &differ(&trial)[0] else { panic!("one of clocks") };
    assert_eq!(found.error_ns, Some(310_000));
}

#[test]
fn where_nothing_is_determined_nothing_is_reported() {
    let nothing = |trial: &TrialFixture| {
        ["end_to_end", "censored", "discarded", "end_to_end.p50", "hand_over.p99"]
            .iter()
            .all(|metric| !is_stated(trial, &format!("readers.{metric}")))
    };
    let changed = |change: fn(&mut TrialFixture)| {
        let mut trial = trial(200);
        change(&mut trial);
        trial
    };
    assert!(nothing(&changed(|trial| trial.writers().payload = Payload::Pooled { pool_bytes: 1 })));
    assert!(nothing(&changed(|trial| readers(trial).read = ReadDepth::Crc)));
    assert!(nothing(&TrialFixture::clean()), "consumers of earlier versions did not look");
    // Readers of committed records are handed nothing of aborted transactions.
    let aborted = changed(|trial| {
        readers(trial).isolation_level = IsolationLevel::ReadCommitted;
        trial.counts(4).aborted = 1;
    });
    assert!(!is_stated(&aborted, "readers.censored"));
    assert!(about(aborted.value("readers.end_to_end.p99"), 6.0));
    assert!(is_stated(&changed(|trial| trial.counts(4).aborted = 1), "readers.censored"));
    // For consumers that come late, or go, it is unknown which records they were to be handed.
    let span = |at_ns, until_ns| LoadSpan { at_ns, until_ns };
    for (span, from, is_reported) in [
        (span(Some(3 * S), None), StartOffset::Latest, false),
        (span(Some(3 * S), None), StartOffset::Earliest, true),
        (span(None, Some(3 * S)), StartOffset::Earliest, false),
    ] {
        let mut trial = trial(200);
        readers(&mut trial).from = from;
        trial.start.trial.effective.load.get_mut("readers").unwrap().span = span;
        assert_eq!(is_stated(&trial, "readers.censored"), is_reported, "{span:?} {from:?}");
    }
}

fn readers(trial: &mut TrialFixture) -> &mut kdyno_model::plan::ConsumePlan {
    match &mut trial.start.trial.effective.load.get_mut("readers").unwrap().role {
        Role::Consume(plan) => plan,
        Role::Produce(_) | Role::EndToEnd(_) => panic!("readers consume"),
    }
}

/// A load that queued makes the latencies of who reads it as useless as its own.
#[test]
fn behind_a_load_that_queued_end_to_end_latencies_are_invalid() {
    let mut trial = trial(0);
    // What the brokers owe when the window begins, in its first second.
    trial.counts(1).acknowledged -= 300;
    trial.counts(2).acknowledged += 300;
    trial.take_totals();
    let marks = |address: &str| {
        let found = trial.findings().into_iter().find(|finding| finding.of.to_string() == address).unwrap();
        found.marks.contains(&Mark::Invalid)
    };
    assert_eq!(marks("writers.response.p99"), marks("readers.end_to_end.p99"));
    assert!(marks("writers.response.p99") && !marks("readers.fetched_per_s"));
}

#[test]
fn end_to_end_latency_from_late_sending_is_not_the_clusters() {
    let reported = |late_ms: u64| {
        let mut trial = trial(0);
        let measured = |row: &&mut Sample| row.grain == Grain::Phase && row.phase == Phase::Measure;
        for row in trial.samples.iter_mut().filter(measured) {
            let (timing, values) = match row.id == READERS {
                true => (Timing::EndToEnd, [(5 * MS, 9_900), (100 * MS, 100)]),
                false => (Timing::ScheduleDelay, [(MS / 10, 9_900), (late_ms * MS, 100)]),
            };
            row.histograms.insert(timing, histogram(&values, 3));
        }
        let found = trial.reported(|found| matches!(found, Caveat::LateEndToEnd { .. }));
        let reported = found.into_iter().map(|found| {
            let Caveat::LateEndToEnd { item, quantile, .. } = found.caveat else {
                panic!("{:?}", found.caveat)
            };
            assert_eq!(item, "readers");
            (found.severity, quantile)
        });
        (reported.collect::<Vec<_>>(), trial.marked(Mark::Invalid))
    };
    let (found, marked) = reported(88);
    assert_eq!(found, [(Severity::Invalid, "p99.9".to_owned())]);
    assert!(marked.contains("readers.end_to_end.p99.9") && marked.contains("readers.end_to_end.max"));
    assert!(!marked.contains("readers.end_to_end.p99") && !marked.contains("readers.fetched_per_s"));
    let (found, marked) = reported(20);
    assert_eq!(found, [(Severity::Warning, "p99.9".to_owned())]);
    assert!(marked.is_empty(), "{marked:?}");
    assert_eq!(reported(1).0, []);
}
