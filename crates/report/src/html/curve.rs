//! The latency–rate curve of a search as a picture, with the limit as a line.

use super::chart::{self, Chart, Drawn, Horizontal, Line, Point, Vertical};
use crate::answer::curve::{Curve, CurvePoint};
use crate::units;
use kdyno_model::finding::Value;
use kdyno_model::metric::Unit;
use maud::Markup;

/// The picture; nothing when no trial has a figure.
pub fn figure(curve: &Curve, id: &str) -> Markup {
    let is_time = curve.unit == Unit::Ns;
    let limit = format!("limit {}", units::number(curve.limit, curve.unit));
    let ends = [curve.points.first(), curve.points.last()].into_iter().flatten();
    let at_limit = |point: &CurvePoint| Point { x: point.load_per_s, y: Some(curve.limit), at_least: false };
    let line = |name: &str, points: Vec<Point>| Line {
        name: name.to_owned(),
        drawn: Drawn::Joined,
        points,
        gap: None,
    };
    let of = |passed: &[Option<bool>]| -> Vec<Point> {
        curve
            .points
            .iter()
            .filter(|one| passed.contains(&one.passed))
            // What is "at least" is shown on the line.
            .map(|one| Point { at_least: false, ..place(one, is_time) })
            .collect()
    };
    chart::figure(&Chart {
        id: id.to_owned(),
        title: format!("{} by load", curve.of),
        x_label: "load, records per second",
        y_label: if is_time { "time (log)" } else { "value" },
        x: Horizontal::Rate,
        y: if is_time { Vertical::LogNs } else { Vertical::FromZero },
        lines: vec![
            line("all trials", curve.points.iter().map(|one| place(one, is_time)).collect()),
            line(&limit, ends.map(at_limit).collect()),
            Line { drawn: Drawn::Dots, ..line("conditions held", of(&[Some(true)])) },
            Line { drawn: Drawn::Crosses, ..line("failed, or cannot be told", of(&[Some(false), None])) },
        ],
        bands: Vec::new(),
    })
}

fn place(point: &CurvePoint, is_time: bool) -> Point {
    let (y, at_least) = match point.value {
        Value::Is(number) => (Some(number), false),
        Value::AtLeast(number) => (Some(number), true),
        Value::None => (None, false),
    };
    // A logarithmic axis has no place for zero.
    Point { x: point.load_per_s, y: y.filter(|number| !is_time || *number > 0.0), at_least }
}
