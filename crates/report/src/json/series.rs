//! Each trial over time, a column per figure: the points of the page's charts.

use crate::names::{bounded, finite, name_of};
use kdyno_model::finding::Value;
use kdyno_model::series::{CpuSeries, ImportedSeries, SecondPoint, StreamSeries, TrialSeries};
use schemars::JsonSchema;
use serde::Serialize;

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct SeriesDocument {
    /// Number of the trial, from 1.
    trial: u32,
    /// The phases, in order, as they were announced.
    phases: Vec<PhaseDocument>,
    /// Every load item, all of its workers together.
    items: Vec<ItemDocument>,
    /// Processor time of every process that was probed, and of the host.
    cpu: Vec<CpuDocument>,
    /// What somebody else measured meanwhile and was imported (`kdyno import`), and what commands told.
    imported: Vec<ImportedDocument>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct ImportedDocument {
    /// Under which name, which begins with `imported-`, or the load item of the command that told it.
    subject: String,
    /// What the file calls it.
    series: String,
    /// Unit of the values, as of findings.
    unit: String,
    /// When, seconds from T0 (negative: before it).
    at_s: Vec<Option<f64>>,
    /// What was read.
    value: Vec<Option<f64>>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct PhaseDocument {
    /// `warmup`, `measure` or `drain`.
    phase: String,
    /// First instant, ns from T0.
    start_ns: u64,
    /// First instant after it, ns from T0, of the drain the latest there may be; null when it was not announced.
    end_ns: Option<u64>,
}

/// One load item second by second. All lists have one entry per second that has a row.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct ItemDocument {
    /// The load item's address in the scenario.
    item: String,
    /// What its clients do: `produce` or `consume`.
    role: String,
    /// Whole seconds from T0.
    second: Vec<u32>,
    /// Records whose intended instant lies in the second.
    offered: Vec<u64>,
    /// Records the client accepted in the second.
    achieved: Vec<u64>,
    /// Records acknowledged in the second.
    acknowledged: Vec<u64>,
    /// Records handed over in the second.
    fetched: Vec<u64>,
    /// Records that failed in the second.
    failed: Vec<u64>,
    /// Records between the consumers and the end of the log at the second's end; null where that is not known.
    lag_records: Vec<Option<f64>>,
    /// The same in time: how long before that the next record to be fetched was acknowledged.
    lag: TimesDocument,
    /// Median response time of the records due in the second.
    response_p50: TimesDocument,
    /// 99th percentile of the same.
    response_p99: TimesDocument,
    /// Largest of the same.
    response_max: TimesDocument,
    /// Response time by quantile over the measure phase.
    percentiles: PercentilesDocument,
    /// Of an item that consumes: median end-to-end latency of the records due in the second.
    end_to_end_p50: TimesDocument,
    /// 99th percentile of the same.
    end_to_end_p99: TimesDocument,
    /// Largest of the same.
    end_to_end_max: TimesDocument,
    /// End-to-end latency by quantile over the measure phase.
    end_to_end_percentiles: EndToEndPercentilesDocument,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct TimesDocument {
    /// The time, ns; null when nothing was counted.
    ns: Vec<Option<f64>>,
    /// Whether the true value is this or more, because a quantile falls among failed or unresolved records, or a lag goes
    /// back to before the load.
    at_least: Vec<bool>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct EndToEndPercentilesDocument {
    /// 0 to 1, in order.
    quantile: Vec<Option<f64>>,
    /// End-to-end latency at it.
    end_to_end: TimesDocument,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct PercentilesDocument {
    /// 0 to 1, in order.
    quantile: Vec<Option<f64>>,
    /// Response time at it.
    response: TimesDocument,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct CpuDocument {
    /// The process, e.g. `broker-0`, or `host`.
    subject: String,
    /// Where each stretch ends, seconds from T0 (negative: before it).
    at_s: Vec<Option<f64>>,
    /// User and system time in the stretch (host: everything but idle and iowait), percent of one core.
    percent_of_core: Vec<Option<f64>>,
}

pub(super) fn trial(series: &TrialSeries) -> SeriesDocument {
    let phases = series.phases.iter().map(|span| PhaseDocument {
        phase: span.phase.to_string(),
        start_ns: span.start_ns,
        end_ns: Some(span.end_ns).filter(|end_ns| *end_ns < u64::MAX),
    });
    SeriesDocument {
        trial: series.trial.0,
        phases: phases.collect(),
        items: series.streams.iter().map(item).collect(),
        cpu: series.cpu.iter().map(cpu).collect(),
        imported: series.imported.iter().map(imported).collect(),
    }
}

fn imported(series: &ImportedSeries) -> ImportedDocument {
    ImportedDocument {
        subject: series.subject.to_string(),
        series: series.name.clone(),
        unit: name_of(&series.unit),
        at_s: series.points.iter().map(|point| finite(point.at_s)).collect(),
        value: series.points.iter().map(|point| finite(point.value)).collect(),
    }
}

fn item(stream: &StreamSeries) -> ItemDocument {
    let counts = |count: fn(&SecondPoint) -> u64| stream.seconds.iter().map(count).collect();
    let times = |time: fn(&SecondPoint) -> Value| times_of(stream.seconds.iter().map(time));
    ItemDocument {
        item: stream.name.clone(),
        role: stream.role.to_string(),
        second: stream.seconds.iter().map(|point| point.second).collect(),
        offered: counts(|point| point.offered),
        achieved: counts(|point| point.achieved),
        acknowledged: counts(|point| point.acknowledged),
        fetched: counts(|point| point.fetched),
        failed: counts(|point| point.failed),
        lag_records: times(|point| point.lag_records).ns,
        lag: times(|point| point.lag_ns),
        response_p50: times(|point| point.response_ns_p50),
        response_p99: times(|point| point.response_ns_p99),
        response_max: times(|point| point.response_ns_max),
        percentiles: PercentilesDocument {
            quantile: stream.percentiles.iter().map(|point| finite(point.quantile)).collect(),
            response: times_of(stream.percentiles.iter().map(|point| point.ns)),
        },
        end_to_end_p50: times(|point| point.end_to_end_ns_p50),
        end_to_end_p99: times(|point| point.end_to_end_ns_p99),
        end_to_end_max: times(|point| point.end_to_end_ns_max),
        end_to_end_percentiles: EndToEndPercentilesDocument {
            quantile: stream.end_to_end_percentiles.iter().map(|point| finite(point.quantile)).collect(),
            end_to_end: times_of(stream.end_to_end_percentiles.iter().map(|point| point.ns)),
        },
    }
}

fn times_of(values: impl Iterator<Item = Value>) -> TimesDocument {
    let (ns, at_least) = values.map(bounded).unzip();
    TimesDocument { ns, at_least }
}

fn cpu(cpu: &CpuSeries) -> CpuDocument {
    CpuDocument {
        subject: cpu.subject.to_string(),
        at_s: cpu.points.iter().map(|point| finite(point.at_s)).collect(),
        percent_of_core: cpu.points.iter().map(|point| finite(point.percent)).collect(),
    }
}
