//! One trial's course over time, for charts.

use crate::commands;
use crate::cpu;
use crate::end_to_end;
use crate::error::AnalysisError;
use crate::evidence::{NS_PER_S, items, streams_of, whole_until};
use crate::heat::Heat;
use crate::histogram::LatencyDistribution;
use crate::imported;
use crate::lag::{Lag, WrittenRecords};
use crate::latencies::measured_latencies;
use crate::logs;
use crate::resources;
use crate::tally::{failed, unfinished, waited_ns};
use kdyno_model::event::Subject;
use kdyno_model::evidence::TrialEvidence;
use kdyno_model::finding::Value;
use kdyno_model::plan::LoadPlan;
use kdyno_model::sample::{Counts, Grain, Phase, Sample, Timing};
use kdyno_model::series::{CpuSeries, Outcomes, QuantilePoint, SecondPoint, StreamSeries, TrialSeries};
use kdyno_model::worker::PhaseSpan;
use std::collections::BTreeMap;

/// Points of the percentile curve for each halving of the distance to 1, as HdrHistogram prints it.
const POINTS_PER_HALVING: u32 = 5;

/// Halvings at most: 2⁻⁴⁰ is beyond any count of records.
const HALVINGS_MAX: i32 = 40;

/// A trial's series.
///
/// # Errors
/// When a stored histogram is damaged.
pub fn trial(evidence: &TrialEvidence) -> Result<TrialSeries, AnalysisError> {
    let streams = items(evidence)
        .map(|(name, item)| stream(evidence, name, item))
        .collect::<Result<_, AnalysisError>>()?;
    Ok(TrialSeries {
        trial: evidence.start.trial.id,
        label: evidence.start.trial.label.clone(),
        phases: evidence.phases.clone(),
        streams,
        cpu: processors(evidence),
        resources: resources::courses(evidence),
        imported: imported::all(evidence)
            .into_iter()
            .chain(commands::courses(evidence))
            .chain(logs::courses(evidence))
            .collect(),
    })
}

fn stream(evidence: &TrialEvidence, name: &str, item: &LoadPlan) -> Result<StreamSeries, AnalysisError> {
    let courses = courses(evidence, name, item)?;
    let response = measured_latencies(evidence, name, Timing::Response)?;
    let service = measured_latencies(evidence, name, Timing::Service)?;
    let end_to_end = measured_latencies(evidence, name, Timing::EndToEnd)?;
    let failed = failed_in_measure(evidence, name);
    let outcomes = |times: &LatencyDistribution, failed: u64| Outcomes {
        kept: times.finished(),
        failed,
        unseen: times.unfinished().saturating_sub(failed),
    };
    Ok(StreamSeries {
        name: name.to_owned(),
        role: item.role.kind(),
        seconds: courses.points,
        percentiles: percentiles(&response),
        service_percentiles: percentiles(&service),
        end_to_end_percentiles: percentiles(&end_to_end),
        outcomes: outcomes(&response, failed),
        end_to_end_outcomes: outcomes(&end_to_end, 0),
        heat: courses.heat.map(),
        end_to_end_heat: courses.end_to_end_heat.map(),
    })
}

/// Records of the measure phase that failed, of those that were due while the load was whole.
fn failed_in_measure(evidence: &TrialEvidence, item: &str) -> u64 {
    let (streams, end) = (streams_of(evidence, item), whole_until(evidence));
    let is_one = |row: &&Sample| {
        row.grain == Grain::Second
            && row.phase == Phase::Measure
            && end.is_none_or(|end| row.t0_second < end)
            && streams.contains(&row.id)
    };
    evidence.samples.iter().filter(is_one).fold(0, |sum, row| sum.saturating_add(failed(&row.counts)))
}

/// What one second of an item holds.
#[derive(Default)]
struct ItemSecond<'a> {
    /// Counts of rows written in it.
    written: Counts,
    /// Counts of records intended in it.
    intended: Counts,
    /// Rows of records intended in it.
    rows: Vec<&'a Sample>,
}

/// An item's course: second by second, and its latencies over time.
#[derive(Default)]
struct Courses {
    points: Vec<SecondPoint>,
    heat: Heat,
    end_to_end_heat: Heat,
}

