//! Series that somebody else measured: from a file of theirs to readings on a trial's time line, and what they came to in
//! its window. Those of MBeans that a plan names are treated alike: of both kdyno only knows the name.

mod quotes;
mod table;
pub(crate) mod time;

pub use table::{
    COLUMNS_MAX, FILE_BYTES_MAX, ImportOptions, ImportedColumn, ImportedTable, ROWS_MAX, TableError, read,
};

use crate::evidence;
use kdyno_model::event::Subject;
use kdyno_model::evidence::TrialEvidence;
use kdyno_model::finding::{Finding, Interval, NotResolvable, Quantity, Scope, Value};
use kdyno_model::imported;
use kdyno_model::mbean;
use kdyno_model::metric::{Address, Unit};
use kdyno_model::probe::ProbeReading;
use kdyno_model::sample::Phase;
use kdyno_model::series::{ImportedPoint, ImportedSeries};
use std::collections::{BTreeMap, BTreeSet};

/// Readings before T0 and after the measure phase that are also kept, ns: one of a minute's step each.
const MARGIN_NS: i64 = 60_000_000_000;

/// A trial's part of the columns, as readings of `subject` in order of time.
pub fn readings(
    evidence: &TrialEvidence,
    subject: &Subject,
    columns: &[ImportedColumn],
) -> Vec<ProbeReading> {
    let t0_ns = evidence.start.t0_unix_ns.cast_signed();
    let end_ns =
        evidence.span(Phase::Measure).map_or(0, |span| i64::try_from(span.end_ns).unwrap_or(i64::MAX));
    let end_ns = end_ns.saturating_add(MARGIN_NS);
    let mut found = Vec::new();
    for column in columns {
        let series = imported::series(column.unit, &column.name);
        for (at_ns, value) in &column.points {
            let at_ns = at_ns.saturating_sub(t0_ns);
            if (-MARGIN_NS..end_ns).contains(&at_ns) {
                let (subject, series) = (subject.clone(), series.clone());
                found.push(ProbeReading { at_ns, subject, series, value: *value });
            }
        }
    }
    found.sort_by_key(|reading| reading.at_ns);
    found
}

/// Means over the window of what was imported into a trial, and of MBeans that the plan names, of series that have a reading in
/// it.
pub fn findings(evidence: &TrialEvidence) -> Vec<Finding> {
    let Some(window) = evidence::window(evidence) else { return Vec::new() };
    let span = i64::from(window.first_second) * 1_000_000_000..i64::from(window.end_second) * 1_000_000_000;
    let mut found = Vec::new();
    for series in all(evidence) {
        let inside = series.points.iter().filter(|point| span.contains(&((point.at_s * 1e9) as i64)));
        let values: Vec<f64> = inside.map(|point| point.value).collect();
        let Some(first) = values.first() else { continue };
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let range =
            values.iter().fold((*first, *first), |(low, high), value| (low.min(*value), high.max(*value)));
        found.push(Finding {
            scope: Scope::Trial(evidence.start.trial.id),
            of: Address { subject: series.subject.to_string(), metric: series.name },
            quantity: Quantity::Value,
            unit: series.unit,
            estimate: Value::Is(mean),
            n: u32::try_from(values.len()).unwrap_or(u32::MAX),
            range: (values.len() > 1).then_some((Value::Is(range.0), Value::Is(range.1))),
            interval: Interval::NotResolvable(NotResolvable::OneTrial),
            marks: BTreeSet::new(),
        });
    }
    found
}

/// Unit and name of a reading that was imported, or is of an MBean that the plan names.
fn named(reading: &ProbeReading) -> Option<(Unit, &str)> {
    match reading.subject {
        Subject::Imported(_) => imported::of_series(&reading.series),
        // What it counts is not known.
        Subject::Broker(_) if mbean::is_series(&reading.series) => {
            Some((Unit::Count, reading.series.as_str()))
        }
        _ => None,
    }
}

/// What was imported into a trial, and MBeans that the plan names, series by series in order of their names.
pub(crate) fn all(evidence: &TrialEvidence) -> Vec<ImportedSeries> {
    let mut found: BTreeMap<(String, &str), ImportedSeries> = BTreeMap::new();
    for reading in &evidence.probes {
        let Some((unit, name)) = named(reading) else { continue };
        let entry = found.entry((reading.subject.to_string(), &reading.series));
        let series = entry.or_insert_with(|| ImportedSeries {
            subject: reading.subject.clone(),
            name: name.to_owned(),
            unit,
            points: Vec::new(),
        });
        series.points.push(ImportedPoint { at_s: reading.at_ns as f64 / 1e9, value: reading.value });
    }
    let in_order = |mut series: ImportedSeries| {
        series.points.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
        series
    };
    found.into_values().map(in_order).collect()
}
