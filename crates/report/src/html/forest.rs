//! A comparison as pictures: what the ratios of all metrics are, and each pair in the order they ran.

use super::chart::{ACROSS, NUMBER_MAX};
use super::courses::known;
use super::figure::folded;
use super::lanes::{Lane, LaneAxis, interval, lanes};
use super::pen::{self, PointSign, percent, px};
use super::scale::Scale;
use super::table::texts;
use super::ticks::{distinct, number_to, resolution, tick_number, tick_text};
use crate::answer::verdict;
use crate::figures::FindingIndex;
use crate::headings::named;
use crate::input::ReportInput;
use crate::table::{Cell, Table};
use crate::{digits, marks, units};
use kdyno_model::conclusion::{MetricRole, Verdict};
use kdyno_model::finding::{Finding, Interval, Scope, Value};
use kdyno_model::plan::{Better, ComparePlan};
use kdyno_model::trial::Trial;
use maud::{Markup, html};
use std::collections::{BTreeMap, BTreeSet};

/// Metrics in one picture at most, and pairs in one.
const METRICS_MAX: usize = 40;
const PAIRS_MAX: usize = 60;
/// Metrics in the picture of what was judged at most.
const JUDGED_MAX: usize = 5;
/// Ratios beyond this are words at the end of the axis.
const RATIO_MAX: f64 = 8.0;
/// Height of a ratio and of a pair, px.
const RATIO_PX: f64 = 34.0;
const PAIR_PX: f64 = 15.0;

/// The verdicts of one compared case as ratios; nothing where none has one.
pub fn forest(input: &ReportInput<'_>, case: u32) -> Markup {
    let verdicts: Vec<&Verdict> = of_case(input, case).filter(|one| is_drawn(one)).collect();
    let title = "By how much B differs from A, metric by metric";
    let id = format!("forest-{case}");
    drawn(input, &verdicts, METRICS_MAX, (id.as_str(), title))
}

/// The verdicts of all cases on what was named to be judged.
pub fn judged(input: &ReportInput<'_>, id: &str) -> Markup {
    let all = verdict::verdicts(input.conclusions);
    let judged: Vec<&Verdict> = all.filter(|one| one.role == MetricRole::Judged && is_drawn(one)).collect();
    drawn(input, &judged, JUDGED_MAX, (id, "By how much B differs from A"))
}

/// Whether [`judged`] draws all verdicts of a case.
pub fn is_judged_alone(input: &ReportInput<'_>, case: u32) -> bool {
    let all = verdict::verdicts(input.conclusions);
    all.filter(|one| one.role == MetricRole::Judged).count() <= JUDGED_MAX
        && of_case(input, case).all(|one| one.role == MetricRole::Judged)
}

fn is_drawn(one: &Verdict) -> bool {
    one.ratio.is_some_and(|ratio| ratio.estimate.is_finite())
}

/// The first verdicts as ratios, in a figure of this id and title; nothing without any.
fn drawn(
    input: &ReportInput<'_>,
    verdicts: &[&Verdict],
    shown_max: usize,
    (id, title): (&str, &str),
) -> Markup {
    let shown = &verdicts[..verdicts.len().min(shown_max)];
    if shown.is_empty() {
        return html! {};
    }
    let labels = verdict::labels(input);
    let ends = shown
        .iter()
        .flat_map(|one| places(one))
        .filter(|end| end.is_finite())
        .map(|end| end.clamp(0.0, RATIO_MAX));
    let across = Scale::linear(ends.chain([0.95, 1.05]), false, 0.0, ACROSS);
    let scopes: BTreeSet<Scope> = shown.iter().map(|one| one.scope).collect();
    let case = |one: &Verdict| match one.scope {
        Scope::Comparison { case } if scopes.len() > 1 => format!("{}: ", input.case_label(case)),
        _ => String::new(),
    };
    let rows: Vec<Lane> = shown.iter().map(|one| row(one, &case(one), &across)).collect();
    let label = format!("B ÷ A: {} ÷ {}", labels[1], labels[0]);
    let text = distinct(&across, |tick, decimals| format!("×{}", number_to(tick, decimals)));
    html! {
        figure id=(id) {
            figcaption { (title) }
            p class="note" {
                "The stroke at ×1 is no difference. The shaded stretch is the margin: what lies within it does not matter."
                @if shown.iter().any(|one| bounds(one).is_none()) { " A hollow sign has no interval." }
            }
            (lanes(&rows, &LaneAxis { across: &across, text: &text, label: &label }))
            @if shown.len() < verdicts.len() { p class="note" { "The first " (shown.len()) " of " (verdicts.len()) " metrics." } }
            (folded(&texts(&verdict::table(shown, &labels), None), title))
        }
    }
}

