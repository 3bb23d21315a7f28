//! A load item that is a command, in words: what is run, when, and what is made of its output.

use crate::units;
use kdyno_model::plan::{CommandBegins, CommandPlan, CsvColumns, OutputFormat, ParsePlan};

/// What is run, and when; further lines say what is read of it.
pub(super) fn command_lines(name: &str, command: &CommandPlan) -> Vec<String> {
    let begins = match &command.begins {
        CommandBegins::At(0) => "as the measure phase begins".to_owned(),
        CommandBegins::At(at_ns) => format!("{} into the measure phase", units::duration(*at_ns)),
        CommandBegins::After(before) => format!("after {before}"),
    };
    let timeout = units::duration(command.timeout_ns);
    let mut lines = vec![
        format!("{name}: command, {begins}, at most {timeout}; it is a program of this host, run as you"),
        format!("  {}", command.line()),
    ];
    if !command.environment.is_empty() {
        let set = command.environment.iter().map(|(name, value)| format!("{name}={value}"));
        lines.push(format!("  with {}", set.collect::<Vec<_>>().join(" ")));
    }
    lines.extend(command.parse.as_ref().map(|parse| format!("  {}", parse_text(parse))));
    lines
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
