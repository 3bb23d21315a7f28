//! What a terminal shows of a trial that runs: a few lines that are redrawn in place, with pictures of the trial so far.

use super::live::{self, LiveState, RankedPiece, columns, fitting};
use super::picture::Sparkline;
use crate::grid::TextOptions;
use crate::units;
use kdyno_model::sample::Phase;
use kdyno_model::series::LiveFigures;
use std::collections::VecDeque;

/// Seconds that are kept of a trial: of a longer one the pictures show the newest hour.
const SECONDS_MAX: usize = 3_600;
/// On a narrower terminal, or a lower one, a single line is shown.
const COLUMNS_MIN: usize = 60;
const ROWS_MIN: usize = 6;
/// Columns of a picture: a quarter of the terminal's, within these.
const PICTURE_MIN: usize = 10;
const PICTURE_MAX: usize = 40;

/// How a trial went so far, second by second, as its live figures showed it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LiveCourse {
    /// Acknowledged records per second, of consumers alone those handed over, and p99 in ns where there was one.
    seconds: VecDeque<(f64, Option<f64>)>,
    /// The seconds before this one are in it.
    until: u32,
    /// Something was to be produced.
    is_produced: bool,
}

impl LiveCourse {
    /// Takes the newest second; one that was taken before is not taken again.
    pub fn push(&mut self, complete_until: u32, figures: &LiveFigures) {
        if complete_until <= self.until {
            return;
        }
        self.until = complete_until;
        if self.seconds.len() == SECONDS_MAX {
            self.seconds.pop_front();
        }
        self.is_produced |= figures.offered_per_s > 0;
        let handed_over = figures.fetched_per_s.filter(|_| !self.is_produced);
        let rate = handed_over.unwrap_or(figures.acknowledged_per_s);
        self.seconds.push_back((rate as f64, figures.response_ns_p99.map(|ns| ns as f64)));
    }

    /// The rate; of seconds that share a sign the lowest, so that a gap is seen.
    fn rates(&self, columns: usize) -> Sparkline {
        Sparkline::of((0..).zip(self.seconds.iter().map(|(rate, _)| Some(*rate))), columns, f64::min)
    }

    /// The series of p99, with the highest.
    fn latencies(&self, columns: usize) -> Sparkline {
        Sparkline::of((0..).zip(self.seconds.iter().map(|(_, p99)| *p99)), columns, f64::max)
    }
}

/// The lines on a terminal of so many rows, none wider than it: the state of the trial, its rate and its latencies with
/// a picture of each from 0 to the highest so far. On a small terminal the one line of [`live::live_line`].
pub fn live_view(state: &LiveState, course: &LiveCourse, options: &TextOptions, rows: usize) -> Vec<String> {
    if is_small(options, rows) || state.phase == Phase::Startup {
        return vec![live::live_line(state, options)];
    }
    let picture = picture_columns(options);
    let (rates, latencies) = (course.rates(picture), course.latencies(picture));
    let highest = |most: Option<f64>, print: fn(f64) -> String| -> Option<RankedPiece> {
        most.map(|most| (6, format!("highest {}", print(most))))
    };
    let mut rate = live::rates(state);
    rate.extend(highest(rates.most, |rate| format!("{}/s", units::count(rate))));
    let mut time = live::times(state);
    time.extend(highest(latencies.most, units::nanoseconds));
    let state_parts = [live::head(state), live::used(state), live::left_parts(state)].concat();
    vec![
        fitting(state_parts, columns(options)),
        with_picture("rate", &rates, rate, options),
        with_picture("p99", &latencies, time, options),
    ]
}

/// The lines of the two trials of a duet, which run at once: the rate of each.
pub fn live_view_of_pair(
    pair: &[LiveState; 2],
    courses: &[LiveCourse; 2],
    options: &TextOptions,
    rows: usize,
) -> Vec<String> {
    if is_small(options, rows) {
        return vec![live::live_line_of_pair(pair, options)];
    }
    let mut head = live::head_of_pair(pair);
    head.extend(live::left_of_pair(pair));
    let mut lines = vec![fitting(head, columns(options))];
    for (state, course) in pair.iter().zip(courses) {
        let text = vec![(0, live::side(state)), (1, live::label(state))];
        lines.push(with_picture(
            &state.trial.to_string(),
            &course.rates(picture_columns(options)),
            text,
            options,
        ));
    }
    lines
}

fn is_small(options: &TextOptions, rows: usize) -> bool {
    options.width < COLUMNS_MIN || rows < ROWS_MIN
}

fn picture_columns(options: &TextOptions) -> usize {
    (options.width / 4).clamp(PICTURE_MIN, PICTURE_MAX)
}

/// A name, a picture, and what is said next to it.
fn with_picture(name: &str, picture: &Sparkline, parts: Vec<RankedPiece>, options: &TextOptions) -> String {
    let before = format!("{name:<4} {}  ", picture.signs);
    let room = columns(options).saturating_sub(before.chars().count());
    before + &fitting(parts, room)
}
