//! Steady, drifting, several levels, too short to determine.

use crate::made::{Chance, LEVEL, Maker, shares};
use kdyno_analysis::steady::{FigureKind, Penalties, SeriesShape, course};

const WHITE: f64 = 0.0;
const CORRELATED: f64 = 0.5;

fn step_at(second: f64, height: f64) -> impl Fn(f64) -> f64 {
    move |at| if at < second { 1.0 } else { 1.0 + height }
}

fn drift_of(change: f64, seconds: f64) -> impl Fn(f64) -> f64 {
    move |at| 1.0 + change * at / seconds
}

fn sawtooth(period: f64, height: f64) -> impl Fn(f64) -> f64 {
    move |at| 1.0 + height * ((at % period) / period - 0.5)
}

fn decay(at: f64) -> f64 {
    1.0 + 0.5 * (-at / 10.0).exp()
}

#[test]
fn known_shapes_are_named_rightly() {
    for correlation in [WHITE, CORRELATED] {
        let of = |shape: &dyn Fn(f64) -> f64| shares(1000, 120, Chance::of(correlation, 0.02), shape);
        let flat = of(&|_| 1.0);
        let step = of(&step_at(45.0, 0.15));
        let drift = of(&drift_of(0.15, 120.0));
        let slow = of(&sawtooth(40.0, 0.3));
        let fast = of(&sawtooth(10.0, 0.1));
        let decaying = of(&decay);
        println!("{correlation}: {flat:?}\n{step:?}\n{drift:?}\n{slow:?}\n{fast:?}\n{decaying:?}");
        assert!(flat.steady >= 0.95, "{flat:?}");
        assert!(step.levels >= 0.95, "{step:?}");
        assert!(drift.drifting >= 0.95, "{drift:?}");
        assert!(fast.steady >= 0.95, "{fast:?}");
        assert!(decaying.marked() >= 0.95, "{decaying:?}");
        assert!(slow.marked() >= 0.95, "{slow:?}");
    }
}

#[test]
fn clean_series_are_seldom_marked() {
    for n in [10, 15, 20, 30, 60, 90, 120, 300] {
        let marked =
            |correlation, halved| shares(1000, n, Chance { correlation, sd: 0.05, halved }, |_| 1.0).marked();
        let (white, some, much) = (marked(WHITE, 0.0), marked(CORRELATED, 0.0), marked(0.7, 0.0));
        let collected = marked(0.3, 0.05);
        println!("{n}: white {white:.3}, 0.5 {some:.3}, 0.7 {much:.3}, halved seconds {collected:.3}");
        assert!(white <= 0.015, "{white} of {n}");
        assert!(some <= 0.08, "{some} of {n}");
        assert!(much <= 0.18, "{much} of {n}");
        assert!(collected <= 0.08, "{collected} of {n}");
    }
}

#[test]
fn a_step_of_the_size_that_is_stated_is_seen() {
    for (n, sd) in [(20, 0.02), (20, 0.05), (60, 0.02), (60, 0.05), (120, 0.05), (120, 0.1)] {
        for correlation in [WHITE, 0.3, CORRELATED] {
            let chance = Chance::of(correlation, sd);
            let stated = shares(500, n, chance, |_| 1.0).smallest_step;
            let seen = shares(500, n, chance, step_at(n as f64 / 2.0, stated)).marked();
            let half = shares(500, n, chance, step_at(n as f64 / 2.0, 0.4 * stated)).marked();
            println!(
                "{n} points, sd {sd}, {correlation}: {stated:.3} seen {seen:.3}, two fifths of it {half:.3}"
            );
            assert!(seen >= 0.8, "{seen} of {n}, {sd}, {correlation}");
            assert!(half <= 0.5, "{half} of {n}, {sd}, {correlation}: a smaller step is seen as well");
        }
    }
}

