//! The HdrHistogram log of a trial.

use crate::fixture::{SECOND_NS, phases, run};
use hdrhistogram::Histogram;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use hdrhistogram::serialization::{Serializer, V2Serializer};
use kdyno_model::evidence::TrialEvidence;
use kdyno_model::plan::RoleKind;
use kdyno_model::run::StreamInfo;
use kdyno_model::sample::{Counts, Grain, LATENCY_NS_MAX, LATENCY_NS_MIN, Phase, Sample, StreamId, Timing};
use kdyno_report::hlog::response_log;
use std::collections::BTreeMap;
use std::time::Duration;

fn sample(worker: u16, second: u32, latencies_ns: &[u64]) -> Sample {
    let mut histogram =
        Histogram::<u64>::new_with_bounds(LATENCY_NS_MIN, LATENCY_NS_MAX, 2).expect("valid bounds");
    latencies_ns.iter().for_each(|ns| histogram.record(*ns).expect("within range"));
    let mut bytes = Vec::new();
    V2Serializer::new().serialize(&histogram, &mut bytes).expect("a vector takes all");
    Sample {
        id: StreamId { worker, stream: 0 },
        sequence: 0,
        grain: Grain::Second,
        phase: Phase::Measure,
        t0_second: second,
        written_second: second,
        counts: Counts::default(),
        histograms: BTreeMap::from([(Timing::Response, bytes)]),
        sums_ns: BTreeMap::new(),
    }
}

/// Rows of a load item on two workers.
fn evidence(item: &str, samples: &[Sample]) -> TrialEvidence {
    let stream = |worker| StreamInfo {
        id: StreamId { worker, stream: 0 },
        name: item.to_owned(),
        topic: "t".to_owned(),
        role: RoleKind::Produce,
        clients: 1,
        value_bytes: 100,
    };
    let run = run();
    let mut start = run.trials[0].clone();
    start.streams = vec![stream(0), stream(1)];
    start.t0_unix_ns = 1_700_000_000 * SECOND_NS;
    TrialEvidence {
        start,
        session: run.sessions[0].0.clone(),
        phases: phases(),
        samples: samples.to_vec(),
        probes: vec![],
        totals: vec![],
        events: vec![],
        noise: vec![],
    }
}

#[test]
fn rows_of_one_item_and_second_become_one_readable_interval() {
    let samples = [sample(0, 3, &[1_000, 2_000]), sample(1, 3, &[5_000_000]), sample(0, 4, &[7_000])];
    let log = response_log(&evidence("the writers", &samples)).expect("a log");
    let intervals: Vec<_> = IntervalLogIterator::new(log.as_bytes())
        .filter_map(|entry| match entry.expect("readable") {
            LogEntry::Interval(interval) => Some((interval.start_timestamp(), interval.max())),
            _ => None,
        })
        .collect();
    assert_eq!(intervals.len(), 2, "{log}");
    assert_eq!(intervals[0].0, Duration::from_secs(3));
    assert!(intervals[0].1 >= 5_000_000.0, "{log}");
    assert!(log.contains("Tag=the_writers,"), "{log}");
    assert!(log.contains("[trial 1 (brokers=3 #1); seconds: measure 3-4]"), "{log}");
    assert!(log.starts_with('#') && log.contains("[Histogram log format version 1.3]"), "{log}");
}

#[test]
fn a_damaged_histogram_is_an_error() {
    let whole = sample(0, 3, &[1_000]).histograms[&Timing::Response].clone();
    // Seven digits up to 2⁶³ would take gigabytes; three times 2⁶³ records cannot be counted.
    let mut greedy = whole.clone();
    (greedy[15], greedy[24]) = (7, 0x7f);
    let mut countless = whole[..40].to_vec();
    countless.extend([0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff].repeat(3));
    countless[7] = 27;
    for (bytes, reason) in [
        (vec![1, 2, 3], "it is cut off"),
        (greedy, "its range or precision is not one of ours"),
        (countless, "the counts overflow"),
    ] {
        let mut damaged = sample(1, 3, &[]);
        damaged.histograms.insert(Timing::Response, bytes);
        let error = response_log(&evidence("writers", &[damaged])).expect_err(reason);
        let reported = format!("cannot read the histogram of stream 0 of worker 1 in second 3: {reason}");
        assert_eq!(error, reported);
    }
}

#[test]
fn counts_of_a_damaged_file_do_not_overflow() {
    let mut rows = [sample(0, 3, &[1_000]), sample(0, 4, &[1_000])];
    for row in &mut rows {
        row.counts.failed = BTreeMap::from([("a".to_owned(), u64::MAX), ("b".to_owned(), 1)]);
        row.counts.unresolved = u64::MAX;
    }
    let log = response_log(&evidence("writers", &rows)).expect("a log");
    assert!(log.contains(&format!("{} failed and {} unresolved", u64::MAX, u64::MAX)), "{log}");
}
