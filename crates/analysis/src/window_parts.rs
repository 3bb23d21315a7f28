//! How far the parts of a trial's window lie apart: all that one trial knows of its own spread.

use crate::error::AnalysisError;
use crate::evidence::{Window, streams_of};
use crate::histogram::Distribution;
use crate::rows::{Item, Trial};
use crate::tally::unfinished;
use kdyno_model::conclusion::{PartsOf, WindowParts};
use kdyno_model::finding::Value;
use kdyno_model::metric::{Address, QUANTILES};
use kdyno_model::sample::{Counts, Grain, Timing};

/// A window is cut into so many parts of whole seconds, one of fewer seconds into these.
const PARTS_MAX: u32 = 10;

/// Of so many at least.
const PARTS_MIN: u32 = 5;

/// Longest window that is cut, s: its histograms take time to read.
const WINDOW_S_MAX: u32 = 600;

/// What seconds know of one part.
#[derive(Default)]
struct Part {
    counts: Counts,
    latencies: Distribution,
    unfinished: u64,
}

/// The smallest and the largest figure among the parts of the window, of what seconds know: rates of items, and quantiles of
/// responses or of consumers end to end. Left out where the window is shorter than five seconds, or the figure is 0 in a part.
///
/// # Errors
/// When a stored histogram is damaged.
pub(crate) fn of(trial: &Trial<'_>) -> Result<Option<WindowParts>, AnalysisError> {
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

fn of_item(trial: &Trial<'_>, item: &Item<'_>, window: Window) -> Result<Vec<PartsOf>, AnalysisError> {
    let produces = item.plan.role.as_produce().is_some();
    let timing = if produces { Timing::Response } else { Timing::EndToEnd };
    let parts = parts(trial, item, window, timing)?;
    let seconds = |part: u32| f64::from(start(window, part + 1) - start(window, part));
    let rate = |count: fn(&Counts) -> u64| {
        parts.iter().zip(0..).map(|(part, at)| count(&part.counts) as f64 / seconds(at)).collect::<Vec<_>>()
    };
    let (rate_name, rates) = if produces {
        ("acked_per_s", rate(|counts| counts.acknowledged))
    } else {
        ("fetched_per_s", rate(|counts| counts.fetched))
    };
    let mut found = vec![(rate_name.to_owned(), rates)];
    // Of a record without an end nobody knows how long it would have taken.
    if parts.iter().all(|part| part.unfinished == 0) {
        for (name, rank) in QUANTILES {
            let of_part = |part: &Part| match part.latencies.quantile(*rank) {
                Value::Is(ns) => ns,
                Value::AtLeast(_) | Value::None => f64::NAN,
            };
            found.push((format!("{timing}.{name}"), parts.iter().map(of_part).collect()));
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

fn parts(
    trial: &Trial<'_>,
    item: &Item<'_>,
    window: Window,
    timing: Timing,
) -> Result<Vec<Part>, AnalysisError> {
    let streams = streams_of(trial.evidence, item.name);
    let mut parts: Vec<Part> =
        std::iter::repeat_with(Part::default).take(parts_of(window) as usize).collect();
    let rows = trial.evidence.samples.iter().filter(|row| row.grain == Grain::Second);
    for row in rows.filter(|row| streams.contains(&row.id)) {
        if let Some(part) = part_of(window, row.written_second).and_then(|at| parts.get_mut(at)) {
            part.counts.add(&row.counts);
        }
        if let Some(part) = part_of(window, row.t0_second).and_then(|at| parts.get_mut(at)) {
            part.unfinished = part.unfinished.saturating_add(unfinished(&row.counts));
            if let Some(bytes) = row.histograms.get(&timing) {
                part.latencies.add_histogram(bytes)?;
            }
        }
    }
    Ok(parts)
}

fn parts_of(window: Window) -> u32 {
    (window.end_second - window.first_second).min(PARTS_MAX)
}

/// The first second of a part.
fn start(window: Window, part: u32) -> u32 {
    window.first_second + (window.end_second - window.first_second) * part / parts_of(window)
}

/// The part that a second lies in.
fn part_of(window: Window, second: u32) -> Option<usize> {
    let at = (0..parts_of(window))
        .find(|part| (start(window, *part)..start(window, part + 1)).contains(&second))?;
    Some(at as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_second_of_a_window_lies_in_one_of_its_parts() {
        for (length, last) in [(5, 4), (9, 8), (10, 9), (19, 9), (60, 9), (600, 9)] {
            let window = Window { first_second: 3, end_second: 3 + length };
            let parts: Vec<usize> = (3..3 + length).filter_map(|second| part_of(window, second)).collect();
            assert_eq!(parts.len(), length as usize);
            assert!(
                parts.is_sorted() && parts.first() == Some(&0) && parts.last() == Some(&last),
                "{parts:?}"
            );
            assert_eq!((part_of(window, 2), part_of(window, 3 + length)), (None, None));
        }
    }
}
