//! The scenario that a workload and a driver come to, as one would type it. What the files say is quoted, so that it stays a
//! value.

use super::driver::OmbDriver;
use super::workload::{OmbPayload, OmbRate, OmbWorkload};
use crate::input::InputError;
use crate::yaml::literal;
use std::fmt::Write;

/// Between two values of a payload file. It is in none, so that the whole file is one value.
pub const DELIMITER: &str = "kdyno omb: the whole file is one value";
/// Highest ratio of compression that a scenario takes.
const RATIO_MAX: f64 = 1_000.0;

/// What is chosen in addition to the files.
#[derive(Clone, Copy)]
pub struct OmbChoices<'a> {
    /// Length of the measured window in place of `testDurationMinutes`, as a scenario has it.
    pub duration: Option<&'a str>,
    /// Length of the warm-up in place of `warmupDurationMinutes`.
    pub warmup: Option<&'a str>,
    /// The whole path of a payload file with a value of so many bytes, or a clause why there is none.
    pub payload: &'a dyn Fn(&str, u32) -> Result<String, String>,
}

/// A scenario.
#[derive(Debug, Clone)]
pub struct OmbScenario {
    /// Its id.
    pub id: String,
    /// Its text; the notes are comments at its beginning.
    pub text: String,
    /// What becomes of keys and settings that are not honoured, a sentence each.
    pub notes: Vec<String>,
}

/// Writes the scenario; `stem` is the workload file's name without its ending.
///
/// # Errors
/// What a scenario cannot say; the file is named later.
pub fn scenario(
    stem: &str,
    workload: &OmbWorkload,
    driver: &OmbDriver,
    choices: &OmbChoices<'_>,
) -> Result<OmbScenario, InputError> {
    let mut notes: Vec<String> = workload.notes.iter().chain(&driver.notes).cloned().collect();
    let value = value(workload, driver, choices, &mut notes)?;
    let phases = phases(workload, choices, &mut notes)?;
    let id = id(stem);
    let question =
        format!("What does OMB's workload `{}` give with the driver `{}`?", workload.name, driver.name);
    let parts = ScenarioParts {
        by: "omb",
        id: &id,
        question: &question,
        notes: &notes,
        value: &value,
        phases: &phases,
    };
    let text = written(workload, driver, &parts);
    Ok(OmbScenario { id, text, notes })
}

/// What a scenario is written of, in addition to its workload and its driver.
pub(super) struct ScenarioParts<'a> {
    /// The command that writes it.
    pub(super) by: &'static str,
    pub(super) id: &'a str,
    pub(super) question: &'a str,
    pub(super) notes: &'a [String],
    pub(super) value: &'a str,
    pub(super) phases: &'a str,
}

/// The text of a scenario.
pub(super) fn written(workload: &OmbWorkload, driver: &OmbDriver, parts: &ScenarioParts<'_>) -> String {
    let ScenarioParts { by, id, question, notes, value, phases } = *parts;
    let mut text = format!("# Made by `kdyno {by}`.\n");
    let mut write = |part: String| text.push_str(&part);
    notes.iter().for_each(|note| write(format!("# {}\n", one_line(note))));
    write(format!("kdyno: 1\nid: {id}\nquestion: {}\n", literal(question)));
    write(format!("system: {{brokers: {}}}\ntopics:\n", driver.replicas));
    let config = map("config", &driver.topic);
    let count = if workload.topics == 1 { String::new() } else { format!("count: {}, ", workload.topics) };
    let (partitions, replicas) = (workload.partitions, driver.replicas);
    write(format!("  topic: {{{count}partitions: {partitions}, replicas: {replicas}{config}}}\n"));
    write("load:\n".to_owned());
    write(produce(workload, driver, value));
    (1..=workload.subscriptions).for_each(|group| write(consume(workload, driver, group)));
    write(phases.to_owned());
    write(question_of(workload));
    text
}

impl OmbWorkload {
    /// The item of a consumer group of each topic.
    pub(super) fn readers(&self, group: u32) -> String {
        if self.subscriptions == 1 { "readers".to_owned() } else { format!("readers-{group}") }
    }
}

