//! What is known of the commands of a trial, as figures.

use crate::rows::TrialRows;
use kdyno_model::command_metrics::{
    CPU_TIME, DURATION, ERROR_SHARE, ERRORS, EXIT_CODE, MIB_PER_S, OVERLAP, REQUESTS, REQUESTS_PER_S,
    SUCCEEDED, UNPARSED_LINES,
};
use kdyno_model::event::{Event, EventKind, Subject};
use kdyno_model::evidence::TrialEvidence;
use kdyno_model::finding::{Finding, Value};
use kdyno_model::metric::{self, SubjectKind, Unit};
use kdyno_model::plan::CommandPlan;
use kdyno_model::plan::command::series;
use kdyno_model::plan::http_load::HttpLoad;
use kdyno_model::sample::ProbeReading;

const NS_PER_S: f64 = 1e9;
/// Reported of every command, whatever it says.
const ALWAYS: [&str; 3] = [DURATION, SUCCEEDED, EXIT_CODE];

/// The figures of every command of the trial and of its labels: what it reported where there is something.
pub(crate) fn findings(trial: &TrialRows<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for item in trial.evidence.start.trial.effective.commands.keys() {
        found.extend(of_subject(trial, item, SubjectKind::Command));
        let labels = labels(trial.evidence, item);
        found.extend(labels.flat_map(|label| of_subject(trial, label, SubjectKind::Label)));
    }
    found
}

/// The names of a command's labels.
pub(crate) fn labels<'e>(evidence: &'e TrialEvidence, item: &str) -> impl Iterator<Item = &'e str> + use<'e> {
    let command = evidence.start.trial.effective.commands.get(item);
    command.into_iter().flat_map(CommandPlan::labels)
}

fn of_subject(trial: &TrialRows<'_>, subject: &str, kind: SubjectKind) -> Vec<Finding> {
    let own = CommandReadings::of(trial.evidence, subject);
    let mut found = Vec::new();
    for name in metric::names(kind) {
        let value = own.value(&name);
        if value == Value::None && !ALWAYS.contains(&name.as_str()) {
            continue;
        }
        let unit = metric::find(kind, &name).map_or(Unit::Count, |known| known.unit);
        found.push(trial.stated(subject, &name, unit, value));
    }
    found
}

/// Why a command is not to be trusted: its first reported failure.
pub(crate) fn failures(evidence: &TrialEvidence) -> impl Iterator<Item = (&str, &Event)> {
    let commands = evidence.start.trial.effective.commands.keys();
    commands.filter_map(|item| {
        let is_own = |event: &&Event| {
            event.kind == EventKind::CommandFailed
                && matches!(&event.subject, Subject::Item(own) if own == item)
        };
        evidence.events.iter().find(is_own).map(|event| (item.as_str(), event))
    })
}

/// How many requests of a command failed, and which share of all; `None`: none, or not reported, or it failed as a
/// whole.
pub(crate) fn failed_requests(evidence: &TrialEvidence, item: &str) -> Option<(f64, f64)> {
    let own = CommandReadings::of(evidence, item);
    let (errors, requests) = (own.most(series::ERRORS_TOTAL)?, own.most(series::REQUESTS_TOTAL)?);
    (!own.has_failed && errors > 0.0 && requests > 0.0).then(|| (errors, errors / requests))
}

/// CPU time that users of an item took to send, percent of one core, from its start to its end; `None`: there are none.
pub(crate) fn users_cpu_percent(evidence: &TrialEvidence, item: &str) -> Option<f64> {
    let plan = evidence.start.trial.effective.commands.get(item)?;
    plan.http.as_ref().filter(|http| matches!(http, HttpLoad::Users(_)))?;
    let own = CommandReadings::of(evidence, item);
    let took_s = own.last(series::DURATION_S).or_else(|| own.last(series::ENDED_AFTER_S))?;
    let used_s = own.last(series::CPU_S)?;
    (took_s > 0.0).then(|| 100.0 * used_s / took_s)
}

