//! When a warm-up has ended.

use crate::made::{Chance, LEVEL, Maker};
use kdyno_analysis::steady::FigureKind;
use kdyno_analysis::warmup::{SeriesKind, SoFar, WarmupBounds, WarmupProgress, WarmupSeries, has_ended};

const BOUNDS: WarmupBounds = WarmupBounds { least_s: 15, most_s: 120, records_min: 0 };

fn watched(points: &[f64]) -> WarmupSeries {
    WarmupSeries {
        what: "writers.acked_per_s".to_owned(),
        by: SeriesKind::As(FigureKind::Rate),
        points: points.to_vec(),
    }
}

fn progress(watched: Vec<WarmupSeries>, seconds: u32) -> WarmupProgress {
    has_ended(&SoFar { seconds, records: 0, watched }, &BOUNDS)
}

fn ended(series: &[Vec<f64>], seconds: u32) -> WarmupProgress {
    progress(series.iter().map(|points| watched(&points[..seconds as usize])).collect(), seconds)
}

/// The seconds at which warm-ups ended, in order, and how many had not settled; four series each.
fn ends(count: u32, chance: Chance, shape: impl Fn(f64) -> f64) -> (Vec<u32>, u32) {
    ends_of(4, count, chance, shape)
}

fn ends_of(series: u32, count: u32, chance: Chance, shape: impl Fn(f64) -> f64) -> (Vec<u32>, u32) {
    let mut maker = Maker::new();
    let mut not_settled = 0;
    let mut seconds: Vec<u32> = Vec::new();
    for _ in 0..count {
        let series: Vec<Vec<f64>> = (0..series).map(|_| maker.series(120, chance, &shape)).collect();
        let end = (1..=120)
            .find(|second| !matches!(ended(&series, *second), WarmupProgress::NotYet { .. }))
            .unwrap();
        not_settled += u32::from(matches!(ended(&series, end), WarmupProgress::NotSettled { .. }));
        seconds.push(end);
    }
    seconds.sort_unstable();
    (seconds, not_settled)
}

/// Mean of a shape over the minute after each end, above what it settles at.
fn bias(ends: &[u32], shape: impl Fn(f64) -> f64) -> f64 {
    let of = |end: &u32| (0..60).map(|second| shape(f64::from(end + second)) - 1.0).sum::<f64>() / 60.0;
    ends.iter().map(of).sum::<f64>() / ends.len() as f64
}

#[test]
fn a_load_settled_from_the_start_ends_warm_up_soon_with_noise() {
    for (chance, median, ninth) in [
        (Chance::of(0.3, 0.02), 15, 20),
        (Chance::of(0.3, 0.05), 20, 30),
        (Chance::of(0.3, 0.1), 45, 60),
        (Chance { correlation: 0.3, sd: 0.05, halved: 0.05 }, 45, 90),
    ] {
        let (ends, not_settled) = ends(100, chance, |_| 1.0);
        println!(
            "{chance:?}: {} in the middle, {} of nine in ten, {not_settled} not settled",
            ends[50], ends[90]
        );
        assert!(ends[0] >= 15);
        assert!(ends[50] <= median && ends[90] <= ninth, "{chance:?}: {} {}", ends[50], ends[90]);
        assert!(not_settled <= 5, "{not_settled}");
    }
}

/// The minute after it has the mean of what it settles at, within half a percent; brokers that compile use ever less
/// CPU time per record, and their rate rises.
#[test]
fn what_still_falls_or_rises_goes_on() {
    for (amplitude, time) in [(0.5, 5.0), (0.5, 10.0), (-0.5, 10.0), (1.0, 15.0), (2.0, 15.0)] {
        let shape = |at: f64| 1.0 + amplitude * (-at / time).exp();
        for sd in [0.02, 0.05] {
            let (ends, not_settled) = ends(100, Chance::of(0.3, sd), shape);
            let bias = bias(&ends, shape);
            println!(
                "{amplitude} in {time} s, sd {sd}: {} to {} to {}, {not_settled} not settled, bias {bias:.4}",
                ends[5], ends[50], ends[95]
            );
            assert!(bias.abs() <= 0.005, "{bias} for {amplitude}, {time}, {sd}");
            assert!(not_settled <= 5, "{not_settled} for {amplitude}, {time}, {sd}");
        }
    }
}