fn courses(evidence: &TrialEvidence, item: &str, plan: &LoadPlan) -> Result<Courses, AnalysisError> {
    let streams = streams_of(evidence, item);
    let mut seconds: BTreeMap<u32, ItemSecond<'_>> = BTreeMap::new();
    let rows = evidence.samples.iter();
    for row in rows.filter(|row| row.grain == Grain::Second && streams.contains(&row.id)) {
        seconds.entry(row.written_second).or_default().written.add(&row.counts);
        let intended = seconds.entry(row.t0_second).or_default();
        intended.intended.add(&row.counts);
        intended.rows.push(row);
    }
    let is_reported = end_to_end::is_reported(evidence, item);
    let mut censored =
        if is_reported { end_to_end::censored(evidence, item) } else { None }.unwrap_or_default();
    let last = end_to_end::last_written(evidence, item);
    let is_consumer = plan.role.as_consume().is_some();
    let written = is_consumer.then(|| WrittenRecords::of(evidence, item, plan));
    let mut out = Courses::default();
    let mut open = 0u64;
    for (second, held) in &seconds {
        let mut latencies = SecondLatencies::of(held)?;
        let missing = censored.remove(second).unwrap_or(0);
        latencies.end_to_end.add_unfinished(missing, waited_ns(*second, last));
        out.heat.add(*second, &latencies.response);
        out.end_to_end_heat.add(*second, &latencies.end_to_end);
        let settled = held.written.acknowledged.saturating_add(unfinished(&held.written));
        open = open.saturating_add(held.intended.offered).saturating_sub(settled);
        let mut point = point(&evidence.phases, *second, held, written.as_ref(), &latencies);
        point.open_records = (!is_consumer).then_some(open);
        out.points.push(point);
    }
    Ok(out)
}

/// Latencies of the records intended in one second.
struct SecondLatencies {
    response: LatencyDistribution,
    end_to_end: LatencyDistribution,
}

impl SecondLatencies {
    fn of(held: &ItemSecond<'_>) -> Result<Self, AnalysisError> {
        let (mut response, mut end_to_end) = (LatencyDistribution::new(), LatencyDistribution::new());
        for histograms in held.rows.iter().map(|row| &row.histograms) {
            histograms.get(&Timing::Response).map_or(Ok(()), |bytes| response.add_histogram(bytes))?;
            histograms.get(&Timing::EndToEnd).map_or(Ok(()), |bytes| end_to_end.add_histogram(bytes))?;
            let below_zero = histograms.get(&Timing::EndToEndBelowZero);
            below_zero.map_or(Ok(()), |bytes| end_to_end.add_below_zero(bytes))?;
        }
        for row in &held.rows {
            response.add_unfinished(unfinished(&row.counts), waited_ns(row.t0_second, row.written_second));
        }
        Ok(Self { response, end_to_end })
    }
}

fn point(
    phases: &[PhaseSpan],
    second: u32,
    held: &ItemSecond<'_>,
    written: Option<&WrittenRecords>,
    SecondLatencies { response, end_to_end }: &SecondLatencies,
) -> SecondPoint {
    let start_ns = u64::from(second) * NS_PER_S;
    let phase = phases.iter().find(|span| start_ns < span.end_ns).map_or(Phase::Drain, |span| span.phase);
    let lag = held.written.lag_records.zip(written);
    let lag = lag.map(|(records, written)| written.behind(records, second + 1));
    SecondPoint {
        second,
        phase,
        offered: held.intended.offered,
        achieved: held.written.achieved,
        acknowledged: held.written.acknowledged,
        fetched: held.written.fetched,
        failed: failed(&held.written),
        open_records: None,
        lag_records: lag.map(|lag| lag.records as f64).into(),
        lag_ns: lag.map_or(Value::None, Lag::ns),
        response_ns_p50: response.quantile(0.5),
        response_ns_p99: response.quantile(0.99),
        response_ns_max: response.max(),
        end_to_end_ns_p50: end_to_end.quantile(0.5),
        end_to_end_ns_p99: end_to_end.quantile(0.99),
        end_to_end_ns_max: end_to_end.max(),
    }
}

/// The curve goes on towards 1 until less than one record is left above.
fn percentiles(times: &LatencyDistribution) -> Vec<QuantilePoint> {
    let total = times.total() as f64;
    let mut points = Vec::new();
    if total == 0.0 {
        return points;
    }
    let mut add = |quantile| points.push(QuantilePoint { quantile, ns: times.quantile(quantile) });
    'curve: for halving in 0..HALVINGS_MAX {
        let distance = 0.5f64.powi(halving);
        for step in 0..POINTS_PER_HALVING {
            let above = distance * (1.0 - 0.5 * f64::from(step) / f64::from(POINTS_PER_HALVING));
            if above * total < 1.0 {
                break 'curve;
            }
            add(1.0 - above);
        }
    }
    add(1.0);
    points
}

/// In order of the printed name.
fn processors(evidence: &TrialEvidence) -> Vec<CpuSeries> {
    // What the other side of a duet used is in the trial of that side.
    let own = evidence.probes.iter().filter(|reading| !cpu::is_other_side(&reading.subject));
    let subjects: BTreeMap<String, &Subject> =
        own.map(|reading| (reading.subject.to_string(), &reading.subject)).collect();
    subjects
        .into_values()
        .map(|subject| CpuSeries { subject: subject.clone(), points: cpu::course(&evidence.probes, subject) })
        .filter(|series| !series.points.is_empty())
        .collect()
}