/// How many requests with a response time a command or label reported.
pub(crate) fn responses(evidence: &TrialEvidence, subject: &str) -> Option<f64> {
    CommandReadings::of(evidence, subject).last(series::RESPONSES)
}

/// How many of so many lie beyond a quantile.
// A number of requests, not negative.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
pub(crate) fn beyond(requests: f64, quantile: f64) -> u64 {
    (requests * (1.0 - quantile)).floor() as u64
}

/// CPU time of all commands together, s.
pub(crate) fn cpu_s(evidence: &TrialEvidence) -> f64 {
    let commands = evidence.start.trial.effective.commands.keys();
    commands.filter_map(|item| CommandReadings::of(evidence, item).last(series::CPU_S)).sum()
}

/// The readings of one command.
struct CommandReadings<'a> {
    probes: Vec<&'a ProbeReading>,
    has_failed: bool,
}

impl<'a> CommandReadings<'a> {
    fn of(evidence: &'a TrialEvidence, item: &str) -> Self {
        let is_own = |reading: &&ProbeReading| matches!(&reading.subject, Subject::Item(own) if own == item);
        let has_failed = failures(evidence).any(|(failed, _)| failed == item);
        Self { probes: evidence.probes.iter().filter(is_own).collect(), has_failed }
    }

    /// The newest reading of a series.
    fn last(&self, series: &str) -> Option<f64> {
        let own = self.probes.iter().filter(|reading| reading.series == series);
        own.max_by_key(|reading| reading.at_ns).map(|reading| reading.value)
    }

    /// The largest one: of what only grows, the last.
    fn most(&self, series: &str) -> Option<f64> {
        self.probes
            .iter()
            .filter(|reading| reading.series == series)
            .map(|reading| reading.value)
            .reduce(f64::max)
    }

    fn value(&self, name: &str) -> Value {
        if let Some(statistic) = name.strip_prefix("response.") {
            let time_s = self.last(&format!("{}{statistic}", series::RESPONSE_S_OF));
            return Value::from(time_s.map(|time_s| time_s * NS_PER_S));
        }
        let requests = || self.most(series::REQUESTS_TOTAL);
        let errors = || self.most(series::ERRORS_TOTAL);
        let duration_s = self.last(series::DURATION_S);
        Value::from(match name {
            DURATION => {
                let ended_after =
                    self.last(series::ENDED_AFTER_S).map(|after_s| Value::AtLeast(after_s * NS_PER_S));
                return ended_after.unwrap_or(Value::from(duration_s.map(|took_s| took_s * NS_PER_S)));
            }
            SUCCEEDED => {
                // Users stay until the load ends, and have not failed then.
                let ended_s = duration_s.or_else(|| self.last(series::ENDED_AFTER_S));
                let has_ended = ended_s.is_some() || self.has_failed;
                has_ended.then(|| f64::from(u8::from(!self.has_failed)))
            }
            EXIT_CODE => self.last(series::EXIT_CODE),
            CPU_TIME => self.last(series::CPU_S).map(|used_s| used_s * NS_PER_S),
            REQUESTS => requests(),
            ERRORS => errors(),
            ERROR_SHARE => requests()
                .filter(|requests| *requests > 0.0)
                .and_then(|requests| errors().map(|errors| errors / requests)),
            REQUESTS_PER_S => self.last(series::REQUESTS_PER_S).or_else(|| {
                let requests = requests().filter(|requests| *requests > 0.0)?;
                duration_s.filter(|took_s| *took_s > 0.0).map(|took_s| requests / took_s)
            }),
            MIB_PER_S => self.last(series::MIB_PER_S),
            UNPARSED_LINES => self.last(series::UNPARSED_LINES),
            OVERLAP => self.last(series::OVERLAP),
            _ => None,
        })
    }
}
