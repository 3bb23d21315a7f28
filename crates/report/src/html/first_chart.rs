//! The one chart that answers the question, on the first screen: the verdicts of a comparison, the load curve of a search, of
//! several cases the figure in which they differ most, of one case its rate and latency over time.

use super::chart::{ACROSS, Chart, Detail, Horizontal, NUMBER_MAX, Panel};
use super::courses::{self, TIME_LABEL, known};
use super::figure::{figure, folded};
use super::lanes::{Lane, LaneAxis, interval, lanes};
use super::pen::{self, percent, px};
use super::scale::Scale;
use super::ticks::{distinct, tick_text};
use super::{curve, forest, table};
use crate::answer::curve::Curve;
use crate::answer::{headline, search, steadiness};
use crate::case_table::{CaseRow, CaseTable, OurFigure, ShownMetric};
use crate::digits;
use crate::headings::named;
use crate::input::ReportInput;
use crate::marks::{self, Signs};
use crate::table::{Cell, Table};
use crate::units::NOTHING;
use kdyno_model::finding::{Finding, Interval, Value};
use kdyno_model::metric::Unit;
use kdyno_model::plan::{RoleKind, Strategy};
use kdyno_model::series::TrialSeries;
use maud::{Markup, html};

/// Its id.
const ID: &str = "first-chart";
/// Cases that are drawn at most, and the height of each, px.
const CASES_MAX: usize = 10;
const CASE_PX: f64 = 22.0;
/// Height of a plot over time, and of the load curve, px: what is above it takes most of a screen.
const PLOT_PX: f64 = 56.0;
const CURVE_PX: f64 = 140.0;
/// Points of a line and rows of the table of its data.
const DETAIL: Detail = Detail { points: 300, rows: 24 };
/// From here on across the number of a bar stands within it.
const INSIDE: f64 = 800.0;

/// The chart; nothing where there is nothing to draw.
pub fn chart(input: &ReportInput<'_>, table: &CaseTable<'_>) -> Markup {
    match &input.plan().strategy {
        Strategy::Compare(_) => forest::judged(input, ID),
        Strategy::Find(_) => load_curve(input),
        Strategy::List(_) if figures(table).is_some_and(|(_, rows)| rows.len() > 1) => cases(input, table),
        Strategy::List(_) => over_time(input),
    }
}

/// The curve of the search; several searches have theirs below.
fn load_curve(input: &ReportInput<'_>) -> Markup {
    let drawn = |curve: &Curve| {
        let data = table::texts(&curve.table(), None);
        curve::figure(curve, ID, CURVE_PX, &data)
    };
    match search::answers(input).as_slice() {
        [one] => one.curve.as_ref().map_or_else(|| html! {}, drawn),
        _ => html! {},
    }
}

/// A case with its figure, and the figure's number; `None`: it has none that can be drawn.
type DrawnCase<'t, 'a> = (&'t CaseRow<'a>, Option<(OurFigure<'a>, &'a Finding, f64)>);

/// The metric in which the cases differ most, and its figures.
fn figures<'t, 'a>(table: &'t CaseTable<'a>) -> Option<(&'t ShownMetric, Vec<DrawnCase<'t, 'a>>)> {
    let at = headline::telling(table)?;
    let figure = |row: &'t CaseRow<'a>| {
        let ours = row.entries.get(at)?.ours?;
        let one = ours.finding?;
        Some((ours, one, number(one.estimate)?))
    };
    let cases: Vec<_> =
        table.rows.iter().filter(|row| row.case.is_some()).map(|row| (row, figure(row))).collect();
    let is_drawn = cases.iter().any(|(_, figure)| figure.is_some());
    is_drawn.then_some((&table.metrics[at], cases))
}

fn number(value: Value) -> Option<f64> {
    known(value).0.filter(|number| (0.0..=NUMBER_MAX).contains(number))
}

/// The interval of a figure, else the range of its repeats; the upper end may be open.
fn spread(one: &Finding) -> Option<(f64, f64)> {
    match (one.interval, one.range) {
        (Interval::Bounds { low, high, .. }, _) => Some((low, high)),
        (_, Some((Value::Is(low), Value::Is(high) | Value::AtLeast(high)))) if low < high => {
            Some((low, high))
        }
        _ => None,
    }
}

/// A figure with its spread, its marks, and how many of its repeats count where some do not.
fn said(ours: OurFigure<'_>, one: &Finding) -> String {
    let figure = marks::marked(&one.marks, digits::with_spread(one));
    match ours.missing_words() {
        Some(missing) => format!("{figure} ({missing})"),
        None => figure,
    }
}

