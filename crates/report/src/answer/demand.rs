//! What records take of each resource, and which of them is the next limit.

use super::form::{Answer, Sentence};
use super::words;
use crate::digits;
use crate::grid::Tone;
use crate::input::ReportInput;
use crate::table::{Cell, Table};
use crate::units;
use kdyno_model::conclusion::{AtLimit, Demand, LimitKind, ResourceDemand, of_kind};
use kdyno_model::finding::{Interval, Scope};
use kdyno_model::grouped::distinct;
use kdyno_model::metric::Unit;
use kdyno_model::plan::ComparePlan;

const TITLE: &str = "Cost per record";

/// Said under the table.
const HOW: &str = "Per record: share used ÷ rate, the time for which a record occupies the whole resource. Marginal: per further \
    record, the slope of the line through the tested loads. At its limit: 90 % used or more, of requests in flight 80 %.";

/// A half-width of multiples of a load that leaves them two decimals.
const OF_TIMES: Option<f64> = Some(0.05);

/// What each record takes of each resource, as a table; `None`: nothing is known of any.
pub fn answer(input: &ReportInput<'_>) -> Option<Answer> {
    let all = all(input);
    let rows: Vec<Vec<Cell>> = all
        .iter()
        .flat_map(|demand| demand.resources.iter().map(|resource| row(input, demand, resource)))
        .collect();
    let columns = [
        ("load item", false),
        ("resource", false),
        ("highest tested load", true),
        ("used", true),
        ("per record", true),
        ("marginal", true),
        ("saturates at", false),
    ];
    (!rows.is_empty()).then(|| {
        let notes = next(input).into_iter().chain([HOW.to_owned()]).collect();
        Answer::of_table(TITLE.to_owned(), Table::new(&columns, rows), notes)
    })
}

fn all<'a>(input: &ReportInput<'a>) -> Vec<&'a Demand> {
    of_kind(input.conclusions).collect()
}

fn row(input: &ReportInput<'_>, demand: &Demand, of: &ResourceDemand) -> Vec<Cell> {
    let further = of.ns_per_further_record.map_or_else(|| units::NOTHING.to_owned(), time);
    let at = match of.at_limit {
        AtLimit::Reached => "at its limit".to_owned(),
        AtLimit::At { .. } => times(of.at_limit).unwrap_or_default(),
        AtLimit::NotWithin => format!("beyond {} × this load", bound()),
        AtLimit::CannotTell => "inconclusive".to_owned(),
        AtLimit::OneLoad => "not extrapolated from one load".to_owned(),
    };
    let cells = [
        whose(input, demand),
        words::limit(of.kind).to_owned(),
        words::rate(demand.tested_per_s, None),
        words::percent(of.used, OF_TIMES),
        time(of.ns_per_record),
        further,
        at,
    ];
    cells.into_iter().map(Cell::from).collect()
}

/// `rate=10k/s, side B, writers`: only what distinguishes it from others.
fn whose(input: &ReportInput<'_>, demand: &Demand) -> String {
    let (case, side) = match demand.scope {
        Scope::Case(case) | Scope::Search { case } => (Some(case), None),
        Scope::SideB { case } => (Some(case), Some(ComparePlan::SIDES[1])),
        _ => (None, None),
    };
    let is_compared = all(input).iter().any(|one| matches!(one.scope, Scope::SideB { .. }));
    let side = side.or_else(|| is_compared.then_some(ComparePlan::SIDES[0]));
    let label = case.map(|case| input.case_label(case)).filter(|label| !label.is_empty());
    let parts = label.map(str::to_owned).into_iter().chain(side.map(|side| format!("side {side}")));
    parts.chain([demand.item.clone()]).collect::<Vec<_>>().join(", ")
}

/// How much of each resource was used: one sentence for each demand.
pub(super) fn used(input: &ReportInput<'_>) -> Vec<Sentence> {
    let sentence = |demand: &&Demand| {
        let rate = words::rate(demand.tested_per_s, None);
        let text = format!("used at {rate}, {}: {}.", whose(input, demand), resources(demand));
        Sentence::new(Tone::Plain, text)
    };
    all(input).iter().map(sentence).collect()
}

fn resources(demand: &Demand) -> String {
    // Per record it is the time of a whole resource, not the CPU time of a process, so it is in the table alone.
    let each = demand.resources.iter().map(|of| {
        let what = name(demand, of.kind);
        let comma = if what == SHARED { "," } else { "" };
        format!("{what}{comma} {}", words::percent(of.used, OF_TIMES))
    });
    distinct(each).join("; ")
}

/// What processors are called that no process of brokers or load generator has a larger share of than the host.
const SHARED: &str = "the host's CPUs, which brokers and load generator share";

