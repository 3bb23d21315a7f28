//! A result of OMB that somebody published, as a scenario: the load that it tells, and its figures as published ones.

use super::driver::OmbDriver;
use super::scenario::{OmbScenario, ScenarioParts, id, written};
use super::workload::{OmbPayload, OmbRate, OmbWorkload};
use crate::input::{InputError, quoted};
use crate::yaml::literal;
use serde_json::{Map, Value};

/// Most bytes of a result that are read: more than a day's entries, each of 10 s, come to.
pub const RESULT_BYTES_MAX: u64 = 4 << 20;
/// Seconds of an entry.
const ENTRY_S: usize = 10;
/// Characters of the names of a workload and a driver at most.
const NAME_CHARACTERS_MAX: usize = 200;
/// No rate per second and no latency in ms is higher.
const FIGURE_MAX: f64 = 1e9;
/// What distinguishes its latencies from ours.
const DEFINITION: &str =
    "as published; publish latency from the send, end-to-end latency from the record's timestamp";
/// Statistics of OMB's lines: how its fields end, and what ours are called.
const STATISTICS: [(&str, &str); 5] =
    [("Avg", "mean"), ("50pct", "p50"), ("99pct", "p99"), ("999pct", "p99.9"), ("Max", "max")];

/// A scenario with the load of a result, and with the result's figures as published ones. `stem` is its file's name without the
/// ending.
///
/// # Errors
/// What is no result of OMB, or does not tell its load; the file is named later.
pub fn published(stem: &str, result: &[u8]) -> Result<OmbScenario, InputError> {
    let result = OmbResult::read(result)?;
    let (publish, consume) = (result.mean("publishRate")?, result.mean("consumeRate")?);
    let publish = publish.filter(|rate| *rate > 0.0);
    let publish = publish.ok_or_else(|| InputError::whole("`publishRate` has no rate above 0"))?;
    let (name, driver) = (result.name("workload")?, result.name("driver")?);
    let workload = workload(&result, name, publish, consume.unwrap_or(0.0))?;
    let notes = notes(&workload);
    let question = format!("What does the load of OMB's workload `{name}` give, published with `{driver}`?");
    let seconds = result.rates("publishRate")?.len() * ENTRY_S;
    let id = id(stem);
    let parts = ScenarioParts {
        by: "import",
        id: &id,
        question: &question,
        notes: &notes,
        value: &format!("{}B", workload.message_bytes),
        phases: &format!("phases: {{warmup: 1m, measure: {seconds}s, drain: auto}}\n"),
    };
    let plain = OmbDriver {
        name: driver.to_owned(),
        reach: Vec::new(),
        bootstrap: None,
        replicas: 1,
        topic: Vec::new(),
        producer: Vec::new(),
        consumer: Vec::new(),
        from: "latest",
        notes: Vec::new(),
    };
    let figures = figures(&result, &workload, publish, consume)?;
    // A title is text as it is: no value with params in it.
    let title = Value::from(format!("OMB's result {stem}: workload {name}, driver {driver}"));
    let text = written(&workload, &plain, &parts)
        + &format!(
            "published:\n  source: {{title: {title}, date: date unknown, hardware: unknown hardware}}\n  definition: {}\n  rows:\n    - {{{}}}\n",
            literal(DEFINITION),
            figures.join(", ")
        );
    Ok(OmbScenario { id, text, notes })
}

/// The load, as far as a result tells it.
fn workload(result: &OmbResult, name: &str, publish: f64, consume: f64) -> Result<OmbWorkload, InputError> {
    let consumers = result.count("consumersPerTopic", 0)?;
    // Every group reads every record. The casts saturate.
    let groups =
        if consumers == 0 || consume == 0.0 { 0 } else { (consume / publish).round().max(1.0) as u32 };
    let workload = OmbWorkload {
        name: name.to_owned(),
        topics: result.count("topics", 1)?,
        partitions: result.count("partitions", 1)?,
        message_bytes: result.count("messageSize", 1)?,
        subscriptions: groups,
        consumers,
        producers: result.count("producersPerTopic", 1)?,
        keys: None,
        payload: OmbPayload::Missing,
        rate: OmbRate::PerS(publish.round().max(1.0) as u32),
        backlog_bytes: 0,
        minutes: 0,
        warmup_minutes: 0,
        notes: Vec::new(),
    };
    workload.fits()?;
    Ok(workload)
}

/// What the result does not say, and what is written in its place.
fn notes(workload: &OmbWorkload) -> Vec<String> {
    let groups = workload.subscriptions;
    let mut notes = vec![
        "A result does not say replicas, settings of clients and topics, keys or compression: what is here are defaults. Set \
         them as published."
            .to_owned(),
        "The rate is the mean of `publishRate`: a result does not say what was offered.".to_owned(),
        format!("Consumer groups of each topic: {groups}, from `consumeRate` ÷ `publishRate`."),
    ];
    if groups > 1 {
        notes.push(
            "End-to-end latencies are of all groups together, which no column is: they are left out."
                .to_owned(),
        );
    }
    notes
}

