//! What the lines of Kafka's own tool are made of.

use crate::fixture::{PER_SECOND, TrialFixture, WRITERS, histogram};
use kdyno_analysis::tool_lines::{Acknowledged, seconds, steady, whole};
use kdyno_model::plan::Driver;
use kdyno_model::sample::{Grain, Phase, SteadyTotals, Timing};

const MS: u64 = 1_000_000;

/// The record with the rank that a share of all has.
fn rank(share: f64, records: u64) -> u64 {
    ((share * records as f64) as u64).min(records - 1)
}

#[test]
fn seconds_are_those_in_which_records_were_acknowledged() {
    let mut trial = TrialFixture::clean();
    for (t0, latency_ms) in [(4, 3), (3, 20)] {
        let row = trial.push(WRITERS, Grain::Second, Phase::Measure, t0, 40);
        row.counts.acknowledged = 10;
        row.counts.acknowledged_bytes = 1_000;
        row.counts.achieved = 7;
        row.histograms.insert(Timing::Service, histogram(&[(latency_ms * MS, 10)], 2));
        row.sums_ns.insert(Timing::Service, u128::from(latency_ms * MS * 10));
    }
    let found = seconds(&trial).expect("seconds");
    let Acknowledged { service_ns_max, .. } = found[&40];
    assert!((20 * MS..=20 * MS * 101 / 100).contains(&service_ns_max), "{service_ns_max}");
    let reported = Acknowledged {
        records: 20,
        value_bytes: 2_000,
        service_sum_ns: u128::from(230 * MS),
        service_ns_max,
        accepted: 14,
    };
    assert_eq!(found[&40], reported);
    assert_eq!(found[&5].records, PER_SECOND, "others are as they were");
    assert_eq!(found[&5].service_ns_max, 0, "nobody asked for their service times");
}

/// Kafka's tool looks at the clock before it calls `send()`.
#[test]
fn of_a_java_client_the_time_in_send_counts() {
    let mut trial = TrialFixture::clean();
    trial.samples.retain(|row| row.grain == Grain::Second);
    for grain in [Grain::Second, Grain::Phase] {
        let row = trial.push(WRITERS, grain, Phase::Measure, 10, 40);
        for (timing, ms) in [(Timing::Service, 2), (Timing::WithoutGenerator, 7)] {
            row.histograms.insert(timing, histogram(&[(ms * MS, 10)], 3));
            row.sums_ns.insert(timing, u128::from(10 * ms * MS));
        }
    }
    for (driver, ms) in [(Driver::Native, 2), (crate::java::java(), 7)] {
        trial.start.trial.effective.load.get_mut("writers").expect("an item").driver = driver;
        let sums = [
            seconds(&trial).expect("seconds")[&40].service_sum_ns,
            whole(&trial, &[], rank).expect("totals").acknowledged.service_sum_ns,
        ];
        assert_eq!(sums, [u128::from(10 * ms * MS); 2]);
    }
}

#[test]
fn totals_are_of_all_records_and_of_the_steady_state() {
    let mut trial = TrialFixture::clean();
    trial.samples.retain(|row| row.grain == Grain::Second);
    let row = trial.push(WRITERS, Grain::Phase, Phase::Measure, 10, 10);
    row.histograms.insert(Timing::Service, histogram(&[(MS, 90), (5 * MS, 9), (70 * MS, 1)], 3));
    row.sums_ns.insert(Timing::Service, 205 * u128::from(MS));
    let all = whole(&trial, &[0.5, 0.9, 0.99], rank).expect("totals");
    let near = |ns: u64, ms: u64| (ms * MS..=ms * MS * 1_001 / 1_000).contains(&ns);
    assert!(near(all.at_ranks[0], 1) && near(all.at_ranks[1], 5) && near(all.at_ranks[2], 70), "{all:?}");
    assert!(near(all.acknowledged.service_ns_max, 70), "{all:?}");
    assert_eq!((all.acknowledged.service_sum_ns, all.span_ns), (205 * u128::from(MS), 12_000 * MS));
    assert_eq!(steady(&trial, &[], rank), Ok(None));
    let service = histogram(&[(2 * MS, 3)], 3);
    let totals = SteadyTotals { records: 3, value_bytes: 30, span_ns: 7, service, service_sum_ns: 6 };
    trial.totals[0].steady = Some(totals.clone());
    let of_steady = steady(&trial, &[0.5], rank).expect("totals").expect("a steady state");
    assert_eq!((of_steady.acknowledged.records, of_steady.span_ns), (3, 7));
    assert!(near(of_steady.at_ranks[0], 2), "{of_steady:?}");
    trial.totals[0].steady = Some(SteadyTotals { service: Vec::new(), records: 0, ..totals.clone() });
    assert_eq!(steady(&trial, &[0.5], |_, _| 0).map(|found| found.map(|it| it.at_ranks)), Ok(Some(vec![0])));
    trial.totals[0].steady = Some(SteadyTotals { service: b"damaged".to_vec(), ..totals });
    assert!(steady(&trial, &[0.5], rank).is_err());
}
