//! Events that are shorter than a level: a cluster that stopped for a moment stayed at one level.

use crate::made::{Chance, LEVEL, Maker};
use kdyno_analysis::steady::{FigureKind, Penalties, SeriesShape, course};

const SERIES: u32 = 500;

/// The median latency of each second: one that stalls is many times as long, and those after it less so.
fn latencies(maker: &mut Maker, n: usize, chance: Chance, stalls: &[(usize, f64)]) -> Vec<f64> {
    let mut points = maker.series(n, chance, |_| 1.0);
    for (second, times) in stalls {
        points[*second] *= times;
    }
    points
}

/// The share of the series that are said to drift or to have several levels.
fn marked(n: usize, chance: Chance, stalls: &[(usize, f64)]) -> f64 {
    let mut maker = Maker::new();
    let is_marked = |points: &[f64]| {
        let shape = course(points, FigureKind::Latency, Penalties::MARK).unwrap().shape;
        matches!(shape, SeriesShape::SeveralLevels(_) | SeriesShape::Drifting { .. })
    };
    let count = (0..SERIES).filter(|_| is_marked(&latencies(&mut maker, n, chance, stalls))).count();
    count as f64 / f64::from(SERIES)
}

/// Even windows in which a cluster stopped once, for up to four seconds, or twice.
#[test]
fn a_stall_is_no_level() {
    let stops: [&[(usize, f64)]; 5] = [
        &[(12, 300.0)],
        &[(12, 400.0), (13, 120.0)],
        &[(12, 500.0), (13, 250.0), (14, 20.0)],
        &[(12, 600.0), (13, 400.0), (14, 200.0), (15, 30.0)],
        &[(4, 300.0), (24, 200.0), (25, 50.0)],
    ];
    for chance in [Chance::of(0.0, 0.05), Chance::of(0.3, 0.05), Chance::of(0.5, 0.1)] {
        for n in [30, 60] {
            let even = marked(n, chance, &[]);
            for stop in stops {
                let share = marked(n, chance, stop);
                println!("{n} points, {chance:?}, {stop:?}: marked {share:.3}, without it {even:.3}");
                assert!(share <= 0.08, "{share} of {n} points with {chance:?} and {stop:?}");
            }
        }
    }
}

/// Steps too small to matter, as of a p50 that is known in grains: neighbouring ones are taken together by the level of
/// each stretch.
#[test]
fn steps_that_do_not_matter_stay_so_when_a_second_stalled() {
    let mut maker = Maker::new();
    let mut found = 0;
    for _ in 0..SERIES {
        let mut points =
            maker.series(30, Chance::of(0.3, 0.01), |at| if (10.0..26.0).contains(&at) { 1.06 } else { 1.0 });
        points[12] *= 300.0;
        let shape = course(&points, FigureKind::Latency, Penalties::MARK).unwrap().shape;
        found += u32::from(!matches!(shape, SeriesShape::Steady));
    }
    println!("steps of 6 % with a stalled second: {found} of {SERIES} marked");
    assert!(found <= SERIES / 50, "{found}");
}

/// The value of a level is one that its seconds had.
#[test]
fn a_level_is_what_its_seconds_stayed_at() {
    let mut maker = Maker::new();
    for _ in 0..100 {
        let step = |at: f64| if at < 15.0 { 1.0 } else { 2.0 };
        let mut points = maker.series(30, Chance::of(0.3, 0.03), step);
        points[20] *= 300.0;
        let SeriesShape::SeveralLevels(levels) =
            course(&points, FigureKind::Latency, Penalties::MARK).unwrap().shape
        else {
            panic!("a step by 2 is not seen in {points:?}");
        };
        assert_eq!(levels.len(), 2, "{levels:?}");
        assert!((levels[0].value / LEVEL - 1.0).abs() < 0.05, "{levels:?}");
        assert!((levels[1].value / LEVEL - 2.0).abs() < 0.1, "{levels:?}");
    }
    // Nor does it make less of a drift.
    let mut points = maker.series(60, Chance::of(0.3, 0.02), |at| 1.0 + at / 120.0);
    points[30] *= 300.0;
    let SeriesShape::Drifting { per_point } =
        course(&points, FigureKind::Latency, Penalties::MARK).unwrap().shape
    else {
        panic!("a rise by a half is not seen");
    };
    assert!((per_point * 60.0 / (0.5 / 1.25) - 1.0).abs() < 0.15, "{per_point}");
}

/// What lasts as long as a level is one.
#[test]
fn five_seconds_at_another_level_are_still_seen() {
    let mut maker = Maker::new();
    let mut seen = 0;
    for one in 0..100 {
        let from = f64::from(one % 20);
        let shape = |at: f64| if (from..from + 5.0).contains(&at) { 3.0 } else { 1.0 };
        let points = maker.series(30, Chance::of(0.3, 0.05), shape);
        let shape = course(&points, FigureKind::Latency, Penalties::MARK).unwrap().shape;
        seen += u32::from(matches!(shape, SeriesShape::SeveralLevels(_)));
    }
    assert!(seen >= 95, "{seen}");
}
