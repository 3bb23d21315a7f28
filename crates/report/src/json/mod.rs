//! A run as JSON: the document scripts read. Its schema is `docs/reference/run.schema.json`.
//!
//! It holds all that the HTML page shows, the points of its charts too, so that nothing has to be read off a page.
//! Units are in the names of fields, or in `unit` next to a value. Fields are added under the same version; a field
//! that is removed or changes its meaning makes a new one.

mod config;
mod findings;
mod series;
mod trials;

use crate::case_table::case_table;
use crate::declared;
use crate::figures::FindingIndex;
use crate::input::ReportInput;
use crate::names::{name_of, printed};
use config::ConfigDocument;
use findings::{CaveatDocument, ConclusionDocument, FindingDocument};
use kdyno_model::plan::Published;
use kdyno_model::words::is_acted_on;
use schemars::JsonSchema;
use serde::Serialize;
use series::SeriesDocument;
use std::collections::BTreeMap;
use trials::{EventDocument, NoiseDocument, SessionDocument, TrialDocument};

/// Name and version of the document.
pub const SCHEMA: &str = "kdyno.run/4";

/// The document: one run with all that was found out.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = "kdyno run", extend("$id" = "urn:kdyno:run:4"), deny_unknown_fields)]
struct RunDocument {
    /// Name and version of this document: `kdyno.run/4`.
    schema: String,
    /// Identifies the run: 16 hexadecimal digits.
    run_id: String,
    /// Id of the scenario, e.g. `first-light`.
    scenario: String,
    /// The question it asks.
    question: String,
    /// The profile in force.
    profile: String,
    /// Parameters changed on the command line, with their printed values.
    changed: BTreeMap<String, String>,
    /// Seed of the run, as text because it may exceed what many readers keep exactly.
    seed: String,
    /// Where the scenario was read from; a bundled one's name.
    scenario_path: String,
    /// The scenario as typed.
    scenario_text: String,
    /// How the last session ended: `completed`, `out_of_time`, `interrupted` or `failed`; null while it goes on, and
    /// when it was cut off.
    status: Option<String>,
    /// How many trials are planned; null where that is decided on the way.
    trials_planned: Option<u32>,
    /// How many have figures of their whole measure phase; those that conditioned a cluster are not counted.
    trials_complete: usize,
    /// The stretches of the run, each on one boot of one host; nothing that is compared spans two.
    sessions: Vec<SessionDocument>,
    /// The cases, in the order of the scenario's table.
    cases: Vec<CaseDocument>,
    /// The trials that were started, in the order in which they ran, those that conditioned a cluster included.
    trials: Vec<TrialDocument>,
    /// What the noise probe showed before a trial: one second of spinning, sleeping and loopback round trips.
    noise: Vec<NoiseDocument>,
    /// The caveats about the findings.
    caveats: Vec<CaveatDocument>,
    /// What the findings say: steadiness, limits, verdicts, searches, claims, rows that differ; of groups each member.
    conclusions: Vec<ConclusionDocument>,
    /// Every number: of trials in their measure phase, of cases over their trials, of published rows.
    findings: Vec<FindingDocument>,
    /// The table that the scenario asks for.
    table: TableDocument,
    /// What was really in force, each once with the trials that ran with it: versions, Java, settings of brokers, topics and
    /// clients.
    config: Vec<ConfigDocument>,
    /// Facts that were not measured, by who declares them: `environment` (the scenario), or a target.
    declared: BTreeMap<String, BTreeMap<String, String>>,
    /// What happened, in the order of time: disconnects, a process that ended, why a trial was cut short.
    events: Vec<EventDocument>,
    /// Each trial second by second, and its response times by percentile: what the charts draw.
    series: Vec<SeriesDocument>,
    /// Published figures that ours are compared with; not measured here.
    published: Option<PublishedDocument>,
    /// The whole plan with every setting, as the run file keeps it; its form follows the program's version.
    plan: serde_json::Value,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct CaseDocument {
    /// Its place in the plan, from 0.
    case: u32,
    /// The parameters in which it differs from other cases; empty when there is one case.
    label: String,
    /// Every parameter's printed value.
    params: BTreeMap<String, String>,
    /// How many trials of it are planned; null where that is decided on the way.
    repeats_planned: Option<u32>,
    /// Index of the published row that it is compared with, from 0.
    published_row: Option<u32>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct TableDocument {
    /// Parameters that head each row.
    params: Vec<String>,
    /// `SUBJECT.METRIC` of each column.
    columns: Vec<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct PublishedDocument {
    /// Title of the source.
    title: String,
    /// Its date, as written.
    date: String,
    /// The hardware it was measured on.
    hardware: String,
    /// How the source defines its figure.
    definition: String,
    /// Rows of the source's table.
    rows: Vec<PublishedRowDocument>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct PublishedRowDocument {
    /// Printed parameter values that select the case.
    params: BTreeMap<String, String>,
    /// Metric address to number, in the metric's unit; null: the source does not give it.
    values: BTreeMap<String, Option<f64>>,
}

/// One run as a JSON document of schema [`SCHEMA`].
pub fn run(input: &ReportInput<'_>) -> serde_json::Value {
    // The document holds only text, finite numbers and maps with text keys, which serialise always.
    serde_json::to_value(document(input)).unwrap_or_default()
}

/// A document as indented text with a line end. Control characters, and those that turn the direction of text, are escaped
/// also where JSON does not ask for it: a terminal may show it.
pub fn text(document: &serde_json::Value) -> String {
    let mut text = String::new();
    for c in format!("{document:#}\n").chars() {
        match c {
            // All of these lie below U+FFFF, and outside of strings there are none but line ends.
            c if is_acted_on(c) && c != '\n' => text.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => text.push(c),
        }
    }
    text
}

/// What was really in force, as the field `config` of [`run`]'s document has it.
pub fn config(input: &ReportInput<'_>) -> serde_json::Value {
    serde_json::to_value(config::all(input)).unwrap_or_default()
}

/// The JSON Schema of [`run`]'s document, as committed in `docs/reference/run.schema.json`.
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(RunDocument).to_value()
}

fn document(input: &ReportInput<'_>) -> RunDocument {
    let plan = input.plan();
    let figures = FindingIndex::new(input.findings, input.caveats);
    let table = case_table(input, &figures);
    RunDocument {
        schema: SCHEMA.to_owned(),
        run_id: format!("{:016x}", input.header.run_id),
        scenario: plan.scenario.clone(),
        question: plan.question.clone(),
        profile: plan.profile.clone(),
        changed: plan.changed.clone(),
        seed: plan.seed.to_string(),
        scenario_path: input.header.scenario_path.clone(),
        scenario_text: input.header.scenario_text.clone(),
        status: input.end().map(|end| name_of(&end.status)),
        trials_planned: plan.strategy.trials_planned(),
        trials_complete: input.complete(&figures),
        sessions: input.sessions.iter().map(trials::session).collect(),
        cases: cases(input),
        trials: input.trials.iter().map(|start| trials::trial(start, input, &figures)).collect(),
        noise: input.noise.iter().map(trials::noise).collect(),
        caveats: input.caveats.iter().map(|one| findings::caveat(one, input)).collect(),
        conclusions: input.conclusions.iter().map(|one| findings::conclusion(one, input)).collect(),
        findings: input.findings.iter().map(|one| findings::finding(one, input)).collect(),
        table: TableDocument {
            params: table.params,
            columns: table.metrics.iter().map(|metric| metric.of.to_string()).collect(),
        },
        config: config::all(input),
        declared: declared::all(plan),
        events: input.events.iter().map(trials::event).collect(),
        series: input.series.iter().map(series::trial).collect(),
        published: plan.published.as_ref().map(published),
        plan: serde_json::to_value(plan).unwrap_or_default(),
    }
}

fn cases(input: &ReportInput<'_>) -> Vec<CaseDocument> {
    let plan = input.plan();
    let cases = (0u32..).zip(&plan.cases).map(|(number, case)| CaseDocument {
        case: number,
        label: case.label.clone(),
        params: printed(&case.params),
        repeats_planned: plan.repeats_planned(number),
        published_row: plan.published.as_ref().and_then(|published| published.row_of(case)),
    });
    cases.collect()
}

fn published(published: &Published) -> PublishedDocument {
    let rows = published
        .rows
        .iter()
        .map(|row| PublishedRowDocument { params: printed(&row.params), values: row.values.clone() });
    PublishedDocument {
        title: published.title.clone(),
        date: published.date.clone(),
        hardware: published.hardware.clone(),
        definition: published.definition.clone(),
        rows: rows.collect(),
    }
}
