//! How each trial went, second by second: its rate and its p99 as pictures in a line.

use super::answer_text::table_text;
use super::picture::Sparkline;
use crate::grid::{TextOptions, Tone};
use crate::input::ReportInput;
use crate::table::{Cell, Table};
use crate::units;
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
    let highest = |most: Option<f64>, print: fn(f64) -> String| {
        Cell::from(most.map_or_else(|| units::NOTHING.to_owned(), print))
    };
    let row = |(trial, stream): &(&TrialSeries, &StreamSeries)| -> Vec<Cell> {
        let (rate, latency) = (rate(stream, room), latency(stream, room));
        let highest_rate = highest(rate.most, |rate| format!("{}/s", units::count(rate)));
        let highest_latency = highest(latency.most, units::nanoseconds);
        let names = [trial.trial.to_string().into(), stream.name.as_str().into()];
        names
            .into_iter()
            .chain([rate.signs.into(), highest_rate, latency.signs.into(), highest_latency])
            .collect()
    };
    let is_labelled = rows.iter().any(|(trial, _)| !trial.label.is_empty());
    let heads = [
        ("trial", true),
        ("stream", false),
        ("rate", false),
        ("highest", true),
        ("p99", false),
        ("highest", true),
    ];
    let mut table = Table::new(&heads, rows.iter().map(row).collect());
    table
        .columns
        .iter_mut()
        .filter(|column| column.title() == "highest")
        .for_each(|column| column.joined = true);
    let table = table
        .with_columns(&[is_labelled, true, true, true, true, true])
        .with_names(1 + usize::from(is_labelled));
    let more = match all.len() - rows.len() {
        0 => String::new(),
        _ => format!("The first {} of {} load items.\n", rows.len(), all.len()),
    };
    let title = options.paint("The whole load, each picture from 0 to its highest", Tone::Strong);
    format!("{title}\n{}{more}", table_text(&table, options))
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
    Sparkline::of(stream.seconds.iter().map(|one| (one.second, value(one).least())), columns, f64::max)
}
