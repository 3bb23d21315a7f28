//! What load did that is no records: commands of other people, users and jobs of kdyno's own over HTTP. How long each took, how it
//! ended, and what it reported.

use super::form::Answer;
use super::logs::table;
use crate::input::ReportInput;
use kdyno_model::command_metrics::{
    CPU_TIME, DURATION, ERROR_SHARE, EXIT_CODE, MIB_PER_S, OVERLAP, REQUESTS, REQUESTS_PER_S, UNPARSED_LINES,
};

const COLUMNS: [(&str, &str); 14] = [
    ("duration", DURATION),
    ("exit code", EXIT_CODE),
    ("CPU time", CPU_TIME),
    ("requests", REQUESTS),
    ("failed share", ERROR_SHARE),
    ("per second", REQUESTS_PER_S),
    ("MiB/s", MIB_PER_S),
    ("all at once", OVERLAP),
    ("mean", "response.mean"),
    ("p50", "response.p50"),
    ("p95", "response.p95"),
    ("p99", "response.p99"),
    ("max", "response.max"),
    ("not parsed", UNPARSED_LINES),
];

const NOTE: &str = "The duration of a command is from its start to its exit; requests and their times are as the command reported them.";

const HTTP_NOTE: &str = "Of users and jobs the duration is from their start to their end; kdyno itself measured what requests took.";

/// The table: a row for each command, each of its labels, and case; `None`: there is no command.
pub fn answer(input: &ReportInput<'_>) -> Option<Answer> {
    let is_command = |subject: &str| input.commands_of(subject).next().is_some();
    let table = table(input, ("load or label", &is_command), &COLUMNS)?;
    let commands = input.plan().every_case().flat_map(|case| &case.commands);
    let own: Vec<bool> = commands.map(|(_, command)| command.http.is_some()).collect();
    let (title, note) = match (own.contains(&true), own.contains(&false)) {
        (true, false) => ("Load over HTTP", HTTP_NOTE.to_owned()),
        (true, true) => ("Load over HTTP, and commands", format!("{HTTP_NOTE} {NOTE}")),
        (false, _) => ("Commands", NOTE.to_owned()),
    };
    Some(Answer::of_table(title.to_owned(), table, vec![note]))
}
