//! What a response is without the load generator's own lateness: it is printed next to a figure if that is a good part
//! of it.

use crate::case_table::CaseTable;
use crate::figures::FindingIndex;
use crate::{digits, marks};
use kdyno_model::concern::timing;
use kdyno_model::finding::{Finding, Scope, Value};
use kdyno_model::metric::Address;
use kdyno_model::sample::Timing;
use kdyno_model::trial::Trial;

/// Share of a response from which on the load generator's part is printed.
const SHARE_MIN: f64 = 0.2;
/// Figures that a note names at most; of more it says how many they are.
const NAMED_MAX: usize = 8;

/// The statistic of the same scope without the generator, where that is lower by a fifth or more.
fn without<'a>(figures: &FindingIndex<'a>, scope: Scope, of: &Address) -> Option<&'a Finding> {
    let (_, statistic) = timing(&of.metric).filter(|(timing, _)| *timing == Timing::Response)?;
    let metric = format!("{}.{statistic}", Timing::WithoutGenerator);
    let get = |metric: &str| figures.value(scope, &of.subject, metric);
    let without = get(&metric)?;
    // With two bounds no share is known.
    match (get(&of.metric)?.estimate, without.estimate) {
        (Value::Is(response), Value::Is(own)) if response > 0.0 && 1.0 - own / response >= SHARE_MIN => {
            Some(without)
        }
        _ => None,
    }
}

/// What follows a figure where it is alone: ` (16.2 ms without the load generator)`; empty where there is nothing to
/// say.
pub(crate) fn clause(figures: &FindingIndex<'_>, scope: Scope, of: &Address) -> String {
    words(figures, scope, of).map_or_else(String::new, |words| format!(" ({words})"))
}

/// `16.2 ms without the load generator`; `None` where there is nothing to say.
pub(crate) fn words(figures: &FindingIndex<'_>, scope: Scope, of: &Address) -> Option<String> {
    without(figures, scope, of).map(|one| format!("{} without the load generator", text(one)))
}

fn text(one: &Finding) -> String {
    marks::marked(&one.marks, digits::with_spread(one))
}

/// The note under a table of cases in which there are such figures.
pub(crate) fn of_cases(figures: &FindingIndex<'_>, table: &CaseTable<'_>) -> Option<String> {
    let mut named = Vec::new();
    for row in &table.rows {
        let Some(case) = row.case else { continue };
        for metric in &table.metrics {
            let Some(one) = without(figures, Scope::Case(case), &metric.of) else { continue };
            let with = if row.label.is_empty() { String::new() } else { format!(" with {}", row.label) };
            named.push(format!("{} {}{with}", metric.of, text(one)));
        }
    }
    note(&named)
}

/// The note under tables of trials, for the metrics that they show.
pub(crate) fn of_trials<'a>(
    figures: &FindingIndex<'_>,
    streams: impl Iterator<Item = (&'a Trial, &'a str)>,
    shown: &[&str],
) -> Option<String> {
    let mut named = Vec::new();
    for (trial, stream) in streams {
        let id = trial.id;
        let trial = if trial.label.is_empty() { String::new() } else { format!(" in trial {id}") };
        for metric in shown {
            let of = Address { subject: stream.to_owned(), metric: (*metric).to_owned() };
            let one = without(figures, Scope::Trial(id), &of);
            named.extend(one.map(|one| format!("{of} {}{trial}", text(one))));
        }
    }
    note(&named)
}

fn note(reported: &[String]) -> Option<String> {
    let more = match reported.len().saturating_sub(NAMED_MAX) {
        0 => String::new(),
        more => format!("; {more} more are in the JSON document"),
    };
    let named = reported.get(..NAMED_MAX).unwrap_or(reported).join("; ");
    let text =
        format!("Without the load generator's own delay, which is a fifth of them or more: {named}{more}.");
    (!reported.is_empty()).then_some(text)
}
