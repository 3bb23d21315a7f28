//! One panel of a chart as inline SVG with its legend. Pure: the same panel gives the same text.
//!
//! A value that is only known to be "at least" has a tick that points up; a gap in the data is a gap in the line.

use super::chart::{ACROSS, Band, Chart, ChartFlag, ChartLine, Horizontal, LineStyle, Panel, Vertical};
use super::pen::{self, PointSign, percent, px};
use super::scale::Scale;
use super::ticks::{distinct, number_to, short, tick_number, tick_time, time_to};
use maud::{Markup, html};

/// Room above a plot, px: the names of bands and flags are there.
const TOP: f64 = 16.0;
/// Room under a plot, px: of the last one numbers and the axis' label.
const UNDER: f64 = 8.0;
const UNDER_LAST: f64 = 40.0;
const UNDER_SMALL: f64 = 22.0;
/// Length of a tick that points up, px.
const UPWARDS_PX: f64 = 7.0;
/// Share of the width that a letter takes on a narrow page, in parts of a thousand.
const LETTER: f64 = 16.0;

/// Place of a panel in its chart.
#[derive(Debug, Clone, Copy)]
pub struct PanelPosition<'a> {
    /// The chart, as it is drawn.
    pub chart: &'a Chart,
    /// Its horizontal axis.
    pub across: &'a Scale,
    /// Which panel, from 0.
    pub number: usize,
    /// One of many small ones: its phases have no names and its axis no label; these are there once for all.
    pub is_small: bool,
}

impl PanelPosition<'_> {
    fn is_last(&self) -> bool {
        self.number + 1 == self.chart.panels.len()
    }

    /// Room under the plot, px.
    fn under(&self) -> f64 {
        match (self.is_small, self.is_last()) {
            (true, _) => UNDER_SMALL,
            (false, true) => UNDER_LAST,
            (false, false) => UNDER,
        }
    }
}

/// The panel with its name and its legend.
pub fn panel(panel: &Panel, place: PanelPosition<'_>) -> Markup {
    html! {
        div class="panel" {
            p class="panel-name" {
                @if !panel.title.is_empty() { b { (panel.title) } " " }
                span { (panel.unit) }
            }
            @if !is_described_above(panel, place) { (legend(&panel.lines)) }
            (picture(panel, place))
        }
    }
}

/// Whether the panel above has the same legend.
fn is_described_above(panel: &Panel, place: PanelPosition<'_>) -> bool {
    let above = place.number.checked_sub(1).and_then(|above| place.chart.panels.get(above));
    above.is_some_and(|above| legend(&above.lines).0 == legend(&panel.lines).0)
}

/// The picture alone.
pub fn picture(panel: &Panel, place: PanelPosition<'_>) -> Markup {
    let chart = place.chart;
    let bottom = TOP + panel.height;
    let up = panel.up(bottom, TOP);
    let height = bottom + place.under();
    let title = if panel.title.is_empty() { &chart.title } else { &panel.title };
    html! {
        svg class="plot" height=(px(height)) role="img" data-values=(values(&up)) {
            title { (title) }
            desc { (described(panel, chart)) }
            @for band in &chart.bands { (self::band(band, place, bottom)) }
            @if let Some(limit) = panel.limit { (self::limit(limit, &up, bottom)) }
            (pen::rows(&up, distinct(&up, |tick, decimals| y_tick(panel.y, tick, decimals))))
            svg class="lines" y=(px(TOP)) width="100%" height=(px(panel.height))
                viewBox=(format!("0 {TOP} {ACROSS} {}", px(panel.height))) preserveAspectRatio="none" {
                (pen::grid(place.across, Some(&up), TOP, bottom))
                @for line in &panel.lines { (self::line(line, place.across, &up)) }
            }
            @for line in &panel.lines { (signs(line, place.across, &up)) }
            @for flag in &chart.flags { (self::flag(flag, place, bottom)) }
            line class="axis" x2="100%" y1=(px(bottom)) y2=(px(bottom)) {}
            @if place.is_last() {
                (pen::columns(place.across, bottom, distinct(place.across, |tick, decimals| x_tick(chart.x, tick, decimals))))
                @if !place.is_small {
                    text class="label" x="50%" y=(px(bottom + 34.0)) text-anchor="middle" { (chart.x_label) }
                }
            }
        }
    }
}

/// For the script, once for each figure: the instants of both ends of an axis of time, s.
pub fn instants(across: &Scale) -> String {
    let (_, from, to) = across.ends();
    format!("{from} {to}")
}