/// With a single series that falls there is less to see.
#[test]
fn what_falls_alone_goes_on_too() {
    for (time, sd, most) in [(10.0, 0.02, 0.01), (10.0, 0.05, 0.01), (15.0, 0.05, 0.03)] {
        let shape = |at: f64| 1.0 + 0.5 * (-at / time).exp();
        let (ends, _) = ends_of(1, 200, Chance::of(0.3, sd), shape);
        let bias = bias(&ends, shape);
        println!("{time} s, sd {sd}: {} in the middle, bias {bias:.4}", ends[100]);
        assert!(bias.abs() <= most, "{bias} for {time}, {sd}");
    }
}

#[test]
fn bounds_hold_and_the_reason_is_reported() {
    let mut maker = Maker::new();
    let flat = maker.series(120, Chance::of(0.0, 0.01), |_| 1.0);
    let so_far =
        |seconds: u32, records| SoFar { seconds, records, watched: vec![watched(&flat[..seconds as usize])] };
    let bounds = WarmupBounds { least_s: 30, most_s: 60, records_min: 1000 };
    let not_yet = |why: &str| WarmupProgress::NotYet { why: why.to_owned() };
    assert_eq!(has_ended(&so_far(29, 5000), &bounds), not_yet("it lasts 30 s at least"));
    assert_eq!(has_ended(&so_far(30, 999), &bounds), not_yet("999 of at least 1000 records"));
    assert_eq!(has_ended(&so_far(30, 1000), &bounds), WarmupProgress::Settled);
    // The longest time ends it whatever is missing.
    assert_eq!(has_ended(&so_far(60, 10), &bounds), WarmupProgress::Settled);
    let rising: Vec<f64> = (0..60).map(|second| LEVEL * (1.0 + f64::from(second) / 60.0)).collect();
    let so_far = |seconds: u32| SoFar {
        seconds,
        records: 5000,
        watched: vec![watched(&flat[..seconds as usize]), watched(&rising[..seconds as usize])],
    };
    let WarmupProgress::NotYet { why } = has_ended(&so_far(59), &bounds) else { panic!() };
    assert!(why.starts_with("writers.acked_per_s changed by +"), "{why}");
    let WarmupProgress::NotSettled { why } = has_ended(&so_far(60), &bounds) else { panic!() };
    assert!(why.starts_with("writers.acked_per_s changed by +"), "{why}");
}

#[test]
fn too_few_points_and_another_level_are_reported() {
    let why = |points: &[f64]| match progress(vec![watched(points)], 40) {
        WarmupProgress::NotYet { why } => why,
        other => panic!("{other:?}"),
    };
    assert_eq!(why(&[LEVEL; 9]), "writers.acked_per_s: 9 of at least 10 seconds");
    assert_eq!(why(&[0.0; 20]), "writers.acked_per_s is 0");
    let mut maker = Maker::new();
    // Later than half of it, so that it cannot be left out.
    let step = maker.series(40, Chance::of(0.0, 0.02), |at| if at < 28.0 { 1.0 } else { 1.5 });
    assert_eq!(why(&step), "writers.acked_per_s went to another level 12 s ago");
    let noisy = maker.series(20, Chance::of(0.0, 0.3), |_| 1.0);
    assert_eq!(why(&noisy), "writers.acked_per_s varies too much to tell yet");
}

#[test]
fn a_queue_must_be_gone_and_stand_still() {
    let queue = |points: &[f64]| {
        let what = "the open records of writers".to_owned();
        progress(vec![WarmupSeries { what, by: SeriesKind::Queue, points: points.to_vec() }], 40)
    };
    let settled = |points: &[f64]| queue(points) == WarmupProgress::Settled;
    // In flight anyway, with a stall of a second.
    let mut points = [0.02; 40];
    points[37] = 0.9;
    assert!(settled(&points));
    // A cold start's queue drains: 0.45 s at the start, 10 ms less each second.
    let draining: Vec<f64> = (0..60).map(|second| (0.45 - 0.01 * f64::from(second)).max(0.02)).collect();
    assert!(!settled(&draining[..40]));
    assert!(settled(&draining[..58]));
    // One that came and stays, by a little more and a little less than what is allowed.
    let come = |height: f64| [&[0.02; 20][..], &[0.02 + height; 20]].concat();
    assert!(settled(&come(0.045)));
    let WarmupProgress::NotYet { why } = queue(&come(0.06)) else { panic!() };
    assert_eq!(why, "the open records of writers lie 0.06 s of load above the records in flight");
    let WarmupProgress::NotYet { why } = queue(&draining[..40]) else { panic!() };
    assert_eq!(why, "the open records of writers changed by -0.05 s of load in the last 5 s");
    // One that grows.
    let growing: Vec<f64> = (0..20).map(|second| 0.006 * f64::from(second)).collect();
    assert!(!settled(&growing));
}
