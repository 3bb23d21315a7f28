//! OMB's result from a run's evidence: its field names and units, an entry for every 10 s of the window. What its definitions
//! leave out is in `kdyno`.

use super::lines::{PERIOD_S, at_ns, failed};
use super::translated::OmbRun;
use crate::cli::VERSION;
use crate::evidence::RunEvidence;
use crate::failure::Failure;
use kdyno_analysis::LatencyDistribution;
use kdyno_analysis::latencies::measured_latencies;
use kdyno_analysis::periods::{Period, periods, whole};
use kdyno_analysis::search::is_in_table;
use kdyno_model::conclusion::{SearchPoint, SearchResult, of_kind};
use kdyno_model::evidence::TrialEvidence;
use kdyno_model::finding::Value as Figure;
use kdyno_model::sample::{Counts, Timing};
use kdyno_model::trial::TrialId;
use kdyno_store::RunFile;
use serde_json::{Map, Value, json};
use std::path::Path;

/// Quantiles, and how OMB's fields end that have them.
const QUANTILES: [(&str, f64); 7] = [
    ("50pct", 0.5),
    ("75pct", 0.75),
    ("95pct", 0.95),
    ("99pct", 0.99),
    ("999pct", 0.999),
    ("9999pct", 0.999_9),
    ("Max", 1.0),
];
/// Steps of the quantiles' maps in each half.
const STEPS: u32 = 100;
const NS_PER_MS: f64 = 1e6;
const NS_PER_US: f64 = 1e3;

/// The result of the trial that it is about; `None`: a search without one.
pub(super) fn of(run: &OmbRun, file: &Path) -> Result<Option<Value>, Failure> {
    let stored = RunFile::open(file)?;
    let Some((trial, load_per_s)) = trial(run, &stored)? else { return Ok(None) };
    let evidence = stored.evidence_with_fives(trial)?;
    drop(stored);
    let mut own = own(&evidence)?;
    own.insert("run".to_owned(), file.display().to_string().into());
    own.insert("caveats".to_owned(), caveats(file)?);
    own.insert("notes".to_owned(), json!(run.scenario.notes));
    if let Some(load_per_s) = load_per_s {
        own.insert("searchedRate".to_owned(), json!(load_per_s));
    }
    let mut result = head(run);
    let groups = run.workload.subscriptions;
    let periods = periods(&evidence, PERIOD_S, groups).map_err(Failure::tool)?;
    over_time(&mut result, &periods);
    aggregated(&mut result, &whole(&evidence).map_err(Failure::tool)?);
    result.insert("kdyno".to_owned(), own.into());
    Ok(Some(result.into()))
}

/// The one trial, or of a search one at the load that it ended with; and its load.
fn trial(run: &OmbRun, stored: &RunFile) -> Result<Option<(TrialId, Option<f64>)>, Failure> {
    if !run.workload.is_search() {
        let starts = stored.trials()?;
        let measured = starts.iter().find(|start| !start.trial.is_conditioning());
        return Ok(measured.map(|start| (start.trial.id, None)));
    }
    let conclusions = stored.judgement()?.conclusions;
    let starts = stored.trials()?;
    let is_its_end = |point: &&SearchPoint| {
        let start = starts.iter().find(|start| start.trial.id == point.trial);
        point.passed == Some(true) && start.is_some_and(|start| is_in_table(&conclusions, &start.trial))
    };
    let points = of_kind::<SearchResult>(&conclusions).flat_map(|search| &search.points);
    let best = points.filter(is_its_end).last();
    Ok(best.map(|point| (point.trial, Some(point.load_per_s))))
}

