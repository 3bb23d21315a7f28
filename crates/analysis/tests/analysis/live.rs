//! The state of a trial, from its newest rows.

use crate::fixture::{S, TrialFixture, WRITERS, histogram};
use kdyno_analysis::live::LiveTally;
use kdyno_model::event::Subject;
use kdyno_model::evidence::TrialEvidence;
use kdyno_model::plan::RoleKind;
use kdyno_model::sample::{Counts, Grain, Phase, ProbeReading, Sample, StreamId, Timing, series};

/// A trial that has written nothing yet.
fn silent() -> TrialEvidence {
    let mut trial = TrialFixture::clean();
    trial.samples.clear();
    trial.probes.clear();
    trial.start.streams.retain(|stream| stream.role == RoleKind::Produce);
    trial.0
}

fn add(trial: &mut TrialEvidence, id: StreamId, t0: u32, written: u32, offered: u64, acknowledged: u64) {
    trial.samples.push(Sample {
        id,
        sequence: trial.samples.iter().filter(|row| row.id == id).count() as u64,
        grain: Grain::Second,
        phase: Phase::Measure,
        t0_second: t0,
        written_second: written,
        counts: Counts { offered, acknowledged, ..Counts::default() },
        histograms: [].into(),
        sums_ns: [].into(),
    });
}

/// Only the rows that were written from a second on, as the store gives them.
fn recent(trial: &TrialEvidence, from: u32) -> TrialEvidence {
    let mut recent = trial.clone();
    recent.samples.retain(|row| row.written_second >= from);
    recent
}

#[test]
fn offered_is_by_intended_second_and_acknowledged_by_written() {
    let mut trial = silent();
    add(&mut trial, WRITERS, 1, 2, 30, 20);
    add(&mut trial, WRITERS, 2, 2, 40, 35);
    let second = LiveTally::default().figures(&trial, 2);
    assert_eq!((second.offered_per_s, second.acknowledged_per_s), (40, 55));
    assert_eq!(second.open_records, 15);
    assert_eq!(second.fetched_per_s, None);
    assert_eq!(LiveTally::default().figures(&trial, 1).offered_per_s, 30);
    assert_eq!(LiveTally::default().figures(&trial, 9).acknowledged_per_s, 0);
}

/// Sums up to the end of a second, whatever rows of later ones are there, and however many seconds are passed over.
#[test]
fn what_was_counted_is_summed_up_to_a_second() {
    let mut trial = silent();
    let mut live = LiveTally::default();
    for second in 0..5 {
        add(&mut trial, WRITERS, second, second, 10, 9);
    }
    let counted = |live: &mut LiveTally, trial: &TrialEvidence, second| {
        live.figures(trial, second);
        (live.counted().offered, live.counted().acknowledged)
    };
    assert_eq!(counted(&mut live, &recent(&trial, 0), 1), (20, 18));
    assert_eq!(counted(&mut live, &recent(&trial, 1), 1), (20, 18), "each row once");
    add(&mut trial, WRITERS, 1, 1, 100, 0);
    assert_eq!(counted(&mut live, &recent(&trial, 1), 4), (150, 45), "and one that came late too");
}

#[test]
fn each_row_counts_once_among_the_open_records() {
    let other = StreamId { worker: 1, ..WRITERS };
    let mut trial = silent();
    let mut live = LiveTally::default();
    let mut open = Vec::new();
    for second in 0..30 {
        add(&mut trial, WRITERS, second, second, 10, 9);
        // The other worker's rows come three seconds late; it numbers them as the first does.
        if second >= 3 {
            add(&mut trial, other, second - 3, second - 3, 100, 100);
        }
        if second == 20 {
            trial.samples.last_mut().unwrap().counts.failed.insert("max-block".into(), 7);
        }
        let figures = live.figures(&recent(&trial, second.saturating_sub(5)), second);
        open.push((figures.open_records, figures.failed));
    }
    assert_eq!((open[0], open[10]), ((1, 0), (11, 0)));
    assert_eq!(open[29], (30 - 7, 7));
}

