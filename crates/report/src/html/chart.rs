//! A line chart as inline SVG with its legend. Pure: the same chart gives the same text.
//!
//! Lines differ by dash as well as by colour; a value that is only known to be "at least" is a triangle
//! that points up; a gap in the data is a gap in the line.

use super::scale::Scale;
use crate::units;
use maud::{Markup, html};

/// Points drawn at most per line; more are thinned so that every extreme stays.
const POINTS_MAX: usize = 800;
/// Numbers beyond this are not drawn: as nanoseconds it is thirty years, so it is a defect elsewhere.
const NUMBER_MAX: f64 = 1e18;
/// Distinct looks of lines in the style sheet; further lines repeat them.
const LOOKS: usize = 8;
const WIDTH: f64 = 600.0;
const HEIGHT: f64 = 250.0;
const LEFT: f64 = 78.0;
const RIGHT: f64 = 590.0;
const TOP: f64 = 18.0;
const BOTTOM: f64 = 206.0;
/// Width of a letter, about.
const LETTER: f64 = 6.0;

/// What stands on the horizontal axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Horizontal {
    /// Seconds from the start of the load, T0.
    Seconds,
    /// Quantiles, as −log₁₀(1 − q): each tick has one nine more.
    Nines,
    /// Load in records/s.
    Rate,
}

/// What stands on the vertical axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Vertical {
    /// Rates and percentages: linear from zero on.
    FromZero,
    /// Latencies in nanoseconds on a logarithmic axis.
    LogNs,
}

/// One point of a line, in the units of the axes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Place on the horizontal axis.
    pub x: f64,
    /// Place on the vertical axis; `None` breaks the line.
    pub y: Option<f64>,
    /// The true value lies there or above.
    pub at_least: bool,
}

/// How the points of a line are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drawn {
    /// Joined.
    Joined,
    /// A dot for each.
    Dots,
    /// A cross for each.
    Crosses,
}

/// One line of a chart with its name.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// Name in the legend.
    pub name: String,
    /// How its points are drawn.
    pub drawn: Drawn,
    /// The points from left to right.
    pub points: Vec<Point>,
    /// Points further apart than this are not joined.
    pub gap: Option<f64>,
}

/// A stretch of time with a name.
#[derive(Debug, Clone, PartialEq)]
pub struct Band {
    /// Name as printed above it.
    pub name: &'static str,
    /// Left edge, in the horizontal axis' unit.
    pub from: f64,
    /// Right edge, in the horizontal axis' unit.
    pub to: f64,
    /// Shaded: not part of the measurement.
    pub shaded: bool,
}

/// A chart of lines over one horizontal and one vertical axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    /// Id of the element, unique on the page.
    pub id: String,
    /// Title above the chart.
    pub title: String,
    /// Under the horizontal axis, with the unit.
    pub x_label: &'static str,
    /// Beside the vertical axis, with the unit.
    pub y_label: &'static str,
    /// What stands on the horizontal axis.
    pub x: Horizontal,
    /// What stands on the vertical axis.
    pub y: Vertical,
    /// The lines, in the order of the legend.
    pub lines: Vec<Line>,
    /// Stretches of time behind them.
    pub bands: Vec<Band>,
}

/// Where a quantile stands on an axis of nines; `None` for 1, which has no place.
pub fn nines(quantile: f64) -> Option<f64> {
    let place = -(1.0 - quantile).log10();
    (place.is_finite() && place >= 0.0).then_some(place)
}

/// The chart with title and legend, or nothing when no line has a point.
pub fn figure(chart: &Chart) -> Markup {
    let lines: Vec<Line> = chart.lines.iter().map(drawable).filter(|line| !line.points.is_empty()).collect();
    if !lines.iter().any(|line| line.points.iter().any(|point| point.y.is_some())) {
        return html! {};
    }
    let (x, y) = scales(chart, &lines);
    let title_id = format!("{}-title", chart.id);
    let bounded = lines.iter().flat_map(|line| &line.points).any(|point| point.at_least);
    html! {
        figure {
            figcaption id=(title_id) { (chart.title) }
            svg viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img" aria-labelledby=(title_id) {
                (bands(chart, &x))
                (axes(chart, &x, &y))
                @for (index, line) in lines.iter().enumerate() {
                    g class=(format!("line look-{}", index % LOOKS)) {
                        title { (line.name) }
                        (points(line, &x, &y))
                        @for (left, top) in triangles(line, &x, &y) {
                            path class="bound" d=(format!("M{left:.1},{:.1}l-4,7h8z", top - 4.0)) {}
                        }
                    }
                }
            }
            ul class="legend" {
                @for (index, line) in lines.iter().enumerate() {
                    li {
                        svg class="sample" viewBox="0 0 34 10" aria-hidden="true" {
                            g class=(format!("line look-{}", index % LOOKS)) { (sample(line.drawn)) }
                        }
                        (line.name)
                    }
                }
                @if bounded { li { span aria-hidden="true" { "▲ " } "at least this: the rest failed or stayed open" } }
            }
        }
    }
}