fn cases(input: &ReportInput<'_>, table: &CaseTable<'_>) -> Markup {
    let Some((shown, all)) = figures(table) else { return html! {} };
    let rows = &all[..all.len().min(CASES_MAX)];
    let known = || rows.iter().filter_map(|(_, figure)| *figure);
    let ends = known().flat_map(|(_, one, value)| [value, spread(one).map_or(value, |(_, high)| high)]);
    let across = Scale::linear(ends, true, 0.0, ACROSS);
    let drawn: Vec<Lane> = rows.iter().map(|row| case(row, &across)).collect();
    let text = distinct(&across, |tick, decimals| tick_text(tick, shown.unit, decimals));
    let unit = if shown.unit == Unit::Ns { "time" } else { shown.unit.described() };
    let title = named(&shown.of);
    let has_spread = known().any(|(_, one, _)| spread(one).is_some());
    let mut signs = Signs::default();
    known().for_each(|(_, one, _)| signs.add(&one.marks, &digits::with_spread(one)));
    html! {
        figure id=(ID) class="cases" {
            figcaption { (title) @if has_spread { " " span class="note" { "with its interval, or the range of repeats" } } }
            (lanes(&drawn, &LaneAxis { across: &across, text: &text, label: unit }))
            @if let Some(legend) = signs.legend_with(steadiness::needed(input).as_deref()) { p class="note" { (legend) } }
            @if rows.len() < all.len() { p class="note" { "The first " (rows.len()) " of " (all.len()) " cases." } }
            (folded(&table::texts(&data(&all, &title), None), &title))
        }
    }
}

fn case((row, figure): &DrawnCase<'_, '_>, across: &Scale) -> Lane {
    let name = html! { (row.label) };
    let Some((ours, one, value)) = *figure else {
        let drawn = html! { text class="label" x="0%" dx="6" y=(px(CASE_PX / 2.0 + 4.0)) { (NOTHING) } };
        return Lane { name, says: format!("{}: no figure", row.label), height: CASE_PX, drawn };
    };
    let at = across.place(value);
    let end = spread(one).map_or(at, |(_, high)| across.place(high).max(at));
    let middle = CASE_PX / 2.0;
    let class = match one.estimate {
        _ if one.is_invalid() => "seg look-0 pale",
        Value::AtLeast(_) => "seg look-0 least",
        _ => "seg look-0",
    };
    // At the beginning of its bar where there is no room behind it.
    let text_at = if end > INSIDE { 0.0 } else { end };
    Lane {
        name,
        says: format!("{}: {}", row.label, said(ours, one)),
        height: CASE_PX,
        drawn: html! {
            (pen::bar(class, (across.place(0.0), at), 3.0, CASE_PX - 6.0))
            @if let Some((low, high)) = spread(one) { (interval("ends look-7", (across.place(low), across.place(high)), middle)) }
            text class="label" x=(percent(text_at)) dx="6" y=(px(middle + 4.0)) { (marks::text(one)) }
        },
    }
}

fn data(rows: &[DrawnCase<'_, '_>], title: &str) -> Table {
    let row = |(row, figure): &DrawnCase<'_, '_>| {
        let figure = figure.map_or_else(|| NOTHING.to_owned(), |(ours, one, _)| said(ours, one));
        vec![Cell::from(row.label), figure.into()]
    };
    Table::new(&[("case", false), (title, true)], rows.iter().map(row).collect())
}

/// Rate and latency of the first load item of the first trial.
fn over_time(input: &ReportInput<'_>) -> Markup {
    let is_reported = |series: &&TrialSeries| input.reported().any(|trial| trial.id == series.trial);
    let Some(series) = input.series.iter().find(is_reported) else { return html! {} };
    let streams = &series.streams;
    let stream = streams.iter().find(|one| one.role != RoleKind::Consume).or(streams.first());
    let Some(stream) = stream else { return html! {} };
    let latency = courses::latencies(stream).first().map(|of| courses::latency_panel(stream, of));
    let panels = std::iter::once(courses::rate(stream)).chain(latency);
    let of =
        if input.reported().count() > 1 { format!(", {}", input.name(series.trial)) } else { String::new() };
    figure(&Chart {
        id: ID.to_owned(),
        title: format!("{}: rate and latency over time{of}", stream.name),
        x: Horizontal::Seconds,
        x_label: TIME_LABEL,
        panels: panels.map(|panel| Panel { height: PLOT_PX, ..panel }).collect(),
        bands: courses::bands(series),
        flags: Vec::new(),
        detail: DETAIL,
    })
}
