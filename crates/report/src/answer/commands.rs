//! What other people's load did: each command's duration, how it ended, and what it told.

use super::form::Answer;
use super::logs::table;
use crate::input::ReportInput;
use kdyno_model::command_metrics::{
    CPU_TIME, DURATION, ERROR_SHARE, EXIT_CODE, MIB_PER_S, REQUESTS, REQUESTS_PER_S, UNPARSED_LINES,
};

const COLUMNS: [(&str, &str); 13] = [
    ("duration", DURATION),
    ("exit code", EXIT_CODE),
    ("CPU time", CPU_TIME),
    ("requests", REQUESTS),
    ("failed share", ERROR_SHARE),
    ("per second", REQUESTS_PER_S),
    ("MiB/s", MIB_PER_S),
    ("mean", "response.mean"),
    ("p50", "response.p50"),
    ("p95", "response.p95"),
    ("p99", "response.p99"),
    ("max", "response.max"),
    ("not parsed", UNPARSED_LINES),
];

const NOTE: &str = "Duration: from the start of the command to its exit. Requests and what they took are what the command itself \
    told of them.";

/// The table: a row for each command, each of its labels, and case; `None`: there is no command.
pub fn answer(input: &ReportInput<'_>) -> Option<Answer> {
    let is_command = |subject: &str| {
        let mut commands = input.plan().every_case().flat_map(|case| &case.commands);
        commands.any(|(item, command)| item == subject || command.labels().any(|label| label == subject))
    };
    let table = table(input, ("command or label", &is_command), &COLUMNS)?;
    Some(Answer::of_table("Commands".to_owned(), table, vec![NOTE.to_owned()]))
}
