//! By how much side B shifts a distribution of latencies: the ratio of each quantile that trials tell, with its interval.

use super::chart::ACROSS;
use super::figure::folded;
use super::lanes::{Axis, Lane, interval, lanes};
use super::pen::{Sign, percent, px};
use super::scale::Scale;
use super::ticks::{distinct, number_to};
use crate::input::ReportInput;
use crate::marks::{self, Signs};
use crate::{digits, units};
use kdyno_model::finding::{Finding, Interval, Quantity, Scope, Value};
use kdyno_model::metric::QUANTILES;
use maud::{Markup, html};

/// Load items and timings that have a picture at most.
const PICTURES_MAX: usize = 6;
/// Ratios beyond this stand at the end of the axis.
const RATIO_MAX: f64 = 8.0;
const ROW_PX: f64 = 20.0;
/// Timings that are told so.
const TIMINGS: [(&str, &str); 2] = [("response", "response time"), ("end_to_end", "end-to-end latency")];

/// A quantile and its ratio.
type Row<'a> = (&'static str, &'a Finding, f64);

/// A picture for each load item and timing of a compared case of which two quantiles or more have a ratio.
pub fn by_quantile(input: &ReportInput<'_>, case: u32) -> Markup {
    let ratios: Vec<&Finding> = input
        .findings
        .iter()
        .filter(|one| one.scope == Scope::Comparison { case } && one.quantity == Quantity::RatioBToA)
        .collect();
    let mut items: Vec<&str> = Vec::new();
    for one in &ratios {
        if !items.contains(&one.of.subject.as_str()) {
            items.push(&one.of.subject);
        }
    }
    let of_items =
        items.iter().flat_map(|item| TIMINGS.iter().map(move |(timing, words)| (*item, *timing, *words)));
    let drawn = of_items.filter_map(|(item, timing, words)| {
        let rows = rows(&ratios, item, timing);
        (rows.len() > 1).then(|| {
            figure(
                &rows,
                &format!("{item}: {words}, B ÷ A by quantile"),
                &format!("shift-{case}-{item}-{timing}"),
            )
        })
    });
    html! { @for one in drawn.take(PICTURES_MAX) { (one) } }
}

fn rows<'a>(ratios: &[&'a Finding], item: &str, timing: &str) -> Vec<Row<'a>> {
    let row = |quantile: &'static str| {
        let is_it = |one: &&&Finding| {
            one.of.subject == item && one.of.metric.split_once('.') == Some((timing, quantile))
        };
        let found = *ratios.iter().find(is_it)?;
        let Value::Is(ratio) = found.estimate else { return None };
        (ratio.is_finite() && ratio > 0.0).then_some((quantile, found, ratio))
    };
    QUANTILES.iter().filter_map(|&(quantile, _)| row(quantile)).collect()
}

fn figure(rows: &[Row<'_>], title: &str, id: &str) -> Markup {
    let ends = rows.iter().flat_map(|(_, one, ratio)| {
        let (low, high) = bounds(one).unwrap_or((*ratio, *ratio));
        [*ratio, low, high]
    });
    let ends = ends.map(|end| end.clamp(0.0, RATIO_MAX));
    let across = Scale::linear(ends.chain([0.95, 1.05]), false, 0.0, ACROSS);
    let text = distinct(&across, |tick, decimals| format!("×{}", number_to(tick, decimals)));
    let drawn: Vec<Lane> = rows.iter().map(|row| lane(row, &across)).collect();
    let mut signs = Signs::default();
    rows.iter().for_each(|(_, one, _)| signs.add(&one.marks, ""));
    html! {
        figure id=(id) {
            figcaption { (title) }
            p class="note" {
                "Right of ×1 side B takes longer. Each interval stands for itself: what was not named beforehand has no verdict. A \
                 hollow sign has no interval, or must not be used."
            }
            (lanes(&drawn, &Axis { across: &across, text: &text, label: "B ÷ A" }))
            @if let Some(legend) = signs.legend() { p class="note" { (legend) } }
            (folded(&table(rows), title))
        }
    }
}

fn lane((quantile, one, ratio): &Row<'_>, across: &Scale) -> Lane {
    let told = told(one);
    let bounds = bounds(one);
    let middle = ROW_PX / 2.0;
    let sign = if bounds.is_none() || one.is_invalid() { Sign::Hollow(0) } else { Sign::Filled(0) };
    Lane {
        name: html! { b { (quantile) } " " (told) },
        says: format!("{quantile}: {told}"),
        height: ROW_PX,
        drawn: html! {
            @let none = percent(across.place(1.0));
            line class="middle" x1=(none) x2=(none) y1="0" y2=(px(ROW_PX)) {}
            @if let Some((low, high)) = bounds {
                (interval("ends look-0", (across.place(low), across.place(high)), middle))
            }
            (sign.at(across.place(*ratio), middle, Some(&told)))
        },
    }
}

fn told(one: &Finding) -> String {
    marks::marked(&one.marks, digits::ratio(one))
}

fn bounds(one: &Finding) -> Option<(f64, f64)> {
    let Interval::Bounds { low, high, .. } = one.interval else { return None };
    (low.is_finite() && high.is_finite()).then_some((low, high))
}

fn table(rows: &[Row<'_>]) -> Markup {
    html! {
        table {
            thead { tr { th scope="col" { "quantile" } th scope="col" { "B ÷ A" } th scope="col" { "n" } } }
            tbody { @for (quantile, one, _) in rows {
                tr { th scope="row" { (quantile) } td { (told(one)) } td { (units::count(f64::from(one.n))) } }
            } }
        }
    }
}