#[test]
fn steps_and_drifts_are_marked_where_the_method_says_so() {
    let steps = [(20, 0.02, WHITE), (20, 0.02, CORRELATED), (60, 0.03, WHITE), (60, 0.03, CORRELATED)];
    for (n, sd, correlation) in [&steps[..], &[(120, 0.05, WHITE), (120, 0.03, CORRELATED)]].concat() {
        let up = shares(1000, n, Chance::of(correlation, sd), step_at(n as f64 / 2.0, 0.1)).marked();
        let down = shares(1000, n, Chance::of(correlation, sd), step_at(n as f64 / 2.0, -0.1)).marked();
        println!("step of 10 %, {n} points, sd {sd}, {correlation}: {up:.3} up, {down:.3} down");
        assert!(up >= 0.9 && down >= 0.9, "{up} and {down} of {n}, {sd}, {correlation}");
    }
    let drifts = [(60, 0.02, WHITE), (60, 0.02, CORRELATED), (120, 0.03, WHITE), (120, 0.02, CORRELATED)];
    for (n, sd, correlation) in drifts {
        let marked = shares(1000, n, Chance::of(correlation, sd), drift_of(0.1, n as f64)).marked();
        println!("drift by 10 %, {n} points, sd {sd}, {correlation}: {marked:.3}");
        assert!(marked >= 0.9, "{marked} of {n}, {sd}, {correlation}");
    }
}

#[test]
fn a_rate_that_triples_inside_a_window_of_20_s_is_marked() {
    for sd in [0.03, 0.08, 0.15] {
        let chance = Chance { correlation: 0.3, sd, halved: 0.0 };
        for at in [5.0, 10.0, 15.0] {
            let step = shares(500, 20, chance, move |second| if second < at { 0.5 } else { 1.7 });
            assert!(step.levels >= 0.99, "{step:?} at {at} with {sd}");
        }
        let ramp = shares(500, 20, chance, |second| 0.5 + 1.2 * second / 20.0);
        assert!(ramp.marked() >= 0.95, "{ramp:?} with {sd}");
    }
}

#[test]
fn levels_lie_where_they_were_planted_and_a_drift_has_its_slope() {
    let mut maker = Maker::new();
    for _ in 0..200 {
        let points = maker.series(120, Chance::of(0.3, 0.02), step_at(45.0, 0.25));
        let SeriesShape::SeveralLevels(levels) =
            course(&points, FigureKind::Rate, Penalties::MARK).unwrap().shape
        else {
            panic!("no levels in {points:?}");
        };
        let (first, last) = (levels[0], levels[levels.len() - 1]);
        assert_eq!((first.from, last.to), (0, 120));
        assert!(levels.windows(2).all(|pair| pair[0].to == pair[1].from));
        assert!((43..=47).contains(&first.to), "{levels:?}");
        assert!((first.value / LEVEL - 1.0).abs() < 0.02, "{levels:?}");
        assert!((last.value / LEVEL - 1.25).abs() < 0.03, "{levels:?}");
    }
    for change in [0.3, -0.3] {
        let mut sum = 0.0;
        for _ in 0..200 {
            let points = maker.series(120, Chance::of(0.3, 0.02), drift_of(change, 120.0));
            match course(&points, FigureKind::Rate, Penalties::MARK).unwrap().shape {
                SeriesShape::Drifting { per_point } => sum += per_point / 200.0,
                other => panic!("{other:?}"),
            }
        }
        let truth = change / 120.0 / (1.0 + change / 2.0);
        assert!((sum / truth - 1.0).abs() < 0.03, "{sum} is not {truth}");
    }
}

#[test]
fn a_long_series_is_analysed_in_means_and_reported_in_points() {
    let mut maker = Maker::new();
    let points = maker.series(1000, Chance::of(0.3, 0.05), step_at(600.0, 0.2));
    let SeriesShape::SeveralLevels(levels) =
        course(&points, FigureKind::Rate, Penalties::MARK).unwrap().shape
    else {
        panic!("no levels");
    };
    assert_eq!((levels.len(), levels[0].from, levels[1].to), (2, 0, 1000));
    assert!(levels[0].to.abs_diff(600) <= 18, "{levels:?}");
    let points = maker.series(1000, Chance::of(0.3, 0.05), drift_of(0.2, 1000.0));
    let SeriesShape::Drifting { per_point } =
        course(&points, FigureKind::Rate, Penalties::MARK).unwrap().shape
    else {
        panic!("no drift");
    };
    assert!((per_point * 1000.0 * 1.1 / 0.2 - 1.0).abs() < 0.15, "{per_point}");
}

