//! Every trial as a dot in the order in which they ran, with the interval of their case over them.

use super::chart::{ACROSS, NUMBER_MAX};
use super::courses::known;
use super::figure::folded;
use super::groups::{Group, groups};
use super::lanes::{Axis, Lane, lanes};
use super::pen::{self, Sign, percent, px};
use super::scale::Scale;
use super::ticks::{bytes_to, distinct, number_to, time_to};
use crate::case_table::CaseTable;
use crate::figures::Figures;
use crate::headings::named;
use crate::input::ReportInput;
use crate::{digits, marks};
use kdyno_model::finding::{Finding, Interval, Quantity, Value};
use kdyno_model::metric::{Address, Unit};
use kdyno_model::trial::Trial;
use maud::{Markup, html};

/// Metrics that are drawn at most, and cases of each.
const METRICS_MAX: usize = 8;
const LANES_MAX: usize = 40;
/// Trials of a lane that are drawn at most.
const DOTS_MAX: usize = 120;
/// Distance of two dots of a lane, px; less where there are many, so that the lane is about as high as this.
const STEP_PX: f64 = 9.0;
const LANE_PX: f64 = 110.0;
const EDGE_PX: f64 = 9.0;
/// From this ratio on of the largest to the smallest value the axis is logarithmic.
const LOG_FROM: f64 = 20.0;

/// The strips of the table's columns; nothing of a run of one trial.
pub fn strips(input: &ReportInput<'_>, figures: &Figures<'_>, table: &CaseTable<'_>) -> Markup {
    let groups = groups(input);
    let trials: usize = groups.iter().map(|group| group.trials.len()).sum();
    let metrics = table.columns.iter().map(|column| (&column.of, column.unit));
    let drawn: Vec<Markup> =
        metrics.filter_map(|(of, unit)| strip(&groups, figures, of, unit)).take(METRICS_MAX).collect();
    html! {
        @if trials > 1 && !drawn.is_empty() {
            section aria-labelledby="dots" {
                h2 id="dots" { "Every trial, in the order they ran" }
                p class="note" {
                    "A sign is a trial, the first one on top; those of a case are joined in their order. The band is the interval \
                     of the case and the stroke in it its figure; without a band the evidence carries no interval. Hollow signs must \
                     not be used. Axes do not begin at 0."
                }
                div class="strips" { @for one in drawn { (one) } }
                @if groups.len() > LANES_MAX { p class="note" { "The first " (LANES_MAX) " of " (groups.len()) " cases." } }
            }
        }
    }
}

/// A case, its figure, and those of its trials.
type Found<'a> = (&'a Group<'a>, Option<&'a Finding>, Vec<(&'a Trial, Finding)>);

fn strip(groups: &[Group<'_>], figures: &Figures<'_>, of: &Address, unit: Unit) -> Option<Markup> {
    let found: Vec<Found<'_>> = groups
        .iter()
        .take(LANES_MAX)
        .map(|group| {
            let of_trial = |trial: &&Trial| figures.told(trial.id, &of.subject, &of.metric);
            let trials = group.trials.iter().filter_map(|trial| Some((*trial, of_trial(trial)?)));
            let trials = trials.filter(|(_, one)| number(one.estimate).is_some()).collect();
            (group, figures.get(group.scope, Quantity::Value, of), trials)
        })
        .collect();
    let all = || found.iter().flat_map(|(.., trials)| trials).filter_map(|(_, one)| number(one.estimate));
    let (low, high) =
        all().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), one| (low.min(one), high.max(one)));
    if low >= high {
        return None;
    }
    // The table knows none where no case has a figure.
    let told = found.iter().flat_map(|(.., trials)| trials).map(|(_, one)| one.unit).next();
    let unit = told.unwrap_or(unit);
    let across = axis(found.iter().filter_map(|(_, case, _)| *case), all());
    let lanes_of = found.iter().enumerate().filter(|(_, (.., trials))| !trials.is_empty());
    let drawn: Vec<Lane> =
        lanes_of.map(|(look, (group, case, trials))| lane(group, *case, trials, &across, look)).collect();
    let title = named(of);
    let label = if unit == Unit::Ns { "time".to_owned() } else { unit.described().to_owned() };
    let text = distinct(&across, |tick, decimals| tick_text(tick, unit, decimals));
    Some(html! {
        figure {
            figcaption { (title) " " code { (of) } }
            (lanes(&drawn, &Axis { across: &across, text: &text, label: &label }))
            (data(&found, &title))
        }
    })
}