/// A line without numbers that have no place, thinned to what can be seen.
fn drawable(line: &Line) -> Line {
    let has_place = |number: f64| number.is_finite() && number.abs() <= NUMBER_MAX;
    let points: Vec<Point> = line
        .points
        .iter()
        .filter(|point| has_place(point.x))
        .map(|point| Point { y: point.y.filter(|y| has_place(*y)), ..*point })
        .collect();
    Line { points: thinned(&points), ..line.clone() }
}

/// Keeps of each bucket its lowest, highest and broken points, in order.
fn thinned(points: &[Point]) -> Vec<Point> {
    if points.len() <= POINTS_MAX {
        return points.to_vec();
    }
    let bucket = points.len().div_ceil(POINTS_MAX / 3);
    let mut out = Vec::with_capacity(POINTS_MAX + 3);
    for chunk in points.chunks(bucket) {
        let of = |wanted: fn(&(usize, &Point)) -> bool| chunk.iter().enumerate().filter(wanted);
        let key = |(_, point): &(usize, &Point)| point.y.unwrap_or_default();
        let known = |(_, point): &(usize, &Point)| point.y.is_some();
        let order = |a: &(usize, &Point), b: &(usize, &Point)| key(a).total_cmp(&key(b));
        let mut kept: Vec<usize> =
            [of(known).min_by(order), of(known).max_by(order), of(|(_, point)| point.y.is_none()).next()]
                .into_iter()
                .flatten()
                .map(|(index, _)| index)
                .collect();
        kept.sort_unstable();
        kept.dedup();
        out.extend(kept.into_iter().map(|index| chunk[index]));
    }
    out
}

fn scales(chart: &Chart, lines: &[Line]) -> (Scale, Scale) {
    let points = || lines.iter().flat_map(|line| &line.points);
    let ys = points().filter_map(|point| point.y);
    let y = match chart.y {
        Vertical::FromZero => Scale::linear(ys, true, BOTTOM, TOP),
        Vertical::LogNs => Scale::log(ys, BOTTOM, TOP),
    };
    let ends = chart.bands.iter().flat_map(|band| [band.from, band.to]).filter(|end| end.abs() <= NUMBER_MAX);
    let xs = points().map(|point| point.x).chain(ends);
    let (low, high) = xs.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
    let x = match chart.x {
        // The ends are those of the data; the ticks are round numbers between them.
        Horizontal::Seconds | Horizontal::Rate => {
            let ticks = Scale::linear([low, high].into_iter(), false, 0.0, 1.0).ticks;
            let inside = ticks.into_iter().filter(|tick| (low..=high).contains(tick)).collect();
            Scale::fixed(low, high, inside, LEFT, RIGHT)
        }
        Horizontal::Nines => {
            // 1 − 0.9999 is not exactly 10⁻⁴: what lies a hair above a tick ends there.
            let last = (high - 1e-6).ceil().clamp(1.0, 9.0);
            let ticks = (0..=last as i32).map(f64::from).collect();
            Scale::fixed(0.0, last, ticks, LEFT, RIGHT)
        }
    };
    (x, y)
}

fn bands(chart: &Chart, x: &Scale) -> Markup {
    html! {
        @for band in &chart.bands {
            @let (left, right) = (x.place(band.from), x.place(band.to));
            @if band.shaded {
                rect class="band" x=(format!("{left:.1}")) y=(TOP) width=(format!("{:.1}", (right - left).max(0.0)))
                    height=(BOTTOM - TOP) {}
            }
            // A name that does not fit its band is left out.
            @if right - left > LETTER * band.name.len() as f64 {
                text class="band-name" x=(format!("{:.1}", (left + right) / 2.0)) y=(TOP - 6.0) text-anchor="middle" {
                    (band.name)
                }
            }
        }
    }
}

