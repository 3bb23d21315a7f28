//! Stretches of a window, as tools have them that report every few seconds.

use crate::fixture::{MS, PER_SECOND, TrialFixture, WRITERS, histogram};
use kdyno_analysis::periods::{periods, whole};
use kdyno_model::finding::Value;
use kdyno_model::sample::{Grain, Phase, Timing};

#[test]
fn a_window_is_cut_and_its_last_stretch_is_shorter() {
    let mut trial = TrialFixture::clean();
    for (grain, timing, ms) in [(Grain::Second, Timing::Service, 3), (Grain::FiveSeconds, Timing::Block, 7)] {
        let row = trial.push(WRITERS, grain, Phase::Measure, 6, 6);
        row.histograms.insert(timing, histogram(&[(ms * MS, 10)], 3));
        row.sums_ns.insert(timing, u128::from(10 * ms * MS));
    }
    let found = periods(&trial, 4, 2).expect("periods");
    assert_eq!(found.iter().map(|one| one.seconds).collect::<Vec<_>>(), [4, 4, 2], "of 2 s to 12 s");
    let acknowledged: Vec<u64> = found.iter().map(|one| one.counts.acknowledged).collect();
    assert_eq!(acknowledged, [4 * PER_SECOND, 4 * PER_SECOND, 2 * PER_SECOND]);
    assert_eq!(found.iter().map(|one| one.counts.fetched).sum::<u64>(), 10 * PER_SECOND);
    let means =
        |at: usize| [found[at].service.mean(), found[at].block.mean(), found[at].schedule_delay.mean()];
    assert_eq!(means(0), [Value::None; 3]);
    assert_eq!(means(1), [Value::Is(3.0 * MS as f64), Value::Is(7.0 * MS as f64), Value::None]);
    assert_eq!(found[0].response.mean(), Value::Is(4.0 * MS as f64));
    // Two groups have twice to read what one has read once.
    assert_eq!(found.iter().map(|one| one.backlog).collect::<Vec<_>>(), [6_000, 10_000, 12_000]);
    assert!(periods(&trial, 10, 1).expect("periods").iter().all(|one| one.backlog == 0));
}

#[test]
fn the_whole_window_is_of_the_rows_of_its_phase() {
    let trial = TrialFixture::clean();
    let found = whole(&trial).expect("the whole");
    assert_eq!(found.response.finished(), 10 * PER_SECOND, "without the warm-up");
    let steps = found.response.quantile_steps(100);
    assert!(steps.is_sorted_by(|a, b| a.0 <= b.0 && a.1 <= b.1), "{steps:?}");
    assert_eq!(steps.last().map(|(quantile, _)| *quantile), Some(1.0));
    assert!(steps.iter().all(|(_, ns)| (4 * MS..=4 * MS * 1001 / 1000).contains(ns)), "{steps:?}");
}
