//! How busy brokers were by their own account, and how their JVMs held them up.

use super::form::Answer;
use super::logs::{is_of_brokers, table};
use crate::input::ReportInput;
use kdyno_model::inside::{GC_PAUSE_MAX, NETWORK_PROCESSOR_IDLE, REQUEST_HANDLER_IDLE, STOPPED_SHARE};

const COLUMNS: [(&str, &str); 7] = [
    ("request handlers idle", REQUEST_HANDLER_IDLE),
    ("network processors idle", NETWORK_PROCESSOR_IDLE),
    ("longest GC pause", GC_PAUSE_MAX),
    ("stop-the-world time", STOPPED_SHARE),
    ("heap in use, most", "heap_used_bytes_max"),
    ("log flushes", "log_flushes"),
    ("mean flush", "log_flush_mean"),
];

/// A row for each broker and case; `None`: no broker reported anything of this.
pub fn answer(input: &ReportInput<'_>) -> Option<Answer> {
    let table = table(input, ("broker", &is_of_brokers), &COLUMNS)?;
    let note = "Of all brokers together: idle shares of the busiest one, pauses of the one that was held up longest, sums of heap and \
                flushes. Pauses are those of the JVM's log, heap is what was read every 10 s.";
    Some(Answer::of_table("Broker metrics".to_owned(), table, vec![note.to_owned()]))
}
