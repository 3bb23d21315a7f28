//! The latency–rate curve of a search as a picture, with the limit, where it is kept, and the load that was found.

use super::chart::{
    Band, Chart, ChartFlag, ChartLine, ChartPoint, Detail, Horizontal, LineStyle, Panel, Vertical,
};
use super::courses::{known, panel};
use super::figure::{figure_with, folded};
use crate::answer::curve::{Curve, CurvePoint};
use crate::units;
use kdyno_model::metric::Unit;
use kdyno_model::plan::LimitSide;
use maud::{Markup, html};

/// Height of the picture of an answer, px.
pub const HEIGHT: f64 = 220.0;

/// The picture, with this table of its data; nothing when no trial has a figure.
pub fn figure(curve: &Curve, id: &str, height: f64, table: &Markup) -> Markup {
    let is_time = curve.unit == Unit::Ns;
    let of = |passed: &[Option<bool>]| -> Vec<ChartPoint> {
        let points = curve.points.iter().filter(|one| passed.contains(&one.passed));
        // What is "at least" is shown on the line.
        points.map(|one| ChartPoint { at_least: false, ..place(one, is_time) }).collect()
    };
    let line =
        |name: &str, look, drawn, points| ChartLine { name: name.to_owned(), look, drawn, points, gap: None };
    let all = curve.points.iter().map(|one| place(one, is_time)).collect();
    let lines = vec![
        line("all trials", 7, LineStyle::Joined, all),
        line("conditions held", 2, LineStyle::Dots, of(&[Some(true)])),
        line("failed, or inconclusive", 1, LineStyle::Crosses, of(&[Some(false), None])),
    ];
    let (unit, y) = if is_time { ("time (log)", Vertical::LogNs) } else { ("value", Vertical::FromZero) };
    let limit = Some((curve.limit, curve.must_be == LimitSide::AtMost));
    let estimate =
        curve.estimate.map(|(from, to)| Band { name: "estimate".to_owned(), from, to, shaded: true });
    let answer = curve.answer.map(|(at, what)| ChartFlag { name: what.to_owned(), at });
    let chart = Chart {
        id: id.to_owned(),
        title: format!("{} by load", curve.of),
        x: Horizontal::Rate,
        x_label: "load, records per second",
        panels: vec![Panel { limit, ..panel(String::new(), unit, y, height, lines) }],
        bands: estimate.into_iter().collect(),
        flags: answer.into_iter().collect(),
        detail: Detail { points: 450, rows: 0 },
    };
    let reported = html! {
        p class="note" {
            "The stroke across is the limit, " (units::number(curve.limit, curve.unit)) ", shaded where it is kept."
            @if let Some((load, what)) = curve.answer { " The stroke down is the load " (units::number(load, Unit::RecordsPerS)) ", " (what) "." }
            @if let Some((low, high)) = curve.estimate {
                " The shaded stretch is the interval of the estimate, " (units::number(low, Unit::RecordsPerS)) " to " (units::number(high, Unit::RecordsPerS)) "."
            }
        }
        (folded(table, &chart.title))
    };
    figure_with(&chart, &reported)
}

fn place(point: &CurvePoint, is_time: bool) -> ChartPoint {
    let (y, at_least) = known(point.value);
    // A logarithmic axis has no place for zero.
    ChartPoint { x: point.load_per_s, y: y.filter(|number| !is_time || *number > 0.0), at_least }
}
