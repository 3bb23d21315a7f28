//! How far the parts of a trial's window lie apart: all that one trial knows of its own spread.

use crate::error::AnalysisError;
use crate::evidence::{Window, streams_of};
use crate::few_seconds::{Seconds, WINDOW_S_MAX, grouped, headline};
use crate::rows::{ItemRows, TrialRows};
use kdyno_model::conclusion::{PartsOf, WindowParts};
use kdyno_model::finding::Value;
use kdyno_model::metric::{Address, QUANTILES};
use kdyno_model::sample::{Counts, Grain};

/// A window is cut into so many parts of whole seconds, one of fewer seconds into these.
const PARTS_MAX: u32 = 10;

/// Quantiles of so many at least.
const PARTS_MIN: u32 = 5;

/// The smallest and the largest figure among the parts of the window, of what seconds know: rates of items, and quantiles of
/// responses or of consumers end to end. Left out where the window is shorter than five seconds, or the figure is 0 in a part.
///
/// # Errors
/// When a stored histogram is damaged.
pub(crate) fn of(trial: &TrialRows<'_>) -> Result<Option<WindowParts>, AnalysisError> {
    let mut of = Vec::new();
    for item in &trial.items {
        if let Some(window) = item.window
            && (PARTS_MIN..=WINDOW_S_MAX).contains(&(window.end_second - window.first_second))
        {
            of.extend(of_item(trial, item, window)?);
        }
    }
    Ok((!of.is_empty()).then(|| WindowParts { scope: trial.scope(), of }))
}

fn of_item(
    trial: &TrialRows<'_>,
    item: &ItemRows<'_>,
    window: Window,
) -> Result<Vec<PartsOf>, AnalysisError> {
    let counts = counts(trial, item, window);
    let seconds = |part: u32| f64::from(start(window, part + 1) - start(window, part));
    let rate = |count: fn(&Counts) -> u64| {
        counts.iter().zip(0..).map(|(counts, at)| count(counts) as f64 / seconds(at)).collect::<Vec<_>>()
    };
    let (rate_name, rates) = if item.plan.role.as_produce().is_some() {
        ("acked_per_s", rate(|counts| counts.acknowledged))
    } else {
        ("fetched_per_s", rate(|counts| counts.fetched))
    };
    let mut found = vec![(rate_name.to_owned(), rates)];
    let parts = grouped(trial, item, |second| part_of(window, second))?;
    // How long a record without an end would have taken is unknown, and so is everything of a part without records.
    if parts.len() == counts.len() && parts.values().all(|part| part.unfinished == 0) {
        for (name, rank) in QUANTILES {
            let of_part = |part: &Seconds| match part.finished.quantile(*rank) {
                Value::Is(ns) => ns,
                Value::AtLeast(_) | Value::None => f64::NAN,
            };
            found.push((format!("{}.{name}", headline(item)), parts.values().map(of_part).collect()));
        }
    }
    let stated = |(metric, values): (String, Vec<f64>)| {
        if !values.iter().all(|value| *value > 0.0) {
            return None;
        }
        let of = Address { subject: item.name.to_owned(), metric };
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(0.0, f64::max);
        Some(PartsOf { of, low, high })
    };
    Ok(found.into_iter().filter_map(stated).collect())
}

/// What was written in each part.
fn counts(trial: &TrialRows<'_>, item: &ItemRows<'_>, window: Window) -> Vec<Counts> {
    let streams = streams_of(trial.evidence, item.name);
    let mut parts = vec![Counts::default(); parts_of(window) as usize];
    let rows = trial.evidence.samples.iter().filter(|row| row.grain == Grain::Second);
    for row in rows.filter(|row| streams.contains(&row.id)) {
        let part = part_of(window, row.written_second).and_then(|at| parts.get_mut(at as usize));
        if let Some(part) = part {
            part.add(&row.counts);
        }
    }
    parts
}

fn parts_of(window: Window) -> u32 {
    (window.end_second - window.first_second).min(PARTS_MAX)
}

/// The first second of a part.
fn start(window: Window, part: u32) -> u32 {
    window.first_second + (window.end_second - window.first_second) * part / parts_of(window)
}

/// The part that a second lies in.
fn part_of(window: Window, second: u32) -> Option<u32> {
    (0..parts_of(window)).find(|part| (start(window, *part)..start(window, part + 1)).contains(&second))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_second_of_a_window_lies_in_one_of_its_parts() {
        for (length, last) in [(5, 4), (9, 8), (10, 9), (19, 9), (60, 9), (600, 9)] {
            let window = Window { first_second: 3, end_second: 3 + length };
            let parts: Vec<u32> = (3..3 + length).filter_map(|second| part_of(window, second)).collect();
            assert_eq!(parts.len(), length as usize);
            assert!(
                parts.is_sorted() && parts.first() == Some(&0) && parts.last() == Some(&last),
                "{parts:?}"
            );
            assert_eq!((part_of(window, 2), part_of(window, 3 + length)), (None, None));
        }
    }
}
