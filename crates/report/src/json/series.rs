//! Over time, a column per figure: the points of the page's charts.

use crate::names::{bounded, finite, name_of};
use kdyno_model::finding::Value;
use kdyno_model::series::{
    CpuSeries, HeatMap, ImportedSeries, Outcomes, ResourceSeries, SecondPoint, StreamSeries, TrialSeries,
};
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
    /// CPU time of every process that was probed, and of the host.
    cpu: Vec<CpuDocument>,
    /// What else was read of processes and the host.
    resources: Vec<ResourceDocument>,
    /// What somebody else measured meanwhile and was imported (`kdyno import`), what commands reported, attributes of brokers'
    /// MBeans that the plan names, and the lag of groups that the target names.
    imported: Vec<ImportedDocument>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct ResourceDocument {
    /// The process, e.g. `broker-0`, or `host`.
    subject: String,
    /// Which resource: `cpu_user`, `cpu_system`, `memory`, `heap`, `disk_read`, `disk_write`, `network_receive`,
    /// `network_transmit`, `bytes_in`, `bytes_out`.
    resource: String,
    /// Unit of the values, as of findings.
    unit: String,
    /// When, seconds from T0 (negative: before it); of what grows where the stretch ends.
    at_s: Vec<Option<f64>>,
    /// What was read, or how it grew until then.
    value: Vec<Option<f64>>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct ImportedDocument {
    /// Its name, which begins with `imported-`, the load item of the command that reported it, the broker, or the group.
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
    /// Records whose scheduled send time lies in the second.
    offered: Vec<u64>,
    /// Records the client accepted in the second.
    achieved: Vec<u64>,
    /// Records acknowledged in the second.
    acknowledged: Vec<u64>,
    /// Records consumed in the second.
    fetched: Vec<u64>,
    /// Records that failed in the second.
    failed: Vec<u64>,
    /// For an item that produces: records that were due and had no outcome at the second's end; else null.
    open_records: Vec<Option<u64>>,
    /// Records between the consumers and the end of the log at the second's end; null where that is not known.
    lag: Vec<Option<f64>>,
    /// Lag in time: how long before that the next record to be fetched was acknowledged.
    lag_time: TimesDocument,
    /// Median response time of the records due in the second.
    response_p50: TimesDocument,
    /// 99th percentile of the same.
    response_p99: TimesDocument,
    /// Largest of the same.
    response_max: TimesDocument,
    /// Response time by quantile over the measure phase.
    percentiles: PercentilesDocument,
    /// Service time by quantile, likewise.
    service_percentiles: ServicePercentilesDocument,
    /// What became of the records whose response and service times these are.
    outcomes: OutcomesDocument,
    /// How often which response time was seen when.
    heat: HeatDocument,
    /// For an item that consumes: median end-to-end latency of the records due in the second.
    end_to_end_p50: TimesDocument,
    /// 99th percentile of the same.
    end_to_end_p99: TimesDocument,
    /// Largest of the same.
    end_to_end_max: TimesDocument,
    /// End-to-end latency by quantile over the measure phase.
    end_to_end_percentiles: EndToEndPercentilesDocument,
    /// What became of the records that these are of.
    end_to_end_outcomes: OutcomesDocument,
    /// How often which end-to-end latency was seen when.
    end_to_end_heat: HeatDocument,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct OutcomesDocument {
    /// Records with a latency: acknowledged, or consumed.
    kept: u64,
    /// Records that failed: they count as slower than every quantile.
    failed: u64,
    /// Records whose end was never seen, unresolved or censored: likewise.
    unseen: u64,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct HeatDocument {
    /// Seconds that a column covers.
    seconds: u32,
    /// Lower ends of the rows, ns, ascending, and after them the upper end of the last one; empty: nothing was timed.
    edges_ns: Vec<Option<f64>>,
    /// First second of each column, from T0, in which its records were due.
    second: Vec<u32>,
    /// For each column the records of each row, the quickest first.
    records: Vec<Vec<u64>>,
    /// For each column the records without a latency.
    unfinished: Vec<u64>,
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
struct ServicePercentilesDocument {
    /// 0 to 1, in order.
    quantile: Vec<Option<f64>>,
    /// Service time at it.
    service: TimesDocument,
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
        resources: series.resources.iter().map(resource).collect(),
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
        open_records: stream.seconds.iter().map(|point| point.open_records).collect(),
        lag: times(|point| point.lag_records).ns,
        lag_time: times(|point| point.lag_ns),
        response_p50: times(|point| point.response_ns_p50),
        response_p99: times(|point| point.response_ns_p99),
        response_max: times(|point| point.response_ns_max),
        percentiles: PercentilesDocument {
            quantile: stream.percentiles.iter().map(|point| finite(point.quantile)).collect(),
            response: times_of(stream.percentiles.iter().map(|point| point.ns)),
        },
        service_percentiles: ServicePercentilesDocument {
            quantile: stream.service_percentiles.iter().map(|point| finite(point.quantile)).collect(),
            service: times_of(stream.service_percentiles.iter().map(|point| point.ns)),
        },
        outcomes: outcomes(stream.outcomes),
        heat: heat(&stream.heat),
        end_to_end_p50: times(|point| point.end_to_end_ns_p50),
        end_to_end_p99: times(|point| point.end_to_end_ns_p99),
        end_to_end_max: times(|point| point.end_to_end_ns_max),
        end_to_end_percentiles: EndToEndPercentilesDocument {
            quantile: stream.end_to_end_percentiles.iter().map(|point| finite(point.quantile)).collect(),
            end_to_end: times_of(stream.end_to_end_percentiles.iter().map(|point| point.ns)),
        },
        end_to_end_outcomes: outcomes(stream.end_to_end_outcomes),
        end_to_end_heat: heat(&stream.end_to_end_heat),
    }
}

fn outcomes(Outcomes { kept, failed, unseen }: Outcomes) -> OutcomesDocument {
    OutcomesDocument { kept, failed, unseen }
}

fn heat(map: &HeatMap) -> HeatDocument {
    HeatDocument {
        seconds: map.seconds,
        edges_ns: map.edges_ns.iter().map(|edge| finite(*edge)).collect(),
        second: map.columns.iter().map(|column| column.second).collect(),
        records: map.columns.iter().map(|column| column.records.clone()).collect(),
        unfinished: map.columns.iter().map(|column| column.unfinished).collect(),
    }
}

fn resource(series: &ResourceSeries) -> ResourceDocument {
    ResourceDocument {
        subject: series.subject.to_string(),
        resource: series.resource.to_string(),
        unit: name_of(&series.resource.unit()),
        at_s: series.points.iter().map(|point| finite(point.at_s)).collect(),
        value: series.points.iter().map(|point| finite(point.value)).collect(),
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
