//! Findings and series as comma-separated values (RFC 4180), one fact per row, units in the names.

use crate::figures::trial_label;
use crate::units;
use kdyno_model::finding::{Finding, Value};
use kdyno_model::metric::{self, Unit};
use kdyno_model::plan::Plan;
use kdyno_model::sample::Phase;
use kdyno_model::series::{SecondPoint, TrialSeries};

/// A column: its name and what it holds.
type Column = (&'static str, &'static str);

const CASE: Column = ("case", "place of the case in the plan, from 0");
const REPEAT: Column = ("repeat", "which repeat of the case, from 0");
const VALUE: Column =
    ("value", "the figure, a decimal number with a point and no unit; empty where there is none");
const AT_LEAST: Column = (
    "at_least",
    "`true`: the true figure is the value or more, because a quantile fell among records that never came home; \
     else `false`",
);

const FINDINGS: [Column; 8] = [
    CASE,
    REPEAT,
    (
        "trial",
        "the trial in words, as in tables: the case's label and, of several repeats, `#` and which, from 1",
    ),
    (
        "subject",
        "whose figure: a load item by its name, `brokers` (all together), `broker-0` …, `workers` or `host`",
    ),
    ("metric", "which figure, see [Metrics](scenario.md#metrics)"),
    ("unit", "the value's unit, see below"),
    VALUE,
    AT_LEAST,
];

const SERIES: [Column; 8] = [
    CASE,
    REPEAT,
    (
        "subject",
        "whose figure: a load item by its name, a process (`broker-0`, `controller-3000`, `zookeeper-0`, `worker-0`, \
         `kdyno`) or `host`",
    ),
    ("series", "which figure and its unit, see below"),
    (
        "phase",
        "`startup`, `warmup`, `measure` or `drain`; empty for processor time, which belongs to no record",
    ),
    (
        "at_s",
        "seconds from the start of the load, T0: of a load item the whole second that begins there, of processor \
         time the end of its stretch of about a second, negative before T0",
    ),
    VALUE,
    AT_LEAST,
];

/// What is counted in a second of a load item: name, meaning, where it stands.
type Count = (&'static str, &'static str, fn(&SecondPoint) -> u64);

const COUNTS: [Count; 5] = [
    ("offered_per_s", "records whose intended instant lies in the second", |point| point.offered),
    ("achieved_per_s", "records the client accepted in the second", |point| point.achieved),
    ("acked_per_s", "records acknowledged in the second", |point| point.acknowledged),
    ("fetched_per_s", "records fetched in the second", |point| point.fetched),
    ("failed_per_s", "records that failed in the second", |point| point.failed),
];

/// A response time of the records that are due in a second of a load item.
type Time = (&'static str, &'static str, fn(&SecondPoint) -> Value);

const TIMES: [Time; 3] = [
    ("response_ns_p50", "median response time of the records due in the second, ns", |point| {
        point.response_ns_p50
    }),
    ("response_ns_p99", "99th percentile of the same, ns", |point| point.response_ns_p99),
    ("response_ns_max", "largest of the same, ns", |point| point.response_ns_max),
];

const CPU: Column = (
    "cpu_percent_of_core",
    "processor time of a process, user and system; of the host everything but idle and iowait; percent of one core",
);

/// Every finding, one per row. An absent value is empty.
#[must_use]
pub fn findings(plan: &Plan, findings: &[Finding]) -> String {
    let mut out = row(FINDINGS.map(|(name, _)| name));
    for finding in findings {
        let (value, at_least) = number(finding.value);
        out.push_str(&row([
            &finding.trial.case.to_string(),
            &finding.trial.repeat.to_string(),
            &trial_label(plan, finding.trial),
            &finding.of.subject,
            &finding.of.metric,
            units::key(finding.unit),
            &value,
            at_least,
        ]));
    }
    out
}