fn head(run: &OmbRun) -> Map<String, Value> {
    let workload = &run.workload;
    let fields = json!({
        "workload": workload.name,
        "driver": run.driver.name,
        "messageSize": workload.message_bytes,
        "topics": workload.topics,
        "partitions": workload.partitions,
        "producersPerTopic": workload.producers,
        "consumersPerTopic": workload.consumers,
    });
    match fields {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

/// A latency of OMB, in the unit of its fields.
struct OmbLatency {
    /// How its fields over time begin.
    name: &'static str,
    /// How those of the whole window begin.
    aggregated: &'static str,
    unit_ns: f64,
    /// OMB has whole numbers of it.
    is_whole: bool,
    at_ns: fn(&Period, f64) -> f64,
    mean_ns: fn(&Period) -> f64,
    /// The one whose steps the map of quantiles has.
    steps: fn(&Period) -> &LatencyDistribution,
}

const LATENCIES: [OmbLatency; 3] = [
    OmbLatency {
        name: "publishLatency",
        aggregated: "aggregatedPublishLatency",
        unit_ns: NS_PER_MS,
        is_whole: false,
        at_ns: |period, quantile| at_ns(&period.service, quantile),
        mean_ns: |period| mean_ns(&period.service),
        steps: |period| &period.service,
    },
    OmbLatency {
        name: "publishDelayLatency",
        aggregated: "aggregatedPublishDelayLatency",
        unit_ns: NS_PER_US,
        is_whole: true,
        // Never above that of their sum, which no histogram holds; where one of them is 0 it is the other.
        at_ns: |period, quantile| at_ns(&period.schedule_delay, quantile).max(at_ns(&period.block, quantile)),
        mean_ns: |period| mean_ns(&period.schedule_delay) + mean_ns(&period.block),
        steps: |period| match at_ns(&period.block, 1.0) > at_ns(&period.schedule_delay, 1.0) {
            true => &period.block,
            false => &period.schedule_delay,
        },
    },
    OmbLatency {
        name: "endToEndLatency",
        aggregated: "aggregatedEndToEndLatency",
        unit_ns: NS_PER_MS,
        is_whole: false,
        at_ns: |period, quantile| at_ns(&period.end_to_end, quantile),
        mean_ns: |period| mean_ns(&period.end_to_end),
        steps: |period| &period.end_to_end,
    },
];

impl OmbLatency {
    fn value(&self, ns: f64) -> Value {
        let value = ns / self.unit_ns;
        // Latencies are far below 2⁵³ µs.
        #[allow(clippy::cast_possible_truncation)]
        if self.is_whole { json!(value.round() as i64) } else { json!(value) }
    }
}

fn mean_ns(of: &LatencyDistribution) -> f64 {
    of.mean_of_finished().unwrap_or(0.0)
}

/// An entry for each period.
fn over_time(result: &mut Map<String, Value>, periods: &[Period]) {
    let mut add = |name: &str, of: &dyn Fn(&Period) -> Value| {
        result.insert(name.to_owned(), periods.iter().map(of).collect());
    };
    let per_s = |period: &Period, count: u64| json!(count as f64 / f64::from(period.seconds.max(1)));
    add("publishRate", &|period| per_s(period, period.counts.acknowledged));
    add("publishErrorRate", &|period| per_s(period, failed(period)));
    add("consumeRate", &|period| per_s(period, period.counts.fetched));
    add("backlog", &|period| json!(period.backlog));
    for latency in &LATENCIES {
        let name = latency.name;
        add(&format!("{name}Avg"), &|period| json!((latency.mean_ns)(period) / latency.unit_ns));
        for (ending, quantile) in QUANTILES {
            add(&format!("{name}{ending}"), &|period| latency.value((latency.at_ns)(period, quantile)));
        }
    }
}

/// The whole window.
fn aggregated(result: &mut Map<String, Value>, whole: &Period) {
    for latency in &LATENCIES {
        let name = latency.aggregated;
        result.insert(format!("{name}Avg"), json!((latency.mean_ns)(whole) / latency.unit_ns));
        for (ending, quantile) in QUANTILES {
            result.insert(format!("{name}{ending}"), latency.value((latency.at_ns)(whole, quantile)));
        }
        let steps = (latency.steps)(whole).quantile_steps(STEPS).into_iter();
        let quantiles: Map<String, Value> = steps
            .map(|(quantile, _)| {
                (format!("{:?}", quantile * 100.0), latency.value((latency.at_ns)(whole, quantile)))
            })
            .collect();
        result.insert(format!("{name}Quantiles"), quantiles.into());
    }
}

/// What OMB leaves out: the latency from the scheduled send time with every record, and what became of all of them.
fn own(evidence: &TrialEvidence) -> Result<Map<String, Value>, Failure> {
    let mut response = Map::new();
    for (name, item) in &evidence.start.trial.effective.load {
        if item.role.as_produce().is_none() {
            continue;
        }
        let found = measured_latencies(evidence, name, Timing::Response).map_err(Failure::tool)?;
        let figures =
            QUANTILES.map(|(ending, quantile)| (ending.to_owned(), figure(found.quantile(quantile))));
        response.insert(name.clone(), figures.into_iter().collect());
    }
    let of_all = |count: fn(&Counts) -> u64| -> u64 {
        evidence.totals.iter().map(|totals| count(&totals.counts)).sum()
    };
    let mut own = Map::new();
    let mut add = |name: &str, value: Value| own.insert(name.to_owned(), value);
    add("version", json!(VERSION));
    add(
        "definitions",
        json!({
            "publishLatency": "service, t6 - t2, of acknowledged records: from the accepted send, ms",
            "publishDelayLatency": "from the scheduled send time to the accepted send, t2 - t0, us: of schedule delay and block the larger one at each quantile",
            "endToEndLatency": "t8 - t0: from the scheduled send time, ms; OMB begins at the send",
            "response": "t6 - t0: from the scheduled send time, ms; failed and unresolved records count as slower than all others",
            "records": "of the whole load, warm-up included",
        }),
    );
    add("response", response.into());
    add(
        "records",
        json!({
            "offered": of_all(|counts| counts.offered),
            "acknowledged": of_all(|counts| counts.acknowledged),
            "failed": of_all(|counts| counts.failed.values().sum()),
            "unresolved": of_all(|counts| counts.unresolved),
            "consumed": of_all(|counts| counts.fetched),
        }),
    );
    Ok(own)
}

/// A latency in ms; one that lies among records without an outcome is at least this.
fn figure(value: Figure) -> Value {
    match value {
        Figure::Is(ns) => json!(ns / NS_PER_MS),
        Figure::AtLeast(ns) => json!({ "at_least": ns / NS_PER_MS }),
        Figure::None => Value::Null,
    }
}

/// The caveats of the run, as its own document has them.
fn caveats(file: &Path) -> Result<Value, Failure> {
    let evidence = RunEvidence::read_judged(file)?;
    Ok(kdyno_report::json::run(&evidence.input())["caveats"].take())
}