/// An axis that holds all values and intervals.
fn axis<'a>(cases: impl Iterator<Item = &'a Finding>, values: impl Iterator<Item = f64>) -> Scale {
    let ends = cases.filter_map(bounds).flat_map(|(low, high)| [low, high]);
    let all: Vec<f64> = values.chain(ends).collect();
    let low = all.iter().copied().fold(f64::INFINITY, f64::min);
    let high = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if low > 0.0 && high / low >= LOG_FROM {
        return Scale::log(all.into_iter(), 0.0, ACROSS);
    }
    Scale::linear(all.into_iter(), false, 0.0, ACROSS)
}

/// A number of the axis as printed, with so many decimals.
pub fn tick_text(tick: f64, unit: Unit, decimals: usize) -> String {
    match unit {
        Unit::Ns => time_to(tick, decimals),
        Unit::Bytes => bytes_to(tick, decimals),
        _ => number_to(tick, decimals),
    }
}

fn lane(
    group: &Group<'_>,
    case: Option<&Finding>,
    trials: &[(&Trial, Finding)],
    across: &Scale,
    look: usize,
) -> Lane {
    let shown = &trials[..trials.len().min(DOTS_MAX)];
    let step = (LANE_PX / shown.len().max(1) as f64).clamp(1.0, STEP_PX);
    let height = 2.0 * EDGE_PX + step * (shown.len().max(1) - 1) as f64;
    let height = height.max(24.0);
    let first = (height - step * (shown.len().max(1) - 1) as f64) / 2.0;
    let places: Vec<(f64, f64)> = shown
        .iter()
        .enumerate()
        .filter_map(|(index, (_, one))| {
            Some((across.place(number(one.estimate)?), first + step * index as f64))
        })
        .collect();
    let order: String = places
        .iter()
        .enumerate()
        .map(|(index, (left, down))| format!("{}{left:.0},{}", if index == 0 { 'M' } else { 'L' }, px(*down)))
        .collect();
    let figure = case.filter(|one| one.estimate != Value::None);
    let told = figure.map(|one| marks::marked(&one.marks, digits::with_spread(one)));
    let name = if group.name.is_empty() { "all trials" } else { &group.name };
    let signs = places.iter().zip(shown).map(|((left, down), (trial, one))| {
        let sign = if one.is_invalid() { Sign::Hollow(look) } else { Sign::Filled(look) };
        sign.at(*left, *down, Some(&format!("trial {}: {}", trial.id, marks::text(one))))
    });
    Lane {
        name: html! {
            b { (name) }
            @if let Some(told) = &told { br; span { (told) } }
            @if shown.len() < trials.len() { br; span { "first " (shown.len()) " of " (trials.len()) " trials" } }
        },
        says: format!(
            "{name}: {} trials{}",
            trials.len(),
            told.as_ref().map_or_else(String::new, |told| format!(", {told}"))
        ),
        height,
        drawn: html! {
            @if let Some((low, high)) = case.and_then(bounds) {
                (pen::bar(&format!("interval {}", pen::look_class(look)), (across.place(low), across.place(high)), 1.0, height - 2.0))
            }
            @if let Some(middle) = figure.and_then(|one| number(one.estimate)) {
                @let place = percent(across.place(middle));
                line class="middle" x1=(place) x2=(place) y1="1" y2=(px(height - 1.0)) {}
            }
            svg class="lines" width="100%" height=(px(height)) viewBox=(format!("0 0 {ACROSS} {}", px(height))) preserveAspectRatio="none" {
                path class="order" d=(order) {}
            }
            @for sign in signs { (sign) }
        },
    }
}

/// A number that has a place.
fn number(value: Value) -> Option<f64> {
    known(value).0.filter(|number| number.is_finite() && number.abs() <= NUMBER_MAX)
}

fn bounds(one: &Finding) -> Option<(f64, f64)> {
    let Interval::Bounds { low, high, .. } = one.interval else { return None };
    let is_drawn = [low, high].iter().all(|end| end.is_finite() && end.abs() <= NUMBER_MAX);
    is_drawn.then_some((low, high))
}

fn data(found: &[Found<'_>], title: &str) -> Markup {
    let table = html! {
        table {
            thead { tr { th scope="col" { "trial" } th class="words" scope="col" { "case" } th scope="col" { "figure" } } }
            tbody { @for (group, _, trials) in found { @for (trial, one) in trials.iter().take(DOTS_MAX) {
                tr { th scope="row" { (trial.id) } td class="words" { (group.name) } td { (marks::text(one)) } }
            } } }
        }
    };
    folded(&table, title)
}
