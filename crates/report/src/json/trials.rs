//! Sessions, trials and what happened in them.

use crate::figures::FindingIndex;
use crate::input::{ReportInput, is_cut_short};
use crate::names::{finite, name_of, printed};
use kdyno_model::event::Event;
use kdyno_model::run::{Session, SessionEnd, TrialStart};
use kdyno_model::sample::NoiseReading;
use kdyno_model::trial::TrialId;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct SessionDocument {
    /// Its number, from 1.
    session: u32,
    /// Wall clock, ns since 1970 in UTC, as text because it exceeds what many readers keep exactly.
    started_unix_ns: String,
    /// Version of the program that ran.
    kdyno_version: String,
    /// Commit of the folder it was started in.
    git_head: Option<String>,
    /// The program's own command line.
    command_line: Vec<String>,
    /// The kernel's random id of the host's boot; empty where it has none.
    boot_id: String,
    /// Processors of the host.
    processors: u32,
    /// Facts about the host; a name that ends in `_bytes` has that unit.
    host: BTreeMap<String, String>,
    /// How it ended; null while it goes on, and when it was cut off.
    end: Option<EndDocument>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct EndDocument {
    /// `completed`, `out_of_time`, `interrupted` or `failed`.
    status: String,
    /// Why; empty when completed.
    detail: String,
    /// Wall clock, ns since 1970 in UTC, as text.
    ended_unix_ns: String,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct TrialDocument {
    /// Its number, from 1, in the order in which the trials ran.
    trial: u32,
    /// Index of its case, from 0.
    case: u32,
    /// Which of the case's repeats, from 1.
    repeat: u32,
    /// Which side of a comparison it is; null outside of comparisons.
    variant: Option<String>,
    /// Its place in a pair of a comparison.
    pair: Option<PairDocument>,
    /// Case and repeat in words; empty when the plan has one trial.
    label: String,
    /// Which start of its cluster it ran on, from 1.
    start: u32,
    /// Why it was chosen: `listed` when the plan lists its trials beforehand, `pair` of a comparison,
    /// `duet` of one whose two sides ran at once, `search`,
    /// `conditioning` (of a cluster that was just started; its figures count nowhere).
    reason: String,
    /// Seed of its schedules and choices, as text because it may exceed what many readers keep exactly.
    seed: String,
    /// The session it ran in, from 1.
    session: u32,
    /// T0, the start of its load, on the wall clock, ns since 1970 in UTC, as text.
    t0_unix_ns: String,
    /// Whether it came as far as its measure phase: before that nothing but counts is known.
    measured: bool,
    /// Whether it ended before its plan did: its findings cover the part of the measure phase that ran.
    cut_short: bool,
    /// Whether none of its figures may be used; of single ones that is among their `marks`.
    invalid: bool,
    /// Every parameter's printed value.
    params: BTreeMap<String, String>,
    /// What each worker was given to do.
    streams: Vec<StreamDocument>,
    /// What is known of the system under test.
    cluster: BTreeMap<String, String>,
    /// The final command line of each process by its subject, e.g. `broker-0`.
    command_lines: BTreeMap<String, Vec<String>>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct PairDocument {
    /// Which pair of the case, from 1.
    pair: u32,
    /// Whether it ran first or second of the two: 1 or 2.
    place: u8,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct StreamDocument {
    /// Number of the worker, from 0.
    worker: u16,
    /// Number of the stream on that worker, from 0.
    stream: u16,
    /// The load item's address in the scenario.
    item: String,
    /// The topic's name on the brokers; of one that a target has, its name in the scenario.
    topic: String,
    /// What its clients do: `produce` or `consume`.
    role: String,
    /// Which client carries it: `native`, or `java` with its version and the options of its Java process.
    driver: String,
    /// Clients of this stream.
    clients: u32,
    /// Bytes of each record's value; 0 for a consumer.
    value_bytes: u32,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct NoiseDocument {
    /// Number of the trial, from 1.
    trial: u32,
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
    /// Share of CPU time that the hypervisor took during the probe, 0 to 1; null when it is no number.
    steal_share: Option<f64>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct EventDocument {
    /// Number of the trial, from 1; null outside of trials.
    trial: Option<u32>,
    /// Wall clock, ns since 1970 in UTC, as text.
    at_unix_ns: String,
    /// ns from the trial's T0; null before it and outside of trials.
    at_ns: Option<i64>,
    /// What kind of event, e.g. `process-died`, `disconnected`.
    kind: String,
    /// Whom it concerns: `broker-1`, `worker-0`, a load item, a setting, `kdyno`.
    subject: String,
    /// What happened, in one sentence.
    detail: String,
}

pub(super) fn session((session, end): &(Session, Option<SessionEnd>)) -> SessionDocument {
    SessionDocument {
        session: session.number,
        started_unix_ns: session.started_unix_ns.to_string(),
        kdyno_version: session.kdyno_version.clone(),
        git_head: session.git_head.clone(),
        command_line: session.command_line.clone(),
        boot_id: session.boot_id.clone(),
        processors: session.processors,
        host: session.host_facts.clone(),
        end: end.as_ref().map(|end| EndDocument {
            status: name_of(&end.status),
            detail: end.detail.clone(),
            ended_unix_ns: end.ended_unix_ns.to_string(),
        }),
    }
}

pub(super) fn trial(
    start: &TrialStart,
    input: &ReportInput<'_>,
    figures: &FindingIndex<'_>,
) -> TrialDocument {
    let trial = &start.trial;
    let streams = start.streams.iter().map(|stream| StreamDocument {
        worker: stream.id.worker,
        stream: stream.id.stream,
        item: stream.name.clone(),
        topic: stream.topic.clone(),
        role: stream.role.to_string(),
        driver: trial.effective.load.get(&stream.name).map_or_else(String::new, |item| item.driver.label()),
        clients: stream.clients,
        value_bytes: stream.value_bytes,
    });
    let command_lines = start.command_lines.iter().map(|(whose, line)| (whose.to_string(), line.clone()));
    TrialDocument {
        trial: trial.id.0,
        case: trial.case,
        repeat: trial.repeat,
        variant: trial.variant.clone(),
        pair: trial.pair.map(|pair| PairDocument { pair: pair.pair, place: pair.place }),
        label: trial.label.clone(),
        start: trial.start,
        reason: name_of(&trial.reason),
        seed: trial.seed.to_string(),
        session: start.session,
        t0_unix_ns: start.t0_unix_ns.to_string(),
        measured: figures.has(trial.id),
        cut_short: is_cut_short(trial, input.caveats),
        invalid: figures.is_invalid(trial),
        params: printed(&trial.effective.params),
        streams: streams.collect(),
        cluster: start.cluster.clone(),
        command_lines: command_lines.collect(),
    }
}

pub(super) fn noise((trial, reading): &(TrialId, NoiseReading)) -> NoiseDocument {
    NoiseDocument {
        trial: trial.0,
        spin_per_us: finite(reading.spin_per_us),
        spin_worst_ratio: finite(reading.spin_worst_ratio),
        sleep_late_ns_p50: reading.sleep_late_ns_p50,
        sleep_late_ns_p99: reading.sleep_late_ns_p99,
        loopback_ns_p50: reading.loopback_ns_p50,
        loopback_ns_p99: reading.loopback_ns_p99,
        steal_share: finite(reading.steal_share),
    }
}

pub(super) fn event((trial, event): &(Option<TrialId>, Event)) -> EventDocument {
    EventDocument {
        trial: trial.map(|id| id.0),
        at_unix_ns: event.at_unix_ns.to_string(),
        at_ns: event.at_ns,
        kind: event.kind.to_string(),
        subject: event.subject.to_string(),
        detail: event.detail.clone(),
    }
}