/// For the script: what kind of axis the vertical one is, and the values of its lower and upper end.
fn values(up: &Scale) -> String {
    let (is_log, low, high) = up.ends();
    format!("{} {low} {high}", if is_log { "log" } else { "linear" })
}

/// The side of a limit on which it is kept, shaded, and the limit itself.
fn limit((limit, is_met_below): (f64, bool), up: &Scale, bottom: f64) -> Markup {
    let at = up.place(limit);
    let (top, height) = if is_met_below { (at, bottom - at) } else { (TOP, at - TOP) };
    html! {
        (pen::bar("kept", (0.0, ACROSS), top, height))
        line class="limit" x2="100%" y1=(px(at)) y2=(px(at)) {}
    }
}

fn flag(flag: &ChartFlag, place: PanelPosition<'_>, bottom: f64) -> Markup {
    let at = place.across.place(flag.at);
    html! {
        line class="flag" x1=(percent(at)) x2=(percent(at)) y1=(px(TOP)) y2=(px(bottom)) {}
        @if place.number == 0 {
            text class="flag" x=(percent(at)) y=(px(TOP - 4.0)) text-anchor=(pen::anchor(at)) { (flag.name) }
        }
    }
}

/// What is seen, for those who do not see it.
fn described(panel: &Panel, chart: &Chart) -> String {
    let mut names: Vec<&str> = panel.lines.iter().map(|line| line.name.as_str()).collect();
    names.dedup();
    format!("Lines: {}. Across: {}. Up: {}.", names.join(", "), chart.x_label, panel.unit)
}

/// The names of the lines, each once.
pub fn legend(lines: &[ChartLine]) -> Markup {
    let mut reported: Vec<&ChartLine> = Vec::new();
    for line in lines {
        let is_reported =
            |one: &&&ChartLine| (&one.name, one.look, one.drawn) == (&line.name, line.look, line.drawn);
        if !reported.iter().any(|one| is_reported(&one)) {
            reported.push(line);
        }
    }
    reported.sort_by_key(|line| line.look);
    let is_bounded = lines.iter().flat_map(|line| &line.points).any(|point| point.at_least);
    html! {
        ul class="legend" {
            @for line in reported { li { (sample(line)) (line.name) } }
            @if is_bounded {
                li {
                    svg class="sample" viewBox="-17 -5 34 10" aria-hidden="true" { g class="line" { path d="M0,4v-8" {} } }
                    "upwards: at least this, the rest failed or stayed open"
                }
            }
        }
    }
}

/// What precedes a line's name in the legend.
fn sample(line: &ChartLine) -> Markup {
    html! {
        svg class="sample" viewBox="-17 -5 34 10" aria-hidden="true" {
            @match line.drawn {
                LineStyle::Joined => g class=(format!("line {}", pen::look_class(line.look))) { path d="M-16,0H16" {} },
                LineStyle::Dots => (PointSign::Filled(line.look).shape()),
                LineStyle::Crosses => (PointSign::Cross(line.look).shape()),
            }
        }
    }
}

fn band(band: &Band, place: PanelPosition<'_>, bottom: f64) -> Markup {
    let (left, right) = (place.across.place(band.from), place.across.place(band.to));
    // A name that does not fit its band is left out.
    let is_named =
        place.number == 0 && !place.is_small && right - left > LETTER * band.name.chars().count() as f64;
    html! {
        @if band.shaded { (pen::bar("band", (left, right), TOP, bottom - TOP)) }
        @if is_named {
            text class="band-name" x=(percent(f64::midpoint(left, right))) y=(px(TOP - 4.0)) text-anchor="middle" { (band.name) }
        }
    }
}

fn line(line: &ChartLine, across: &Scale, up: &Scale) -> Markup {
    let joined = if line.drawn == LineStyle::Joined { path(line, across, up) } else { String::new() };
    let upwards = upwards(line, across, up);
    html! {
        @if !joined.is_empty() || !upwards.is_empty() {
            g class=(format!("line {}", pen::look_class(line.look))) {
                title { (line.name) }
                @if !joined.is_empty() { path d=(joined) {} }
                @if !upwards.is_empty() { path class="up" d=(upwards) {} }
            }
        }
    }
}