fn of_case<'a>(input: &ReportInput<'a>, case: u32) -> impl Iterator<Item = &'a Verdict> + use<'a> {
    let scope = Scope::Comparison { case };
    verdict::verdicts(input.conclusions).filter(move |one| one.scope == scope)
}

/// What the axis has to hold of a verdict.
fn places(one: &Verdict) -> Vec<f64> {
    let ratio = one.judged_by();
    let mut ends: Vec<f64> = ratio.iter().map(|ratio| ratio.estimate).collect();
    if let Some(Interval::Bounds { low, high, .. }) = ratio.map(|ratio| ratio.interval) {
        ends.extend([low, high]);
    }
    if one.role == MetricRole::Judged {
        ends.extend([1.0 - one.margin, 1.0 + one.margin]);
    }
    ends
}

/// The interval of the ratio that is judged; `None`: it has none, and its sign is hollow.
fn bounds(one: &Verdict) -> Option<(f64, f64)> {
    match one.judged_by().map(|ratio| ratio.interval) {
        Some(Interval::Bounds { low, high, .. }) if low.is_finite() && high.is_finite() => Some((low, high)),
        _ => None,
    }
}

fn row(one: &Verdict, case: &str, across: &Scale) -> Lane {
    let ratio = one.judged_by();
    let bounds = bounds(one);
    let is_judged = one.role == MetricRole::Judged;
    let better = match (one.role, one.better) {
        (MetricRole::Imported, _) => "which direction is better is not known",
        (_, Better::Lower) => "lower is better",
        (_, Better::Higher) => "higher is better",
    };
    let margin = digits::named(one.margin * 100.0);
    let word = verdict::word(one);
    let look = usize::from(!is_judged);
    let middle = RATIO_PX / 2.0 + 3.0;
    let arrow = match (one.role, one.better) {
        (MetricRole::Imported, _) => None,
        (_, Better::Lower) => Some(("0", "start", "← B better")),
        (_, Better::Higher) => Some(("100%", "end", "B better →")),
    };
    Lane {
        name: html! {
            b { (case) (named(&one.of)) } br;
            span { (better) @if is_judged { ", margin ±" (margin) " %" } @else { ", not judged" } } br;
            span { "→ " b { (word) } }
        },
        says: format!("{case}{}: {word}, {better}", named(&one.of)),
        height: RATIO_PX,
        drawn: html! {
            @if is_judged {
                (pen::bar("margin", (across.place(1.0 - one.margin), across.place(1.0 + one.margin)), 0.0, RATIO_PX))
            }
            @let none = percent(across.place(1.0));
            line class="middle" x1=(none) x2=(none) y1="0" y2=(px(RATIO_PX)) {}
            @if let Some((at, anchor, text)) = arrow { text x=(at) y="11" text-anchor=(anchor) { (text) } }
            @if let Some(ratio) = ratio.filter(|ratio| ratio.estimate > RATIO_MAX) {
                text x="100%" y=(px(middle + 4.0)) text-anchor="end" class="label" { "×" (tick_number(ratio.estimate)) " →" }
            } @else if let Some((low, high)) = bounds {
                (interval(&format!("ends {}", pen::look_class(look)), (across.place(low), across.place(high)), middle))
            }
            @if let Some(ratio) = ratio.filter(|ratio| ratio.estimate <= RATIO_MAX) {
                @let sign = if bounds.is_some() { PointSign::Filled(look) } else { PointSign::Hollow(look) };
                (sign.at(across.place(ratio.estimate), middle, None))
            }
        },
    }
}

/// A pair that ran: its number and the trials of its sides.
type ForestPair<'a> = (u32, [Option<&'a Trial>; 2]);

