//! Tests of charts as figures.

use super::*;
use crate::html::chart::{Band, ChartFlag, Detail, Vertical};
use proptest::prelude::*;

fn chart(lines: Vec<ChartLine>, x: Horizontal, y: Vertical) -> Chart {
    let bands = vec![Band { name: "warm-up".to_owned(), from: 0.0, to: 5.0, shaded: true }];
    let panel = Panel {
        title: String::new(),
        unit: "value",
        y,
        holds: Vec::new(),
        limit: None,
        height: 120.0,
        lines,
    };
    Chart {
        id: "c".to_owned(),
        title: "A <title>".to_owned(),
        x_label: "time, s",
        x,
        panels: vec![panel],
        bands,
        flags: vec![ChartFlag { name: "1".to_owned(), at: 2.0 }],
        detail: Detail::among(1),
    }
}

fn line(points: &[(f64, f64)]) -> ChartLine {
    let points = points.iter().map(|(x, y)| ChartPoint { x: *x, y: Some(*y), at_least: false }).collect();
    ChartLine { name: "rate".to_owned(), look: 0, drawn: LineStyle::Joined, points, gap: Some(1.5) }
}

fn drawn(chart: &Chart) -> String {
    figure(chart).0
}

#[test]
fn a_gap_in_the_data_is_a_gap_in_the_line() {
    let svg = drawn(&chart(
        vec![line(&[(0.0, 1.0), (1.0, 2.0), (5.0, 3.0)])],
        Horizontal::Seconds,
        Vertical::FromZero,
    ));
    let path = svg.split("</title><path d=\"").nth(1).expect("the line").split('"').next().expect("its end");
    assert_eq!(path.matches('M').count(), 2, "{path}");
}

#[test]
fn points_that_are_not_joined_are_seen_one_by_one() {
    let count = |kind| {
        let line = ChartLine { drawn: kind, ..line(&[(0.0, 1.0), (1.0, 2.0)]) };
        drawn(&chart(vec![line], Horizontal::Rate, Vertical::FromZero))
            .matches("class=\"dot look-0\"")
            .count()
    };
    // Two points, and one before the name in the legend.
    assert_eq!([LineStyle::Dots, LineStyle::Crosses, LineStyle::Joined].map(count), [3, 3, 0]);
}

#[test]
fn what_is_at_least_so_much_points_up_and_says_so() {
    let mut line = line(&[(0.0, 1.0), (1.0, 2.0)]);
    line.points[1].at_least = true;
    let svg = drawn(&chart(vec![line], Horizontal::Seconds, Vertical::FromZero));
    assert!(svg.contains("class=\"up\"") && svg.contains("upwards: at least this"), "{svg}");
    assert!(svg.contains("<td>≥ 2</td>"), "{svg}");
}

#[test]
fn nothing_is_drawn_without_data() {
    assert_eq!(drawn(&chart(vec![line(&[])], Horizontal::Seconds, Vertical::FromZero)), "");
}

#[test]
fn panels_share_one_axis_and_only_the_last_has_its_numbers() {
    let mut two = chart(vec![line(&[(0.0, 1.0), (10.0, 2.0)])], Horizontal::Seconds, Vertical::FromZero);
    let mut other = two.panels[0].clone();
    other.lines = vec![line(&[(90.0, 5.0)])];
    two.panels.push(other);
    let html = drawn(&two);
    assert_eq!(html.matches(">time, s</text>").count(), 1, "{html}");
    assert_eq!(html.matches("role=\"img\"").count(), 2);
    // A flag is in both panels and has its name in the first.
    assert_eq!(
        (html.matches("<line class=\"flag\"").count(), html.matches("<text class=\"flag\"").count()),
        (2, 1)
    );
}

#[test]
fn a_table_of_a_long_series_has_few_rows_with_the_extremes() {
    let points: Vec<(f64, f64)> = (0..3_600)
        .map(|at| (f64::from(at), if at == 1_234 { 98_765.0 } else { f64::from(at % 7) }))
        .collect();
    let html = drawn(&chart(vec![line(&points)], Horizontal::Seconds, Vertical::FromZero));
    let rows = html.matches("<th scope=\"row\">").count();
    assert!(rows <= 62, "{rows}");
    assert!(html.contains("<td>98,765</td>") && html.contains("of 3600 rows"), "{html}");
}

proptest! {
    #[test]
    fn no_number_in_a_chart_is_nan_or_infinite(
        points in prop::collection::vec((prop::num::f64::ANY, prop::option::of(prop::num::f64::ANY), any::<bool>()), 0..50),
        log: bool, as_nines: bool, band in prop::num::f64::ANY, flag in prop::num::f64::ANY, holds in prop::num::f64::ANY,
        drawn in prop::sample::select(vec![LineStyle::Joined, LineStyle::Dots, LineStyle::Crosses]),
    ) {
        let points = points.into_iter().map(|(x, y, at_least)| ChartPoint { x, y, at_least }).collect();
        let line = ChartLine { name: "x".to_owned(), look: 3, drawn, points, gap: None };
        let mut chart = chart(
            vec![line],
            if as_nines { Horizontal::Nines } else { Horizontal::Seconds },
            if log { Vertical::LogNs } else { Vertical::FromZero },
        );
        chart.bands[0].to = band;
        chart.flags[0].at = flag;
        chart.panels[0].holds = vec![holds];
        chart.panels[0].limit = Some((holds, log));
        let svg = figure(&chart).0;
        prop_assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }
}
