//! Whether a series of one point per second is steady, drifts, or lies on several levels; docs/METHOD.md, "Steady
//! state", holds the rules and why they are such.
//!
//! Points are looked at in logarithms, so that all is in ratios. Three descriptions compete: one level, a straight
//! line, several levels of at least five points each. A description is worth what it takes off the squared deviations,
//! in units of the noise's long-run variance, less a penalty that was calibrated on simulated noise.

mod drift;
mod levels;
mod mser;
mod noise;

pub use drift::theil_sen;
pub(crate) use drift::{median, slopes};
pub use mser::{truncation, truncation_max};
pub use noise::Noise;

use levels::{best_division, deviations_from_line};

/// Fewest points that are judged: two levels.
pub const POINTS_MIN: usize = 2 * levels::LEVEL_MIN;

/// Most points that are looked at; of longer series means of equally many neighbours.
pub const POINTS_MAX: usize = 120;

/// How much a description must take off the squared deviations to be believed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Penalties {
    /// Penalty of a straight line.
    pub line: f64,
    /// Penalty of each level after the first, per ln n.
    pub level: f64,
}

impl Penalties {
    /// For a figure that is marked when it is not steady.
    pub const MARK: Self = Self { line: 10.0, level: 4.0 };
    /// For a warm-up that goes on for as long as something seems to change: a false alarm costs seconds.
    pub const WARMUP: Self = Self { line: 4.0, level: 2.5 };
}

/// Normal deviate by which [`SeriesSteadiness::smallest_step`] exceeds what is believed: nine in ten would, were the noise known.
const SEEN: f64 = 1.281_6;

/// By how many points' worth the smallest step is wider because the noise of a few points is not well known: ÷ n.
const NOISE_UNSURE: f64 = 4.0;

/// A series that would not have shown a step of this ratio is too short to determine.
const STEP_MAX: f64 = 1.3;

/// Points that a series of fewer than [`POINTS_MIN`] is said to need.
const POINTS_NEEDED: usize = 20;

/// Least standard deviation, as a share of the level: counters and histograms have grains.
const SD_MIN: f64 = 0.002;

/// Points below this share of the median are taken for it: a second in which nothing happened has no logarithm.
const FLOOR: f64 = 0.01;

/// What kind of figure a series is of: it says how large a change has to be to matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FigureKind {
    /// A rate, or CPU time per record: 3 %.
    Rate,
    /// A latency: 10 %.
    Latency,
}

impl FigureKind {
    /// Least ratio of two levels, or of a drift's end to its start, that is worth a mark. They are the margins within
    /// which a comparison calls two such figures equivalent.
    pub fn least_ratio(self) -> f64 {
        match self {
            Self::Rate => 1.03,
            Self::Latency => 1.10,
        }
    }
}

/// What became of a series over its time.
#[derive(Debug, Clone, PartialEq)]
pub struct SeriesSteadiness {
    /// The description that fits.
    pub shape: SeriesShape,
    /// Smallest step in its middle that would have been seen with a probability of 80 % or more, as a share of the level
    /// (0.1: a step of 10 %). `None` of too few points to know the noise.
    pub smallest_step: Option<f64>,
}

/// How a series lies.
#[derive(Debug, Clone, PartialEq)]
pub enum SeriesShape {
    /// On one level.
    Steady,
    /// It changes evenly.
    Drifting {
        /// Change per point as a share of the median: Theil–Sen slope ÷ median.
        per_point: f64,
    },
    /// On several levels.
    SeveralLevels(Vec<LevelStretch>),
    /// No change was seen, but one by [`STEP_MAX`] might have hidden in the noise.
    TooShort {
        /// Points from which that would be seen in such noise.
        needed: usize,
    },
}

/// A stretch of one level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LevelStretch {
    /// First point.
    pub from: usize,
    /// First point after it.
    pub to: usize,
    /// Median of its points: a few that stalled do not move it.
    pub value: f64,
}

/// How a series of finite points from 0 on lies; `None` where all are 0.
pub fn course(points: &[f64], figure: FigureKind, penalties: Penalties) -> Option<SeriesSteadiness> {
    if !points.iter().any(|point| *point > 0.0) {
        return None;
    }
    if points.len() < POINTS_MIN {
        return Some(SeriesSteadiness {
            shape: SeriesShape::TooShort { needed: POINTS_NEEDED },
            smallest_step: None,
        });
    }
    let size = points.len().div_ceil(POINTS_MAX);
    let batches = means(points, size);
    let level = median(&mut batches.clone())?;
    if level <= 0.0 {
        return Some(SeriesSteadiness {
            shape: SeriesShape::SeveralLevels(stretches(points)),
            smallest_step: None,
        });
    }
    let logs: Vec<f64> = batches.iter().map(|point| (point / level).max(FLOOR).ln()).collect();
    let noise = Noise::of(&logs, SD_MIN)?;
    let least = figure.least_ratio().ln();
    let step = smallest_step(logs.len(), &noise, penalties).max(least);
    let shape = match describe(&noise::without_outliers(&logs, noise.sd), &noise, penalties) {
        Description::Level => None,
        Description::Line => drifting(&batches, &logs, size, least),
        Description::Levels(starts) => several_levels(points, (&logs, noise.sd), &starts, size, least),
    };
    let steady = || match step <= STEP_MAX.ln() {
        true => SeriesShape::Steady,
        false => SeriesShape::TooShort { needed: points_needed(logs.len(), step) * size },
    };
    Some(SeriesSteadiness { shape: shape.unwrap_or_else(steady), smallest_step: Some(step.exp_m1()) })
}

