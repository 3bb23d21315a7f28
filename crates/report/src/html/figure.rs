//! A chart as a figure: its title, its panels, and its data as a table that is folded up.

use super::chart::{Chart, ChartLine, ChartPoint, Horizontal, LineStyle, Panel};
use super::plot::{self, PanelPosition};
use super::table::{scroll, texts};
use crate::table::{Cell, Table};
use crate::units;
use maud::{Markup, html};
use std::collections::{BTreeMap, BTreeSet};

/// Lines whose data are listed at most: more columns are not readable.
const COLUMNS_MAX: usize = 16;
/// Lines whose highest value is listed.
const EXTREMES_MAX: usize = 8;

/// The chart, or nothing when no line has a point.
pub fn figure(chart: &Chart) -> Markup {
    figure_with(chart, &html! {})
}

/// The figure with something between the panels and the table, such as what its flags mean.
pub fn figure_with(chart: &Chart, under: &Markup) -> Markup {
    let drawn = chart.drawable();
    if drawn.panels.is_empty() {
        return html! {};
    }
    let across = drawn.across();
    let instants = (chart.x == Horizontal::Seconds).then(|| plot::instants(&across));
    html! {
        figure id=(chart.id) data-time=[instants] {
            figcaption { (chart.title) }
            @for (number, panel) in drawn.panels.iter().enumerate() {
                (plot::panel(panel, PanelPosition { chart: &drawn, across: &across, number, is_small: false }))
            }
            (under)
            @if chart.detail.rows > 0 { (data(chart)) }
        }
    }
}

/// A table that is folded up.
pub fn folded(table: &Markup, name: &str) -> Markup {
    html! {
        details class="data" {
            summary { "Data of this figure" }
            (scroll(&format!("Data: {name}"), table))
        }
    }
}

/// A column of the table: a line of a panel.
struct Listed<'a> {
    panel: &'a Panel,
    line: &'a ChartLine,
    points: BTreeMap<AxisKey, &'a ChartPoint>,
}

/// A place on the horizontal axis: for times the whole second, so that what is read within it is in one row.
#[derive(Debug, Clone, Copy)]
struct AxisKey(f64);

impl PartialEq for AxisKey {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for AxisKey {}

impl PartialOrd for AxisKey {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for AxisKey {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// The data of a chart as a table that is folded up: of long series rows at even steps, and those of each line's extremes.
pub fn data(chart: &Chart) -> Markup {
    let whole =
        Chart { detail: super::chart::Detail { points: usize::MAX, ..chart.detail }, ..chart.clone() }
            .drawable();
    let key = |x: f64| AxisKey(if chart.x == Horizontal::Seconds { x.floor() } else { x });
    let lines = whole.panels.iter().flat_map(|panel| panel.lines.iter().map(move |line| (panel, line)));
    let all: Vec<Listed<'_>> = lines
        .map(|(panel, line)| Listed {
            panel,
            line,
            points: line.points.iter().filter(|one| one.y.is_some()).map(|one| (key(one.x), one)).collect(),
        })
        .collect();
    let listed: Vec<&Listed<'_>> = all.iter().take(COLUMNS_MAX).collect();
    let keys: Vec<AxisKey> = listed
        .iter()
        .flat_map(|one| one.points.keys().copied())
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect();
    let rows = chosen(&keys, &listed, chart.detail.rows);
    let heads: Vec<String> = listed.iter().map(|one| heading(one)).collect();
    let heads = std::iter::once(chart.x_label).chain(heads.iter().map(String::as_str));
    let columns: Vec<(&str, bool)> = heads.map(|head| (head, true)).collect();
    let row = |key: &AxisKey| -> Vec<Cell> {
        let figure = |one: &&Listed<'_>| {
            one.points.get(key).map_or_else(|| units::NOTHING.into(), |point| cell(one, point))
        };
        std::iter::once(plot::x_cell(chart.x, key.0).into()).chain(listed.iter().map(figure)).collect()
    };
    let table = html! {
        (texts(&Table::new(&columns, rows.iter().map(row).collect()), None))
        @if rows.len() < keys.len() {
            p class="note" {
                (rows.len()) " of " (keys.len()) " rows, those with the highest value of a line among them; "
                code { "kdyno export RUN --format series-csv" } " has all."
            }
        }
        @if listed.len() < all.len() { p class="note" { "The first " (listed.len()) " of " (all.len()) " lines." } }
    };
    folded(&table, &chart.title)
}

fn heading(one: &Listed<'_>) -> String {
    let panel = if one.panel.title.is_empty() { String::new() } else { format!("{}: ", one.panel.title) };
    let crosses = if one.line.drawn == LineStyle::Crosses { " (crosses)" } else { "" };
    format!("{panel}{}{crosses}, {}", one.line.name, one.panel.unit)
}

fn cell(one: &Listed<'_>, point: &ChartPoint) -> Cell {
    let sign = if point.at_least { "≥ " } else { "" };
    point
        .y
        .map_or_else(|| units::NOTHING.into(), |y| format!("{sign}{}", plot::y_text(one.panel.y, y)).into())
}

/// Rows at even steps, and those in which a line of the first ones is at its highest.
fn chosen(keys: &[AxisKey], listed: &[&Listed<'_>], rows_max: usize) -> Vec<AxisKey> {
    if keys.len() <= rows_max {
        return keys.to_vec();
    }
    let step = keys.len().div_ceil(rows_max.max(1));
    let mut rows: BTreeSet<AxisKey> = keys.iter().step_by(step).copied().collect();
    for one in listed.iter().take(EXTREMES_MAX) {
        let order = |a: &(&AxisKey, &&ChartPoint), b: &(&AxisKey, &&ChartPoint)| {
            a.1.y.unwrap_or_default().total_cmp(&b.1.y.unwrap_or_default())
        };
        rows.extend(one.points.iter().max_by(order).map(|(key, _)| *key));
    }
    rows.into_iter().collect()
}

#[cfg(test)]
#[path = "figure_tests.rs"]
mod tests;
