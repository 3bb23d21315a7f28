//! What runs next to the cluster: what each component used, and what databases counted.

use super::form::Answer;
use super::logs::table;
use crate::input::ReportInput;
use kdyno_model::component_metrics::{CONNECTIONS_MAX, ROLLED_BACK_SHARE, TRANSACTIONS_PER_S};
use kdyno_model::metric::MEMORY_GROWTH;

const COLUMNS: [(&str, &str); 7] = [
    ("CPU", "cpu_percent"),
    ("CPU per record", "cpu_us_per_record"),
    ("memory", "memory_rss_bytes_max"),
    ("memory grows", MEMORY_GROWTH),
    ("connections", CONNECTIONS_MAX),
    ("transactions/s", TRANSACTIONS_PER_S),
    ("rolled back", ROLLED_BACK_SHARE),
];

const NOTE: &str = "Of all processes of a component together; CPU in percent of one core, memory and connections the most that was \
    read in the window.";

/// The table: a row for each component and case; `None`: there is none.
pub fn answer(input: &ReportInput<'_>) -> Option<Answer> {
    let is_component = |subject: &str| {
        let mut all = input.plan().every_case().flat_map(|case| &case.components);
        all.any(|component| component.name == subject)
    };
    let table = table(input, ("component", &is_component), &COLUMNS)?;
    Some(Answer::of_table("Components".to_owned(), table, vec![NOTE.to_owned()]))
}
