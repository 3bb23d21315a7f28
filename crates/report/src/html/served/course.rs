//! A metric over many runs, as a picture and as a table.

use super::shell;
use crate::course::{Course, CourseDot};
use crate::html::chart::ACROSS;
use crate::html::figure::folded;
use crate::html::lanes::{self, Lane, LaneAxis};
use crate::html::pen::{self, PointSign};
use crate::html::scale::Scale;
use crate::html::table::texts;
use crate::html::tables;
use crate::html::ticks::{distinct, tick_text};
use crate::table::{Cell, Table};
use crate::units;
use kdyno_model::metric::Unit;
use maud::{Markup, html};
use std::collections::BTreeMap;

/// Height of a dot's line, px.
const DOT_PX: f64 = 15.0;
/// Cases that a picture has room for; the table has all.
const CASES_MAX: usize = 8;
/// Dots that a picture has room for; the newest are drawn.
const DOTS_MAX: usize = 400;

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
            button { "Show over time" }
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

/// A lane for each run with a dot for each case and its interval, in the order of time.
fn picture(course: &Course) -> Markup {
    let all = course.dots();
    let dots = &all[all.len().saturating_sub(DOTS_MAX)..];
    let mut looks: BTreeMap<&str, usize> = BTreeMap::new();
    for dot in dots {
        let next = looks.len();
        looks.entry(&dot.case).or_insert(next);
    }
    let drawn: Vec<&CourseDot> = dots.iter().filter(|dot| looks[dot.case.as_str()] < CASES_MAX).collect();
    let Some(unit) = drawn.first().map(|dot| dot.unit) else { return html! {} };
    let ends = drawn.iter().flat_map(|dot| {
        let (low, high) = dot.spread.unwrap_or((dot.value, dot.value));
        [low, dot.value, high]
    });
    let across = Scale::linear(ends, true, 0.0, ACROSS);
    let runs = drawn.chunk_by(|dot, next| dot.file == next.file);
    let rows: Vec<Lane> = runs.map(|dots| lane(dots, &looks, &across)).collect();
    let text = distinct(&across, |tick, decimals| tick_text(tick, unit, decimals));
    let label = if unit == Unit::Ns { "time" } else { unit.described() };
    html! {
        figure class="cases" {
            figcaption { (course.title()) ", in the order of time" (bars(&drawn)) }
            @if looks.len() > 1 { (legend(&looks)) }
            (lanes::lanes(&rows, &LaneAxis { across: &across, text: &text, label }))
            (folded(&texts(&data(&drawn), None), course.title()))
        }
    }
}

/// The dots of a run, one below the other.
fn lane(dots: &[&CourseDot], looks: &BTreeMap<&str, usize>, across: &Scale) -> Lane {
    let says = |dot: &CourseDot| format!("{}, {}: {}", dot.file, dot.case, dot.text);
    let drawn = dots.iter().enumerate().map(|(line, dot)| {
        let (look, down) = (looks[dot.case.as_str()], DOT_PX * (line as f64 + 0.5));
        let class =
            format!("ends {}{}", pen::look_class(look), if dot.has_interval { "" } else { " dashed" });
        html! {
            @if let Some((low, high)) = dot.spread {
                (lanes::interval(&class, (across.place(low), across.place(high)), down))
            }
            (PointSign::Filled(look).at(across.place(dot.value), down, Some(&says(dot))))
        }
    });
    Lane {
        name: html! { (dots[0].day) " " (dots[0].version) },
        says: dots.iter().map(|dot| says(dot)).collect::<Vec<_>>().join("; "),
        height: DOT_PX * dots.len() as f64,
        drawn: html! { @for dot in drawn { (dot) } },
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
fn data(drawn: &[&CourseDot]) -> Table {
    let row = |dot: &&CourseDot| {
        [&dot.file, &dot.day, &dot.version, &dot.case, &dot.text]
            .map(|text| Cell::from(text.as_str()))
            .to_vec()
    };
    let heads = [("run", false), ("day", false), ("kafka", false), ("case", false), ("figure", true)];
    Table::new(&heads, drawn.iter().map(row).collect())
}

fn legend(looks: &BTreeMap<&str, usize>) -> Markup {
    let mut cases: Vec<(&str, usize)> = looks.iter().map(|(case, look)| (*case, *look)).collect();
    cases.sort_by_key(|(_, look)| *look);
    html! {
        ul class="legend" {
            @for (case, look) in cases.iter().take(CASES_MAX) {
                li { svg class="sample" viewBox="-17 -5 34 10" aria-hidden="true" { (PointSign::Filled(*look).shape()) }
                    @if case.is_empty() { (units::NOTHING) } @else { (case) } }
            }
            @if cases.len() > CASES_MAX { li { "and " (cases.len() - CASES_MAX) " more cases, in the table" } }
        }
    }
}
