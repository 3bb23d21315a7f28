//! A load item that is a command, in words: what is run, when, and what is made of its output.

use kdyno_model::metric::Unit;
use kdyno_model::plan::http_load::{HttpLoad, HttpStep, JobPlan, RequestBody, UsersPlan};
use kdyno_model::plan::{CommandBegins, CommandPlan, CsvColumns, OutputFormat, ParsePlan};
use kdyno_model::units;
use std::collections::BTreeMap;

/// What is run, and when; further lines say what is read of it.
pub(super) fn command_lines(name: &str, command: &CommandPlan) -> Vec<String> {
    let begins = match &command.begins {
        CommandBegins::At(0) => "as the measure phase begins".to_owned(),
        CommandBegins::At(at_ns) => {
            format!("{} into the measure phase", units::number(*at_ns as f64, Unit::Ns))
        }
        CommandBegins::After(before) => format!("after {before}"),
    };
    let timeout = units::duration(command.timeout_ns);
    let mut lines = match &command.http {
        Some(HttpLoad::Users(users)) => users_lines(name, users, &begins),
        Some(HttpLoad::Job(job)) => job_lines(name, job, &format!("{begins}, at most {timeout}")),
        None => vec![
            format!("{name}: command, {begins}, at most {timeout}; {}", command.origin()),
            format!("  {}", command.line()),
        ],
    };
    if command.http.is_some() {
        return lines;
    }
    if !command.environment.is_empty() {
        let set = command.environment.iter().map(|(name, value)| format!("{name}={value}"));
        lines.push(format!("  with {}", set.collect::<Vec<_>>().join(" ")));
    }
    lines.extend(command.parse.as_ref().map(|parse| format!("  {}", parse_text(parse))));
    lines
}

fn users_lines(name: &str, users: &UsersPlan, begins: &str) -> Vec<String> {
    let (least, most) = users.think_ns;
    let pace = match users.per_s {
        Some(per_s) => format!("{} turns by chance", units::number(per_s, Unit::RequestsPerS)),
        None if most == 0 => "one turn after the other".to_owned(),
        None if least == most => format!("{} between two turns", units::length(most)),
        None => format!("{} to {} between two turns", units::length(least), units::length(most)),
    };
    let ramp = match users.ramp_ns {
        0 => String::new(),
        ns => format!(", come within {}", units::length(ns)),
    };
    let warmup = match users.warmup_ns {
        0 => String::new(),
        ns => format!(", the first {} left out", units::length(ns)),
    };
    let data = users.data.as_ref().map(|data| format!(", with the rows of {data}")).unwrap_or_default();
    let count = units::count(f64::from(users.users));
    let plural = if users.users == 1 { "user" } else { "users" };
    let mut lines = vec![format!(
        "{name}: {count} {plural} of {}, {begins}, {pace}{ramp}{warmup}{data}",
        users.target.address
    )];
    lines.extend(users.steps.iter().map(|step| format!("  {}: {}", step.name, step_text(step))));
    lines.push(format!("  {}: all of them together", users.chain));
    lines
}

fn job_lines(name: &str, job: &JobPlan, begins: &str) -> Vec<String> {
    let values = |of: &BTreeMap<String, String>| {
        of.iter().map(|(pointer, value)| format!("{pointer} is {value}")).collect::<Vec<_>>().join(", ")
    };
    let failed =
        if job.failed.is_empty() { String::new() } else { format!("; failed when {}", values(&job.failed)) };
    vec![
        format!("{name}: job of {}, {begins}", job.target.address),
        format!("  started by {}", step_text(&job.start)),
        format!(
            "  polled every {} by {}: done when {}{failed}",
            units::length(job.every_ns),
            step_text(&job.poll),
            values(&job.done)
        ),
    ]
}

fn step_text(step: &HttpStep) -> String {
    let body = match &step.body {
        Some(RequestBody::Json(_)) => " with JSON".to_owned(),
        Some(RequestBody::File(path)) => format!(" with {path}"),
        None => String::new(),
    };
    format!("{} {}{body}", step.method, step.url)
}

fn parse_text(parse: &ParsePlan) -> String {
    let from = match &parse.file {
        Some(file) => format!("its file {file}"),
        None => "its standard output".to_owned(),
    };
    let CsvColumns { elapsed, time, success, label } = &parse.columns;
    let columns = match parse.format {
        OutputFormat::Csv if parse.labels.is_empty() => format!(", columns {elapsed}, {time}, {success}"),
        OutputFormat::Csv => format!(", columns {elapsed}, {time}, {success}, {label}"),
        OutputFormat::Jtl | OutputFormat::K6Json | OutputFormat::PerfTest => String::new(),
    };
    let label = |(name, label): (&String, &String)| format!("{name} ({label:?})");
    let labels: Vec<String> = parse.labels.iter().map(label).collect();
    let labels =
        if labels.is_empty() { String::new() } else { format!("; by themselves: {}", labels.join(", ")) };
    format!("{from} is read as {}{columns}{labels}", parse.format)
}