/// The signs of a line whose points are not joined.
fn signs(line: &ChartLine, across: &Scale, up: &Scale) -> Markup {
    let sign = match line.drawn {
        LineStyle::Joined => return html! {},
        LineStyle::Dots => PointSign::Filled(line.look),
        LineStyle::Crosses => PointSign::Cross(line.look),
    };
    let places = line.points.iter().filter_map(|point| Some((across.place(point.x), up.place(point.y?))));
    html! { @for (left, top) in places { (sign.at(left, top, None)) } }
}

/// The path of a line; each step is relative to the point before, which takes half of the letters.
fn path(line: &ChartLine, across: &Scale, up: &Scale) -> String {
    let mut out = String::new();
    // Where the line is, as it is written.
    let mut before: Option<(f64, f64)> = None;
    for point in &line.points {
        let Some(value) = point.y else {
            before = None;
            continue;
        };
        let (left, top) = (across.place(point.x).round(), halves(up.place(value)));
        match before {
            Some((from_left, from_top)) => {
                let down = step(top - from_top);
                // The sign of a negative number parts it from the one before.
                let comma = if down.starts_with('-') { "" } else { "," };
                out.push_str(&format!("l{:.0}{comma}{down}", left - from_left));
            }
            // A point alone is seen as a dot: the line's round cap.
            None => out.push_str(&format!("M{left:.0},{}h0", px(top))),
        }
        before = Some((left, top));
    }
    out
}

/// A step down as it is written: many are half a px, and without the 0 before the point a page is some percent smaller.
fn step(down: f64) -> String {
    let text = px(down);
    match (text.strip_prefix("0."), text.strip_prefix("-0.")) {
        (Some(rest), _) => format!(".{rest}"),
        (_, Some(rest)) => format!("-.{rest}"),
        _ => text,
    }
}

/// A place in halves of a px.
fn halves(place: f64) -> f64 {
    (2.0 * place).round() / 2.0
}

/// Ticks that point up from what is only known to be a least value.
fn upwards(line: &ChartLine, across: &Scale, up: &Scale) -> String {
    let bounded = line.points.iter().filter(|point| point.at_least);
    let places = bounded.filter_map(|point| Some((across.place(point.x), up.place(point.y?))));
    places.map(|(left, top)| format!("M{left:.0},{}v-{UPWARDS_PX}", px(top))).collect()
}

/// A number of the horizontal axis as printed, with so many decimals.
fn x_tick(axis: Horizontal, tick: f64, decimals: usize) -> String {
    match axis {
        Horizontal::Seconds | Horizontal::Rate => number_to(tick, decimals),
        Horizontal::Nines => nines_text(tick),
    }
}

/// A place of the horizontal axis in a table, where neighbours are distinct.
pub fn x_cell(axis: Horizontal, x: f64) -> String {
    match axis {
        Horizontal::Seconds | Horizontal::Rate => tick_number(x),
        Horizontal::Nines => {
            // Beyond this nothing is drawn, nor could be printed.
            let x = x.clamp(0.0, 9.0);
            let decimals = x.ceil().max(1.0) as usize;
            short(&format!("{:.decimals$}", 100.0 * (1.0 - 10f64.powf(-x)))).to_owned()
        }
    }
}

/// A number of the vertical axis as printed, with so many decimals.
fn y_tick(axis: Vertical, tick: f64, decimals: usize) -> String {
    match axis {
        Vertical::FromZero => number_to(tick, decimals),
        Vertical::LogNs => time_to(tick, decimals),
    }
}

/// A value of the vertical axis in a table.
pub fn y_text(axis: Vertical, tick: f64) -> String {
    match axis {
        Vertical::FromZero => tick_number(tick),
        Vertical::LogNs => tick_time(tick),
    }
}

/// `50`, `90`, `99`, `99.9` …
fn nines_text(nines: f64) -> String {
    let decimals = (nines - 2.0).max(0.0) as usize;
    format!("{:.decimals$}", 100.0 * (1.0 - 10f64.powf(-nines)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_written_without_a_zero_before_the_point() {
        assert_eq!([0.5, -0.5, 10.5, -20.5, 0.0, 3.0].map(step), [".5", "-.5", "10.5", "-20.5", "0", "3"]);
    }

    #[test]
    fn percentiles_are_printed_short() {
        assert_eq!([0.5, 1.0, 2.0, 4.0].map(nines_text), ["68", "90", "99", "99.99"]);
        assert_eq!(
            [0.5, 1.0, 1.3, 3.5].map(|x| x_cell(Horizontal::Nines, x)),
            ["68.4", "90", "94.99", "99.9684"]
        );
    }
}
