//! A metric over many runs, as a picture and as a table.

use super::shell;
use crate::course::{Course, CourseDot};
use crate::html::figure::folded;
use crate::html::scale::Scale;
use crate::html::tables;
use crate::{digits, units};
use maud::{Markup, html};
use std::collections::BTreeMap;

const WIDTH: f64 = 900.0;
/// The chart of few runs, so that a narrow screen has room for it.
const WIDTH_OF_FEW: f64 = 460.0;
const FEW: usize = 4;
const LEFT: f64 = 110.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 240.0;
const HEIGHT: f64 = 290.0;
/// Cases that a picture has room for; the table has all.
const CASES_MAX: usize = 8;
/// Dots that a picture has room for; the newest are drawn.
const DOTS_MAX: usize = 400;
/// Runs that are named under the axis.
const NAMES_MAX: usize = 8;

/// What is requested, and what can be.
#[derive(Debug)]
pub struct CoursePage<'a> {
    /// The metric as typed.
    pub of: &'a str,
    /// The scenario whose runs these are.
    pub scenario: &'a str,
    /// Metrics that these runs have.
    pub known: &'a [String],
    /// Its course; `None`: no run has it.
    pub course: Option<&'a Course>,
}

/// The page.
pub fn course(page: &CoursePage<'_>) -> String {
    let body = html! {
        form class="ask" method="get" action="/course" {
            input type="hidden" name="scenario" value=(page.scenario);
            label { "Metric" input name="of" value=(page.of) list="metrics"; }
            datalist id="metrics" { @for one in page.known { option value=(one) {} } }
            button { "Show its course" }
        }
        @match page.course {
            Some(course) => { (picture(course)) (tables::answer("course", course.answer(), &[], &html! {})) }
            None => {
                @if !page.of.is_empty() { p class="answer open" { "No run of " (page.scenario) " has a figure of " (page.of) "." } }
                p { "Metrics of these runs: " @for (index, one) in page.known.iter().enumerate() { @if index > 0 { ", " } code { (one) } } "." }
            }
        }
    };
    let title = if page.of.is_empty() {
        page.scenario.to_owned()
    } else {
        format!("{} over the runs of {}", page.of, page.scenario)
    };
    shell(&title, &body)
}

/// A dot for each run and case, with its interval, in the order of time.
fn picture(course: &Course) -> Markup {
    let all = course.dots();
    let dots = &all[all.len().saturating_sub(DOTS_MAX)..];
    let mut looks: BTreeMap<&str, usize> = BTreeMap::new();
    for dot in dots {
        let next = looks.len();
        looks.entry(&dot.case).or_insert(next);
    }
    let drawn: Vec<&CourseDot> = dots.iter().filter(|dot| looks[dot.case.as_str()] < CASES_MAX).collect();
    let Some(first) = drawn.first() else { return html! {} };
    let runs: Vec<&str> = drawn.iter().fold(Vec::new(), |mut runs, dot| {
        if runs.last() != Some(&dot.file.as_str()) {
            runs.push(&dot.file);
        }
        runs
    });
    let ends = drawn
        .iter()
        .flat_map(|dot| [Some(dot.value), dot.spread.map(|ends| ends.0), dot.spread.map(|ends| ends.1)])
        .flatten();
    let y = Scale::linear(ends, true, BOTTOM, TOP);
    let (width, class) = if runs.len() > FEW { (WIDTH, "course") } else { (WIDTH_OF_FEW, "course few") };
    let step = (width - LEFT) / runs.len() as f64;
    let place = |dot: &CourseDot| {
        let run = runs.iter().position(|file| *file == dot.file).unwrap_or(0);
        let case = looks[dot.case.as_str()] as f64;
        let shift = (case - (looks.len().min(CASES_MAX) as f64 - 1.0) / 2.0) * (step / 12.0).min(9.0);
        LEFT + step * (run as f64 + 0.5) + shift
    };
    let named_each = runs.len().div_ceil(NAMES_MAX);
    html! {
        figure {
            figcaption id="course-title" { (course.title()) ", in the order of time" (bars(&drawn)) }
            div class="scroll" role="region" aria-label=(format!("Picture: {}", course.title())) tabindex="0" {
                svg class=(class) viewBox=(format!("0 0 {width} {HEIGHT}")) role="img" aria-labelledby="course-title" {
                    @for tick in &y.ticks {
                        @let at = y.place(*tick);
                        path class="grid" d=(format!("M{LEFT},{at:.1}H{width}")) {}
                        text x=(LEFT - 8.0) y=(format!("{:.1}", at + 4.0)) text-anchor="end" { (digits::number(*tick, first.unit, None)) }
                    }
                    @for dot in &drawn {
                        g class=(format!("line look-{}", looks[dot.case.as_str()])) {
                            title { (dot.file) ", " (dot.case) ": " (dot.text) }
                            @let (left, top) = (place(dot), y.place(dot.value));
                            @if let Some((low, high)) = dot.spread {
                                path class=(if dot.has_interval { "interval" } else { "interval range" }) d=(format!("M{left:.1},{:.1}V{:.1}", y.place(low), y.place(high))) {}
                            }
                            (mark(looks[dot.case.as_str()], left, top))
                        }
                    }
                    @for (index, file) in runs.iter().enumerate().filter(|(index, _)| index % named_each == 0) {
                        @let at = LEFT + step * (index as f64 + 0.5);
                        @if let Some(dot) = drawn.iter().find(|dot| dot.file == *file) {
                            text x=(format!("{at:.1}")) y=(BOTTOM + 20.0) text-anchor="middle" { (dot.day) }
                            text x=(format!("{at:.1}")) y=(BOTTOM + 36.0) text-anchor="middle" { (dot.version) }
                        }
                    }
                }
            }
            @if looks.len() > 1 { (legend(&looks)) }
            (folded(&data(&drawn), course.title()))
        }
    }
}