/// The figures of the result that are columns here, each as an entry of the row.
fn figures(
    result: &OmbResult,
    workload: &OmbWorkload,
    publish: f64,
    consume: Option<f64>,
) -> Result<Vec<String>, InputError> {
    let (readers, groups) = (workload.readers(1), workload.subscriptions);
    let mut figures = vec![format!("writers.acked_per_s: {publish:.1}")];
    if let Some(consume) = consume.filter(|_| groups > 0) {
        let of_readers = if groups == 1 { readers.as_str() } else { "sum" };
        figures.push(format!("{of_readers}.fetched_per_s: {consume:.1}"));
    }
    let mut add = |field: &str, metric: &str| -> Result<(), InputError> {
        // OMB has 0 where it saw none.
        if result.figure(&format!("{field}Max"))?.is_none_or(|max| max == 0.0) {
            return Ok(());
        }
        for (ending, statistic) in STATISTICS {
            if let Some(ms) = result.figure(&format!("{field}{ending}"))? {
                figures.push(format!("{metric}.{statistic}: {ms:.3}ms"));
            }
        }
        Ok(())
    };
    add("aggregatedPublishLatency", "writers.service")?;
    if groups == 1 {
        add("aggregatedEndToEndLatency", &format!("{readers}.end_to_end"))?;
    }
    Ok(figures)
}

/// The fields of a result.
struct OmbResult(Map<String, Value>);

impl OmbResult {
    fn read(bytes: &[u8]) -> Result<Self, InputError> {
        let read: Value = serde_json::from_slice(bytes)
            .map_err(|error| InputError::whole(format!("this is no result of OMB: {error}")))?;
        match read {
            Value::Object(fields) if fields.contains_key("publishRate") => Ok(Self(fields)),
            _ => Err(InputError::whole("this is no result of OMB: there is no field `publishRate`")),
        }
    }

    /// A field; `null` is none.
    fn get(&self, field: &str) -> Option<&Value> {
        self.0.get(field).filter(|value| !value.is_null())
    }

    fn name(&self, field: &str) -> Result<&str, InputError> {
        let name = self.get(field).and_then(Value::as_str).filter(|name| !name.is_empty());
        let name = name.filter(|name| name.chars().count() <= NAME_CHARACTERS_MAX);
        name.ok_or_else(|| {
            InputError::whole(format!("`{field}` is no text of 1 to {NAME_CHARACTERS_MAX} characters"))
        })
    }

    /// A whole number that is at least this.
    fn count(&self, field: &str, least: u32) -> Result<u32, InputError> {
        let Some(found) = self.get(field) else {
            let message = format!("`{field}` is missing, so the load is not known");
            return Err(InputError::whole(message).hint(format!(
                "results of older releases do not have it: add `\"{field}\": NUMBER` from the workload file"
            )));
        };
        let count = found.as_u64().and_then(|count| u32::try_from(count).ok());
        count.filter(|count| *count >= least).ok_or_else(|| {
            let shown = quoted(&found.to_string());
            InputError::whole(format!("`{field}`: {shown} is no whole number from {least} to {}", u32::MAX))
        })
    }

    /// A rate or latency, where the result has it.
    fn figure(&self, field: &str) -> Result<Option<f64>, InputError> {
        self.get(field).map(|found| number(field, found)).transpose()
    }

    /// The entries over time; none where the field is missing.
    fn rates(&self, field: &str) -> Result<Vec<f64>, InputError> {
        match self.get(field) {
            None => Ok(Vec::new()),
            Some(Value::Array(entries)) => entries.iter().map(|entry| number(field, entry)).collect(),
            Some(other) => {
                let shown = quoted(&other.to_string());
                Err(InputError::whole(format!("`{field}`: {shown} is no list of numbers")))
            }
        }
    }

    /// The mean of entries over time, each of as many seconds.
    fn mean(&self, field: &str) -> Result<Option<f64>, InputError> {
        let rates = self.rates(field)?;
        let sum: f64 = rates.iter().sum();
        Ok((!rates.is_empty()).then(|| sum / rates.len() as f64))
    }
}

fn number(field: &str, found: &Value) -> Result<f64, InputError> {
    found.as_f64().filter(|number| (0.0..=FIGURE_MAX).contains(number)).ok_or_else(|| {
        let shown = quoted(&found.to_string());
        InputError::whole(format!("`{field}`: {shown} is no number from 0 to {FIGURE_MAX}"))
    })
}
