//! Findings and series as comma-separated values (RFC 4180), one fact per row, units in the names.

use crate::figures::trial_label;
use crate::units;
use kdyno_model::finding::{Finding, Value};
use kdyno_model::plan::Plan;
use kdyno_model::sample::Phase;
use kdyno_model::series::TrialSeries;

/// Every finding: `case,repeat,trial,subject,metric,unit,value,at_least`. An absent value is empty.
#[must_use]
pub fn findings(plan: &Plan, findings: &[Finding]) -> String {
    let mut out = row(["case", "repeat", "trial", "subject", "metric", "unit", "value", "at_least"]);
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

/// Every second of every stream, then every reading of processor time, in one long table:
/// `case,repeat,subject,series,phase,at_s,value,at_least`.
#[must_use]
pub fn series(trials: &[TrialSeries]) -> String {
    let mut out = row(["case", "repeat", "subject", "series", "phase", "at_s", "value", "at_least"]);
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
                let counts = [
                    ("offered_per_s", point.offered),
                    ("achieved_per_s", point.achieved),
                    ("acked_per_s", point.acknowledged),
                    ("fetched_per_s", point.fetched),
                    ("failed_per_s", point.failed),
                ];
                for (name, count) in counts {
                    push(&stream.name, name, phase(point.phase), &at_s, Value::Is(count as f64));
                }
                let latencies = [
                    ("response_ns_p50", point.response_ns_p50),
                    ("response_ns_p99", point.response_ns_p99),
                    ("response_ns_max", point.response_ns_max),
                ];
                for (name, value) in latencies {
                    push(&stream.name, name, phase(point.phase), &at_s, value);
                }
            }
        }
        for cpu in &trial.cpu {
            for point in &cpu.points {
                push(
                    &cpu.subject,
                    "cpu_percent_of_core",
                    "",
                    &point.at_s.to_string(),
                    Value::Is(point.percent),
                );
            }
        }
    }
    out
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