#[test]
fn what_is_too_short_says_how_long_would_do() {
    let of = |points: &[f64]| course(points, FigureKind::Rate, Penalties::MARK);
    let nine = of(&[LEVEL; 9]).unwrap();
    assert_eq!((nine.shape, nine.smallest_step), (SeriesShape::TooShort { needed: 20 }, None));
    assert_eq!(of(&[LEVEL; 10]).unwrap().shape, SeriesShape::Steady);
    // Twenty points that vary by a quarter.
    let mut maker = Maker::new();
    let noisy = of(&maker.series(20, Chance::of(WHITE, 0.25), |_| 1.0)).unwrap();
    let SeriesShape::TooShort { needed } = noisy.shape else { panic!("{noisy:?}") };
    let smallest = noisy.smallest_step.unwrap();
    // The smallest step, in logarithms, goes with 1 ÷ √n.
    let expected = 20.0 * (smallest.ln_1p() / 1.3f64.ln()).powi(2);
    assert!((needed as f64 - expected).abs() <= 1.0, "{needed} is not {expected}");
    assert!(smallest > 0.3);
    // The pattern in means of three, in points.
    let noisy = of(&maker.series(250, Chance::of(0.7, 0.4), |_| 1.0)).unwrap();
    let SeriesShape::TooShort { needed } = noisy.shape else { panic!("{noisy:?}") };
    let expected = 250.0 * (noisy.smallest_step.unwrap().ln_1p() / 1.3f64.ln()).powi(2);
    assert!((needed as f64 / expected - 1.0).abs() < 0.03, "{needed} is not {expected}");
    // Nothing to be in proportion to.
    assert_eq!(of(&[0.0; 30]), None);
    assert_eq!(of(&[]), None);
}

#[test]
fn what_is_too_little_to_matter_is_no_mark() {
    let step = |height: f64, figure| {
        let mut maker = Maker::new();
        let points = maker.series(60, Chance::of(WHITE, 0.002), step_at(30.0, height));
        matches!(course(&points, figure, Penalties::MARK).unwrap().shape, SeriesShape::SeveralLevels(_))
    };
    let drift = |change: f64, figure| {
        let mut maker = Maker::new();
        let points = maker.series(60, Chance::of(WHITE, 0.002), drift_of(change, 60.0));
        matches!(course(&points, figure, Penalties::MARK).unwrap().shape, SeriesShape::Drifting { .. })
    };
    for changed in [&step as &dyn Fn(f64, FigureKind) -> bool, &drift] {
        assert!(!changed(0.025, FigureKind::Rate) && changed(0.037, FigureKind::Rate));
        assert!(!changed(0.085, FigureKind::Latency) && changed(0.12, FigureKind::Latency));
    }
}

#[test]
fn seconds_in_which_nothing_happened_are_no_level_but_a_stop_is() {
    let mut maker = Maker::new();
    let mut points = maker.series(60, Chance::of(0.3, 0.03), |_| 1.0);
    points[20] = 0.0;
    points[41] = 0.0;
    assert_eq!(course(&points, FigureKind::Rate, Penalties::MARK).unwrap().shape, SeriesShape::Steady);
    points[45..55].fill(0.0);
    let SeriesShape::SeveralLevels(levels) =
        course(&points, FigureKind::Rate, Penalties::MARK).unwrap().shape
    else {
        panic!("a stop of ten seconds is not seen");
    };
    assert!(levels.iter().any(|level| level.value < 0.1 * LEVEL), "{levels:?}");
}

/// A load that stood still for more than half of the time has no median to be in proportion to.
#[test]
fn a_series_that_is_0_most_of_the_time_is_on_several_levels() {
    let of = |n: usize, is_up: fn(usize) -> bool| {
        let points: Vec<f64> = (0..n).map(|at| if is_up(at) { LEVEL } else { 0.0 }).collect();
        course(&points, FigureKind::Rate, Penalties::MARK).map(|course| course.shape)
    };
    let levels = |shape: Option<SeriesShape>| match shape {
        Some(SeriesShape::SeveralLevels(levels)) => {
            levels.iter().map(|level| (level.from, level.to, level.value)).collect::<Vec<_>>()
        }
        other => panic!("{other:?}"),
    };
    let stalled = levels(of(60, |at| !(10..45).contains(&at)));
    assert_eq!(stalled, [(0, 10, LEVEL), (10, 45, 0.0), (45, 60, LEVEL)]);
    assert_eq!(levels(of(60, |at| at % 3 == 0)).len(), 40, "bursts of a second");
    assert_eq!(levels(of(600, |at| at < 200)), [(0, 200, LEVEL), (200, 600, 0.0)]);
    assert_eq!(of(60, |_| false), None, "there is nothing to tell");
    assert_eq!(of(9, |at| at == 0), Some(SeriesShape::TooShort { needed: 20 }));
}
