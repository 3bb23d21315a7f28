//! What a worker sends at once after it stood still is not the cluster's.

use crate::fixture::{MS, PER_SECOND, TrialFixture, WRITERS, at_three_digits, histogram};
use kdyno_model::caveat::{Caveat, Severity, StoodStill};
use kdyno_model::finding::Mark;
use kdyno_model::sample::{Grain, Phase, Timing};
use std::collections::BTreeSet;

/// Values of a timing and how many records have them.
type Values = Vec<(u64, u64)>;

/// Stretches of the measure phase, which goes from second 2 to 12: first second and seconds.
const STRETCHES: [(u32, u64); 3] = [(0, 3), (5, 5), (10, 2)];

/// A trial whose stretches have these schedule delays and service times; what a record took without the generator is its service.
fn stretched(of: impl Fn(u32, u64) -> (Values, Values)) -> TrialFixture {
    let mut trial = TrialFixture::clean();
    let mut whole: [Values; 2] = Default::default();
    for (first, seconds) in STRETCHES {
        let (delays, services) = of(first, seconds * PER_SECOND);
        let row = trial.push(WRITERS, Grain::FiveSeconds, Phase::Measure, first, first + 4);
        row.histograms.insert(Timing::ScheduleDelay, histogram(&delays, 2));
        row.histograms.insert(Timing::Service, histogram(&services, 3));
        for timing in [Timing::Request, Timing::WithoutGenerator] {
            row.histograms.insert(timing, histogram(&services, 2));
        }
        whole[0].extend(delays);
        whole[1].extend(services);
    }
    let row = trial.samples.iter_mut().find(|row| row.grain == Grain::Phase && row.phase == Phase::Measure);
    let row = row.expect("the row of the phase");
    row.histograms.insert(Timing::ScheduleDelay, histogram(&whole[0], 3));
    for timing in [Timing::Service, Timing::Request, Timing::WithoutGenerator, Timing::Response] {
        row.histograms.insert(timing, histogram(&whole[1], 3));
    }
    trial
}

const CALM: (u64, u64) = (100_000, 12 * MS);

fn calm(records: u64) -> (Values, Values) {
    (vec![(CALM.0, records)], vec![(CALM.1, records)])
}

/// 300 records are released up to 300 ms late, and 500 meet the backlog.
fn stopped(records: u64) -> (Values, Values) {
    let delays = vec![(CALM.0, records - 300), (200 * MS, 200), (300 * MS, 100)];
    (delays, vec![(CALM.1, records - 500), (116 * MS, 500)])
}

fn reported(trial: &TrialFixture) -> Vec<(Severity, StoodStill)> {
    let found = trial.reported(|one| matches!(one, Caveat::StoodStill(_))).into_iter();
    found
        .map(|one| match one.caveat {
            Caveat::StoodStill(still) => (one.severity, still),
            other => panic!("{other:?}"),
        })
        .collect()
}

#[test]
fn quantiles_that_hold_a_released_backlog_are_marked() {
    let trial = stretched(|first, records| if first == 5 { stopped(records) } else { calm(records) });
    let reported = reported(&trial);
    let [(Severity::Warning, still)] = reported.as_slice() else { panic!("{reported:?}") };
    assert_eq!((still.quantile.as_str(), still.timing.as_str()), ("p99", "service"), "5 % of the records");
    assert_eq!(still.with_ns as f64, at_three_digits(116 * MS));
    assert_eq!(still.without_ns.map(|ns| ns as f64), Some(at_three_digits(12 * MS)));
    assert!((300 * MS..310 * MS).contains(&still.late_ns), "{still:?}");
    let timings = ["service", "request", "without_generator"];
    let statistics = ["p99", "p99.9", "p99.99", "max"];
    let marked: BTreeSet<String> = timings
        .iter()
        .flat_map(|timing| statistics.iter().map(move |statistic| format!("writers.{timing}.{statistic}")))
        .collect();
    assert_eq!(trial.marked(Mark::Backlog), marked);
}

/// A slow cluster with a generator in time, a generator that is late without any change of what the cluster took, and a backlog
/// of too few records for any quantile.
#[test]
fn what_a_backlog_does_not_change_has_no_mark() {
    let slow = |first: u32, records: u64| {
        let (delays, calm_services) = calm(records);
        let (_, slow_services) = stopped(records);
        (delays, if first == 5 { slow_services } else { calm_services })
    };
    let harmless = |first: u32, records: u64| {
        let (calm_delays, services) = calm(records);
        let (late_delays, _) = stopped(records);
        (if first == 5 { late_delays } else { calm_delays }, services)
    };
    for trial in [stretched(slow), stretched(harmless), stretched(|_, records| calm(records))] {
        assert_eq!(reported(&trial), []);
        assert_eq!(trial.marked(Mark::Backlog), BTreeSet::new());
    }
}

/// Records of the stretch's last second came home in the next one, in which the backlog was in flight too.
#[test]
fn a_backlog_is_left_out_for_as_long_as_it_is_in_flight() {
    let of = |first: u32, records: u64| match first {
        5 => stopped(records),
        10 => (vec![(CALM.0, records)], vec![(116 * MS, records)]),
        _ => calm(records),
    };
    let trial = stretched(of);
    assert_eq!(reported(&trial), [], "what is as slow without a backlog is the cluster's");
    let mut trial = stretched(of);
    let row = trial.push(WRITERS, Grain::Second, Phase::Measure, 9, 10);
    row.histograms.insert(Timing::Response, histogram(&[(400 * MS, 100)], 2));
    assert_eq!(reported(&trial)[0].1.quantile, "p90");
}

#[test]
fn backlog_records_set_the_doubtful_quantile_as_a_last_resort() {
    let reported = reported(&stretched(|_, records| stopped(records)));
    let [(Severity::Warning, still)] = reported.as_slice() else { panic!("{reported:?}") };
    // 900 of 10,000 were released late.
    assert_eq!((still.quantile.as_str(), still.without_ns), ("p95", None));
}