/// Every second of every stream, then every reading of processor time, in one long table.
#[must_use]
pub fn series(trials: &[TrialSeries]) -> String {
    let mut out = row(SERIES.map(|(name, _)| name));
    for trial in trials {
        let case = trial.trial.case.to_string();
        let repeat = trial.trial.repeat.to_string();
        let mut push = |subject: &str, name: &str, phase: &str, at_s: &str, value: Value| {
            let (value, at_least) = number(value);
            out.push_str(&row([&case, &repeat, subject, name, phase, at_s, &value, at_least]));
        };
        for stream in &trial.streams {
            for point in &stream.seconds {
                let at_s = point.second.to_string();
                for (name, _, count) in COUNTS {
                    let value = Value::Is(count(point) as f64);
                    push(&stream.name, name, phase(point.phase), &at_s, value);
                }
                for (name, _, time) in TIMES {
                    push(&stream.name, name, phase(point.phase), &at_s, time(point));
                }
            }
        }
        for cpu in &trial.cpu {
            for point in &cpu.points {
                push(&cpu.subject, CPU.0, "", &point.at_s.to_string(), Value::Is(point.percent));
            }
        }
    }
    out
}

/// What the columns, units and series mean, as Markdown.
#[must_use]
pub fn reference() -> String {
    let counts = COUNTS.map(|(name, meaning, _)| (name, meaning));
    let times = TIMES.map(|(name, meaning, _)| (name, meaning));
    let mut units: Vec<(&str, &str)> = Vec::new();
    for unit in metric::ALL.iter().map(|known| known.unit).chain([Unit::Ns]) {
        let line = (units::key(unit), unit.described());
        if !units.contains(&line) {
            units.push(line);
        }
    }
    [
        HEAD,
        "## csv\n\n`kdyno export RUN --format csv`: one figure of one trial's measure phase per row.\n\n",
        &table("column", &FINDINGS),
        &table("unit", &units),
        "## series-csv\n\n`kdyno export RUN --format series-csv`: the course of each trial, one figure of one second \
         per row.\nFirst every load item, then processor time.\n\n",
        &table("column", &SERIES),
        &table("series", &[&counts[..], &times, &[CPU]].concat()),
    ]
    .concat()
    .trim_end()
    .to_owned()
        + "\n"
}

const HEAD: &str = "\
# CSV of a run

This page is made from the tables that the writer itself uses (`cargo test -p kdyno-report` fails when it differs;
`UPDATE_REFERENCE=1 cargo test -p kdyno-report` writes it).

Both forms are comma-separated values by RFC 4180: a head with the names of the columns, lines that end in CR LF,
fields with a comma, quote or line end in double quotes; UTF-8.

";

fn table(head: &str, lines: &[(&str, &str)]) -> String {
    let mut text = format!("| {head} | meaning |\n|---|---|\n");
    for (name, meaning) in lines {
        text.push_str(&format!("| `{name}` | {meaning} |\n"));
    }
    text + "\n"
}

fn phase(phase: Phase) -> &'static str {
    match phase {
        Phase::Startup => "startup",
        Phase::Warmup => "warmup",
        Phase::Measure => "measure",
        Phase::Drain => "drain",
    }
}

fn number(value: Value) -> (String, &'static str) {
    match value {
        Value::Is(number) if number.is_finite() => (number.to_string(), "false"),
        Value::AtLeast(number) if number.is_finite() => (number.to_string(), "true"),
        _ => (String::new(), "false"),
    }
}

fn row<const N: usize>(fields: [&str; N]) -> String {
    let mut line = fields.map(quoted).join(",");
    line.push_str("\r\n");
    line
}

fn quoted(field: &str) -> String {
    if field.contains([',', '"', '\r', '\n']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_that_need_it_are_quoted() {
        assert_eq!(
            row(["a", "b,c", "say \"hi\"", "two\nlines"]),
            "a,\"b,c\",\"say \"\"hi\"\"\",\"two\nlines\"\r\n"
        );
    }
}