fn axes(chart: &Chart, x: &Scale, y: &Scale) -> Markup {
    let x_text = |tick: f64| match chart.x {
        Horizontal::Seconds | Horizontal::Rate => units::count(tick),
        Horizontal::Nines => nines_text(tick),
    };
    let y_text = |tick: f64| match chart.y {
        Vertical::FromZero => units::count(tick),
        Vertical::LogNs => tick_time(tick),
    };
    let middle = f64::midpoint(TOP, BOTTOM);
    html! {
        @for tick in &y.ticks {
            @let place = y.place(*tick);
            path class="grid" d=(format!("M{LEFT},{place:.1}H{RIGHT}")) {}
            text x=(LEFT - 6.0) y=(format!("{:.1}", place + 4.0)) text-anchor="end" { (y_text(*tick)) }
        }
        @for tick in &x.ticks {
            @let place = x.place(*tick);
            path class="tick" d=(format!("M{place:.1},{BOTTOM}v5")) {}
            @let text = x_text(*tick);
            @let (left, anchor) = tick_place(place, &text);
            text x=(format!("{left:.1}")) y=(BOTTOM + 18.0) text-anchor=(anchor) { (text) }
        }
        path class="axis" d=(format!("M{LEFT},{BOTTOM}H{RIGHT}")) {}
        text class="label" x=(f64::midpoint(LEFT, RIGHT)) y=(HEIGHT - 6.0) text-anchor="middle" { (chart.x_label) }
        text class="label" x="0" y="0" text-anchor="middle" transform=(format!("translate(12,{middle}) rotate(-90)")) {
            (chart.y_label)
        }
    }
}

/// Where the text under a tick stands, and how it is anchored: in the middle, unless the paper ends there.
fn tick_place(place: f64, text: &str) -> (f64, &'static str) {
    if place + LETTER * text.chars().count() as f64 / 2.0 > WIDTH {
        (WIDTH, "end")
    } else {
        (place, "middle")
    }
}

/// `0 %`, `90 %`, `99 %`, `99.9 %` …
fn nines_text(nines: f64) -> String {
    let decimals = (nines - 2.0).max(0.0) as usize;
    format!("{:.decimals$} %", 100.0 * (1.0 - 10f64.powf(-nines)))
}

/// A round time without the zeros that three digits would give it.
fn tick_time(ns: f64) -> String {
    let text = units::nanoseconds(ns);
    let Some((number, unit)) = text.split_once(' ') else { return text };
    let number =
        if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number };
    format!("{number} {unit}")
}

/// The points of a line, as it is drawn.
fn points(line: &Line, x: &Scale, y: &Scale) -> Markup {
    let places = line.points.iter().filter_map(|point| Some((x.place(point.x), y.place(point.y?))));
    match line.drawn {
        Drawn::Joined => html! { path d=(path(line, x, y)) {} },
        Drawn::Dots => html! { @for (left, top) in places { (dot(left, top)) } },
        Drawn::Crosses => html! { @for (left, top) in places { (cross(left, top)) } },
    }
}

/// What stands before a line's name in the legend.
fn sample(drawn: Drawn) -> Markup {
    match drawn {
        Drawn::Joined => html! { path d="M1,5H33" {} },
        Drawn::Dots => dot(17.0, 5.0),
        Drawn::Crosses => cross(17.0, 5.0),
    }
}

fn dot(left: f64, top: f64) -> Markup {
    html! { circle class="dot" cx=(format!("{left:.1}")) cy=(format!("{top:.1}")) r="3.5" {} }
}

fn cross(left: f64, top: f64) -> Markup {
    html! { path class="cross" d=(format!("M{:.1},{:.1}l7,7m0,-7l-7,7", left - 3.5, top - 3.5)) {} }
}

fn path(line: &Line, x: &Scale, y: &Scale) -> String {
    let mut out = String::new();
    let mut before: Option<f64> = None;
    for point in &line.points {
        let Some(value) = point.y else {
            before = None;
            continue;
        };
        let joined = before.is_some_and(|before| line.gap.is_none_or(|gap| point.x - before <= gap));
        let verb = if joined { 'L' } else { 'M' };
        out.push_str(&format!("{verb}{:.1},{:.1}", x.place(point.x), y.place(value)));
        if !joined {
            // A point alone is seen as a dot: the line's round cap.
            out.push_str("h0");
        }
        before = Some(point.x);
    }
    out
}

