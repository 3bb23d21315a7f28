//! Whether a warm-up has done its work, from what was seen of it so far: docs/METHOD.md, "Steady state".

mod seen;

pub use seen::{progress, so_far};

use crate::steady::{self, FigureKind, POINTS_MIN, Penalties, SeriesShape};

/// How far the median of the newest five seconds may lie above the least of five seconds so far, seconds of load: the
/// records that are in flight anyway are open in every second.
const QUEUE_S_MAX: f64 = 0.05;

/// How much the queue may change from five seconds to the next five, seconds of load: half a percent of the load.
const QUEUE_CHANGE_S_MAX: f64 = 0.025;

/// Points whose median is the level of a queue.
const QUEUE_POINTS: usize = 5;

/// Newest points that are looked at, at most; with so many a series that varies too much to determine is taken for
/// settled, for a noisy host is no quieter later.
const POINTS_MAX: usize = 30;

/// Between what a warm-up may last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WarmupBounds {
    /// It never ends before, seconds.
    pub least_s: u32,
    /// It ends then in any case, seconds.
    pub most_s: u32,
    /// It does not end before so many records were acknowledged or fetched, all load items together.
    pub records_min: u64,
}

/// What was seen of a warm-up so far.
#[derive(Debug, Clone, PartialEq)]
pub struct SoFar {
    /// Whole seconds since T0.
    pub seconds: u32,
    /// Records acknowledged or fetched, all load items together.
    pub records: u64,
    /// What must have settled.
    pub watched: Vec<WarmupSeries>,
}

/// One series, a point per second in order; seconds without a value are left out.
#[derive(Debug, Clone, PartialEq)]
pub struct WarmupSeries {
    /// What it is, for messages: `writers.acked_per_s`.
    pub what: String,
    /// How it is judged.
    pub by: SeriesKind,
    /// The points.
    pub points: Vec<f64>,
}

/// How a series is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeriesKind {
    /// By its ratios.
    As(FigureKind),
    /// As open records ÷ records offered per second: a queue, in seconds of load.
    Queue,
}

/// The state of a warm-up.
#[derive(Debug, Clone, PartialEq)]
pub enum WarmupProgress {
    /// It has settled.
    Settled,
    /// Its longest time is over, and this had not settled.
    NotSettled {
        /// What, in words.
        why: String,
    },
    /// It goes on.
    NotYet {
        /// What for, in words.
        why: String,
    },
}

/// Whether a warm-up has ended.
pub fn has_ended(so_far: &SoFar, bounds: &WarmupBounds) -> WarmupProgress {
    let unsettled = so_far.watched.iter().find_map(unsettled);
    if so_far.seconds >= bounds.most_s {
        return unsettled.map_or(WarmupProgress::Settled, |why| WarmupProgress::NotSettled { why });
    }
    let why = if so_far.seconds < bounds.least_s {
        Some(format!("it lasts {} s at least", bounds.least_s))
    } else if so_far.records < bounds.records_min {
        Some(format!("{} of at least {} records", so_far.records, bounds.records_min))
    } else {
        unsettled
    };
    why.map_or(WarmupProgress::Settled, |why| WarmupProgress::NotYet { why })
}

/// Why a series has not settled.
fn unsettled(watched: &WarmupSeries) -> Option<String> {
    let what = &watched.what;
    let points = &watched.points;
    if points.len() < POINTS_MIN {
        return Some(format!("{what}: {} of at least {POINTS_MIN} seconds", points.len()));
    }
    match watched.by {
        SeriesKind::As(figure) => changes(points, figure),
        SeriesKind::Queue => queues(points),
    }
    .map(|why| format!("{what} {why}"))
}

/// The newest points after the truncation that MSER-5 finds, which is in the first half, must be steady.
fn changes(points: &[f64], figure: FigureKind) -> Option<String> {
    let n = points.len();
    let cut = steady::truncation(points);
    let kept = &points[cut.max(n.saturating_sub(POINTS_MAX)).min(n - POINTS_MIN)..];
    let seconds = kept.len();
    let Some(course) = steady::course(kept, figure, Penalties::WARMUP) else {
        return Some("is 0".to_owned());
    };
    match course.shape {
        SeriesShape::Steady => {}
        SeriesShape::TooShort { .. } if seconds >= POINTS_MAX => {}
        SeriesShape::TooShort { .. } => return Some("varies too much to tell yet".to_owned()),
        SeriesShape::Drifting { per_point } => {
            let percent = 100.0 * per_point * seconds as f64;
            return Some(format!("changed by {percent:+.0} % in the last {seconds} s"));
        }
        SeriesShape::SeveralLevels(levels) => {
            let seconds = levels.last().map_or(0, |level| level.to - level.from);
            return Some(format!("went to another level {seconds} s ago"));
        }
    }
    // At its bound the truncation says that half of the series is too little to leave out.
    let halves = kept.split_at(seconds / 2);
    let change = mean(halves.1) / mean(halves.0);
    (cut == steady::truncation_max(n) && change.ln().abs() >= figure.least_ratio().ln())
        .then(|| format!("changed by {:+.0} % in the last {seconds} s", 100.0 * (change - 1.0)))
}

fn mean(points: &[f64]) -> f64 {
    points.iter().sum::<f64>() / points.len() as f64
}

/// Whether a queue is above the level of what is in flight, or is on its way.
fn queues(points: &[f64]) -> Option<String> {
    let level_of = |points: &[f64]| steady::median(&mut points.to_vec()).unwrap_or(0.0);
    let (older, newest) = points.split_at(points.len() - QUEUE_POINTS);
    let now = level_of(newest);
    let least = points.windows(QUEUE_POINTS).map(level_of).fold(f64::INFINITY, f64::min);
    let before = level_of(&older[older.len() - QUEUE_POINTS..]);
    if now - least > QUEUE_S_MAX {
        Some(format!("lie {:.2} s of load above the records in flight", now - least))
    } else if (now - before).abs() > QUEUE_CHANGE_S_MAX {
        Some(format!("changed by {:+.2} s of load in the last {QUEUE_POINTS} s", now - before))
    } else {
        None
    }
}