/// Every pair of a case in the order they ran, for each metric that was named to be judged.
pub fn pairs(input: &ReportInput<'_>, figures: &FindingIndex<'_>, case: u32) -> Markup {
    let mut by_pair: BTreeMap<u32, [Option<&Trial>; 2]> = BTreeMap::new();
    for trial in input.reported().filter(|trial| trial.case == case) {
        let Some(place) = trial.pair else { continue };
        let side = usize::from(trial.variant.as_deref() == Some(ComparePlan::SIDES[1]));
        by_pair.entry(place.pair).or_default()[side] = Some(trial);
    }
    let all: Vec<ForestPair<'_>> = by_pair.into_iter().collect();
    let shown = &all[..all.len().min(PAIRS_MAX)];
    let judged = of_case(input, case).filter(|one| one.role == MetricRole::Judged);
    let labels = verdict::labels(input);
    html! {
        @for (number, one) in judged.take(METRICS_MAX).enumerate() {
            (pair_figure(one, shown, figures, &labels, &format!("pairs-{case}-{number}")))
        }
        @if shown.len() < all.len() { p class="note" { "The first " (shown.len()) " of " (all.len()) " pairs." } }
    }
}

fn pair_figure(
    one: &Verdict,
    pairs: &[ForestPair<'_>],
    figures: &FindingIndex<'_>,
    labels: &[String; 2],
    id: &str,
) -> Markup {
    let of = |trial: &Option<&Trial>| figures.of_trial((*trial)?.id, &one.of.subject, &one.of.metric);
    let found: Vec<(u32, [Option<&Finding>; 2])> =
        pairs.iter().map(|(pair, [a, b])| (*pair, [of(a), of(b)])).collect();
    let values =
        found.iter().flat_map(|(_, sides)| sides.iter().flatten()).filter_map(|one| number(one.estimate));
    let values: Vec<f64> = values.collect();
    if values.is_empty() {
        return html! {};
    }
    let step = values.iter().map(|value| resolution(*value, one.unit)).fold(0.0, f64::max);
    let across = Scale::resolved(values.into_iter(), step, 0.0, ACROSS);
    let rows: Vec<Lane> = found.iter().map(|(pair, sides)| pair_row(*pair, sides, &across)).collect();
    let title = format!("{}: pair by pair, in the order they ran", named(&one.of));
    let text = distinct(&across, |tick, decimals| tick_text(tick, one.unit, decimals));
    let label = if one.unit == kdyno_model::metric::Unit::Ns { "time" } else { one.unit.described() };
    html! {
        figure id=(id) class="pairs" {
            figcaption { (title) }
            ul class="legend" {
                @for (side, label) in labels.iter().enumerate() {
                    li { svg class="sample" viewBox="-17 -5 34 10" aria-hidden="true" { (PointSign::Filled(side).shape()) } (ComparePlan::SIDES[side]) ": " (label) }
                }
                li { "hollow: invalid" }
                li { "across: " (label) }
            }
            (lanes(&rows, &LaneAxis { across: &across, text: &text, label: "" }))
            (folded(&texts(&table(&found, labels), None), &title))
        }
    }
}

fn pair_row(pair: u32, sides: &[Option<&Finding>; 2], across: &Scale) -> Lane {
    let place =
        |side: Option<&Finding>| side.and_then(|one| number(one.estimate)).map(|one| across.place(one));
    let text = |side: Option<&Finding>| side.map_or_else(|| units::NOTHING.to_owned(), marks::text);
    let down = PAIR_PX / 2.0;
    Lane {
        name: html! { "pair " (pair) },
        says: format!("pair {pair}: A {}, B {}", text(sides[0]), text(sides[1])),
        height: PAIR_PX,
        drawn: html! {
            @if let [Some(a), Some(b)] = sides.map(place) {
                line class="order" x1=(percent(a)) x2=(percent(b)) y1=(px(down)) y2=(px(down)) {}
            }
            @for (look, side) in sides.iter().enumerate() {
                @if let (Some(one), Some(left)) = (*side, place(*side)) {
                    @let sign = if one.is_invalid() { PointSign::Hollow(look) } else { PointSign::Filled(look) };
                    (sign.at(left, down, Some(&format!("{}: {}", ComparePlan::SIDES[look], marks::text(one)))))
                }
            }
        },
    }
}

fn number(value: Value) -> Option<f64> {
    known(value).0.filter(|number| number.is_finite() && number.abs() <= NUMBER_MAX)
}

fn table(found: &[(u32, [Option<&Finding>; 2])], labels: &[String; 2]) -> Table {
    let row = |(pair, sides): &(u32, [Option<&Finding>; 2])| {
        let figures = sides.map(|side| side.map_or_else(|| units::NOTHING.to_owned(), marks::text));
        std::iter::once(pair.to_string()).chain(figures).map(Cell::from).collect()
    };
    let [a, b] = labels;
    Table::new(&[("pair", true), (a.as_str(), true), (b.as_str(), true)], found.iter().map(row).collect())
}
