//! The series of one point per second behind a trial's figures.

use crate::cpu;
use crate::error::AnalysisError;
use crate::evidence::{items, streams_of};
use crate::histogram::LatencyDistribution;
use crate::tally::{failed, unfinished, waited_ns};
use kdyno_model::event::Subject;
use kdyno_model::evidence::TrialEvidence;
use kdyno_model::finding::Value;
use kdyno_model::plan::{LoadPlan, Rate};
use kdyno_model::sample::{Grain, Sample, Timing};
use std::collections::BTreeMap;
use std::ops::Range;

const US_PER_S: f64 = 1e6;

/// Share of a series' seconds that must have a value.
const KNOWN_SHARE_MIN: f64 = 0.8;

/// Seconds whose median response is worked out, at most about; in a longer series every so many-th second represents
/// those after it too, since an hour of histograms takes seconds to read.
const MEDIANS_MAX: usize = 600;

/// Which second a latency belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SecondOf {
    /// That of the records' t0, as in every figure.
    Intent,
    /// That of the outcome: of a trial under way the latencies of what was intended just now are not known.
    Outcome,
}

/// Rows of a second's grain of one item.
fn rows<'a>(evidence: &'a TrialEvidence, item: &str) -> impl Iterator<Item = &'a Sample> {
    let streams = streams_of(evidence, item);
    evidence.samples.iter().filter(move |row| row.grain == Grain::Second && streams.contains(&row.id))
}

/// Records acknowledged in each second; of an item that consumes, fetched.
pub(crate) fn rate(evidence: &TrialEvidence, name: &str, seconds: Range<u32>) -> Vec<f64> {
    per_second(seconds, rows(evidence, name).map(|row| (row.written_second, served(row))))
}

/// One of the two is 0: an item produces or consumes.
fn served(row: &Sample) -> u64 {
    row.counts.acknowledged.saturating_add(row.counts.fetched)
}

/// Sums by second.
fn per_second(seconds: Range<u32>, counts: impl Iterator<Item = (u32, u64)>) -> Vec<f64> {
    let mut sums = vec![0u64; seconds.len()];
    for (second, count) in counts.filter(|(second, _)| seconds.contains(second)) {
        let sum = &mut sums[(second - seconds.start) as usize];
        *sum = sum.saturating_add(count);
    }
    sums.into_iter().map(|sum| sum as f64).collect()
}

/// Median response of each second, ns; of a trial that has ended only where it is no lower bound.
///
/// # Errors
/// When a stored histogram is damaged.
pub(crate) fn response_p50(
    evidence: &TrialEvidence,
    name: &str,
    seconds: Range<u32>,
    of: SecondOf,
) -> Result<Vec<Option<f64>>, AnalysisError> {
    let mut held: BTreeMap<u32, Vec<&Sample>> = BTreeMap::new();
    for row in rows(evidence, name) {
        let second = match of {
            SecondOf::Intent => row.t0_second,
            SecondOf::Outcome => row.written_second,
        };
        if seconds.contains(&second) {
            held.entry(second).or_default().push(row);
        }
    }
    let median = |second: u32| {
        let mut response = LatencyDistribution::new();
        for row in held.get(&second).into_iter().flatten() {
            if let Some(bytes) = row.histograms.get(&Timing::Response) {
                response.add_histogram(bytes)?;
            }
            response.add_unfinished(unfinished(&row.counts), waited_ns(row.t0_second, row.written_second));
        }
        Ok::<_, AnalysisError>(match response.quantile(0.5) {
            Value::Is(ns) => Some(ns),
            // In the end half of that second's records were open: for how long is a matter of when the trial ended, a
            // second less for each later second. In a trial under way it is a queue that grows.
            Value::AtLeast(ns) => (of == SecondOf::Outcome).then_some(ns),
            Value::None => None,
        })
    };
    let apart = seconds.len().div_ceil(MEDIANS_MAX);
    let mut last = None;
    let mut medians = Vec::with_capacity(seconds.len());
    for (at, second) in seconds.enumerate() {
        if at % apart == 0 {
            last = median(second)?;
        }
        medians.push(last);
    }
    Ok(medians)
}