/// The id of a scenario, from a file's name.
pub(super) fn id(stem: &str) -> String {
    const CHARS_MAX: usize = 50;
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    format!("omb-{stem}").chars().map(plain).take(CHARS_MAX).collect()
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Settings as a part of a map, with the comma before it; empty without any.
fn map(key: &str, settings: &[(String, String)]) -> String {
    if settings.is_empty() {
        return String::new();
    }
    let pairs = settings.iter().map(|(name, value)| format!("{}: {}", literal(name), literal(value)));
    format!(", {key}: {{{}}}", pairs.collect::<Vec<_>>().join(", "))
}

fn produce(workload: &OmbWorkload, driver: &OmbDriver, value: &str) -> String {
    let rate = match workload.rate {
        // Where the search begins, as OMB does.
        OmbRate::Search => "10k/s, arrivals: constant".to_owned(),
        OmbRate::Max => "max".to_owned(),
        OmbRate::PerS(per_s) => format!("{per_s}/s, arrivals: constant"),
    };
    let key = workload.keys.map(|key| format!(", key: {key}")).unwrap_or_default();
    format!(
        "  writers: {{produce: topic, clients: {}, rate: {rate}, value: {value}{key}{}}}\n",
        workload.producers,
        map("client", &driver.producer)
    )
}

fn consume(workload: &OmbWorkload, driver: &OmbDriver, group: u32) -> String {
    let readers = workload.readers(group);
    let from = match workload.backlog_bytes {
        0 => driver.from.to_owned(),
        bytes => format!("earliest, at: {{backlog: {bytes}B}}"),
    };
    format!(
        "  {readers}: {{consume: topic, clients: {}, group: {readers}, from: {from}{}}}\n",
        workload.consumers,
        map("client", &driver.consumer)
    )
}

/// What values are: their bytes count where they are compressed.
fn value(
    workload: &OmbWorkload,
    driver: &OmbDriver,
    choices: &OmbChoices<'_>,
    notes: &mut Vec<String>,
) -> Result<String, InputError> {
    let bytes = workload.message_bytes;
    let plain = format!("{bytes}B");
    let codec = driver.producer.iter().find(|(name, _)| name == "compression.type");
    let is_compressed = codec.is_some_and(|(_, codec)| codec != "none");
    match &workload.payload {
        OmbPayload::Random { share } if is_compressed => {
            let ratio = if *share > 0.0 { (1.0 / share).min(RATIO_MAX) } else { RATIO_MAX };
            Ok(format!("{{size: {plain}, compressible: {ratio:.3}}}"))
        }
        OmbPayload::Random { .. } => {
            notes.push("`randomBytesRatio`: without `compression.type` values are random letters".to_owned());
            Ok(plain)
        }
        OmbPayload::File(name) if is_compressed => {
            let path = (choices.payload)(name, bytes).map_err(|why| {
                InputError::whole(format!("`payloadFile` {}: {why}", crate::input::quoted(name)))
            })?;
            notes.push(
                "`payloadFile`: each value is the file; a header of 39 bytes that OMB does not send has kdyno's own data".to_owned(),
            );
            Ok(format!("{{file: {{name: {}, delimiter: {}}}}}", literal(&path), literal(DELIMITER)))
        }
        OmbPayload::File(_) => {
            notes.push(
                "`payloadFile`: without `compression.type` not needed; values have `messageSize` bytes of random letters".to_owned(),
            );
            Ok(plain)
        }
        OmbPayload::Missing => {
            let message = "the workload has neither `payloadFile` nor `useRandomizedPayloads`";
            Err(InputError::whole(message).hint("`useRandomizedPayloads: true`"))
        }
    }
}

fn phases(
    workload: &OmbWorkload,
    choices: &OmbChoices<'_>,
    notes: &mut Vec<String>,
) -> Result<String, InputError> {
    let minutes = |minutes: u32| format!("{minutes}m");
    // Until it is written, and as long again until it is read.
    let with_backlog_s = (2.0 * workload.backlog_s()).ceil() as u64;
    let measure = match (choices.duration, workload.minutes) {
        (Some(duration), _) => duration.to_owned(),
        (None, 0) if workload.is_search() => minutes(5),
        (None, 0) => {
            let message = "`testDurationMinutes` is 0 or missing, which OMB measures without end";
            return Err(InputError::whole(message).hint("--duration says how long"));
        }
        (None, typed) if with_backlog_s > 60 * u64::from(typed) => {
            notes.push(format!(
                "`testDurationMinutes`: OMB goes on until the backlog is drained; here {with_backlog_s} s are measured, twice what \
                 writing it takes, and --duration changes that"
            ));
            format!("{with_backlog_s}s")
        }
        (None, typed) => minutes(typed),
    };
    let warmup = choices.warmup.map_or_else(|| minutes(workload.warmup_minutes), str::to_owned);
    let (measure, warmup) = (literal(&measure), literal(&warmup));
    Ok(format!("phases: {{warmup: {warmup}, measure: {measure}, drain: auto}}\n"))
}

/// The search, if it is one, and the columns of the table.
fn question_of(workload: &OmbWorkload) -> String {
    let readers = (workload.subscriptions > 0).then(|| workload.readers(1));
    let mut text = String::new();
    // Writing to a text cannot fail.
    if workload.is_search() {
        let mut conditions = "writers.failed_share <= 0.1%, writers.achieved_share >= 99%".to_owned();
        readers.iter().for_each(|readers| conditions += &format!(", {readers}.lag_time <= 1s"));
        let _ = writeln!(text, "find:\n  highest: writers.rate\n  from: 10k/s\n  while: [{conditions}]");
    }
    let of_readers = readers.iter().map(|readers| match workload.backlog_bytes {
        0 => format!(", {readers}.fetched_per_s, {readers}.end_to_end.p99"),
        _ => format!(", {readers}.caught_up, {readers}.caught_up_per_s"),
    });
    let writers = ["offered_per_s", "acked_per_s", "response.p50", "response.p99", "service.p99", "failed"];
    let writers = writers.map(|metric| format!("writers.{metric}")).join(", ");
    let columns = format!("{writers}{}", of_readers.collect::<String>());
    let _ = writeln!(text, "show:\n  columns: [{columns}]");
    text
}