/// What the bars of a picture are.
fn bars(drawn: &[&CourseDot]) -> &'static str {
    let has = |has_interval| drawn.iter().any(|dot| dot.spread.is_some() && dot.has_interval == has_interval);
    match (has(true), has(false)) {
        (true, true) => "; bars are intervals, dashed ones ranges over the repeats",
        (true, false) => "; bars are intervals",
        (false, true) => "; dashed bars are ranges over the repeats",
        (false, false) => "",
    }
}

/// The dots as a table.
fn data(drawn: &[&CourseDot]) -> Markup {
    html! {
        table {
            thead { tr {
                @for head in ["run", "day", "kafka", "case"] { th class="words" scope="col" { (head) } }
                th scope="col" { "figure" }
            } }
            tbody { @for dot in drawn { tr {
                th class="words" scope="row" { (dot.file) }
                @for text in [&dot.day, &dot.version, &dot.case] { td class="words" { (text) } }
                td { (dot.text) }
            } } }
        }
    }
}

/// Cases differ by shape as well as by colour.
fn mark(look: usize, left: f64, top: f64) -> Markup {
    match look % 3 {
        0 => html! { circle class="dot" cx=(format!("{left:.1}")) cy=(format!("{top:.1}")) r="4" {} },
        1 => {
            html! { rect class="dot" x=(format!("{:.1}", left - 3.5)) y=(format!("{:.1}", top - 3.5)) width="7" height="7" {} }
        }
        _ => html! { path class="dot" d=(format!("M{left:.1},{:.1}l4.5,8h-9z", top - 5.0)) {} },
    }
}

fn legend(looks: &BTreeMap<&str, usize>) -> Markup {
    let mut cases: Vec<(&str, usize)> = looks.iter().map(|(case, look)| (*case, *look)).collect();
    cases.sort_by_key(|(_, look)| *look);
    html! {
        ul class="legend" {
            @for (case, look) in cases.iter().take(CASES_MAX) {
                li { svg class="sample" viewBox="0 0 34 10" aria-hidden="true" { g class=(format!("line look-{look}")) { (mark(*look, 17.0, 5.0)) } }
                    @if case.is_empty() { (units::NOTHING) } @else { (case) } }
            }
            @if cases.len() > CASES_MAX { li { "and " (cases.len() - CASES_MAX) " more cases, in the table" } }
        }
    }
}