/// What a resource is called. Where brokers and the load generator share processors, and no process of theirs has a larger
/// share, both are that of the host.
fn name(demand: &Demand, kind: LimitKind) -> &'static str {
    let used = |kind| demand.resources.iter().find(|of| of.kind == kind).map(|of| of.used);
    let is_shared = used(LimitKind::Generator) == used(LimitKind::BrokerProcessors);
    match kind {
        LimitKind::Generator | LimitKind::BrokerProcessors if is_shared => SHARED,
        _ => words::limit(kind),
    }
}

/// The next limit of each load item; nothing where what the limit was is not known, nor from one load.
fn next(input: &ReportInput<'_>) -> Vec<String> {
    all(input).into_iter().filter_map(|demand| next_sentence(&whose(input, demand), demand)).collect()
}

/// One demand, for documents.
pub fn sentence(demand: &Demand) -> String {
    let rate = words::rate(demand.tested_per_s, None);
    let used = format!("{}: used at {rate}: {}", demand.item, resources(demand));
    match next_sentence(&demand.item, demand) {
        Some(next) => format!("{used}. {}", next.trim_end_matches('.')),
        None => used,
    }
}

/// `writers: the next limit is the brokers' processors, at 1.14 × the highest tested load, 52,000/s (1.11 – 1.17, 95 % confidence;
/// a line through 9 trials at 4 loads).`
fn next_sentence(whose: &str, demand: &Demand) -> Option<String> {
    let kind = demand.next?;
    let next = demand.resources.iter().find(|of| of.kind == kind)?;
    let (what, rate) = (name(demand, kind), words::rate(demand.tested_per_s, None));
    let load = "the highest tested load";
    let (how, unknown) = (how(next), not_judged(demand));
    let bound = bound();
    Some(match next.at_limit {
        AtLimit::At { times, .. } => {
            let at = digits::decimals(times, OF_TIMES);
            let spread = spread(next.at_limit).map_or_else(String::new, |spread| format!("{spread}; "));
            let declared = if is_declared(kind) { ", by the limit that is declared," } else { "," };
            format!(
                "{whose}: the next limit is {what}{declared} at {at} × {load}, {rate} ({spread}{how}){unknown}."
            )
        }
        AtLimit::CannotTell => format!(
            "{whose}: the next limit is {what}; inconclusive whether it lies within {bound} × {load}, {rate} ({how}){unknown}."
        ),
        AtLimit::Reached => {
            let used = words::percent(next.used, OF_TIMES);
            format!("{whose}: the next limit is {what}: {used} is used at {load} already, {rate}{unknown}.")
        }
        AtLimit::NotWithin => format!(
            "{whose}: nothing that was judged is used up within {bound} × {load}, {rate}; the nearest is {what} ({how}){unknown}."
        ),
        AtLimit::OneLoad => return None,
    })
}

/// The resources that may be the next limit as well.
fn not_judged(demand: &Demand) -> String {
    let kinds: Vec<String> = demand.not_judged.iter().map(|kind| words::limit(*kind).to_owned()).collect();
    if kinds.is_empty() { String::new() } else { format!("; not judged: {}", words::list(&kinds)) }
}

fn is_declared(kind: LimitKind) -> bool {
    matches!(kind, LimitKind::Disk | LimitKind::Network | LimitKind::Link)
}

/// What the multiple rests on.
fn how(of: &ResourceDemand) -> String {
    format!("a line through {} at {}", units::plural(of.trials, "trial"), units::plural(of.loads, "load"))
}

/// `1.14 × (1.11 – 1.17, 95 % confidence)`.
fn times(at: AtLimit) -> Option<String> {
    let AtLimit::At { times, .. } = at else { return None };
    let spread = spread(at).map_or_else(String::new, |spread| format!(" ({spread})"));
    Some(format!("{} ×{spread}", digits::decimals(times, OF_TIMES)))
}

/// Where a multiple lies. An end at the bound may be any beyond.
fn spread(at: AtLimit) -> Option<String> {
    let AtLimit::At { interval: Interval::Bounds { low, high, level, .. }, .. } = at else { return None };
    let end = |times: f64| match times < Demand::PREDICTED_MAX {
        true => digits::decimals(times, OF_TIMES),
        false => format!("{} or more", bound()),
    };
    let level = digits::named((level * 1_000.0).round() / 10.0);
    Some(format!("{} – {}, {level} % confidence", end(low), end(high)))
}

fn bound() -> String {
    digits::named(Demand::PREDICTED_MAX)
}

fn time(ns: f64) -> String {
    units::number(ns, Unit::Ns)
}