fn triangles(line: &Line, x: &Scale, y: &Scale) -> Vec<(f64, f64)> {
    let bounded = line.points.iter().filter(|point| point.at_least);
    bounded.filter_map(|point| Some((x.place(point.x), y.place(point.y?)))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn chart(lines: Vec<Line>, x: Horizontal, y: Vertical) -> Chart {
        let bands = vec![Band { name: "warm-up", from: 0.0, to: 5.0, shaded: true }];
        let title = "A <title>".to_owned();
        Chart { id: "c".to_owned(), title, x_label: "time, s", y_label: "value", x, y, lines, bands }
    }

    fn line(points: &[(f64, f64)]) -> Line {
        let points = points.iter().map(|(x, y)| Point { x: *x, y: Some(*y), at_least: false }).collect();
        Line { name: "rate".to_owned(), drawn: Drawn::Joined, points, gap: Some(1.5) }
    }

    #[test]
    fn a_gap_in_the_data_is_a_gap_in_the_line() {
        let svg = figure(&chart(
            vec![line(&[(0.0, 1.0), (1.0, 2.0), (5.0, 3.0)])],
            Horizontal::Seconds,
            Vertical::FromZero,
        ));
        let path = svg.0.split("<path d=\"").nth(1).expect("the line").split('"').next().expect("its end");
        assert_eq!(path.matches('M').count(), 2, "{path}");
    }

    #[test]
    fn points_that_are_not_joined_are_seen_one_by_one() {
        let drawn = |drawn, sign: &str| {
            let line = Line { drawn, ..line(&[(0.0, 1.0), (1.0, 2.0)]) };
            let svg = figure(&chart(vec![line], Horizontal::Rate, Vertical::FromZero)).0;
            svg.matches(sign).count()
        };
        // Two points, and one before the name in the legend.
        assert_eq!(drawn(Drawn::Dots, "class=\"dot\""), 3);
        assert_eq!(drawn(Drawn::Crosses, "class=\"cross\""), 3);
        assert_eq!(drawn(Drawn::Joined, "class=\"dot\""), 0);
    }

    #[test]
    fn nothing_is_drawn_without_data() {
        assert_eq!(figure(&chart(vec![line(&[])], Horizontal::Seconds, Vertical::FromZero)).0, "");
    }

    #[test]
    fn thinning_keeps_the_extremes() {
        let points: Vec<(f64, f64)> =
            (0..20_000).map(|i| (f64::from(i), if i == 7_777 { 99.0 } else { f64::from(i % 3) })).collect();
        let thin = thinned(&line(&points).points);
        assert!(thin.len() <= POINTS_MAX, "{}", thin.len());
        assert!(thin.iter().any(|point| point.y == Some(99.0)));
        assert!(thin.windows(2).all(|pair| pair[0].x <= pair[1].x));
    }

    #[test]
    fn the_text_under_the_last_tick_ends_on_the_paper() {
        assert_eq!(tick_place(RIGHT, "99.99 %"), (WIDTH, "end"));
        assert_eq!(tick_place(RIGHT, "40"), (RIGHT, "middle"));
        assert_eq!(tick_place(LEFT, "99.99 %"), (LEFT, "middle"));
    }

    #[test]
    fn quantiles_stand_at_their_nines() {
        assert_eq!([nines(0.9), nines(0.999)].map(|place| place.map(|p| p.round())), [Some(1.0), Some(3.0)]);
        assert_eq!(nines(1.0), None);
        assert_eq!([0.0, 1.0, 2.0, 4.0].map(nines_text), ["0 %", "90 %", "99 %", "99.99 %"]);
    }

    proptest! {
        #[test]
        fn no_number_in_a_chart_is_nan_or_infinite(
            points in prop::collection::vec((prop::num::f64::ANY, prop::option::of(prop::num::f64::ANY), any::<bool>()), 0..50),
            log: bool, as_nines: bool, band in prop::num::f64::ANY,
            drawn in prop::sample::select(vec![Drawn::Joined, Drawn::Dots, Drawn::Crosses]),
        ) {
            let points = points.into_iter().map(|(x, y, at_least)| Point { x, y, at_least }).collect();
            let line = Line { name: "x".to_owned(), drawn, points, gap: None };
            let mut chart = chart(
                vec![line],
                if as_nines { Horizontal::Nines } else { Horizontal::Seconds },
                if log { Vertical::LogNs } else { Vertical::FromZero },
            );
            chart.bands[0].to = band;
            let svg = figure(&chart).0;
            prop_assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
    }
}