/// Records that were open at the end of each second since T0, in seconds of the load that was offered on average.
pub(crate) fn queue_s(evidence: &TrialEvidence, name: &str, seconds: u32) -> Vec<f64> {
    let offered = per_second(0..seconds, rows(evidence, name).map(|row| (row.t0_second, row.counts.offered)));
    let settled = |row: &Sample| {
        let counts = &row.counts;
        counts.acknowledged.saturating_add(failed(counts)).saturating_add(counts.unresolved)
    };
    let settled = per_second(0..seconds, rows(evidence, name).map(|row| (row.written_second, settled(row))));
    let per_s = offered.iter().sum::<f64>() / f64::from(seconds.max(1));
    if per_s <= 0.0 {
        return Vec::new();
    }
    let mut open = 0.0;
    let mut queue = |(offered, settled): (&f64, &f64)| {
        open += offered - settled;
        open / per_s
    };
    offered.iter().zip(&settled).map(&mut queue).collect()
}

/// CPU time of the brokers per record that the whole cluster served in each second, µs. `None` unless every broker
/// was probed.
pub(crate) fn brokers_cpu_us_per_record(
    evidence: &TrialEvidence,
    brokers: &[Subject],
    seconds: Range<u32>,
) -> Vec<Option<f64>> {
    let produces = items(evidence).any(|(_, item)| item.role.as_produce().is_some());
    let mut records = vec![0.0; seconds.len()];
    for (name, _) in items(evidence).filter(|(_, item)| item.role.as_produce().is_some() == produces) {
        for (sum, count) in records.iter_mut().zip(rate(evidence, name, seconds.clone())) {
            *sum += count;
        }
    }
    let of_each =
        brokers.iter().map(|broker| cpu::per_second_s(&evidence.probes, broker, seconds.start, seconds.end));
    let of_each: Vec<Vec<Option<f64>>> = of_each.collect();
    let per_record = |(at, records): (usize, &f64)| {
        let used_s: f64 = of_each.iter().map(|broker| broker[at]).sum::<Option<f64>>()?;
        (*records > 0.0 && !brokers.is_empty()).then_some(US_PER_S * used_s / records)
    };
    records.iter().enumerate().map(per_record).collect()
}

/// A series in which a second without a value has the one before it (the first ones: the first there is). `None` when
/// too many have none.
pub(crate) fn filled(points: &[Option<f64>]) -> Option<Vec<f64>> {
    let known = points.iter().flatten().count();
    if known == 0 || (known as f64) < KNOWN_SHARE_MIN * points.len() as f64 {
        return None;
    }
    let mut last = points.iter().flatten().copied().next()?;
    let mut fill = |point: &Option<f64>| {
        last = point.unwrap_or(last);
        last
    };
    Some(points.iter().map(&mut fill).collect())
}

/// Whether the load is meant to stay as it is: what a schedule changes is no drift, and neither is what items change that
/// come and go.
pub(crate) fn is_constant(evidence: &TrialEvidence) -> bool {
    items(evidence).all(|(_, item)| item.span.is_whole() && has_one_rate(item))
}

/// Whether an item is meant to offer the same from its beginning to its end.
pub(crate) fn has_one_rate(item: &LoadPlan) -> bool {
    match rate_of(item) {
        Some(Rate::Open { pieces, .. }) => {
            let first = pieces.first().map_or(0.0, |piece| piece.from_per_s);
            pieces.iter().all(|piece| piece.from_per_s == first && piece.to_per_s == first)
        }
        Some(Rate::Max { .. }) | None => true,
    }
}

fn rate_of(item: &LoadPlan) -> Option<&Rate> {
    item.role.as_produce().map(|plan| &plan.rate)
}
