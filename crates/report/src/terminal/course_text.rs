//! How each trial went, second by second: its rate and its p99 as pictures in a line.

use super::picture::Sparkline;
use crate::grid::{GridColumn, TextOptions, Tone, grid};
use crate::input::ReportInput;
use crate::units;
use kdyno_model::finding::Value;
use kdyno_model::plan::RoleKind;
use kdyno_model::series::{SecondPoint, StreamSeries, TrialSeries};

/// Most load items that are shown, of all trials together: more fill the screen.
const ROWS_MAX: usize = 24;
/// Columns of a picture: a fifth of the terminal's, within these.
const PICTURE_MIN: usize = 10;
const PICTURE_MAX: usize = 36;

/// A row for each load item of each trial; empty where there are no courses.
pub(super) fn courses(input: &ReportInput<'_>, options: &TextOptions) -> String {
    let all: Vec<(&TrialSeries, &StreamSeries)> = input
        .series
        .iter()
        .filter(|trial| input.reported().any(|one| one.id == trial.trial))
        .flat_map(|trial| trial.streams.iter().map(move |stream| (trial, stream)))
        .filter(|(_, stream)| !stream.seconds.is_empty())
        .collect();
    let rows = &all[..all.len().min(ROWS_MAX)];
    if rows.is_empty() {
        return String::new();
    }
    let room = (options.columns() / 5).clamp(PICTURE_MIN, PICTURE_MAX);
    let rates: Vec<Sparkline> = rows.iter().map(|(_, stream)| rate(stream, room)).collect();
    let latencies: Vec<Sparkline> = rows.iter().map(|(_, stream)| latency(stream, room)).collect();
    let highest = |all: &[Sparkline], print: fn(f64) -> String| -> Vec<String> {
        all.iter().map(|one| one.most.map_or_else(|| units::NOTHING.to_owned(), print)).collect()
    };
    let mut fixed = Vec::new();
    if rows.iter().any(|(trial, _)| !trial.label.is_empty()) {
        fixed
            .push(GridColumn::numbers(&["trial"], rows.iter().map(|(of, _)| of.trial.to_string()).collect()));
    }
    fixed.push(GridColumn::words(&["stream"], rows.iter().map(|(_, of)| of.name.clone()).collect()));
    let signs = |all: &[Sparkline]| -> Vec<String> { all.iter().map(|one| one.signs.clone()).collect() };
    let adjoining = |column: GridColumn| GridColumn { joined: true, ..column };
    let flowing = [
        GridColumn::words(&["rate"], signs(&rates)),
        adjoining(GridColumn::numbers(
            &["highest"],
            highest(&rates, |rate| format!("{}/s", units::count(rate))),
        )),
        GridColumn::words(&["p99"], signs(&latencies)),
        adjoining(GridColumn::numbers(&["highest"], highest(&latencies, units::nanoseconds))),
    ];
    let more = match all.len() - rows.len() {
        0 => String::new(),
        _ => format!("The first {} of {} load items.\n", rows.len(), all.len()),
    };
    let title = options.paint("The whole load, each picture from 0 to its highest", Tone::Strong);
    format!("{title}\n{}{more}", grid(&fixed, &flowing, options))
}

/// What was acknowledged, of a consumer what it was handed; of seconds that share a sign the lowest, so that a gap is seen.
fn rate(stream: &StreamSeries, columns: usize) -> Sparkline {
    let count = |second: &SecondPoint| match stream.role {
        RoleKind::Consume => second.fetched,
        RoleKind::Produce | RoleKind::EndToEnd => second.acknowledged,
    };
    Sparkline::of(stream.seconds.iter().map(|one| (one.second, Some(count(one) as f64))), columns, f64::min)
}

/// The response time, of a consumer the end-to-end latency; of seconds that share a sign the highest.
fn latency(stream: &StreamSeries, columns: usize) -> Sparkline {
    let value = |second: &SecondPoint| match stream.role {
        RoleKind::Consume => second.end_to_end_ns_p99,
        RoleKind::Produce | RoleKind::EndToEnd => second.response_ns_p99,
    };
    let number = |second: &SecondPoint| match value(second) {
        Value::Is(ns) | Value::AtLeast(ns) => Some(ns),
        Value::None => None,
    };
    Sparkline::of(stream.seconds.iter().map(|one| (one.second, number(one))), columns, f64::max)
}
