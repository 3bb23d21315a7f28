//! Requests per second and what they took, over time, as a command reported them.

use kdyno_model::event::Subject;
use kdyno_model::evidence::TrialEvidence;
use kdyno_model::plan::OutputFormat;
use kdyno_model::plan::command::{COURSES, series};
use kdyno_model::series::{ImportedPoint, ImportedSeries};
use std::collections::BTreeMap;

/// What every command, and every label of one that is reported by itself, did over time.
pub(crate) fn courses(evidence: &TrialEvidence) -> Vec<ImportedSeries> {
    let commands = evidence.start.trial.effective.commands.iter();
    let named = commands.flat_map(|(item, command)| {
        // Kafka's tools print what came since the line before, every few seconds.
        let parse = command.parse.as_ref();
        let is_of_intervals = parse.is_some_and(|parse| parse.format == OutputFormat::PerfTest);
        std::iter::once(item.as_str()).chain(command.labels()).map(move |name| (name, is_of_intervals))
    });
    named.flat_map(|(name, is_of_intervals)| courses_of(evidence, name, is_of_intervals)).collect()
}

fn courses_of(evidence: &TrialEvidence, item: &str, is_of_intervals: bool) -> Vec<ImportedSeries> {
    let subject = Subject::Item(item.to_owned());
    let reported = |series: &str| {
        let own = evidence.probes.iter().filter(|one| one.subject == subject && one.series == series);
        let mut totals: Vec<(f64, f64)> = own.map(|one| (one.at_ns as f64 / 1e9, one.value)).collect();
        totals.sort_by(|a, b| a.0.total_cmp(&b.0));
        totals
    };
    let mut totals = reported(series::REQUESTS_TOTAL);
    // The last one is of the whole command, seconds or not.
    totals.pop();
    let rates = if is_of_intervals { of_intervals(&totals) } else { of_seconds(&totals) };
    let times = mean_times_ns(&totals, &reported(series::RESPONSE_S_TOTAL));
    let named = COURSES.into_iter().zip([rates, times]).filter(|(_, points)| !points.is_empty());
    named
        .map(|((name, unit, _), points)| ImportedSeries {
            subject: subject.clone(),
            name: name.to_owned(),
            unit,
            points,
        })
        .collect()
}

/// What the requests that began in each second took on average, ns, of how many there were up to its end and what they took
/// together, s. A second without one has no point.
fn mean_times_ns(requests: &[(f64, f64)], took_s: &[(f64, f64)]) -> Vec<ImportedPoint> {
    // Both are reported at the same instants; where one of them is missing there is no point.
    let counted: BTreeMap<u64, f64> =
        requests.iter().map(|(at_s, requests)| (at_s.to_bits(), *requests)).collect();
    let mut before = (0.0, 0.0);
    let mut points = Vec::new();
    for &(at_s, took_s) in took_s {
        let Some(&requests) = counted.get(&at_s.to_bits()) else { continue };
        let (more, took_more_s) = (requests - before.0, took_s - before.1);
        if more > 0.0 {
            points.push(ImportedPoint { at_s, value: took_more_s.max(0.0) / more * 1e9 });
        }
        before = (requests, took_s);
    }
    points
}

/// Figures of each interval since the one before; where the first one began is not reported.
fn of_intervals(totals: &[(f64, f64)]) -> Vec<ImportedPoint> {
    let pairs = totals.windows(2).filter(|pair| pair[1].0 > pair[0].0);
    let point = |pair: &[(f64, f64)]| {
        let per_s = (pair[1].1 - pair[0].1).max(0.0) / (pair[1].0 - pair[0].0);
        ImportedPoint { at_s: pair[1].0, value: per_s }
    };
    pairs.map(point).collect()
}

/// Figures of each second in which there was something.
fn of_seconds(totals: &[(f64, f64)]) -> Vec<ImportedPoint> {
    let mut points = Vec::new();
    let mut before: Option<(f64, f64)> = None;
    for &(at_s, total) in totals {
        // A second without a report had nothing.
        if let Some((before_s, _)) = before
            && at_s - before_s > 1.5
        {
            points.extend([before_s + 1.0, at_s - 1.0].map(|at_s| ImportedPoint { at_s, value: 0.0 }));
        }
        let counted = total - before.map_or(0.0, |(_, total)| total);
        points.push(ImportedPoint { at_s, value: counted.max(0.0) });
        before = Some((at_s, total));
    }
    points
}