#[test]
fn histograms_of_one_second_are_merged_and_garbage_is_left_out() {
    let good = histogram(&[(1_000_000, 1)], 2);
    let mut trial = silent();
    for bytes in [good.clone(), vec![1, 2, 3], good] {
        add(&mut trial, WRITERS, 1, 1, 1, 1);
        trial.samples.last_mut().unwrap().histograms.insert(Timing::Response, bytes);
    }
    let p99 = LiveTally::default().figures(&trial, 1).response_ns_p99.unwrap();
    assert!((990_000..=1_010_000).contains(&p99), "{p99}");
}

#[test]
fn processor_time_of_all_brokers_is_summed() {
    let mut trial = silent();
    assert_eq!(LiveTally::default().figures(&trial, 2).brokers_cpu_percent, None);
    for (subject, used_s) in [(Subject::Broker(0), 0.5), (Subject::Broker(1), 0.25), (Subject::Host, 1.0)] {
        // In the first second ten times as much: only the newest is reported.
        for (second, times) in [(0, 0.0), (1, 10.0), (2, 11.0)] {
            for name in [series::CPU_USER_S_TOTAL, series::CPU_SYSTEM_S_TOTAL] {
                trial.probes.push(ProbeReading {
                    at_ns: second * S.cast_signed(),
                    subject: subject.clone(),
                    series: name.into(),
                    value: 0.5 * used_s * times,
                });
            }
        }
    }
    assert_eq!(LiveTally::default().figures(&trial, 2).brokers_cpu_percent, Some(75.0));
    assert_eq!(LiveTally::default().figures(&trial, 2).workers_cpu_percent, None);
    assert_eq!(LiveTally::default().figures(&trial, 2).java_cpu_percent, None);
    // A Java client reports its own in one counter.
    for (second, used_s) in [(0, 0.0), (1, 0.5), (2, 0.75)] {
        trial.probes.push(ProbeReading {
            at_ns: second * S.cast_signed(),
            subject: Subject::Jvm(0, 1),
            series: series::JVM_CPU_S_TOTAL.into(),
            value: used_s,
        });
    }
    assert_eq!(LiveTally::default().figures(&trial, 2).java_cpu_percent, Some(25.0));
}

/// Each stream of consumers says it in one of its rows of a second.
#[test]
fn the_lag_of_all_consumers_is_reported_once_each_knows_its_own() {
    let mut trial = silent();
    let mut readers = TrialFixture::clean().0.start.streams;
    readers.retain(|stream| stream.role == RoleKind::Consume);
    let one = readers.first().expect("a consuming stream").clone();
    let other = StreamId { worker: one.id.worker + 1, ..one.id };
    trial.start.streams.extend([one.clone(), kdyno_model::run::StreamInfo { id: other, ..one.clone() }]);
    let lag = |trial: &TrialEvidence, second| LiveTally::default().figures(trial, second).lag_records;
    assert_eq!(lag(&trial, 1), None, "nothing is written yet");
    let reported = |trial: &mut TrialEvidence, id, t0, written, lag_records| {
        add(trial, id, t0, written, 0, 0);
        trial.samples.last_mut().expect("a row").counts.lag_records = lag_records;
    };
    reported(&mut trial, one.id, 0, 1, None);
    reported(&mut trial, one.id, 1, 1, Some(30));
    assert_eq!(lag(&trial, 1), Some(30), "the other one comes later");
    reported(&mut trial, other, 1, 1, None);
    assert_eq!(lag(&trial, 1), None, "it does not know");
    reported(&mut trial, one.id, 2, 2, Some(0));
    reported(&mut trial, other, 2, 2, Some(7));
    assert_eq!((lag(&trial, 2), lag(&trial, 3)), (Some(7), None));
}
