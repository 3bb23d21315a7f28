//! A run as JSON: the document scripts read. Its schema is `docs/reference/run.schema.json`.
//!
//! Units stand in the names of fields, or in `unit` beside a value. Fields are added under the same
//! version; a field that is removed or changes its meaning makes a new one.

use crate::caveats;
use crate::figures::trial_label;
use crate::input::ReportInput;
use crate::units;
use kdyno_model::finding::Value as Number;
use kdyno_model::plan::{Plan, TrialRef};
use kdyno_model::run::{Event, RunStatus};
use kdyno_model::sample::NoiseReading;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Name and version of the document.
pub const SCHEMA: &str = "kdyno.run/1";

/// The document.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = "kdyno run", deny_unknown_fields)]
struct RunDocument {
    /// Name and version of this document: `kdyno.run/1`.
    schema: String,
    /// 16 hexadecimal digits.
    run_id: String,
    /// Version of the program that ran.
    kdyno_version: String,
    /// Commit of the folder the run was started in.
    git_head: Option<String>,
    /// The program's own command line.
    command_line: Vec<String>,
    /// Wall clock, ns since 1970 in UTC, as text because it exceeds what many readers keep exactly.
    started_unix_ns: String,
    /// How the run ended; null when it was cut off.
    end: Option<End>,
    /// Scenario id.
    scenario: String,
    /// The question it asks.
    question: String,
    /// The profile in force.
    profile: String,
    /// Parameters changed on the command line, with their printed values.
    changed: BTreeMap<String, String>,
    /// Seed of the run, as text because it may exceed what many readers keep exactly.
    seed: String,
    /// Facts about the host.
    host: BTreeMap<String, String>,
    /// The cases, in the order of the scenario's table.
    cases: Vec<Case>,
    /// The trials, in the order of execution.
    trials: Vec<Trial>,
    /// What the noise probe showed before a trial: one second of spinning, sleeping and loopback round trips.
    noise: Vec<Noise>,
    /// Reasons to doubt the findings.
    caveats: Vec<CaveatDocument>,
    /// Every number, of the measure phase.
    findings: Vec<FindingDocument>,
    /// What happened, in the order of time: disconnects, a process that ended, why a trial was cut short.
    events: Vec<EventDocument>,
    /// What somebody published, beside which ours are set; not measured here.
    published: Option<PublishedFigures>,
    /// The whole plan with every setting, as the run file keeps it; its form follows the program's version.
    plan: serde_json::Value,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct End {
    /// `completed`, `interrupted` or `failed`.
    status: String,
    /// The program's exit code.
    exit_code: u8,
    /// Why; empty when completed.
    detail: String,
    /// Wall clock, ns since 1970 in UTC, as text.
    ended_unix_ns: String,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Case {
    /// Index, from 0.
    case: u32,
    /// The parameters that tell it apart; empty when there is one case.
    label: String,
    /// Every parameter's printed value.
    params: BTreeMap<String, String>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Trial {
    /// Index of its case, from 0.
    case: u32,
    /// Repeat, from 0.
    repeat: u32,
    /// Case and repeat in words.
    label: String,
    /// Whether it has findings.
    measured: bool,
    /// What is known of the system under test; empty when the trial was not started.
    cluster: BTreeMap<String, String>,
    /// The final command line of each process by its subject, e.g. `broker-0`.
    command_lines: BTreeMap<String, Vec<String>>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Noise {
    /// Index of the case, from 0.
    case: u32,
    /// Repeat, from 0.
    repeat: u32,
    /// Iterations of a fixed spin per microsecond, median of slices; null when it is no number.
    spin_per_us: Option<f64>,
    /// Slowest slice ÷ median slice of the spin; null when it is no number.
    spin_worst_ratio: Option<f64>,
    /// Lateness of absolute sleeps, ns: median.
    sleep_late_ns_p50: u64,
    /// 99th percentile of the same.
    sleep_late_ns_p99: u64,
    /// Round trip of one byte over loopback TCP, ns: median.
    loopback_ns_p50: u64,
    /// 99th percentile of the same.
    loopback_ns_p99: u64,
    /// Share of processor time that the hypervisor took during the probe, 0 to 1; null when it is no number.
    steal_share: Option<f64>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct CaveatDocument {
    /// Index of the case, from 0.
    case: u32,
    /// Repeat, from 0.
    repeat: u32,
    /// `note`, `caveat` or `invalid` (the trial's figures must not be used).
    severity: String,
    /// Which doubt, e.g. `shared-processors`.
    kind: String,
    /// The same in words.
    message: String,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct FindingDocument {
    /// Index of the case, from 0.
    case: u32,
    /// Repeat, from 0.
    repeat: u32,
    /// A load item, `brokers`, `broker-N`, `workers` or `host`.
    subject: String,
    /// Metric name, e.g. `response.p99`.
    metric: String,
    /// Unit of the value, e.g. `ns`, `records_per_s`, `cpu_us_per_record`.
    unit: String,
    /// The number; null when nothing was counted.
    value: Option<f64>,
    /// The value is only known to be at least this, because the quantile falls among failed or unresolved
    /// records.
    at_least: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct EventDocument {
    /// Index of the case, from 0; null outside of trials.
    case: Option<u32>,
    /// Repeat, from 0; null outside of trials.
    repeat: Option<u32>,
    /// Wall clock, ns since 1970 in UTC, as text.
    at_unix_ns: String,
    /// ns from the trial's T0; null before it.
    at_ns: Option<i64>,
    /// What, e.g. `process-died`, `disconnected`.
    kind: String,
    /// Whose: `broker-1`, `worker-0`, a load item, `kdyno`.
    subject: String,
    /// One sentence.
    detail: String,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct PublishedFigures {
    /// Title of the source.
    title: String,
    /// Its date, as written.
    date: String,
    /// The hardware it was measured on.
    hardware: String,
    /// How the source defines its figure.
    definition: String,
    /// Rows of the source's table.
    rows: Vec<PublishedFiguresRow>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct PublishedFiguresRow {
    /// Printed parameter values that select the case.
    params: BTreeMap<String, String>,
    /// Metric address to number, in the metric's unit; null: the source does not give it.
    values: BTreeMap<String, Option<f64>>,
}

/// One run as a JSON document of schema [`SCHEMA`].
#[must_use]
pub fn run(input: &ReportInput<'_>) -> serde_json::Value {
    // The document holds only text, finite numbers and maps with text keys, which serialise always.
    serde_json::to_value(document(input)).unwrap_or_default()
}

/// The JSON Schema of [`run`]'s document, as committed in `docs/reference/run.schema.json`.
#[must_use]
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(RunDocument).to_value()
}

fn document(input: &ReportInput<'_>) -> RunDocument {
    let header = input.header;
    let plan = input.plan();
    RunDocument {
        schema: SCHEMA.to_owned(),
        run_id: format!("{:016x}", header.run_id),
        kdyno_version: header.kdyno_version.clone(),
        git_head: header.git_head.clone(),
        command_line: header.command_line.clone(),
        started_unix_ns: header.started_unix_ns.to_string(),
        end: input.end.map(|end| End {
            status: status_name(end.status).to_owned(),
            exit_code: end.exit_code,
            detail: end.detail.clone(),
            ended_unix_ns: end.ended_unix_ns.to_string(),
        }),
        scenario: plan.scenario.clone(),
        question: plan.question.clone(),
        profile: plan.profile.clone(),
        changed: plan.changed.clone(),
        seed: plan.seed.to_string(),
        host: header.host_facts.clone(),
        cases: (0u32..)
            .zip(&plan.cases)
            .map(|(case, of)| Case { case, label: of.label.clone(), params: printed(&of.params) })
            .collect(),
        trials: plan.order.iter().map(|trial| trial_of(plan, *trial, input)).collect(),
        noise: input.noise.iter().map(noise).collect(),
        caveats: input.caveats.iter().map(doubt).collect(),
        findings: input.findings.iter().map(figure).collect(),
        events: input.events.iter().map(happening).collect(),
        published: plan.published.as_ref().map(published),
        plan: serde_json::to_value(plan).unwrap_or_default(),
    }
}

/// A status as printed in documents.
pub(crate) fn status_name(status: RunStatus) -> &'static str {
    match status {
        RunStatus::Completed => "completed",
        RunStatus::Interrupted => "interrupted",
        RunStatus::Failed => "failed",
    }
}

fn trial_of(plan: &Plan, trial: TrialRef, input: &ReportInput<'_>) -> Trial {
    let started = input.trials.iter().find(|start| start.trial == trial);
    Trial {
        case: trial.case,
        repeat: trial.repeat,
        label: trial_label(plan, trial),
        measured: input.findings.iter().any(|finding| finding.trial == trial),
        cluster: started.map(|start| start.cluster.clone()).unwrap_or_default(),
        command_lines: started.map(|start| start.command_lines.clone()).unwrap_or_default(),
    }
}

fn noise((trial, reading): &(TrialRef, NoiseReading)) -> Noise {
    let finite = |number: f64| Some(number).filter(|number| number.is_finite());
    Noise {
        case: trial.case,
        repeat: trial.repeat,
        spin_per_us: finite(reading.spin_per_us),
        spin_worst_ratio: finite(reading.spin_worst_ratio),
        sleep_late_ns_p50: reading.sleep_late_ns_p50,
        sleep_late_ns_p99: reading.sleep_late_ns_p99,
        loopback_ns_p50: reading.loopback_ns_p50,
        loopback_ns_p99: reading.loopback_ns_p99,
        steal_share: finite(reading.steal_share),
    }
}

fn happening((trial, event): &(Option<TrialRef>, Event)) -> EventDocument {
    EventDocument {
        case: trial.map(|trial| trial.case),
        repeat: trial.map(|trial| trial.repeat),
        at_unix_ns: event.at_unix_ns.to_string(),
        at_ns: event.at_ns,
        kind: event.kind.clone(),
        subject: event.subject.clone(),
        detail: event.detail.clone(),
    }
}

fn doubt((trial, severity, caveat): &crate::TrialCaveat) -> CaveatDocument {
    CaveatDocument {
        case: trial.case,
        repeat: trial.repeat,
        severity: caveats::severity_name(*severity).to_owned(),
        kind: caveats::kind(caveat).to_owned(),
        message: caveats::single(caveat),
    }
}

fn figure(finding: &kdyno_model::finding::Finding) -> FindingDocument {
    let (value, at_least) = match finding.value {
        Number::Is(number) => (Some(number), false),
        Number::AtLeast(number) => (Some(number), true),
        Number::None => (None, false),
    };
    let value = value.filter(|number| number.is_finite());
    FindingDocument {
        case: finding.trial.case,
        repeat: finding.trial.repeat,
        subject: finding.of.subject.clone(),
        metric: finding.of.metric.clone(),
        unit: units::key(finding.unit).to_owned(),
        at_least: at_least && value.is_some(),
        value,
    }
}

fn published(published: &kdyno_model::plan::Published) -> PublishedFigures {
    let row = |row: &kdyno_model::plan::PublishedRow| PublishedFiguresRow {
        params: printed(&row.params),
        values: row.values.clone(),
    };
    PublishedFigures {
        title: published.title.clone(),
        date: published.date.clone(),
        hardware: published.hardware.clone(),
        definition: published.definition.clone(),
        rows: published.rows.iter().map(row).collect(),
    }
}

fn printed(params: &BTreeMap<String, kdyno_model::plan::ParamValue>) -> BTreeMap<String, String> {
    params.iter().map(|(name, value)| (name.clone(), value.to_string())).collect()
}
