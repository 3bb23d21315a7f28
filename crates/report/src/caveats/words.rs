//! The words of a caveat's row, with its values in the places of their names.

use crate::{digits, units};
use kdyno_model::caveat::{Caveat, CaveatRow};
use kdyno_model::concern::rank;
use kdyno_model::event::Subject;
use kdyno_model::metric::Unit;
use serde_json::{Map, Value};

/// Most names that a caveat lists; of more it says how many they are.
const NAMES_MAX: usize = 6;

/// What is said of one caveat, or of several of one kind: a sentence and what to do. Each number is shown as its range,
/// and the names of load items, or topics, as a list.
pub(super) fn said(caveats: &[&Caveat]) -> (String, &'static str) {
    let Some((row, values)) = together(caveats) else { return (String::new(), "") };
    let words = row.words_of(caveats);
    // A test fills the words of every row; what they lack would still be shown by name.
    (filled(words.sentence, &values).unwrap_or_else(|| row.kind.to_string()), words.remedy)
}

/// The caveats in one line.
pub(super) fn short(caveats: &[&Caveat]) -> String {
    let Some((row, values)) = together(caveats) else { return String::new() };
    filled(row.short, &values).unwrap_or_else(|| row.kind.to_string())
}

/// The row of some caveats of one kind and the values of each, all of them with the names of all.
fn together(caveats: &[&Caveat]) -> Option<(&'static CaveatRow, Vec<CaveatValues>)> {
    let row = caveats.first()?.row();
    let mut values: Vec<CaveatValues> = caveats.iter().map(|one| CaveatValues::of(one)).collect();
    let mut names: Vec<String> = Vec::new();
    for name in values.iter().filter_map(|one| one.text(row.name)) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let names = list(&names);
    values.iter_mut().for_each(|one| one.rename(row.name, &names));
    Some((row, values))
}

/// Whom a caveat is of, with a name in the place of its load item's or topic's, and what to do about it.
pub(super) fn whom(caveat: &Caveat, name: Option<&str>) -> (String, &'static str) {
    let (row, mut values) = (caveat.row(), CaveatValues::of(caveat));
    if let Some(name) = name {
        values.rename(row.name, name);
    }
    let words = row.words_of(&[caveat]);
    (filled(words.of, &[values]).unwrap_or_default(), words.remedy)
}

fn list(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] if names.len() <= NAMES_MAX => format!("{} and {last}", first.join(", ")),
        _ => format!("{} and {} more", names[..NAMES_MAX].join(", "), names.len() - NAMES_MAX),
    }
}

/// What a caveat holds, by the names that run files have for it.
pub(super) struct CaveatValues(Map<String, Value>);

impl CaveatValues {
    pub(super) fn of(caveat: &Caveat) -> Self {
        match serde_json::to_value(caveat) {
            Ok(Value::Object(values)) => Self(values),
            _ => Self(Map::new()),
        }
    }

    fn rename(&mut self, name: &str, to: &str) {
        if let Some(value) = self.0.get_mut(name) {
            *value = Value::from(to);
        }
    }

    pub(super) fn text(&self, name: &str) -> Option<String> {
        match self.0.get(name)? {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        }
    }

    /// A number, the rank of a quantile, or a difference.
    fn number(&self, name: &str) -> Option<f64> {
        if let Some((of, less)) = name.split_once(" - ") {
            return Some((self.number(of)? - self.number(less)?).max(0.0));
        }
        match self.0.get(name)? {
            Value::String(quantile) => rank(quantile),
            number => number.as_f64(),
        }
    }
}

/// A text with the values of these caveats in the places of their names; `None`: one is not there, or in a form that is not known.
pub(super) fn filled(text: &str, of: &[CaveatValues]) -> Option<String> {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, place)) = rest.split_once('{') {
        let (place, after) = place.split_once('}')?;
        filled.push_str(before);
        filled.push_str(&value(place, of)?);
        rest = after;
    }
    Some(filled + rest)
}

/// A value's placeholder: `name`, or `name:form`, or for its highest `name:form_most`.
fn value(place: &str, of: &[CaveatValues]) -> Option<String> {
    let (name, form) = place.split_once(':').unwrap_or((place, "text"));
    let first = || of.first()?.text(name);
    match form {
        "text" => first(),
        "words" => Some(first()?.replace('_', " ")),
        "subject" => Some(first()?.parse::<Subject>().ok()?.to_string()),
        // What one caveat says in words of its own; for several reported together the first one's.
        "first" if of.len() > 1 => Some(format!("the first: {}", first()?)),
        "first" => first(),
        // A quantile, or the mean, which has no rank.
        "statistic" => range(name, of).map(|range| printed(range, quantile)).or_else(first),
        _ => {
            let range = range(name, of)?;
            if let Some(form) = form.strip_suffix("_most") {
                return Some(print(form)?(range.1));
            }
            match form.split_once('|') {
                Some((one, more)) => {
                    let count = printed(range, units::count);
                    let noun = if count == "1" { one } else { more };
                    Some(format!("{count} {noun}"))
                }
                None => Some(printed(range, print(form)?)),
            }
        }
    }
}

/// How a number is printed.
fn print(form: &str) -> Option<fn(f64) -> String> {
    Some(match form {
        "count" => units::count,
        "percent" => |share| format!("{} %", units::significant(share * 100.0)),
        "cores" => |percent| units::number(percent, Unit::PercentOfCore),
        "processors" => units::processors,
        "ns" => units::nanoseconds,
        "seconds" => |seconds| units::nanoseconds(seconds * 1e9),
        // A time that is not negative.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        "duration" => |ns| units::duration(ns as u64),
        "quantile" => quantile,
        "ratio" => units::significant,
        _ => return None,
    })
}

fn quantile(rank: f64) -> String {
    format!("p{}", digits::named(100.0 * rank))
}

/// Smallest and largest of a number over several caveats.
fn range(name: &str, of: &[CaveatValues]) -> Option<(f64, f64)> {
    let each = of.iter().filter_map(|one| one.number(name));
    each.map(|one| (one, one)).reduce(|(low, high), (one, _)| (low.min(one), high.max(one)))
}

fn printed((low, high): (f64, f64), print: fn(f64) -> String) -> String {
    let (low, high) = (print(low), print(high));
    if low == high { low } else { format!("{low} to {high}") }
}