/// Where a series that is 0 in half of its points or more is 0, and where it is not.
fn stretches(points: &[f64]) -> Vec<LevelStretch> {
    let mut to = 0;
    let runs = points.chunk_by(|a, b| (*a > 0.0) == (*b > 0.0));
    let levels = runs.map(|run| {
        let from = to;
        to += run.len();
        level(points, from, to)
    });
    levels.collect()
}

/// A stretch of one level.
fn level(points: &[f64], from: usize, to: usize) -> LevelStretch {
    LevelStretch { from, to, value: median(&mut points[from..to].to_vec()).unwrap_or(0.0) }
}

/// Means of so many neighbours each; the last ones that make no whole batch are left out.
fn means(points: &[f64], size: usize) -> Vec<f64> {
    points.chunks_exact(size).map(|batch| batch.iter().sum::<f64>() / size as f64).collect()
}

/// The penalty of each level after the first. Under noise without a change, the best of all places for one takes off
/// more the more places there are.
fn level_penalty(n: usize, penalties: Penalties) -> f64 {
    penalties.level * (n as f64).ln()
}

/// A step by δ in the middle takes off δ² n ÷ 4 in units of the long-run variance: the square of a normal deviate of
/// mean δ √(n ÷ 4) ÷ √variance, which must exceed the penalty's root.
fn smallest_step(n: usize, noise: &Noise, penalties: Penalties) -> f64 {
    let points = n as f64;
    let deviate = (level_penalty(n, penalties).sqrt() + SEEN) * (1.0 + NOISE_UNSURE / points);
    deviate * 2.0 * (noise.long_run_variance / points).sqrt()
}

/// The smallest step that is seen goes with 1 ÷ √n.
fn points_needed(n: usize, step: f64) -> usize {
    (n as f64 * (step / STEP_MAX.ln()).powi(2)).ceil() as usize
}

enum Description {
    Level,
    Line,
    Levels(Vec<usize>),
}

/// The description that costs least. The division into a single level is one of the divisions.
fn describe(points: &[f64], noise: &Noise, penalties: Penalties) -> Description {
    let variance = noise.long_run_variance;
    let line_cost = deviations_from_line(points) / variance + penalties.line;
    let division = best_division(points, variance, level_penalty(points.len(), penalties));
    if line_cost < division.cost {
        Description::Line
    } else if division.starts.len() > 1 {
        Description::Levels(division.starts)
    } else {
        Description::Level
    }
}

/// Unless it goes less far than matters.
fn drifting(batches: &[f64], logs: &[f64], size: usize, least: f64) -> Option<SeriesShape> {
    let change = theil_sen(logs)? * (logs.len() - 1) as f64;
    let per_point = theil_sen(batches)? / median(&mut batches.to_vec())? / size as f64;
    (change.abs() >= least).then_some(SeriesShape::Drifting { per_point })
}

/// The levels of a division, neighbours that differ by less than matters taken together; unless one is left. They differ by
/// both their medians and their means; in these, what lies far from the median counts as three standard deviations.
fn several_levels(
    points: &[f64],
    (logs, sd): (&[f64], f64),
    starts: &[usize],
    size: usize,
    least: f64,
) -> Option<SeriesShape> {
    let stretch = |from: usize, to: usize| {
        let middle = median(&mut logs[from..to].to_vec()).unwrap_or(0.0);
        let near = logs[from..to].iter().map(|log| log.clamp(middle - 3.0 * sd, middle + 3.0 * sd));
        let mean = near.sum::<f64>() / (to - from) as f64;
        let end = if to == logs.len() { points.len() } else { to * size };
        (level(points, from * size, end), mean)
    };
    let apart = |pair: &[(LevelStretch, f64)]| {
        let ((first, first_mean), (second, second_mean)) = (pair[0], pair[1]);
        // Two levels of 0 have no ratio.
        (second.value / first.value).ln().abs().min((second_mean - first_mean).abs())
    };
    let mut starts = starts.to_vec();
    loop {
        let ends = starts.iter().skip(1).copied().chain([logs.len()]);
        let levels: Vec<(LevelStretch, f64)> =
            starts.iter().zip(ends).map(|(from, to)| stretch(*from, to)).collect();
        let nearest = levels.windows(2).map(apart).enumerate().min_by(|(_, a), (_, b)| a.total_cmp(b));
        match nearest {
            Some((at, apart)) if apart < least => {
                starts.remove(at + 1);
            }
            Some(_) => {
                return Some(SeriesShape::SeveralLevels(
                    levels.into_iter().map(|(level, _)| level).collect(),
                ));
            }
            None => return None,
        }
    }
}
